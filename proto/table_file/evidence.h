// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "colltune/vocabulary/decision_set.h"

namespace colltune {

/// The last section of a table file of that version: all decisions with everything that they say,
/// and the fits.
/// The README describes the form.
[[nodiscard]] std::string encode_evidence(const DecisionSet& set, std::uint32_t version);
/// The inverse. Throws Error(data_loss) that says at which byte it is malformed.
[[nodiscard]] DecisionSet decode_evidence(std::span<const std::byte> bytes, std::uint32_t version);

}  // namespace colltune
