// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "colltune/vocabulary/canonical.h"
#include "colltune/vocabulary/environment.h"
#include "colltune/vocabulary/lookup.h"
#include "colltune/vocabulary/measurement.h"

namespace colltune {

// Code that does not depend on the type is compiled once (values.cpp); the templates below only
// choose what to call.
namespace json_detail {

[[noreturn]] void fail(const std::string& where, std::string_view what);
void put(nlohmann::json& object, std::string_view name, nlohmann::json&& value);
void put(nlohmann::json& array, nlohmann::json&& value);

[[nodiscard]] const std::string& read_string(const nlohmann::json& json, const std::string& where,
                                             std::string_view expected);
[[nodiscard]] bool read_bool(const nlohmann::json& json, const std::string& where);
[[nodiscard]] double read_double(const nlohmann::json& json, const std::string& where);
[[nodiscard]] std::int64_t read_signed(const nlohmann::json& json, const std::string& where,
                                       std::int64_t least, std::int64_t most);
[[nodiscard]] std::uint64_t read_unsigned(const nlohmann::json& json, const std::string& where,
                                          std::uint64_t most);
[[nodiscard]] Variant read_variant(const nlohmann::json& json, const std::string& where);
[[nodiscard]] ParameterValue read_parameter(const nlohmann::json& json, const std::string& where);
/// The first two throw unless `json` is an object or an array; item_of gives an item of an array.
void check_object(const nlohmann::json& json, const std::string& where);
[[nodiscard]] std::size_t size_of_array(const nlohmann::json& json, const std::string& where);
[[nodiscard]] const nlohmann::json& item_of(const nlohmann::json& json, std::size_t index);

/// The members of an object, taken one by one; reports those that were not taken.
class Members {
 public:
  Members(const nlohmann::json& json, const std::string& where);
  /// The member called `name`; null if it is optional and absent.
  [[nodiscard]] const nlohmann::json* take(std::string_view name, bool is_optional);
  [[nodiscard]] std::string path_of(std::string_view name) const;
  void finish() const;

 private:
  const nlohmann::json& json_;
  const std::string& where_;
  std::vector<std::string_view> names_;
  std::size_t taken_ = 0;
};

}  // namespace json_detail

/// Any vocabulary value as JSON: enums by name, sizes and times as integers (the key names the
/// unit), variants as `name{a=1}`, an empty field (canonical.h) as an absent key. The same form is used for
/// files, `--json` and the control plane (as CBOR).
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
        if (field) json_detail::put(object, name, to_json_value(*field));
      } else if constexpr (MayBeEmpty<decltype(field)>) {
        if (!is_empty_field(field)) json_detail::put(object, name, to_json_value(field));
      } else {
        json_detail::put(object, name, to_json_value(field));
      }
    });
    return object;
  } else if constexpr (requires { typename T::mapped_type; }) {
    nlohmann::json object = nlohmann::json::object();
    for (const auto& [name, item] : value) json_detail::put(object, name, to_json_value(item));
    return object;
  } else if constexpr (requires { typename T::value_type; } && !std::same_as<T, std::string>) {
    nlohmann::json array = nlohmann::json::array();
    for (const auto& item : value) json_detail::put(array, to_json_value(item));
    return array;
  } else {
    return value;
  }
}

namespace json_detail {

template <class T>
void read(const nlohmann::json& json, T& value, const std::string& where) {
  if constexpr (NamedEnum<T>) {
    const std::string& name = read_string(json, where, "one of " + allowed_names<T>());
    try {
      value = parse_name<T>(name);
    } catch (const Error& error) {
      fail(where, error.what());
    }
  } else if constexpr (std::same_as<T, bool>) {
    value = read_bool(json, where);
  } else if constexpr (std::same_as<T, Bytes>) {
    read(json, value.value, where);
  } else if constexpr (std::same_as<T, std::chrono::nanoseconds>) {
    std::int64_t count = 0;
    read(json, count, where);
    value = std::chrono::nanoseconds(count);
  } else if constexpr (std::signed_integral<T>) {
    using Range = std::numeric_limits<T>;
    value = static_cast<T>(read_signed(json, where, Range::min(), Range::max()));
  } else if constexpr (std::unsigned_integral<T>) {
    value = static_cast<T>(read_unsigned(json, where, std::numeric_limits<T>::max()));
  } else if constexpr (std::floating_point<T>) {
    value = static_cast<T>(read_double(json, where));
  } else if constexpr (std::same_as<T, std::string>) {
    value = read_string(json, where, "a string");
  } else if constexpr (std::same_as<T, Variant>) {
    value = read_variant(json, where);
  } else if constexpr (std::same_as<T, ParameterValue>) {
    value = read_parameter(json, where);
  } else if constexpr (Described<T>) {
    Members members(json, where);
    visit_fields(value, [&](std::string_view name, auto& field) {
      constexpr bool is_optional = requires { field.has_value(); };
      const nlohmann::json* member =
          members.take(name, is_optional || MayBeEmpty<decltype(field)>);
      if constexpr (MayBeEmpty<decltype(field)>) {
        if (member != nullptr) read(*member, field, members.path_of(name));
      } else if constexpr (is_optional) {
        if (member != nullptr) read(*member, field.emplace(), members.path_of(name));
      } else {
        read(*member, field, members.path_of(name));
      }
    });
    members.finish();
  } else if constexpr (requires { typename T::mapped_type; }) {
    value.clear();
    check_object(json, where);
    for (const auto& member : json.items())
      read(member.value(), value[member.key()], where + "/" + member.key());
  } else {
    value.clear();
    const std::size_t size = size_of_array(json, where);
    for (std::size_t i = 0; i < size; ++i)
      read(item_of(json, i), value.emplace_back(), where + "/" + std::to_string(i));
  }
}

}  // namespace json_detail

/// The inverse of to_json_value. Every key must be present, except those that may be empty, and no other key
/// may be. Throws Error(invalid_argument) whose message begins with `where` and the path inside the
/// value.
template <class T>
[[nodiscard]] T from_json_value(const nlohmann::json& json, const std::string& where) {
  T value{};
  json_detail::read(json, value, where);
  return value;
}

// The large types are compiled once.
extern template nlohmann::json to_json_value(const Environment&);
extern template nlohmann::json to_json_value(const TuningKey&);
extern template nlohmann::json to_json_value(const Measurement&);
extern template nlohmann::json to_json_value(const RankedVariant&);
extern template nlohmann::json to_json_value(const Decision&);
extern template nlohmann::json to_json_value(const LookupQuery&);
extern template nlohmann::json to_json_value(const LookupAnswer&);
extern template void json_detail::read(const nlohmann::json&, Environment&, const std::string&);
extern template void json_detail::read(const nlohmann::json&, TuningKey&, const std::string&);
extern template void json_detail::read(const nlohmann::json&, Measurement&, const std::string&);
extern template void json_detail::read(const nlohmann::json&, RankedVariant&, const std::string&);
extern template void json_detail::read(const nlohmann::json&, Decision&, const std::string&);
extern template void json_detail::read(const nlohmann::json&, LookupQuery&, const std::string&);
extern template void json_detail::read(const nlohmann::json&, LookupAnswer&, const std::string&);

}  // namespace colltune
