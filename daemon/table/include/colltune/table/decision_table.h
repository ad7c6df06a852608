// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "colltune/vocabulary/decision_set.h"
#include "colltune/vocabulary/lookup.h"

namespace colltune {

/// An immutable index of the decisions of one generation. Thread-safe.
class DecisionTable {
 public:
  explicit DecisionTable(DecisionSet set);
  ~DecisionTable();

  /// What it was made of, the decisions ordered by key, then family.
  [[nodiscard]] const DecisionSet& set() const { return set_; }
  [[nodiscard]] const Generation& generation() const { return set_.generation; }

  /// Answers `query`. Where it says what the asking members can do, from what was measured with
  /// just these members, else with members that can do no more, else the baseline alone; never from
  /// members that can do more. The answer depends on the table and the query alone. Throws
  /// Error(invalid_argument) where the query is malformed, or fits several stored worlds (the
  /// message lists them and how to tell them apart); Error(not_found) where nothing fits at the
  /// level asked for (the message lists what is there), or where a pinned generation is not this
  /// one. Error(data_loss) where a ranked variant that is to be answered names a composition that
  /// the table lacks.
  [[nodiscard]] LookupAnswer find(const LookupQuery& query) const;

 private:
  class Index;
  DecisionSet set_;
  std::unique_ptr<const Index> index_;
};

}  // namespace colltune
