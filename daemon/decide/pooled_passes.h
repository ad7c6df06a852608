// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace colltune {

/// Passes of several sweeps stand side by side: those of sweep i have the numbers from i *
/// pooled_passes on. No sweep has so many.
inline constexpr int pooled_passes = 1 << 16;

/// Of which sweep a pass is.
[[nodiscard]] constexpr int sweep_of_pass(int pass) { return pass / pooled_passes; }

}  // namespace colltune
