// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "colltune/vocabulary/decision_set.h"
#include "colltune/vocabulary/lookup.h"

namespace colltune {

struct AnswerGroup;

/// An immutable index of the decisions of one generation. Thread-safe.
class DecisionTable {
 public:
  explicit DecisionTable(DecisionSet set);
  ~DecisionTable();

  /// The decisions that it indexes, ordered by key, then family.
  [[nodiscard]] const DecisionSet& set() const { return set_; }
  [[nodiscard]] const Generation& generation() const { return set_.generation; }

  /// Answers `query`. If the query says what the asking members can do, the answer comes from
  /// measurements with exactly these members; else with members that can do no more; else it is the
  /// baseline alone. It never comes from members that can do more. The answer depends on the table
  /// and the query alone.
  ///
  /// If the size was not measured, a fit may change the choice and tells how long it takes:
  /// `prediction`. Between two sizes the choice is the variant that is expected to take the least
  /// of the baseline's time, by what was measured at these, among those shown to be faster: proven
  /// at one, or clearly faster at both where neither has a proof. Outside them it is the winner at
  /// the nearest one, or what the two nearest so show; up to 4 times outside the baseline, if it is
  /// predicted to be clearly faster. Without fits it is the winner at the nearest size.
  ///
  /// Of a number of ranks per node that was not measured, a query with `MatchLevel::other_ranks`,
  /// `ranks_per_node` and no members gets what fits across worlds predict
  /// (colltune/model/fitted/world_fits.h): the variant of the least predicted time among the
  /// baselines and those that were proven with other numbers of ranks.
  ///
  /// Throws Error(invalid_argument) if the query is malformed, or fits several stored worlds (the
  /// message lists them and how to tell them apart). Throws Error(not_found) if nothing fits at the
  /// requested level (the message lists what exists; if only another regime was decided, it says
  /// which, and that regime never answers), or if a pinned generation is not this one.
  /// Throws Error(data_loss) if a ranked variant of the answer names a composition that the table
  /// lacks.
  [[nodiscard]] LookupAnswer find(const LookupQuery& query) const;

  /// The answers to all queries without members and without form, as ranges of sizes: what a table
  /// file holds for its fast lookup (colltune/table_file/table_content.h).
  [[nodiscard]] std::vector<AnswerGroup> answer_groups() const;

 private:
  class Index;
  DecisionSet set_;
  std::unique_ptr<const Index> index_;
};

}  // namespace colltune
