// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "colltune/table/decision_table.h"

namespace colltune {

/// A generation that a caller wants, and no other. A database that was restored from a copy may
/// give a number to another content: the digest tells them apart.
struct Pin {
  std::uint64_t number = 0;
  std::optional<std::string> digest{};  ///< Generation::content_digest

  Pin(std::uint64_t number_, std::optional<std::string> digest_ = {})  // NOLINT: a number is a pin
      : number(number_), digest(std::move(digest_)) {}
};

/// The tables that are served: the newest, replaceable while requests run, and a bounded number of
/// older generations for callers that pinned one. Who holds a table keeps it alive. Thread-safe.
class TableSource {
 public:
  using Table = std::shared_ptr<const DecisionTable>;

  /// Keeps at most `kept` generations, the newest included.
  explicit TableSource(std::size_t kept = 8);

  /// Makes `table` the newest. A table of another store drops the older ones: their numbers mean
  /// something else. One with the number of an older one and another content stands beside it.
  void replace(Table table);

  /// The newest table, or that of a generation. Throws Error(unavailable) while there is none,
  /// Error(not_found) for a generation that is not held (the message lists those that are), and
  /// Error(failed_precondition) for one whose content is another than the pin's, or of whose number
  /// there were two while the pin has no digest: nobody gets another table than he pinned.
  [[nodiscard]] Table get(const std::optional<Pin>& pin = {}) const;

  /// The newest table; null while there is none.
  [[nodiscard]] Table newest() const;
  /// The generations that `get` gives, the newest first.
  [[nodiscard]] std::vector<std::uint64_t> generations() const;

 private:
  const std::size_t kept_;
  mutable std::mutex mutex_;  ///< guards the next two
  std::deque<Table> tables_;  ///< the newest first
  /// With which content each number was served first, and whether it was with another one since.
  struct Served {
    std::string digest;
    bool is_ambiguous = false;
  };
  std::map<std::uint64_t, Served> served_;
};

}  // namespace colltune
