// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "colltune/export/nccl_csv.h"
#include "colltune/vocabulary/decision_set.h"

namespace colltune {

/// A file for NVIDIA's example tuner plug-in, and what it does not say.
struct NcclExport {
  std::vector<NcclCsvRule> rules;
  std::vector<std::string> comment;
  std::vector<std::string> left_out;  ///< what was decided and has no place in such a file
  int keys = 0;                       ///< decisions that the rules are made of
  int displaced = 0;                  ///< of these, whose winner is named
};

/// The rules that the decisions of family `nccl` say, for communicators of just the measured
/// numbers of nodes and ranks, and for all sizes there: those beyond the measured ones follow the
/// nearest.
///
/// The file cannot leave a call to NCCL: one without a line runs on one channel. So where NCCL's
/// own choice stays, a line names the fastest forced choice that is not slower than it by more than
/// the margin of decisions. A line is for all types and operators alike; where keys differ in these
/// alone, it names what is proven for all, by the least worst regret.
///
/// Throws Error(not_found) with the reason if no decision is for such a plug-in, if none displaced
/// NCCL's own choice, or if that must stay and no forced choice is as fast.
[[nodiscard]] NcclExport export_nccl(const DecisionSet& set);

}  // namespace colltune
