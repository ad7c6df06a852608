// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "colltune/vocabulary/decision_set.h"

namespace colltune {

/// Variables for torchcomms' ring all_reduce, and what they are made of.
struct CtranRingExport {
  std::string text;                ///< lines of a POSIX shell: `export NAME=value` and comments
  std::set<std::string> left_out;  ///< why decisions have no part in it, and what is not set
  int keys = 0;                    ///< decisions that it is made of
  int won = 0;                     ///< of these, whose own winner it is
};

/// The parameters of colltune's ring all_reduce on GPUs (`cuda.all_reduce_ring`, also both ways) as
/// the variables of its counterpart in torchcomms, ctring. The two share the algorithm and what its
/// parameters mean, not the code: the values are a start that was measured with another kernel.
///
/// Made of the decisions of family `colltune` whose winner is that ring. The variables hold for all
/// sizes of a process, so of the ring's variants that were measured in all these keys the one with
/// the least worst regret among them is written.
///
/// Throws Error(not_found) with the reason if that ring won nowhere, or if no variant of it was
/// measured in all keys that it won; Error(invalid_argument) if several environments are left.
[[nodiscard]] CtranRingExport export_ctran_ring(const DecisionSet& set);

}  // namespace colltune
