// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "colltune/vocabulary/canonical.h"

namespace colltune {

/// Any vocabulary value as JSON: enums by name, sizes and times as whole numbers (the key carries
/// the unit), variants as `name{a=1}`, an empty optional as an absent key. One form for files,
/// `--json` and the control plane (as CBOR).
template <class T>
[[nodiscard]] nlohmann::json to_json_value(const T& value) {
  if constexpr (NamedEnum<T>) {
    return std::string(name_of(value));
  } else if constexpr (std::same_as<T, Bytes>) {
    return value.value;
  } else if constexpr (std::same_as<T, std::chrono::nanoseconds>) {
    return value.count();
  } else if constexpr (std::same_as<T, Variant>) {
    return to_string(value);
  } else if constexpr (std::same_as<T, ParameterValue>) {
    return std::visit([](const auto& setting) { return nlohmann::json(setting); }, value);
  } else if constexpr (Described<const T>) {
    nlohmann::json object = nlohmann::json::object();
    visit_fields(value, [&](std::string_view name, const auto& field) {
      if constexpr (requires { field.has_value(); }) {
        if (field) object[std::string(name)] = to_json_value(*field);
      } else {
        object[std::string(name)] = to_json_value(field);
      }
    });
    return object;
  } else if constexpr (requires { typename T::value_type; } && !std::same_as<T, std::string>) {
    nlohmann::json array = nlohmann::json::array();
    for (const auto& item : value) array.push_back(to_json_value(item));
    return array;
  } else {
    return value;
  }
}

namespace json_detail {

[[noreturn]] inline void fail(const std::string& where, const std::string& what) {
  throw Error(StatusCode::invalid_argument, where + ": " + what);
}

template <class T>
void read(const nlohmann::json& json, T& value, const std::string& where) {
  if constexpr (NamedEnum<T>) {
    if (!json.is_string()) fail(where, "expected one of " + allowed_names<T>());
    try {
      value = parse_name<T>(json.get_ref<const std::string&>());
    } catch (const Error& error) {
      fail(where, error.what());
    }
  } else if constexpr (std::same_as<T, bool>) {
    if (!json.is_boolean()) fail(where, "expected true or false");
    value = json.get<bool>();
  } else if constexpr (std::same_as<T, Bytes>) {
    read(json, value.value, where);
  } else if constexpr (std::same_as<T, std::chrono::nanoseconds>) {
    std::int64_t count = 0;
    read(json, count, where);
    value = std::chrono::nanoseconds(count);
  } else if constexpr (std::integral<T>) {
    if (!json.is_number_integer()) fail(where, "expected a whole number");
    const bool fits = json.is_number_unsigned() ? std::in_range<T>(json.get<std::uint64_t>())
                                                : std::in_range<T>(json.get<std::int64_t>());
    if (!fits) fail(where, "the number is out of range");
    value = json.get<T>();
  } else if constexpr (std::floating_point<T>) {
    if (!json.is_number()) fail(where, "expected a number");
    value = json.get<T>();
  } else if constexpr (std::same_as<T, std::string>) {
    if (!json.is_string()) fail(where, "expected a string");
    value = json.get<std::string>();
  } else if constexpr (std::same_as<T, Variant>) {
    if (!json.is_string()) fail(where, "expected a variant such as name{a=1}");
    try {
      value = parse_variant(json.get_ref<const std::string&>());
    } catch (const Error& error) {
      fail(where, error.what());
    }
  } else if constexpr (std::same_as<T, ParameterValue>) {
    if (json.is_string())
      value = json.get<std::string>();
    else if (json.is_number_integer())
      read(json, value.template emplace<std::int64_t>(), where);
    else
      fail(where, "expected a whole number or a word");
  } else if constexpr (Described<T>) {
    if (!json.is_object()) fail(where, "expected an object");
    std::size_t known = 0;
    std::string names;
    visit_fields(value, [&](std::string_view name, auto& field) {
      names += names.empty() ? "" : ", ";
      names += name;
      const auto found = json.find(name);
      if constexpr (requires { field.has_value(); }) {
        if (found == json.end()) return;
        ++known;
        read(*found, field.emplace(), where + "/" + std::string(name));
      } else {
        if (found == json.end()) fail(where, "key '" + std::string(name) + "' is missing");
        ++known;
        read(*found, field, where + "/" + std::string(name));
      }
    });
    if (known == json.size()) return;
    for (const auto& [key, unused] : json.items()) {
      bool listed = false;
      visit_fields(value, [&](std::string_view name, auto&) { listed = listed || name == key; });
      if (!listed) fail(where, "unknown key '" + key + "'; allowed are " + names);
    }
  } else {
    if (!json.is_array()) fail(where, "expected an array");
    value.clear();
    for (std::size_t i = 0; i < json.size(); ++i)
      read(json[i], value.emplace_back(), where + "/" + std::to_string(i));
  }
}

}  // namespace json_detail

/// The inverse of to_json_value. Every key must be there (an optional one may be absent) and none
/// besides. Throws Error(invalid_argument) that begins with `where` and the path inside the value.
template <class T>
[[nodiscard]] T from_json_value(const nlohmann::json& json, const std::string& where) {
  T value{};
  json_detail::read(json, value, where);
  return value;
}

}  // namespace colltune
