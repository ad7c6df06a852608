// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "colltune/vocabulary/environment.h"
#include "colltune/vocabulary/lookup.h"
#include "colltune/vocabulary/world_members.h"

namespace colltune {

/// An immutable index of the decisions of one generation. Thread-safe.
class DecisionTable {
 public:
  /// `environments` pairs digest and facts of those that the decisions name, `members` says what is
  /// known of the worlds that they were measured in, `compositions` holds those that ranked
  /// variants name.
  DecisionTable(Generation generation, std::vector<Decision> decisions,
                std::vector<std::pair<std::string, Environment>> environments,
                std::vector<WorldMembers> members = {}, std::vector<Composition> compositions = {});
  ~DecisionTable();

  [[nodiscard]] const Generation& generation() const;
  [[nodiscard]] std::span<const Decision> decisions() const;
  [[nodiscard]] std::span<const std::pair<std::string, Environment>> environments() const;
  [[nodiscard]] std::span<const WorldMembers> members() const;
  [[nodiscard]] std::span<const Composition> compositions() const;

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
  Generation generation_;
  std::vector<Decision> decisions_;
  std::vector<std::pair<std::string, Environment>> environments_;
  std::vector<WorldMembers> members_;
  std::vector<Composition> compositions_;
  std::unique_ptr<const Index> index_;
};

}  // namespace colltune
