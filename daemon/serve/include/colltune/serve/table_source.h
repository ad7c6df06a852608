// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "colltune/table/decision_table.h"

namespace colltune {

/// The tables that are served: the newest, replaceable while requests run, and a bounded number of
/// older generations for callers that pinned one. Who holds a table keeps it alive. Thread-safe.
class TableSource {
 public:
  using Table = std::shared_ptr<const DecisionTable>;

  /// Keeps at most `kept` generations, the newest included.
  explicit TableSource(std::size_t kept = 8);

  /// Makes `table` the newest. A table of another store drops the older ones: their numbers mean
  /// something else.
  void replace(Table table);

  /// The newest table, or that of a generation. Throws Error(unavailable) while there is none, and
  /// Error(not_found) for a generation that is not held (the message lists those that are).
  [[nodiscard]] Table get(const std::optional<std::uint64_t>& generation = {}) const;

  /// The newest table; null while there is none.
  [[nodiscard]] Table newest() const;
  /// The generations that `get` gives, the newest first.
  [[nodiscard]] std::vector<std::uint64_t> generations() const;

 private:
  const std::size_t kept_;
  mutable std::mutex mutex_;  ///< guards tables_
  std::deque<Table> tables_;  ///< the newest first
};

}  // namespace colltune
