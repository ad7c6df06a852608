// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "colltune/journal/sweep_journal.h"
#include "colltune/sweep/plan/sweep_plan.h"

namespace colltune {

// A sweep that measures each key in a process of its own (malloc's regime `fresh`): every launch
// takes the next key, and the last launch decides.

/// The first cell of `plan` for which nothing is stored; empty: there is none.
[[nodiscard]] std::optional<std::size_t> next_cell(const SweepPlan& plan,
                                                   std::span<const Measurement> stored);

/// `plan` reduced to that cell, in one pass, with its equal part of the budget; to no cell if
/// `cell` is empty.
[[nodiscard]] SweepPlan plan_of_cell(const SweepPlan& plan, std::optional<std::size_t> cell);

/// The journal of the whole sweep, for the run of one part.
class PortionJournal final : public Journal {
 public:
  /// Both outlive this object.
  PortionJournal(SweepJournal& journal, const SweepPlan& whole)
      : journal_(journal), whole_(whole) {}
  void begin(const SweepPlan&) override { journal_.begin(whole_); }
  void append(std::span<const Measurement> measurements) override { journal_.append(measurements); }

 private:
  SweepJournal& journal_;
  const SweepPlan& whole_;
};

}  // namespace colltune
