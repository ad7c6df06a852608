// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/speed_of_light/strategy.h"

#include <fmt/core.h>

#include <bit>

#include "colltune/vocabulary/problem.h"

namespace colltune::speed_of_light {
namespace {

constexpr Bytes most_of_one_shot{256 << 10};
constexpr Bytes most_of_others{4 << 20};
constexpr int least_generation = 9;  // of CUDA: sm_90

}  // namespace

Limits xla_limits(Strategy strategy) {
  Limits limits;
  limits.min_ranks = 2;
  limits.max_ranks = 8;
  limits.max_message = strategy == Strategy::one_shot ? most_of_one_shot : most_of_others;
  limits.data_types = {DataType::f32, DataType::bf16, DataType::f64, DataType::i32, DataType::i64};
  limits.reduce_ops = {ReduceOp::sum, ReduceOp::prod, ReduceOp::max, ReduceOp::min};
  return limits;
}

std::string why_not_eligible(Strategy strategy, const Call& call, const Device& device,
                             SizeRule sizes) {
  if (strategy == Strategy::standard) return {};
  if (call.kind != EntryKind::all_reduce)
    return fmt::format("XLA has kernels of all_reduce, not of {}", name_of(call.kind));
  if (!call.is_on_one_host) return "its ranks are on several hosts";
  if (!call.has_equal_groups) return "its groups are not equally large";
  if (device.platform == Platform::cuda && device.generation < least_generation)
    return fmt::format("it needs sm_90 or later, or ROCm; this is {}", device.architecture);
  if (device.links <= 0) return "its device has no active links";
  Limits limits = xla_limits(strategy);
  if (sizes == SizeRule::is_ignored) limits.max_message = {};
  Problem problem;
  problem.collective = Collective::all_reduce;
  problem.data_type = call.data_type;
  problem.reduce_op = call.reduce_op;
  problem.message_size = call.message;
  if (std::string why = why_outside(limits, problem, call.ranks); !why.empty()) return why;
  if (!std::has_single_bit(static_cast<unsigned>(call.ranks)))
    return fmt::format("it takes a power of two of ranks, not {}", call.ranks);
  if (strategy == Strategy::multimem && !device.has_multimem)
    return "the device is not said to have multimem";
  return {};
}

Strategy strategy_of_size(Bytes message, bool has_multimem) {
  if (message > xla_limits(Strategy::one_shot).max_message) return Strategy::two_shot;
  return has_multimem ? Strategy::multimem : Strategy::one_shot;
}

}  // namespace colltune::speed_of_light
