// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "colltune/kernels/arithmetic/number_format.h"
#include "colltune/vocabulary/collective.h"

namespace colltune {

/// Calls `act` with a value of the C++ type for `type`.
template <class Act>
constexpr decltype(auto) with_element_type(DataType type, Act&& act) {
  switch (type) {
    case DataType::i8:
      return act(std::int8_t{});
    case DataType::u8:
      return act(std::uint8_t{});
    case DataType::i32:
      return act(std::int32_t{});
    case DataType::u32:
      return act(std::uint32_t{});
    case DataType::i64:
      return act(std::int64_t{});
    case DataType::u64:
      return act(std::uint64_t{});
    case DataType::f16:
      return act(Float16{});
    case DataType::bf16:
      return act(BFloat16{});
    case DataType::f32:
      return act(float{});
    case DataType::f64:
      return act(double{});
    case DataType::f8e4m3:
      return act(Float8E4M3{});
    case DataType::f8e5m2:
      return act(Float8E5M2{});
  }
  return act(std::uint8_t{});  // not reached: the switch is complete
}

/// Whether elements are stored as bits and computed as float.
template <class T>
inline constexpr bool is_narrow_float = !std::is_arithmetic_v<T>;

/// The type in which elements of type T are accumulated.
template <class T>
using Accumulator = std::conditional_t<is_narrow_float<T>, float, T>;

template <class T>
[[nodiscard]] Accumulator<T> load_element(const std::byte* from, std::size_t i) {
  T value;
  std::memcpy(&value, from + i * sizeof(T), sizeof(T));
  if constexpr (is_narrow_float<T>)
    return to_float(value);
  else
    return value;
}

template <class T>
void store_element(std::byte* to, std::size_t i, Accumulator<T> value) {
  T element;
  if constexpr (is_narrow_float<T>)
    element = round_to<T>(value);
  else
    element = value;
  std::memcpy(to + i * sizeof(T), &element, sizeof(T));
}

}  // namespace colltune
