// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "arithmetic/isa/operations.h"
#include "arithmetic/typed.h"
#include "device_call.h"
#include "packets.h"

namespace colltune::device {

/// What a call's final results are divided by; 0: no division.
[[nodiscard]] COLLTUNE_DEVICE int divisor_of(const DeviceCall& call) {
  return call.op == ReduceOp::avg ? call.ranks : 0;
}

/// Converts narrow floating types to and from float by their definition (number_format.h). A GPU
/// uses its own conversions with the same results: cuda_numbers.cuh.
struct PortableNumbers {
  /// `keeps_nans`: the result is one of the inputs.
  template <class T, bool keeps_nans>
  static COLLTUNE_DEVICE void widen(const Packet& packet,
                                    float (&values)[packet_bytes / sizeof(T)]) {
    T elements[packet_bytes / sizeof(T)];
    __builtin_memcpy(static_cast<void*>(elements), &packet, packet_bytes);
    COLLTUNE_UNROLL
    for (std::size_t i = 0; i < packet_bytes / sizeof(T); ++i) values[i] = to_float(elements[i]);
  }
  template <class T, bool keeps_nans>
  [[nodiscard]] static COLLTUNE_DEVICE Packet
  narrow(const float (&values)[packet_bytes / sizeof(T)]) {
    T elements[packet_bytes / sizeof(T)];
    COLLTUNE_UNROLL
    for (std::size_t i = 0; i < packet_bytes / sizeof(T); ++i) {
      float value = values[i];
      if constexpr (!keeps_nans) value = value == value ? value : __builtin_nanf("");
      elements[i] = round_to<T>(value);
    }
    Packet packet;
    __builtin_memcpy(&packet, elements, packet_bytes);
    return packet;
  }
};

/// Combines packets of elements of T by Op, from left to right, as reduction.h specifies: narrow
/// types in float, rounded once. The bits are the same as on a CPU.
template <class T, class Op, class Numbers = PortableNumbers>
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
    widen(packet, sums.values);
    return sums;
  }
  COLLTUNE_DEVICE void add(Sums& sums, const Packet& packet) const {
    colltune::Accumulator<T> values[elements];
    widen(packet, values);
    COLLTUNE_UNROLL
    for (int i = 0; i < elements; ++i) sums.values[i] = Op::combine(sums.values[i], values[i]);
  }
  /// `is_last`: the sums hold the contributions of all ranks.
  [[nodiscard]] COLLTUNE_DEVICE Packet finish(const Sums& sums, bool is_last) const {
    if constexpr (Op::averages)
      if (is_last && divisor_ != 0) return narrow(divided(sums).values);
    return narrow(sums.values);
  }

 private:
  using Value = colltune::Accumulator<T>;

  static COLLTUNE_DEVICE void widen(const Packet& packet, Value (&values)[elements]) {
    if constexpr (is_narrow_float<T>)
      Numbers::template widen<T, Op::selects>(packet, values);
    else
      __builtin_memcpy(values, &packet, packet_bytes);
  }
  [[nodiscard]] static COLLTUNE_DEVICE Packet narrow(const Value (&values)[elements]) {
    if constexpr (is_narrow_float<T>) {
      return Numbers::template narrow<T, Op::selects>(values);
    } else {
      Value results[elements];
      COLLTUNE_UNROLL
      for (int i = 0; i < elements; ++i) {
        results[i] = values[i];
        if constexpr (!Op::selects && !std::is_integral_v<Value>)
          if (results[i] != results[i]) results[i] = static_cast<Value>(__builtin_nanf(""));
      }
      Packet packet;
      __builtin_memcpy(&packet, results, packet_bytes);
      return packet;
    }
  }
  [[nodiscard]] COLLTUNE_DEVICE Sums divided(const Sums& sums) const {
    Sums quotients;
    COLLTUNE_UNROLL
    for (int i = 0; i < elements; ++i)
      quotients.values[i] = static_cast<Value>(
          sums.values[i] / static_cast<std::common_type_t<Value, int>>(divisor_));
    return quotients;
  }

  int divisor_;
};

/// A reducer for every type and operator, which it looks up for each packet: one kernel instead of
/// one for each pair. The pairs that matter have kernels with TypedReducer.
template <class Numbers>
class BasicAnyReducer {
 public:
  static constexpr bool is_typed = false;
  struct Sums {
    alignas(16) std::byte bytes[64];  // 16 floats, the most elements there are
  };

