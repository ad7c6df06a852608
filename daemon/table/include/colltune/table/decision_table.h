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

namespace colltune {

/// An immutable index of the decisions of one generation. Thread-safe.
class DecisionTable {
 public:
  /// `environments` pairs digest and facts of those that the decisions name.
  DecisionTable(Generation generation, std::vector<Decision> decisions,
                std::vector<std::pair<std::string, Environment>> environments);
  ~DecisionTable();

  [[nodiscard]] const Generation& generation() const;
  [[nodiscard]] std::span<const Decision> decisions() const;
  [[nodiscard]] std::span<const std::pair<std::string, Environment>> environments() const;

  /// Answers `query`. Throws Error(invalid_argument) where the query is malformed, or fits several
  /// stored worlds (the message lists them and how to tell them apart); Error(not_found) where
  /// nothing fits at the level asked for (the message lists what is there), or where a pinned
  /// generation is not this one.
  [[nodiscard]] LookupAnswer find(const LookupQuery& query) const;

 private:
  class Index;
  Generation generation_;
  std::vector<Decision> decisions_;
  std::vector<std::pair<std::string, Environment>> environments_;
  std::unique_ptr<const Index> index_;
};

}  // namespace colltune
