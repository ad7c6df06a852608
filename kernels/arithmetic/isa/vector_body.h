// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The reductions and copies in vectors of `Target::width` bytes: one body that is compiled for
// every vector instruction set, in a separate translation unit with its own compiler flags.
//
// Nothing in such a translation unit may have external linkage except its one `Isa` constant. If
// two translation units emit an inline function, the linker keeps one copy; if that is the copy
// compiled for AVX-512, every caller in the program crashes on processors without it. So all of
// this is in an anonymous namespace, shared templates are instantiated only with types from it
// (which gives the instances internal linkage too), and no function of the standard library is
// called. tests/kernels/arithmetic/isa_leak_check.cmake checks what the object files define.
//
// GCC's vector types have the same operators as numbers, applied element by element, and the
// compiler lowers them to the target's instructions.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "arithmetic/typed.h"
#include "isa.h"
#include "operations.h"
#include "vector.h"
#include "vector_conversion.h"

namespace colltune {
namespace {

/// The divisor that turns sums into averages, if any.
struct Divisor {
  int ranks = 0;  ///< 0: not divided
  int shift = 0;  ///< ranks = 2 ^ shift, or -1

  explicit Divisor(const Reduction& reduction)
      : ranks(reduction.op == ReduceOp::avg ? reduction.ranks : 0),
        shift((ranks & (ranks - 1)) == 0 ? __builtin_ctz(static_cast<unsigned>(ranks | (1 << 30)))
                                         : -1) {}

  /// Divides each element, which represents a T; integers truncate towards zero.
  template <class T, class Values>
  [[gnu::always_inline]] Values divide(Values sums) const {
    if constexpr (std::is_integral_v<T>) {
      using Own = Vector<T, sizeof(Values)>;
      constexpr int bits = 8 * sizeof(T) - (std::is_signed_v<T> ? 1 : 0);
      Own own = (Own)sums;
      if (shift >= 0 && shift < bits) {
        if constexpr (std::is_signed_v<T>) own += (own >> bits) & static_cast<T>(ranks - 1);
        return (Values)(own >> shift);
      }
      divide_elements(own);
      return (Values)own;
    } else {
      // Multiplying by 2 ^ -shift rounds the same exact value as dividing, so it gives the same
      // bits.
      using Lane = std::conditional_t<std::is_same_v<T, double>, double, float>;
      const auto divisor = static_cast<Lane>(ranks);
      return shift >= 0 ? sums * (Lane{1} / divisor) : sums / divisor;
    }
  }

 private:
  /// There is no vector instruction for integer division. Out of line: it is slow anyway.
  template <class Own>
  [[gnu::noinline]] void divide_elements(Own& values) const {
    using T = std::remove_cvref_t<decltype(values[0])>;
    using Common = std::common_type_t<T, int>;
#pragma GCC unroll 1
    for (std::size_t i = 0; i < sizeof(Own) / sizeof(T); ++i)
      values[i] = static_cast<T>(values[i] / static_cast<Common>(ranks));
  }
};

/// Stores whole vectors at one destination.
template <class Target>
struct Writer {
  using Line = Vector<std::uint8_t, Target::width>;
  std::byte* data;
  bool streams;

  /// Writes to the destination from byte `first` on.
  Writer(const Destination& destination, std::size_t first)
      : data(destination.data),
        streams(Target::streams && destination.mode == CopyMode::non_temporal &&
                reinterpret_cast<std::uintptr_t>(data + first) % Target::width == 0) {}

