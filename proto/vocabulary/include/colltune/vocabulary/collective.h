// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

#include "colltune/vocabulary/bytes.h"
#include "colltune/vocabulary/names.h"

namespace colltune {

/// The collective operations. Stored and sent by name; the numbers never change.
enum class Collective {
  all_reduce = 0,
  all_gather = 1,
  reduce_scatter = 2,  ///< the block form: every rank receives an equal block
  broadcast = 3,
  reduce = 4,
  all_to_all = 5,
  gather = 6,
  scatter = 7,
};
constexpr std::array<Named<Collective>, 8> enum_names(Collective) {
  return {{{Collective::all_reduce, "all_reduce"},
           {Collective::all_gather, "all_gather"},
           {Collective::reduce_scatter, "reduce_scatter"},
           {Collective::broadcast, "broadcast"},
           {Collective::reduce, "reduce"},
           {Collective::all_to_all, "all_to_all"},
           {Collective::gather, "gather"},
           {Collective::scatter, "scatter"}}};
}
constexpr std::string_view enum_title(Collective) { return "collective"; }

/// Element types. Stored and sent by name; the numbers never change. The fp8 types are OCP's.
enum class DataType {
  i8 = 0,
  u8 = 1,
  i32 = 2,
  u32 = 3,
  i64 = 4,
  u64 = 5,
  f16 = 6,
  bf16 = 7,
  f32 = 8,
  f64 = 9,
  f8e4m3 = 10,
  f8e5m2 = 11,
};
constexpr std::array<Named<DataType>, 12> enum_names(DataType) {
  return {{{DataType::i8, "i8"},
           {DataType::u8, "u8"},
           {DataType::i32, "i32"},
           {DataType::u32, "u32"},
           {DataType::i64, "i64"},
           {DataType::u64, "u64"},
           {DataType::f16, "f16"},
           {DataType::bf16, "bf16"},
           {DataType::f32, "f32"},
           {DataType::f64, "f64"},
           {DataType::f8e4m3, "f8e4m3"},
           {DataType::f8e5m2, "f8e5m2"}}};
}
constexpr std::string_view enum_title(DataType) { return "data type"; }

/// Reduction operators; `none` is used by the collectives that only move data. Stored and sent by
/// name.
enum class ReduceOp {
  none = 0,
  sum = 1,
  prod = 2,
  min = 3,
  max = 4,
  avg = 5,  ///< sum divided by the number of ranks; integers truncate towards zero
};
constexpr std::array<Named<ReduceOp>, 6> enum_names(ReduceOp) {
  return {{{ReduceOp::none, "none"},
           {ReduceOp::sum, "sum"},
           {ReduceOp::prod, "prod"},
           {ReduceOp::min, "min"},
           {ReduceOp::max, "max"},
           {ReduceOp::avg, "avg"}}};
}
constexpr std::string_view enum_title(ReduceOp) { return "reduce op"; }

/// Bytes of one element.
[[nodiscard]] std::size_t size_of(DataType type);
[[nodiscard]] bool is_floating(DataType type);

/// How the buffers of a collective relate to the block (the unit of "count"). It is a table, so
/// that no code needs a switch over collectives to size a buffer.
struct BlockLayout {
  bool reduces = false;  ///< takes a ReduceOp
  bool has_root = false;
  bool sends_block_per_rank = false;     ///< the send buffer has a block per rank, else one
  bool receives_block_per_rank = false;  ///< the receive buffer has a block per rank, else one
  bool only_root_sends = false;
  bool only_root_receives = false;

  /// Whether the message has a block per rank; its size is then that of all blocks together.
  [[nodiscard]] constexpr bool has_block_per_rank() const {
    return sends_block_per_rank || receives_block_per_rank;
  }
};
[[nodiscard]] BlockLayout shape_of(Collective collective);

/// nccl-tests' factor from algorithm bandwidth to bus bandwidth (doc/PERFORMANCE.md of
/// NVIDIA/nccl-tests).
[[nodiscard]] double bus_bandwidth_factor(Collective collective, int ranks);

}  // namespace colltune
