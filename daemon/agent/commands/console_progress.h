// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdio>

#include "colltune/sweep/passes/sweep.h"

namespace colltune {

/// Shows a person the sweep's progress on stderr: a bar that rewrites itself on a terminal,
/// otherwise a line every few seconds.
class ConsoleProgress final : public SweepObserver {
 public:
  explicit ConsoleProgress(std::FILE* out);

  void begin_cell(const SweepProgress& progress, const Cell& cell) override;
  void end_cell(const SweepProgress& progress, const Cell& cell,
                std::span<const Measurement> measurements) override;

 private:
  std::FILE* out_;
  bool is_terminal_;
  std::chrono::steady_clock::time_point last_line_{};
};

}  // namespace colltune
