// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "description.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "colltune/json/json.h"
#include "colltune/vocabulary/composition.h"

namespace colltune {
namespace {

// A sweep measures every variant; a larger search space is taken for a mistake.
constexpr std::size_t most_variants = 4096;

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw Error(StatusCode::invalid_argument, where + ": " + what);
}

nlohmann::json parse_json(std::string_view text, const std::string& where) {
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    fail(where, std::string("is not JSON: ") + error.what());
  }
}

/// The defaults of an entry; mandatory keys have none.
nlohmann::json default_entry() {
  nlohmann::json entry = to_json_value(DescribedImplementation{});
  for (const char* required : {"name", "collective", "description", "rounding", "numeric_class"})
    entry.erase(required);
  return entry;
}

void check_parameter(const ParameterRange& parameter, const std::string& where) {
  if (!is_printable_name(parameter.name))
    fail(where + "/name",
         "'" + parameter.name + "' is no name; use letters, digits, '.', '_' and '-'");
  // Its variants would be taken for the names of compositions.
  if (!parts_named_by({"grouped.x", {{parameter.name, std::string("x")}}}).empty())
    fail(where + "/name", "'" + parameter.name + "' is what names compositions; take another name");
  if (parameter.values.empty()) fail(where + "/values", "is empty; give at least one value");
  for (std::size_t i = 0; i < parameter.values.size(); ++i) {
    const ParameterValue& value = parameter.values[i];
    const std::string place = where + "/values/" + std::to_string(i);
    if (value.index() != parameter.values.front().index())
      fail(place, "numbers and words are mixed; a parameter takes one or the other");
    if (std::find(parameter.values.begin(), parameter.values.begin() + static_cast<long>(i),
                  value) != parameter.values.begin() + static_cast<long>(i))
      fail(place, "'" + to_string(value) + "' is given twice");
    if (const auto* text = std::get_if<std::string>(&value)) {
      if (!is_printable_name(*text))
        fail(place, "'" + *text + "' is no word; use letters, digits, '.', '_' and '-'");
      // Printed and parsed again, the word would become a number.
      if (parse_variant("name{value=" + *text + "}").parameters.front().value != value)
        fail(place, "the word '" + *text + "' reads as a number; write it as one");
    }
  }
}

void check_parameters(const std::vector<ParameterRange>& parameters, const std::string& where) {
  std::size_t variants = 1;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string place = where + "/" + std::to_string(i);
    check_parameter(parameters[i], place);
    for (std::size_t before = 0; before < i; ++before)
      if (parameters[before].name == parameters[i].name)
        fail(place + "/name", "parameter '" + parameters[i].name + "' is described twice");
    variants *= parameters[i].values.size();
    if (variants > most_variants)
      fail(where, "the search space has more than " + std::to_string(most_variants) + " variants");
  }
}

void check_limits(const Limits& limits, const BlockLayout& shape, const std::string& where) {
  if (limits.min_ranks < 1) fail(where + "/min_ranks", "must be at least 1");
  if (limits.max_ranks != 0 && limits.max_ranks < limits.min_ranks)
    fail(where + "/max_ranks", "must be 0 (no limit) or at least min_ranks");
  if (limits.ranks_multiple_of < 1) fail(where + "/ranks_multiple_of", "must be at least 1");
  if (limits.max_message.value != 0 && limits.max_message < limits.min_message)
    fail(where + "/max_message_bytes", "must be 0 (no limit) or at least min_message_bytes");
  if (!std::has_single_bit(limits.alignment.value))
    fail(where + "/alignment_bytes",
         "must be a power of two, not " + std::to_string(limits.alignment.value));
  for (std::size_t i = 0; i < limits.reduce_ops.size(); ++i)
    if (shape.reduces == (limits.reduce_ops[i] == ReduceOp::none))
      fail(where + "/reduce_ops/" + std::to_string(i),
           "'" + std::string(name_of(limits.reduce_ops[i])) + "' does not fit the collective");
}

void check_cost(const CostTerms& cost, const std::string& where) {
  const auto check_terms = [&where](std::string_view name, const auto& terms) {
    visit_fields(terms, [&](std::string_view term, double value) {
      if (!std::isfinite(value))
        fail(where + "/" + std::string(name) + "/" + std::string(term), "must be a finite number");
    });
  };
  visit_fields(cost, check_terms);
}

void check_entry(const DescribedImplementation& entry, const std::string& where) {
  if (!is_printable_name(entry.name))
    fail(where + "/name", "'" + entry.name + "' is no name; use letters, digits, '.', '_' and '-'");
  if (entry.description.empty() || entry.description.find('\n') != std::string::npos)
    fail(where + "/description", "must be one line that is not empty");
  const BlockLayout shape = shape_of(entry.collective);
  if (!shape.reduces && entry.rounding != Rounding::exact)
    fail(where + "/rounding", std::string(name_of(entry.collective)) +
                                  " only moves data; its rounding is 'exact', not '" +
                                  std::string(name_of(entry.rounding)) + "'");
  check_parameters(entry.parameters, where + "/parameters");
  check_limits(entry.limits, shape, where + "/limits");
  check_cost(entry.cost, where + "/cost");
}

}  // namespace

bool is_printable_name(std::string_view text) {
  try {
    return parse_variant(text).implementation == text;
  } catch (const Error&) {
    return false;
  }
}

std::vector<DescribedImplementation> parse_description(std::string_view text,
                                                       const std::string& where) {
  const nlohmann::json json = parse_json(text, where);
  if (!json.is_object()) fail(where, "expected an object with the key 'implementations'");
  for (const auto& [key, unused] : json.items())
    if (key != "implementations")
      fail(where, "unknown key '" + key + "'; allowed is implementations");
  const auto list = json.find("implementations");
  if (list == json.end()) fail(where, "key 'implementations' is missing");
  const std::string path = where + "/implementations";
  if (!list->is_array() || list->empty()) fail(path, "expected an array that is not empty");

  std::vector<DescribedImplementation> entries;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string place = path + "/" + std::to_string(i);
    nlohmann::json filled = default_entry();
    filled.merge_patch((*list)[i]);
    auto entry = from_json_value<DescribedImplementation>(filled, place);
    check_entry(entry, place);
    for (const auto& before : entries)
      if (before.name == entry.name)
        fail(place + "/name", "implementation '" + entry.name + "' is described twice");
    std::ranges::sort(entry.parameters, {}, &ParameterRange::name);
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace colltune