  COLLTUNE_DEVICE explicit BasicAnyReducer(const DeviceCall& call)
      : of_{call.type, call.op, divisor_of(call)} {}

  [[nodiscard]] COLLTUNE_DEVICE Sums first(const Packet& packet) const {
    Sums sums;
    begin(of_, sums, packet);
    return sums;
  }
  COLLTUNE_DEVICE void add(Sums& sums, const Packet& packet) const { combine(of_, sums, packet); }
  [[nodiscard]] COLLTUNE_DEVICE Packet finish(const Sums& sums, bool is_last) const {
    return end(of_, sums, is_last);
  }

 private:
  struct Of {
    DataType type;
    ReduceOp op;
    int divisor;
  };

  static COLLTUNE_DEVICE_CALL void begin(Of of, Sums& sums, Packet packet) {
    dispatch(of, [&]<class Reducer>(const Reducer& reducer) {
      ::new (sums.bytes) typename Reducer::Sums(reducer.first(packet));
    });
  }
  static COLLTUNE_DEVICE_CALL void combine(Of of, Sums& sums, Packet packet) {
    dispatch(of, [&]<class Reducer>(const Reducer& reducer) {
      reducer.add(reinterpret_cast<typename Reducer::Sums&>(sums.bytes), packet);
    });
  }
  [[nodiscard]] static COLLTUNE_DEVICE_CALL Packet end(Of of, const Sums& sums, bool is_last) {
    Packet packet{};
    dispatch(of, [&]<class Reducer>(const Reducer& reducer) {
      packet = reducer.finish(reinterpret_cast<const typename Reducer::Sums&>(sums.bytes), is_last);
    });
    return packet;
  }
  template <class Act>
  static COLLTUNE_DEVICE void dispatch(Of of, Act act) {
    with_element_type(of.type, [&]<class T>(T) {
      with_operation(of.op, [&]<class Op>(Op) { act(TypedReducer<T, Op, Numbers>(of.divisor)); });
    });
  }

  Of of_;
};
using AnyReducer = BasicAnyReducer<PortableNumbers>;

/// All ranks' packets, combined in rank order. `load(rank)` reads one; several ranks are loaded at
/// once if the reducer's code is short enough to be repeated that often.
template <class Reducer, class Load>
[[nodiscard]] COLLTUNE_DEVICE Packet combine_all(const Reducer& reducer, int ranks, Load load) {
  constexpr int at_once = Reducer::is_typed ? ranks_at_once : 1;
  typename Reducer::Sums sums;
  COLLTUNE_NO_UNROLL
  for (int first = 0; first < ranks; first += at_once) {
    Packet packets[at_once];
    COLLTUNE_UNROLL
    for (int i = 0; i < at_once; ++i)
      if (first + i < ranks) packets[i] = load(first + i);
    COLLTUNE_UNROLL
    for (int i = 0; i < at_once; ++i) {
      if (first + i == 0)
        sums = reducer.first(packets[i]);
      else if (first + i < ranks)
        reducer.add(sums, packets[i]);
    }
  }
  return reducer.finish(sums, true);
}

/// Calls `store(index, ...)` with all ranks' packets, combined in rank order, for the packets of
/// `range` that belong to this thread; `input(rank, index)` reads one. As in move_packets, several
/// packets of a rank are loaded before the first is added, unless `may_pack` is false. Packets of
/// several ranks are always loaded together.
template <bool may_pack = true, class Context, class Reducer, class Input, class Store>
COLLTUNE_DEVICE void combine_packets(const Context& context, const DeviceCall& call,
                                     const PacketRange& range, const Reducer& reducer, Input input,
                                     Store store) {
  const ThreadPackets own(context, range);
  std::uint64_t index = own.first;
  if constexpr (may_pack && Context::template packs<Reducer>) {  // braces: see move_packets
    if (call.packets == most_packets)
      for (; own.has(index, most_packets); index += most_packets * own.stride) {
        typename Reducer::Sums sums[most_packets];
        COLLTUNE_UNROLL
        for (int i = 0; i < most_packets; ++i) sums[i] = reducer.first(input(0, own.at(index, i)));
        COLLTUNE_NO_UNROLL
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
  }
  COLLTUNE_NO_UNROLL
  for (; index < range.last; index += own.stride)
    store(index, combine_all(reducer, call.ranks, [&](int rank) { return input(rank, index); }));
}

}  // namespace colltune::device
