// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "colltune/serve/table_source.h"

namespace colltune {

/// Decisions of one table, which it keeps alive.
struct TableSlice {
  TableSource::Table table;
  std::vector<const Decision*> decisions;
  std::vector<const std::pair<std::string, Environment>*> environments;  ///< those they name
  std::vector<const WorldMembers*> members;      ///< of the worlds that their sweeps measured
  std::vector<const Composition*> compositions;  ///< those that their variants name
  std::vector<const VariantFit*> fits;           ///< of the worlds that fit
};

/// One question's outcome within a batch.
using BatchItem = std::variant<LookupAnswer, Error>;

/// What the daemon answers, on plain objects: no transport, no protocol. Thread-safe.
class LookupService {
 public:
  /// The most questions of one batch.
  static constexpr std::size_t largest_batch = 1000;

  explicit LookupService(const TableSource& source) : source_(source) {}

  /// DecisionTable::find in the generation that the query pins, with this content where `digest`
  /// says so, else in the newest.
  [[nodiscard]] FoundAnswer lookup(const LookupQuery& query,
                                   const std::optional<std::string>& digest = {},
                                   bool with_environment = false) const;

  /// The table that a batch is answered from. Throws as TableSource::get does.
  [[nodiscard]] TableSource::Table pin(const std::optional<Pin>& pin) const;
  /// Answers one question of a batch from `table`; a question that pins another generation is an
  /// Error(invalid_argument).
  [[nodiscard]] static BatchItem lookup_in(const DecisionTable& table, const LookupQuery& query);

  /// The decisions of the worlds that fit.
  [[nodiscard]] TableSlice slice(const WorldFilter& filter, const std::optional<Pin>& pin) const;

  [[nodiscard]] const TableSource& source() const { return source_; }

 private:
  const TableSource& source_;
};

/// Throws Error(invalid_argument) for a batch of more than LookupService::largest_batch questions.
void check_batch_size(std::size_t questions);

}  // namespace colltune
