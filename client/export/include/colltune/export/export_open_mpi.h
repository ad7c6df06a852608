// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "colltune/export/open_mpi_rules.h"
#include "colltune/vocabulary/decision_set.h"

namespace colltune {

/// A file of rules for Open MPI, and what it does not say.
struct OpenMpiExport {
  OpenMpiRules rules;
  std::vector<std::string> comment;   ///< where the rules are from, and how to use them
  std::vector<std::string> left_out;  ///< what was decided and has no place in such a file
  int keys = 0;                       ///< decisions that the rules are made of
  int changed = 0;                    ///< of these, with another algorithm than the default
  int not_worth_it = 0;               ///< proven faster, but rules would cost the other sizes more
};

/// The rules that the decisions of family `mpi` say, for communicators of just the measured numbers
/// of ranks. All others, and messages below the smallest and above the largest measured size, keep
/// the library's default: as explicit rules, or, where no rule of a collective names an algorithm,
/// by leaving it out.
///
/// A rule is for all types, operators and layouts of ranks alike. Where keys differ in these alone,
/// it names the algorithm with the least worst regret (its time over the fastest one's, in the key
/// where that is worst) among those that are proven to beat the default in every key, and the
/// default if there is none. Between two measured sizes the border is where the times of the two
/// cross (border_between_rules). scatter has one algorithm for all sizes of a communicator: its
/// ranks do not agree on the size.
///
/// With rules each call of the collective looks through them. The ranks' rules of a collective are
/// written only if over its measured keys they gain more than that costs: 1 % in the geometric
/// mean.
///
/// Throws Error(not_found) if no decision of these is for Open MPI, and Error(invalid_argument) if
/// they are of several environments.
[[nodiscard]] OpenMpiExport export_open_mpi(const DecisionSet& decisions, OpenMpiRelease release);

}  // namespace colltune
