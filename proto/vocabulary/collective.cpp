// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/vocabulary/collective.h"

namespace colltune {

std::size_t size_of(DataType type) {
  switch (type) {
    case DataType::i8:
    case DataType::u8:
    case DataType::f8e4m3:
    case DataType::f8e5m2:
      return 1;
    case DataType::f16:
    case DataType::bf16:
      return 2;
    case DataType::i32:
    case DataType::u32:
    case DataType::f32:
      return 4;
    case DataType::i64:
    case DataType::u64:
    case DataType::f64:
      return 8;
  }
  throw Error(StatusCode::internal, "unknown data type");
}

bool is_floating(DataType type) {
  switch (type) {
    case DataType::f16:
    case DataType::bf16:
    case DataType::f32:
    case DataType::f64:
    case DataType::f8e4m3:
    case DataType::f8e5m2:
      return true;
    case DataType::i8:
    case DataType::u8:
    case DataType::i32:
    case DataType::u32:
    case DataType::i64:
    case DataType::u64:
      return false;
  }
  throw Error(StatusCode::internal, "unknown data type");
}

BlockLayout shape_of(Collective collective) {
  switch (collective) {
    case Collective::all_reduce:
      return {.reduces = true};
    case Collective::all_gather:
      return {.receives_block_per_rank = true};
    case Collective::reduce_scatter:
      return {.reduces = true, .sends_block_per_rank = true};
    case Collective::broadcast:
      return {.has_root = true, .only_root_sends = true};
    case Collective::reduce:
      return {.reduces = true, .has_root = true, .only_root_receives = true};
    case Collective::all_to_all:
      return {.sends_block_per_rank = true, .receives_block_per_rank = true};
    case Collective::gather:
      return {.has_root = true, .receives_block_per_rank = true, .only_root_receives = true};
    case Collective::scatter:
      return {.has_root = true, .sends_block_per_rank = true, .only_root_sends = true};
  }
  throw Error(StatusCode::internal, "unknown collective");
}

double bus_bandwidth_factor(Collective collective, int ranks) {
  const double n = ranks;
  switch (collective) {
    case Collective::all_reduce:
      return 2 * (n - 1) / n;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
    case Collective::gather:
    case Collective::scatter:
      return (n - 1) / n;
    case Collective::broadcast:
    case Collective::reduce:
      return 1;
  }
  throw Error(StatusCode::internal, "unknown collective");
}

}  // namespace colltune
