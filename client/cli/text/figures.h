// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "colltune/vocabulary/decision.h"

namespace colltune {

/// Microseconds for people, for example "12.34".
[[nodiscard]] std::string microseconds(std::chrono::nanoseconds time);
/// For example "1.82x"; "-" if there is no baseline.
[[nodiscard]] std::string speedup(const RankedVariant& ranked);
/// "baseline", "emulated baseline", or nothing.
[[nodiscard]] std::string note_of(const RankedVariant& ranked);
/// "displaced", "kept" or "undecided"; "fastest" if a family has no baseline and this is its
/// fastest variant.
[[nodiscard]] std::string verdict_text(const Decision& decision);
/// "displaced, provisional" or "displaced, confirmed by 5 launches (1.08x, at least 1.04x)".
[[nodiscard]] std::string status_text(const Decision& decision);
/// The algorithm bandwidth of nccl-tests in GB/s: message size divided by time.
[[nodiscard]] double algorithm_bandwidth(Bytes size, std::chrono::nanoseconds time);
/// The first digits of a digest or a uuid, enough to tell them apart by eye.
[[nodiscard]] std::string short_form(const std::string& digest);
/// The current time: UTC, ISO 8601 with seconds.
[[nodiscard]] std::string now_utc();
/// The same, later by `wait`.
[[nodiscard]] std::string utc_after(std::chrono::seconds wait);

}  // namespace colltune
