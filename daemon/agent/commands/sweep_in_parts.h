// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "colltune/journal/sweep_journal.h"
#include "colltune/sweep/plan/sweep_plan.h"

namespace colltune {

// A sweep whose keys are measured in a process each (malloc's regime `fresh`): every launch takes
// the next one, and the last one decides.

/// The first cell of `plan` of which nothing is stored; empty: there is none.
[[nodiscard]] std::optional<std::size_t> next_cell(const SweepPlan& plan,
                                                   std::span<const Measurement> stored);

/// `plan` with that cell alone, in one pass, and with its even part of the budget; without one:
/// with no cell.
[[nodiscard]] SweepPlan plan_of_cell(const SweepPlan& plan, std::optional<std::size_t> cell);

/// The journal of the whole sweep for the run of a part.
class PortionJournal final : public Journal {
 public:
  /// Both outlive it.
  PortionJournal(SweepJournal& journal, const SweepPlan& whole) : journal_(journal), whole_(whole) {}
  void begin(const SweepPlan&) override { journal_.begin(whole_); }
  void append(std::span<const Measurement> measurements) override { journal_.append(measurements); }

 private:
  SweepJournal& journal_;
  const SweepPlan& whole_;
};

}  // namespace colltune
