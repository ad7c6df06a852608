// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "colltune/machine/abort_flag.h"
#include "colltune/sweep/measure/measure.h"
#include "colltune/vocabulary/names.h"

namespace colltune {

/// A benchmark whose loop and table are reproduced, so that who checks a number with it sees its
/// own. Named on the command line.
enum class CompatTool { osu, nccl_tests };
constexpr std::array<Named<CompatTool>, 2> enum_names(CompatTool) {
  return {{{CompatTool::osu, "osu"}, {CompatTool::nccl_tests, "nccl-tests"}}};
}
constexpr std::string_view enum_title(CompatTool) { return "benchmark"; }

/// One variant under one key as the tool would have timed it.
struct CompatTime {
  std::size_t cell = 0;  ///< index in the plan
  std::string variant;   ///< printed
  int iterations = 0;
  double mean_us = 0;   ///< over the ranks, of each rank's mean over its iterations
  double min_us = 0;    ///< the fastest rank's mean
  double max_us = 0;    ///< the slowest rank's
  std::string failure;  ///< why there is no time
};

/// Collective over the launch: every variant of every cell, each verified once, in the tool's loop;
/// the times on rank 0. Nothing of a sweep's care: no interleaving, no rewritten input, no rounds.
///
/// osu (OMB 7.4, c/mpi/collective/blocking): a barrier, then (call, barrier) over and over, only
/// the calls timed and summed; 100 + 1,000 of them, 10 + 100 above 8 KiB, the first ones not
/// counted. nccl-tests (src/common.cu, defaults): one call, a barrier, 20 back-to-back calls
/// between two clock reads; the input stays where it is (the tool moves it with each call).
[[nodiscard]] std::vector<CompatTime> measure_like(CompatTool tool, Measurer& measurer,
                                                   const SweepPlan& plan, const AbortFlag& stop);

/// The tool's own table: one for each collective, topology and variant.
[[nodiscard]] std::string render_like(CompatTool tool, const SweepPlan& plan,
                                      std::span<const CompatTime> times);

}  // namespace colltune
