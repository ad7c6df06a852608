// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "colltune/apply/open_mpi_algorithms.h"
#include "colltune/export/open_mpi_han_rules.h"
#include "colltune/vocabulary/decision_set.h"

namespace colltune {

/// A file of rules for Open MPI's coll/han, and what it does not say.
struct OpenMpiHanExport {
  HanRules rules;
  std::vector<std::string> comment;   ///< where the rules are from, and how to use them
  std::vector<std::string> left_out;  ///< what was decided and has no place in such a file
  int keys = 0;                       ///< decisions that the rules are made of
  int changed = 0;                    ///< of these, with coll/han in place of the default
};

/// The rules that the decisions of family `mpi` for several nodes say: coll/han where it was
/// measured to beat the default, and `self` everywhere else. As no communicator of several ranks
/// has coll/self, that leaves the call to the component before coll/han, which is the default.
/// Every collective that coll/han has gets rules, since it would run one without any.
///
/// Only rules of the whole communicator are written: inside, coll/han runs as it was measured. A
/// rule is for all types, operators and layouts of so many ranks alike. Where keys differ in these
/// alone, it names coll/han only if that is proven to beat the default in every key. Between two
/// measured sizes it changes where the two times cross (border_between_rules).
///
/// Throws Error(not_found) if no decision has measured coll/han, or with another release, and
/// Error(invalid_argument) if they are of several environments, or for a release whose files
/// colltune does not know.
[[nodiscard]] OpenMpiHanExport export_open_mpi_han(const DecisionSet& decisions,
                                                   OpenMpiRelease release);

/// Throws Error(invalid_argument) if colltune does not know that release's files of rules for
/// coll/han.
void require_han_release(OpenMpiRelease release);

}  // namespace colltune
