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

/// The decisions over all families as a table. It is at most 80 columns wide (unless names are
/// longer). With `is_wide` it has the columns that nccl-tests users know: size, count, type, redop,
/// root, in-place, time (us), algbw, busbw (GB/s), verified calls, the probability with which they
/// would have caught a fault in 1 of 1,000 runs, winner, and its speed-up over the baseline ("*",
/// explained below the table, if the baseline is emulated; "-" if there is none). There is one
/// block for each collective and topology. Trials with an outcome other than `ok` follow with their
/// reasons.
[[nodiscard]] std::string render_results(std::span<const Measurement> measurements,
                                         std::span<const Decision> decisions, bool is_wide = false);

/// "batch 71.3 %, verification 4.0 %, …": shares of `elapsed`; the remainder is called "other".
[[nodiscard]] std::string render_shares(const ActivityTimes& activities,
                                        std::chrono::nanoseconds elapsed);

}  // namespace colltune