  template <std::size_t lines>
  [[gnu::always_inline]] void write(const Line (&all)[lines], std::size_t at) const {
    if constexpr (Target::streams)
      if (streams)
        return repeat<lines>([&]<std::size_t i>() __attribute__((always_inline)) {
          Target::stream(data + at + i * Target::width, all[i]);
        });
    repeat<lines>([&]<std::size_t i>() __attribute__((always_inline)) {
      __builtin_memcpy(data + at + i * Target::width, &all[i], Target::width);
    });
  }
};

/// Bytes of `element`-sized elements before `data` is aligned for whole vectors; 0 if it can never
/// be.
template <class Target>
std::size_t bytes_to_alignment(const std::byte* data, std::size_t element) {
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(data) % Target::width;
  const std::size_t missing = beyond == 0 ? 0 : Target::width - beyond;
  return missing % element == 0 ? missing : 0;
}

/// Prefetches the lines of `from` that a loop iteration of `size` bytes will read some iterations
/// later. `rest` bytes are readable; what follows is not ours. The processor's prefetchers stop at
/// each page, which costs time when lines come from memory or a distant cache.
constexpr std::size_t asked_ahead = 256;  // bytes; farther gained nothing
template <std::size_t size>
[[gnu::always_inline]] inline void ask_ahead(const std::byte* from, std::size_t rest) {
  constexpr std::size_t line = 64;
  if (rest < asked_ahead + size) return;
  repeat<(size + line - 1) / line>([&]<std::size_t i>() __attribute__((always_inline)) {
    __builtin_prefetch(from + asked_ahead + i * line);
  });
}

/// Below this size, stores that cross cache lines cost less than aligning them.
constexpr std::size_t worth_aligning = 4096;

template <class Target, class T, class Op>
struct VectorReduction {
  static constexpr std::size_t width = Target::width;
  /// Integer operations that wrap use the unsigned type.
  using Plain = typename std::conditional_t<std::is_integral_v<T> && !Op::selects,
                                            std::make_unsigned<T>, std::type_identity<T>>::type;
  using Lane = std::conditional_t<is_narrow_float<T>, float, Plain>;
  using Part = Vector<Lane, width>;
  using Line = typename Writer<Target>::Line;
  /// The number of vectors of lanes that one line of T needs.
  static constexpr std::size_t parts = sizeof(Lane) / sizeof(T);
  struct Values {
    Part part[parts];
  };
  /// Lines per loop iteration: enough independent operations to hide their latency.
  static constexpr std::size_t unrolled = parts == 1 ? 4 : parts == 2 ? 2 : 1;

  [[gnu::always_inline]] static Values load(const std::byte* from) {
    Values values;
    if constexpr (std::is_same_v<T, BFloat16>) {
      using Format = BFloat16Line<Target>;
      Format::widen(load_vector<typename Format::Word>(from), values.part);
    } else if constexpr (is_narrow_float<T>) {
      using Format = Conversion<Target, T>;
      repeat<parts>([&]<std::size_t i>() __attribute__((always_inline)) {
        values.part[i] =
            Format::widen(load_vector<typename Format::Narrow>(from + i * width / parts));
      });
    } else {
      values.part[0] = load_vector<Part>(from);
    }
    return values;
  }

  [[gnu::always_inline]] static void combine(Values& values, const Values& next) {
    repeat<parts>([&]<std::size_t i>() __attribute__((always_inline)) {
      values.part[i] = Op::combine(values.part[i], next.part[i]);
    });
  }

  [[gnu::always_inline]] static Line finish(Values& values, const Divisor& divisor) {
    if constexpr (Op::averages)
      if (divisor.ranks != 0)
        repeat<parts>([&]<std::size_t i>() __attribute__((always_inline)) {
          values.part[i] = divisor.template divide<T>(values.part[i]);
        });
    if constexpr (!Op::selects && !std::is_integral_v<T>)
      repeat<parts>([&]<std::size_t i>() __attribute__((always_inline)) {
        const Part nan = Part{} + static_cast<Lane>(__builtin_nanf(""));
        values.part[i] = values.part[i] == values.part[i] ? values.part[i] : nan;
      });
    if constexpr (std::is_same_v<T, Float16> && Target::converts_float16) {
      using Format = Conversion<Target, T>;
      return (Line)join<std::uint16_t, width / 2>(
          Format::template narrow_by_processor<!Op::selects>(values.part[0]),
          Format::template narrow_by_processor<!Op::selects>(values.part[1]));
    } else if constexpr (std::is_same_v<T, BFloat16>) {
      return (Line)BFloat16Line<Target>::template narrow<!Op::selects>(values.part);
    } else if constexpr (is_narrow_float<T>) {
      typename Lanes<Target>::Word words[parts];
      repeat<parts>([&]<std::size_t i>() __attribute__((always_inline)) {
        words[i] = Conversion<Target, T>::narrow(values.part[i]);
      });
      return Target::Packing::pack(words);
    } else {
      return (Line)values.part[0];
    }
  }

