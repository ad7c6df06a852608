// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "colltune/vocabulary/lookup.h"

namespace colltune {

/// What makes `ranked`, a variant of a decision for `problem`, run in its own library.
/// `environment` is where it was measured; null if that is not known. Pure.
[[nodiscard]] ApplySettings settings_to_apply(const RankedVariant& ranked, const Problem& problem,
                                              const Environment* environment);

/// The same for all variants of a decision, in their order.
[[nodiscard]] std::vector<ApplySettings> settings_to_apply(const Decision& decision,
                                                           const Environment* environment);

}  // namespace colltune
