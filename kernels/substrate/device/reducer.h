// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "device/device_call.h"
#include "device/packets.h"
#include "isa/operations.h"
#include "typed.h"

namespace colltune::device {

/// What a call's last results are divided by; 0: not at all.
[[nodiscard]] COLLTUNE_DEVICE int divisor_of(const DeviceCall& call) {
  return call.op == ReduceOp::avg ? call.ranks : 0;
}

/// Combines packets of elements of T by Op, from left to right, as reduction.h says: narrow types
/// in float, rounded once; the same bits as on a processor.
template <class T, class Op>
class TypedReducer {
 public:
  using Element = T;
  static constexpr bool is_typed = true;
  static constexpr int elements = packet_bytes / sizeof(T);
  struct Sums {
    colltune::Accumulator<T> values[elements];
  };

  COLLTUNE_DEVICE explicit TypedReducer(const DeviceCall& call) : divisor_(divisor_of(call)) {}
  COLLTUNE_DEVICE explicit TypedReducer(int divisor) : divisor_(divisor) {}

  [[nodiscard]] COLLTUNE_DEVICE Sums first(const Packet& packet) const {
    Sums sums;
    T values[elements];
    __builtin_memcpy(static_cast<void*>(values), &packet, packet_bytes);
    for (int i = 0; i < elements; ++i) sums.values[i] = widen(values[i]);
    return sums;
  }
  COLLTUNE_DEVICE void add(Sums& sums, const Packet& packet) const {
    T values[elements];
    __builtin_memcpy(static_cast<void*>(values), &packet, packet_bytes);
    for (int i = 0; i < elements; ++i)
      sums.values[i] = Op::combine(sums.values[i], widen(values[i]));
  }
  /// `is_last`: the sums hold what all ranks gave.
  [[nodiscard]] COLLTUNE_DEVICE Packet finish(const Sums& sums, bool is_last) const {
    T values[elements];
    for (int i = 0; i < elements; ++i) {
      auto value = sums.values[i];
      if constexpr (Op::averages)
        if (is_last && divisor_ != 0) value = divide(value, divisor_);
      if constexpr (!Op::selects && !std::is_integral_v<decltype(value)>)
        value = value == value ? value : static_cast<decltype(value)>(__builtin_nanf(""));
      if constexpr (is_narrow_float<T>)
        values[i] = round_to<T>(value);
      else
        values[i] = value;
    }
    Packet packet;
    __builtin_memcpy(&packet, values, packet_bytes);
    return packet;
  }

 private:
  [[nodiscard]] COLLTUNE_DEVICE static colltune::Accumulator<T> widen(T value) {
    if constexpr (is_narrow_float<T>)
      return to_float(value);
    else
      return value;
  }
  template <class Value>
  [[nodiscard]] COLLTUNE_DEVICE static Value divide(Value sum, int ranks) {
    return static_cast<Value>(sum / static_cast<std::common_type_t<Value, int>>(ranks));
  }

  int divisor_;
};

/// The same for every type and operator, found out for each packet: one kernel instead of one for
/// each pair. Kernels for the pairs that matter are made of TypedReducer.
class AnyReducer {
 public:
  static constexpr bool is_typed = false;
  struct Sums {
    alignas(16) std::byte bytes[64];  // of 16 floats, the most that there are
  };

  COLLTUNE_DEVICE explicit AnyReducer(const DeviceCall& call)
      : type_(call.type), op_(call.op), divisor_(divisor_of(call)) {}

  [[nodiscard]] COLLTUNE_DEVICE Sums first(const Packet& packet) const {
    Sums sums;
    dispatch([&]<class Reducer>(const Reducer& reducer) {
      ::new (sums.bytes) typename Reducer::Sums(reducer.first(packet));
    });
    return sums;
  }
  COLLTUNE_DEVICE void add(Sums& sums, const Packet& packet) const {
    dispatch([&]<class Reducer>(const Reducer& reducer) {
      reducer.add(reinterpret_cast<typename Reducer::Sums&>(sums.bytes), packet);
    });
  }
  [[nodiscard]] COLLTUNE_DEVICE Packet finish(const Sums& sums, bool is_last) const {
    Packet packet{};
    dispatch([&]<class Reducer>(const Reducer& reducer) {
      packet = reducer.finish(reinterpret_cast<const typename Reducer::Sums&>(sums.bytes), is_last);
    });
    return packet;
  }

 private:
  template <class Act>
  COLLTUNE_DEVICE void dispatch(Act act) const {
    with_element_type(type_, [&]<class T>(T) {
      with_operation(op_, [&]<class Op>(Op) { act(TypedReducer<T, Op>(divisor_)); });
    });
  }

  DataType type_;
  ReduceOp op_;
  int divisor_;
};

/// All ranks' packets, combined in rank order; `input(rank)` reads one.
template <class Reducer, class Input>
[[nodiscard]] COLLTUNE_DEVICE Packet combine_all(const Reducer& reducer, int ranks, Input input) {
  auto sums = reducer.first(input(0));
  for (int rank = 1; rank < ranks; ++rank) reducer.add(sums, input(rank));
  return reducer.finish(sums, true);
}

/// `store(index, ...)` of all ranks' packets, combined in rank order, for the packets of `range`
/// that this thread has to do; `input(rank, index)` reads one. As move_packets: several inputs of a
/// rank are loaded before the first is added.
template <class Context, class Reducer, class Input, class Store>
COLLTUNE_DEVICE void combine_packets(const Context& context, const DeviceCall& call,
                                     const PacketRange& range, const Reducer& reducer, Input input,
                                     Store store) {
  const ThreadPackets own(context, range);
  std::uint64_t index = own.first;
  if constexpr (Context::template packs<Reducer>)
    if (call.packets == most_packets)
      for (; own.has(index, most_packets); index += most_packets * own.stride) {
        typename Reducer::Sums sums[most_packets];
        COLLTUNE_UNROLL
        for (int i = 0; i < most_packets; ++i) sums[i] = reducer.first(input(0, own.at(index, i)));
        for (int rank = 1; rank < call.ranks; ++rank) {
          Packet packets[most_packets];
          COLLTUNE_UNROLL
          for (int i = 0; i < most_packets; ++i) packets[i] = input(rank, own.at(index, i));
          COLLTUNE_UNROLL
          for (int i = 0; i < most_packets; ++i) reducer.add(sums[i], packets[i]);
        }
        COLLTUNE_UNROLL
        for (int i = 0; i < most_packets; ++i)
          store(own.at(index, i), reducer.finish(sums[i], true));
      }
  for (; index < range.last; index += own.stride)
    store(index, combine_all(reducer, call.ranks, [&](int rank) { return input(rank, index); }));
}

}  // namespace colltune::device