  /// Up to one line, at any offset, on a copy of each source's piece.
  static void reduce_piece(const ReduceCall& call, const Divisor& divisor, std::size_t at,
                           std::size_t size) {
    if (size == sizeof(std::uint64_t)) return reduce_words<1>(call, divisor, at);
    if (size == 2 * sizeof(std::uint64_t)) return reduce_words<2>(call, divisor, at);
    alignas(width) std::byte piece[width] = {};
    copy_less_than<width>(piece, call.sources[0] + at, size);
    Values values = load(piece);
    for (std::size_t source = 1; source < call.number_of_sources; ++source) {
      copy_less_than<width>(piece, call.sources[source] + at, size);
      combine(values, load(piece));
    }
    const Line line = finish(values, divisor);
    __builtin_memcpy(piece, &line, width);
    copy_less_than<width>(call.destination.data + at, piece, size);
    if (call.second.data != nullptr) copy_less_than<width>(call.second.data + at, piece, size);
  }

  /// Words of 8 bytes, which stay in registers. Loading a line right after a store to part of it
  /// waits until that store has left the core's store buffer; the shortest messages would pay for
  /// that once per source (tests/bench/reduction_bench --sizes 8).
  template <std::size_t number>
  [[gnu::always_inline]] static void reduce_words(const ReduceCall& call, const Divisor& divisor,
                                                  std::size_t at) {
    using Words = Vector<std::uint64_t, width>;
    const auto load_words = [&](std::size_t source) __attribute__((always_inline)) {
      Words words{};
      repeat<number>([&]<std::size_t i>() __attribute__((always_inline)) {
        words[i] = load_vector<std::uint64_t>(call.sources[source] + at + i * sizeof words[i]);
      });
      return load(reinterpret_cast<const std::byte*>(&words));
    };
    Values values = load_words(0);
    for (std::size_t source = 1; source < call.number_of_sources; ++source)
      combine(values, load_words(source));
    const auto result = (Words)finish(values, divisor);
    constexpr std::size_t size = number * sizeof(std::uint64_t);
    __builtin_memcpy(call.destination.data + at, &result, size);
    if (call.second.data != nullptr) __builtin_memcpy(call.second.data + at, &result, size);
  }

  /// Reduces `lines` lines from `number` sources, or from `number_of_sources` if `number` is 0.
  template <std::size_t lines, std::size_t number>
  [[gnu::always_inline]] static void reduce_lines(const std::byte* const* sources,
                                                  std::size_t number_of_sources,
                                                  const Divisor& divisor,
                                                  const Writer<Target>& first,
                                                  const Writer<Target>& second, std::size_t at) {
    Values values[lines];
    repeat<lines>([&]<std::size_t i>() __attribute__((always_inline)) {
      values[i] = load(sources[0] + at + i * width);
    });
    const auto add = [&](const std::byte* from) __attribute__((always_inline)) {
      repeat<lines>([&]<std::size_t i>() __attribute__((always_inline)) {
        combine(values[i], load(from + i * width));
      });
    };
    if constexpr (number != 0)
      repeat<number - 1>([&]<std::size_t i>()
                             __attribute__((always_inline)) { add(sources[i + 1] + at); });
    else
      for (std::size_t source = 1; source < number_of_sources; ++source) add(sources[source] + at);
    Line results[lines];
    repeat<lines>([&]<std::size_t i>()
                      __attribute__((always_inline)) { results[i] = finish(values[i], divisor); });
    first.write(results, at);
    if (second.data != nullptr) second.write(results, at);
  }

