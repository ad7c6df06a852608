// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The reduce ops on two values: single values or vectors of them. Included by every translation
// unit that is compiled for its own instruction set: vector_body.h says why all of this is in an
// anonymous namespace.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "colltune/vocabulary/collective.h"

namespace colltune {
namespace {

/// The type in which integers of type `Value` are added and multiplied: unsigned, since unsigned
/// integers wrap, and for single values at least as wide as unsigned int, since narrower ones would
/// be promoted to int.
template <class Value>
struct WrappingValue {
  using type = Value;
};
template <class Value>
requires std::is_integral_v<Value>
struct WrappingValue<Value> {
  using type = std::make_unsigned_t<std::common_type_t<Value, int>>;
};
template <class Value>
using Wrapping = typename WrappingValue<Value>::type;

// `selects`: the result is one of the two values, not a new one; `averages`: avg is built on this
// op.
struct Sum {
  static constexpr bool selects = false;
  static constexpr bool averages = true;
  template <class Value>
  static constexpr Value combine(const Value& a, const Value& b) {
    return (Value)((Wrapping<Value>)a + (Wrapping<Value>)b);
  }
};
struct Product {
  static constexpr bool selects = false;
  static constexpr bool averages = false;
  template <class Value>
  static constexpr Value combine(const Value& a, const Value& b) {
    return (Value)((Wrapping<Value>)a * (Wrapping<Value>)b);
  }
};
struct Minimum {
  static constexpr bool selects = true;
  static constexpr bool averages = false;
  template <class Value>
  static constexpr Value combine(const Value& a, const Value& b) {
    return b < a ? b : a;
  }
};
struct Maximum {
  static constexpr bool selects = true;
  static constexpr bool averages = false;
  template <class Value>
  static constexpr Value combine(const Value& a, const Value& b) {
    return a < b ? b : a;
  }
};

/// Calls `act` with the operation for `op`; avg is a sum that the caller divides.
template <class Act>
constexpr void with_operation(ReduceOp op, Act&& act) {
  switch (op) {
    case ReduceOp::none:
      return;
    case ReduceOp::sum:
    case ReduceOp::avg:
      return act(Sum{});
    case ReduceOp::prod:
      return act(Product{});
    case ReduceOp::min:
      return act(Minimum{});
    case ReduceOp::max:
      return act(Maximum{});
  }
}

}  // namespace
}  // namespace colltune
