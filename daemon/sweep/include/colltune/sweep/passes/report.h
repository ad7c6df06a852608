// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>

#include "colltune/sweep/measure/measure.h"
#include "colltune/vocabulary/decision.h"
#include "colltune/vocabulary/measurement.h"

namespace colltune {

/// The decisions over all families as a table of 80 columns at most (but for names that are
/// longer), or, `is_wide`, in the columns that nccl-tests users know: size, count, type, redop,
/// root, in-place, time (us), algbw, busbw (GB/s), verified calls, the probability with which they
/// would have caught a fault in 1 of 1,000 runs, winner and its speed-up over the baseline ("*",
/// explained below the table, where the baseline is emulated, "-" where there is none); one block
/// for each collective and topology. Trials that ended otherwise than `ok` follow with their
/// reason.
[[nodiscard]] std::string render_results(std::span<const Measurement> measurements,
                                         std::span<const Decision> decisions, bool is_wide = false);

/// "batch 71.3 %, verification 4.0 %, …": the shares of `elapsed`; what is left is "other".
[[nodiscard]] std::string render_shares(const PhaseTimes& phases, std::chrono::nanoseconds elapsed);

}  // namespace colltune
