// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "colltune/vocabulary/decision.h"

namespace colltune {

/// "12.34": microseconds, for people.
[[nodiscard]] std::string microseconds(std::chrono::nanoseconds time);
/// "1.82x"; "-" where there is no baseline.
[[nodiscard]] std::string speedup(const RankedVariant& ranked);
/// "baseline", "emulated baseline", or nothing.
[[nodiscard]] std::string note_of(const RankedVariant& ranked);
/// "displaced", "kept", "undecided"; "leads" where a family has no baseline and this is its
/// fastest.
[[nodiscard]] std::string verdict_text(const Decision& decision);
/// "displaced, provisional" or "displaced, confirmed by 5 launches (1.08x, at least 1.04x)".
[[nodiscard]] std::string status_text(const Decision& decision);
/// GB/s of nccl-tests: message size by time.
[[nodiscard]] double algorithm_bandwidth(Bytes size, std::chrono::nanoseconds time);
/// The first digits of a digest or a uuid, enough to tell them apart by eye.
[[nodiscard]] std::string short_form(const std::string& digest);
/// The time now, UTC, ISO 8601 with seconds.
[[nodiscard]] std::string now_utc();
/// The same, so much later.
[[nodiscard]] std::string utc_after(std::chrono::seconds wait);

}  // namespace colltune
