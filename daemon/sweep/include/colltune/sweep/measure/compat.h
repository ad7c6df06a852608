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

/// A benchmark whose loop and table are reproduced, so that users who check a number with that
/// benchmark see the same one. Named on the command line.
enum class CompatTool { osu, nccl_tests };
constexpr std::array<Named<CompatTool>, 2> enum_names(CompatTool) {
  return {{{CompatTool::osu, "osu"}, {CompatTool::nccl_tests, "nccl-tests"}}};
}
constexpr std::string_view enum_title(CompatTool) { return "benchmark"; }

/// One variant under one key, timed as the tool would have timed it.
struct CompatTime {
  std::size_t cell = 0;  ///< index in the plan
  std::string variant;   ///< printed
  int iterations = 0;
  double mean_us = 0;   ///< mean over the ranks of each rank's mean per iteration
  double min_us = 0;    ///< the fastest rank's mean
  double max_us = 0;    ///< the slowest rank's mean
  std::string failure;  ///< why there is no time; empty if there is one
};

/// Collective over the launch: runs every variant of every cell in the tool's loop, after one
/// verified call each; rank 0 gets the times. None of a sweep's precautions apply: no interleaving,
/// no rewritten input, no rounds.
///
/// osu (OMB 7.4, c/mpi/collective/blocking): a barrier, then (call, barrier) repeatedly; only the
/// calls are timed and summed. 100 uncounted and 1,000 counted iterations, or 10 and 100 above 8
/// KiB. nccl-tests (src/common.cu, defaults): one call, a barrier, 20 back-to-back calls between
/// two clock reads; the input stays in place (the tool moves it with each call).
[[nodiscard]] std::vector<CompatTime> measure_like(CompatTool tool, Measurer& measurer,
                                                   const SweepPlan& plan, const AbortFlag& stop);

/// The tool's own table, one for each collective, topology and variant.
[[nodiscard]] std::string render_like(CompatTool tool, const SweepPlan& plan,
                                      std::span<const CompatTime> times);

}  // namespace colltune