  template <std::size_t number>
  static void reduce_all(const ReduceCall& call) {
    const Divisor divisor(call.reduction);
    const std::size_t size = call.count * sizeof(T);
    if (size < width) return reduce_piece(call, divisor, 0, size);
    std::size_t at = 0;
    if (size >= worth_aligning) at = bytes_to_alignment<Target>(call.destination.data, sizeof(T));
    if (at != 0) reduce_piece(call, divisor, 0, at);

    const Writer<Target> first(call.destination, at);
    const Writer<Target> second(call.second, at);
    // Local copies: the compiler must assume that stores through std::byte* change the originals.
    const std::byte* named[number == 0 ? 1 : number];
    for (std::size_t i = 0; i < number; ++i) named[i] = call.sources[i];
    const std::byte* const* const sources = number == 0 ? call.sources : named;
    const std::size_t number_of_sources = call.number_of_sources;
    for (; size - at >= unrolled * width; at += unrolled * width) {
      for (std::size_t i = 0; i < (number == 0 ? number_of_sources : number); ++i)
        ask_ahead<unrolled * width>(sources[i] + at, size - at);
      reduce_lines<unrolled, number>(sources, number_of_sources, divisor, first, second, at);
    }
    if constexpr (unrolled > 1)
      for (; size - at >= width; at += width)
        reduce_lines<1, number>(sources, number_of_sources, divisor, first, second, at);
    if (at < size) reduce_piece(call, divisor, at, size - at);
  }

  /// Whether two sources have their own body; each such body adds compile time. Compared with the
  /// body for any number, with sources in the L1 cache, it is 1.2 to 2 times as fast if a line
  /// needs no conversion, 1.05 to 1.17 times for sums of f16 and bf16 in AVX2, and 1.03 to 1.16
  /// times for fp8. A body for three sources was mostly 1.0 to 1.2 times as fast, for plain types
  /// of 1 KiB 1.2 to 1.5 times, from 64 KiB on at most 1.13 (1 to 8 KiB unless a size is given,
  /// AVX2 and AVX-512 of a loaded Intel VM, processor time, lower quartiles of 15 rounds in turn).
  static constexpr bool has_body_for_two =
      !is_narrow_float<T> || (Op::averages && sizeof(T) == sizeof(Float16));

  static void reduce(const ReduceCall& call) {
    if constexpr (has_body_for_two)
      if (call.number_of_sources == 2) return reduce_all<2>(call);
    reduce_all<0>(call);
  }
};

template <class Target>
void vector_reduce(const ReduceCall& call) noexcept {
  with_element_type(call.reduction.type, [&]<class T>(T) {
    with_operation(call.reduction.op, [&]<class Op>(Op) {
      // Operations that wrap and never divide give the same bits for signed and unsigned integers.
      using Element =
          typename std::conditional_t<std::is_integral_v<T> && !Op::selects && !Op::averages,
                                      std::make_unsigned<T>, std::type_identity<T>>::type;
      VectorReduction<Target, Element, Op>::reduce(call);
    });
  });
}

template <class Target>
void vector_copy(std::byte* destination, const std::byte* source, std::size_t size,
                 CopyMode mode) noexcept {
  using Line = typename Writer<Target>::Line;
  constexpr std::size_t width = Target::width;
  constexpr std::size_t unrolled = 4;
  std::size_t at = 0;
  if (size >= worth_aligning) at = bytes_to_alignment<Target>(destination, 1);
  copy_less_than<width>(destination, source, at);
  const Writer<Target> writer({destination, mode}, at);
  const auto copy_lines = [&]<std::size_t lines>() __attribute__((always_inline)) {
    Line loaded[lines];
    repeat<lines>([&]<std::size_t i>() __attribute__((always_inline)) {
      loaded[i] = load_vector<Line>(source + at + i * width);
    });
    writer.write(loaded, at);
    at += lines * width;
  };
  while (size - at >= unrolled * width) {
    ask_ahead<unrolled * width>(source + at, size - at);
    copy_lines.template operator()<unrolled>();
  }
  while (size - at >= width) copy_lines.template operator()<1>();
  copy_less_than<width>(destination + at, source + at, size - at);
}

}  // namespace
}  // namespace colltune
