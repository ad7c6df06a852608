// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "colltune/json/json.h"

namespace colltune {
namespace json_detail {

using nlohmann::json;

void fail(const std::string& where, std::string_view what) {
  throw Error(StatusCode::invalid_argument, where + ": " + std::string(what));
}

void put(json& object, std::string_view name, json&& value) {
  object.emplace(std::string(name), std::move(value));
}

void put(json& array, json&& value) { array.push_back(std::move(value)); }

const std::string& read_string(const json& value, const std::string& where,
                               std::string_view expected) {
  if (!value.is_string()) fail(where, "expected " + std::string(expected));
  return value.get_ref<const std::string&>();
}

bool read_bool(const json& value, const std::string& where) {
  if (!value.is_boolean()) fail(where, "expected true or false");
  return value.get<bool>();
}

double read_double(const json& value, const std::string& where) {
  if (!value.is_number()) fail(where, "expected a number");
  return value.get<double>();
}

std::int64_t read_signed(const json& value, const std::string& where, std::int64_t least,
                         std::int64_t most) {
  if (!value.is_number_integer()) fail(where, "expected a whole number");
  if (value.is_number_unsigned() && !std::in_range<std::int64_t>(value.get<std::uint64_t>()))
    fail(where, "the number is out of range");
  const auto number = value.get<std::int64_t>();
  if (number < least || number > most) fail(where, "the number is out of range");
  return number;
}

std::uint64_t read_unsigned(const json& value, const std::string& where, std::uint64_t most) {
  if (!value.is_number_integer()) fail(where, "expected a whole number");
  if (!value.is_number_unsigned() && value.get<std::int64_t>() < 0)
    fail(where, "the number is out of range");
  const auto number = value.get<std::uint64_t>();
  if (number > most) fail(where, "the number is out of range");
  return number;
}

Variant read_variant(const json& value, const std::string& where) {
  const std::string& text = read_string(value, where, "a variant such as name{a=1}");
  try {
    return parse_variant(text);
  } catch (const Error& error) {
    fail(where, error.what());
  }
}

ParameterValue read_parameter(const json& value, const std::string& where) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number_integer()) fail(where, "expected a whole number or a word");
  using Range = std::numeric_limits<std::int64_t>;
  return read_signed(value, where, Range::min(), Range::max());
}

void check_object(const json& value, const std::string& where) {
  if (!value.is_object()) fail(where, "expected an object");
}

std::size_t size_of_array(const json& value, const std::string& where) {
  if (!value.is_array()) fail(where, "expected an array");
  return value.size();
}

const json& item_of(const json& array, std::size_t index) { return array[index]; }

Members::Members(const json& value, const std::string& where) : json_(value), where_(where) {
  check_object(value, where);
}

const json* Members::take(std::string_view name, bool is_optional) {
  names_.push_back(name);
  const auto found = json_.find(name);
  if (found != json_.end()) {
    ++taken_;
    return &*found;
  }
  if (!is_optional) fail(where_, "key '" + std::string(name) + "' is missing");
  return nullptr;
}

std::string Members::path_of(std::string_view name) const {
  return where_ + "/" + std::string(name);
}

void Members::finish() const {
  if (taken_ == json_.size()) return;
  std::string allowed;
  for (const std::string_view name : names_) {
    if (!allowed.empty()) allowed += ", ";
    allowed += name;
  }
  for (const auto& [key, unused] : json_.items())
    if (std::ranges::find(names_, key) == names_.end())
      fail(where_, "unknown key '" + key + "'; allowed are " + allowed);
}

}  // namespace json_detail

template nlohmann::json to_json_value(const Environment&);
template nlohmann::json to_json_value(const TuningKey&);
template nlohmann::json to_json_value(const Measurement&);
template nlohmann::json to_json_value(const RankedVariant&);
template nlohmann::json to_json_value(const Decision&);
template nlohmann::json to_json_value(const LookupQuery&);
template nlohmann::json to_json_value(const LookupAnswer&);
template void json_detail::read(const nlohmann::json&, Environment&, const std::string&);
template void json_detail::read(const nlohmann::json&, TuningKey&, const std::string&);
template void json_detail::read(const nlohmann::json&, Measurement&, const std::string&);
template void json_detail::read(const nlohmann::json&, RankedVariant&, const std::string&);
template void json_detail::read(const nlohmann::json&, Decision&, const std::string&);
template void json_detail::read(const nlohmann::json&, LookupQuery&, const std::string&);
template void json_detail::read(const nlohmann::json&, LookupAnswer&, const std::string&);

}  // namespace colltune
