// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#if __cplusplus < 202002L
#error \
    "colltune/client/client.h needs C++20: compile with -std=c++20, or use the C interface, colltune/client.h"
#endif

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "colltune/vocabulary/environment.h"
#include "colltune/vocabulary/error.h"
#include "colltune/vocabulary/decision_set.h"
#include "colltune/vocabulary/lookup.h"

namespace colltune {

/// The decisions of one generation in this process: a lookup is a memory access. Immutable,
/// thread-safe, cheap to copy.
class [[gnu::visibility("default")]] LocalTable {
 public:
  /// Reads a table file (`colltune export table`); needs no daemon. The file may be replaced
  /// meanwhile. Throws Error(failed_precondition) that names the path if it cannot be read, is no
  /// table file or of another version, Error(data_loss) if it is damaged.
  [[nodiscard]] static LocalTable open(const std::string& path);

  /// Answers as the daemon does. Throws Error(invalid_argument) if the query is malformed or fits
  /// several worlds, Error(not_found) if nothing fits.
  [[nodiscard]] LookupAnswer find(const LookupQuery& query) const;
  [[nodiscard]] const Generation& generation() const;
  /// The decisions, and what they refer to.
  [[nodiscard]] const DecisionSet& set() const;

 private:
  friend class Client;
  class Impl;
  explicit LocalTable(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

/// The answers of a batch: one generation, and one answer or error for each query, in their order.
struct BatchAnswer {
  Generation generation;
  std::vector<std::variant<LookupAnswer, Error>> items;
};

/// What makes the variants of an answer run in their own libraries, in the order of its ranking.
/// Complete where the answer's environment is known.
[[nodiscard, gnu::visibility("default")]] std::vector<ApplySettings> apply_settings_of(
    const FoundAnswer& found);

/// Asks a `colltuned`. Thread-safe. Connects at the first call, and again after the daemon was
/// restarted.
///
/// A forked process must not use its parent's client: its calls throw Error(failed_precondition),
/// and the parent's calls continue.
///
/// Every call ends within the deadline. If it fails, it throws the daemon's own Error, or
/// Error(unavailable) or Error(deadline_exceeded) that names the address.
class [[gnu::visibility("default")]] Client {
 public:
  /// `address` is "unix:/path/to/socket" or "host:port" ("[::1]:50061"). Throws
  /// Error(invalid_argument) for anything else. Does not connect yet.
  explicit Client(const std::string& address,
                  std::chrono::milliseconds deadline = std::chrono::seconds(2));
  ~Client();
  Client(Client &&) noexcept;
  Client& operator=(Client&&) noexcept;

  /// `generation_digest` belongs to the generation that `query` pins: if the generation of that
  /// number has other content, the call throws Error(failed_precondition).
  [[nodiscard]] LookupAnswer lookup(
      const LookupQuery& query,
      const std::optional<std::string>& generation_digest = std::nullopt) const;
  /// The same, with the facts of the answer's environment; without them if the daemon is of an
  /// older version.
  [[nodiscard]] FoundAnswer lookup_with_environment(
      const LookupQuery& query,
      const std::optional<std::string>& generation_digest = std::nullopt) const;
  /// At most 1000 queries, all answered from `generation` or, if it is empty, from the newest.
  [[nodiscard]] BatchAnswer lookup_batch(
      std::span<const LookupQuery> queries,
      const std::optional<std::uint64_t>& generation = std::nullopt) const;
  /// The same, from a generation with this content.
  [[nodiscard]] BatchAnswer lookup_batch(std::span<const LookupQuery> queries,
                                         const Generation& generation) const;
  /// The newest generation with its number and digest. Rank 0 broadcasts it, and then all ranks ask
  /// for exactly this one.
  [[nodiscard]] Generation newest_generation() const;
  /// Fetches the decisions of the worlds that fit, of `generation` or of the newest one.
  [[nodiscard]] LocalTable fetch_table(
      const WorldFilter& filter = {}, const std::optional<std::uint64_t>& generation = std::nullopt)
      const;
  /// The same, of a generation with this content.
  [[nodiscard]] LocalTable fetch_table(const WorldFilter& filter,
                                       const Generation& generation) const;

 private:
  class Impl;
  struct Pinned;
  [[nodiscard]] BatchAnswer batch(std::span<const LookupQuery> queries, const Pinned& pin) const;
  [[nodiscard]] LocalTable fetch(const WorldFilter& filter, const Pinned& pin) const;

  std::unique_ptr<Impl> impl_;
};

}  // namespace colltune
