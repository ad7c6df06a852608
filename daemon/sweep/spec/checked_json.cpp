// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "checked_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>
#include <vector>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

using nlohmann::json;

// A configuration is a page of text, and nlohmann/json overflows the stack on extreme nesting.
constexpr std::size_t most_bytes = std::size_t{1} << 20;
constexpr int most_depth = 32;
// No sweep has that many sizes or settings, and comparing them all with each other would take
// minutes.
constexpr std::size_t most_entries = 4096;

[[noreturn]] void fail(const std::string& file, const std::string& what) {
  throw Error(StatusCode::invalid_argument, file + ": " + what);
}

void check_extent(std::string_view text, const std::string& file) {
  if (text.size() > most_bytes)
    fail(file, fmt::format("{} bytes of text; allowed are {}", text.size(), most_bytes));
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > most_depth) fail(file, fmt::format("nested deeper than {}", most_depth));
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
}

/// Refuses duplicate keys, of which the parser would silently keep the last, and lists that are too
/// long.
class UniqueKeys {
 public:
  explicit UniqueKeys(const std::string& file) : file_(file) {}

  bool operator()(int /*depth*/, json::parse_event_t event, const json& value) {
    if (event == json::parse_event_t::object_start) open_.emplace_back();
    if (event == json::parse_event_t::object_end) open_.pop_back();
    if (event == json::parse_event_t::key && !open_.back().insert(value.get<std::string>()).second)
      fail(file_, "key '" + value.get<std::string>() + "' is given twice in one object");
    if (event == json::parse_event_t::key) key_ = value.get<std::string>();
    if (event == json::parse_event_t::array_end && value.size() > most_entries)
      fail(file_, fmt::format("the list of '{}' has {} entries; allowed are {}", key_, value.size(),
                              most_entries));
    return true;
  }

 private:
  const std::string& file_;
  std::vector<std::set<std::string>> open_;
  std::string key_;  ///< last key read
};

json parse(std::string_view text, const std::string& file) {
  try {
    UniqueKeys unique_keys(file);
    return json::parse(text, std::ref(unique_keys));
  } catch (const json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 3, column 5: …": the bracket is
    // internal.
    std::string message = error.what();
    if (const auto bracket = message.find("] "); bracket != std::string::npos)
      message.erase(0, bracket + 2);
    fail(file, "not JSON: " + message);
  }
}

/// Turns valijson's path "<root>", "[worlds]", "[0]" into the names in it.
std::vector<std::string> path_names(const std::vector<std::string>& context) {
  std::vector<std::string> names;
  for (const auto& step : context)
    if (step.size() > 2 && step.front() == '[') names.push_back(step.substr(1, step.size() - 2));
  return names;
}

/// What the path points to: the value and the part of the schema that applies to it.
struct Place {
  const json* value;
  const json* schema;
  std::string path;
};

Place find_place(const json& root, const json& schema, const std::vector<std::string>& names) {
  Place place{&root, &schema, ""};
  for (const auto& name : names) {
    if (place.value->is_object()) {
      if (!place.value->contains(name)) break;
      const json properties = place.schema->value("properties", json::object());
      place.schema = properties.contains(name) ? &place.schema->at("properties").at(name)
                                               : &place.schema->at("additionalProperties");
      place.value = &place.value->at(name);
    } else if (place.value->is_array()) {
      std::size_t index = 0;
      std::from_chars(name.data(), name.data() + name.size(), index);
      if (index >= place.value->size()) break;
      place.schema = &place.schema->at("items");
      place.value = &(*place.value)[index];
    } else {
      break;
    }
    place.path += '/' + name;
  }
  return place;
}

std::string shown(const json& value) {
  constexpr std::size_t most = 60;
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() <= most ? text : text.substr(0, most) + "…";
}

std::string list_of(const json& names) {
  std::string text;
  for (const auto& name : names)
    text += (text.empty() ? "" : ", ") + (name.is_string() ? name.get<std::string>() : name.dump());
  return text;
}

std::string explain(const Place& place) {
  const json& schema = *place.schema;
  const json& value = *place.value;
  if (value.is_object() && schema.contains("properties")) {
    json known = json::array();
    for (const auto& [key, unused] : schema.at("properties").items()) known.push_back(key);
    for (const auto& [key, unused] : value.items())
      if (!schema.at("properties").contains(key))
        return fmt::format("unknown key '{}'; allowed are {}", key, list_of(known));
    for (const auto& key : schema.value("required", json::array()))
      if (!value.contains(key.get<std::string>()))
        return fmt::format("key '{}' is missing; required are {}", key.get<std::string>(),
                           list_of(schema.at("required")));
  }
  if (schema.contains("enum"))
    return fmt::format("found {}; allowed are {}", shown(value), list_of(schema.at("enum")));
  return fmt::format("found {}; allowed is {}", shown(value),
                     schema.value("description", std::string("something else")));
}

}  // namespace

json parse_checked_json(std::string_view text, const std::string& file_name,
                        std::string_view schema) {
  check_extent(text, file_name);
  const json value = parse(text, file_name);
  const json schema_value = json::parse(schema);

  valijson::Schema compiled;
  valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
  parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(schema_value), compiled);
  valijson::Validator validator(valijson::Validator::kStrongTypes);
  valijson::ValidationResults results;
  if (validator.validate(compiled, valijson::adapters::NlohmannJsonAdapter(value), &results))
    return value;

  // The deepest place is the most specific; the others only report that something inside is wrong.
  Place deepest{&value, &schema_value, ""};
  std::size_t most = 0;
  for (const auto& error : results) {
    const auto names = path_names(error.context);
    if (names.size() <= most) continue;
    most = names.size();
    deepest = find_place(value, schema_value, names);
  }
  fail(file_name, (deepest.path.empty() ? "/" : deepest.path) + ": " + explain(deepest));
}

}  // namespace colltune
