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

#include "colltune/client/local_table.h"
#include "colltune/vocabulary/annotation/annotation.h"
#include "colltune/vocabulary/decision_set.h"
#include "colltune/vocabulary/environment.h"
#include "colltune/vocabulary/error.h"
#include "colltune/vocabulary/lookup.h"

namespace colltune {

/// The answers of a batch: one generation, and one answer or error for each query, in their order.
struct BatchAnswer {
  Generation generation;
  std::vector<std::variant<LookupAnswer, Error>> items;
};

/// The answer to a single question, with the facts of the environment in which it was measured.
struct OnceAnswer : FoundAnswer {
  /// How the environment was chosen and what differs from this machine, for a person; empty if the
  /// query named it or nothing else fits.
  std::string guess;
};

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

  /// One question without a table, for people and their tools. Two processes that ask so may get
  /// unlike answers: ranks of a group open one table instead (fetch_table).
  ///
  /// This call alone guesses an environment: if the query names none and several fit, the one that
  /// is most like this machine, among equals the one that was stored last; `guess` says so.
  /// `generation_digest` belongs to the generation that `query` pins: if the generation of that
  /// number has other content, the call throws Error(failed_precondition). The environment's facts
  /// are lacking if the daemon is of an older version.
  [[nodiscard]] OnceAnswer lookup_once(
      const LookupQuery& query, const std::optional<std::string>& generation_digest = std::nullopt)
      const;
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
  /// The newest generation, as soon as it is another one than `known`; `known` itself if none was
  /// published until `until`. Asks every `pause`, so a generation may be passed over. For
  /// communicators that are made later; those that there are keep their table.
  [[nodiscard]] Generation wait_for_generation(
      const Generation& known, std::chrono::steady_clock::time_point until,
      std::chrono::milliseconds pause = std::chrono::milliseconds(500)) const;
  /// The numbers of the generations that can be pinned, the newest first.
  [[nodiscard]] std::vector<std::uint64_t> generations() const;

  /// Fetches the decisions of the worlds that fit, of `generation` or of the newest one, as a table
  /// of one environment. Throws Error(invalid_argument) that lists the environments if the filter
  /// names none and the decisions are of several.
  [[nodiscard]] LocalTable fetch_table(
      const WorldFilter& filter = {}, const std::optional<std::uint64_t>& generation = std::nullopt)
      const;
  /// The same, of a generation with this content.
  [[nodiscard]] LocalTable fetch_table(const WorldFilter& filter, const Generation& generation)
      const;
  /// Exactly this table. Throws Error(failed_precondition) if the daemon has another one of that
  /// generation and environment. The filter must be that of the table's first fetch, but for the
  /// environment.
  [[nodiscard]] LocalTable fetch_table(const WorldFilter& filter, const TableIdentity& table) const;
  /// On all ranks of a group the table that rank 0 fetches; each rank may have a daemon of its own.
  /// If one of them gets none or another one, all ranks throw an Error that names it.
  [[nodiscard]] LocalTable fetch_table(const WorldFilter& filter, const GroupCalls& group) const;
  /// The decisions of all environments that fit, for tools.
  [[nodiscard]] DecisionSet fetch_decisions(
      const WorldFilter& filter = {}, const std::optional<std::uint64_t>& generation = std::nullopt)
      const;

  /// What the daemon's models say of the collectives of `program`, in their order; at most 10000.
  /// No generation is asked. Throws Error(invalid_argument, failed_precondition or out_of_range)
  /// whose message names the place of what the models refuse ("program.collectives[3]: …").
  [[nodiscard]] std::vector<Annotation> annotate(const AnnotatedProgram& program) const;

 private:
  class Impl;
  struct Pinned;
  [[nodiscard]] BatchAnswer batch(std::span<const LookupQuery> queries, const Pinned& pin) const;
  [[nodiscard]] DecisionSet fetch(const WorldFilter& filter, const Pinned& pin) const;

  std::unique_ptr<Impl> impl_;
};

}  // namespace colltune
