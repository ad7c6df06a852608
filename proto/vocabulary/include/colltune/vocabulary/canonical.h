// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <chrono>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "colltune/vocabulary/bytes.h"
#include "colltune/vocabulary/names.h"
#include "colltune/vocabulary/variant.h"

namespace colltune {

/// An aggregate that lists its fields in `visit_fields`.
template <class T>
concept Described = requires(T& value) {
  visit_fields(value, [](std::string_view, auto&) {});
};

/// A type with a value that stands for an absent field: `is_empty_field` says which.
template <class T>
concept MayBeEmpty = requires(const std::remove_cvref_t<T>& value) {
  is_empty_field(value);
};

/// The 128-bit XXH3 of `text`, as 32 hexadecimal digits.
[[nodiscard]] std::string digest_of_text(std::string_view text);

/// Appends an unambiguous text form of `value`: equal values give equal texts, and different values
/// give different ones. Digests and row checksums are computed over it, so it never changes for a
/// given layout of fields. A field that a type got later is left out if it is empty, provided that
/// the type asks for it (`omits_empty_fields`): an optional one without a value, and one of which
/// `is_empty_field` says so.
template <class T>
void append_canonical(std::string& out, const T& value) {
  if constexpr (NamedEnum<T>) {
    out += name_of(value);
  } else if constexpr (std::same_as<T, bool>) {
    out += value ? "true" : "false";
  } else if constexpr (std::integral<T> || std::floating_point<T>) {
    char digits[40];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  } else if constexpr (std::same_as<T, std::string>) {
    append_canonical(out, value.size());
    out += ':';
    out += value;
  } else if constexpr (std::same_as<T, Bytes>) {
    append_canonical(out, value.value);
  } else if constexpr (std::same_as<T, std::chrono::nanoseconds>) {
    append_canonical(out, value.count());
  } else if constexpr (std::same_as<T, Variant>) {
    append_canonical(out, to_string(value));
  } else if constexpr (Described<const T>) {
    out += '{';
    visit_fields(value, [&](std::string_view name, const auto& field) {
      if constexpr (requires {
                      typename T::omits_empty_fields;
                      field.has_value();
                    })
        if (!field) return;
      if constexpr (requires { typename T::omits_empty_fields; } && MayBeEmpty<decltype(field)>)
        if (is_empty_field(field)) return;
      out += name;
      out += '=';
      append_canonical(out, field);
      out += ';';
    });
    out += '}';
  } else if constexpr (requires { value.has_value(); }) {
    out += value ? "+" : "-";
    if (value) append_canonical(out, *value);
  } else {
    out += '[';
    for (const auto& item : value) {
      append_canonical(out, item);
      out += ',';
    }
    out += ']';
  }
}

template <class T>
[[nodiscard]] std::string canonical_text(const T& value) {
  std::string out;
  append_canonical(out, value);
  return out;
}

/// The digest of any described value.
template <class T>
[[nodiscard]] std::string digest_of_value(const T& value) {
  return digest_of_text(canonical_text(value));
}

}  // namespace colltune
