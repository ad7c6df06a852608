// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace colltune {

/// When sweeps are pooled, the passes of sweep i are numbered from i * pooled_passes on. No sweep
/// has that many passes.
inline constexpr int pooled_passes = 1 << 16;

/// The sweep that a pass belongs to.
[[nodiscard]] constexpr int sweep_of_pass(int pass) { return pass / pooled_passes; }

}  // namespace colltune
