// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#if __cplusplus < 202002L
#error "colltune/client/local_table.h needs C++20: compile with -std=c++20"
#endif

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "colltune/vocabulary/decision_set.h"
#include "colltune/vocabulary/error.h"
#include "colltune/vocabulary/lookup.h"

namespace colltune {

/// Which table it is: what all ranks of a group must have alike.
struct TableIdentity {
  Generation generation;
  std::string environment_digest;
  /// Of the whole content, generation and environment included: 32 hexadecimal digits.
  std::string digest;

  friend bool operator==(const TableIdentity&, const TableIdentity&) = default;
};

/// How the ranks of a group tell each other something. Both functions are called by all ranks in
/// the same order, from the calling thread; they may throw, which ends the call on that rank.
struct GroupCalls {
  int rank = 0;
  int size = 1;
  /// Overwrites `data` with rank 0's, on all ranks.
  std::function<void(void* data, std::size_t bytes)> broadcast;
  /// Puts `bytes` bytes of each rank into `all`, in rank order, on all ranks.
  std::function<void(const void* own, void* all, std::size_t bytes)> all_gather;
};

/// The answer to a lookup for callers that say nothing of their members, as plain data. Times are
/// per call.
struct TableFound {
  static constexpr std::uint32_t no_variant = 0xffffffff;

  std::uint32_t variant = no_variant;   ///< LocalTable::variant(); never none
  std::uint32_t baseline = no_variant;  ///< none: it is not ranked
  bool is_baseline = false;
  Source source = Source::measured;
  Verdict verdict = Verdict::no_baseline;
  DecisionStatus status = DecisionStatus::provisional;
  Bytes size;  ///< the size asked for, rounded to what the calls allow
  std::chrono::nanoseconds time{};
  std::chrono::nanoseconds baseline_time{};  ///< 0 if no baseline is ranked
  /// As LookupAnswer::prediction: bounds of `time` where it was not measured, and the model that
  /// has them; 0 and empty if there is none. Valid as long as a copy of the table is.
  std::chrono::nanoseconds low{};
  std::chrono::nanoseconds high{};
  std::string_view model;

  friend bool operator==(const TableFound&, const TableFound&) = default;
};

/// The decisions of one generation and one environment in this process: a lookup is a memory
/// access. Immutable, thread-safe, cheap to copy. Starts no thread, opens no connection; a forked
/// process may go on using it.
class [[gnu::visibility("default")]] LocalTable {
 public:
  /// Calls that differ only in their message size.
  using Group = std::uint32_t;

  /// Reads a table file (`colltune export table`); needs no daemon. The file may be replaced
  /// meanwhile. Throws Error(failed_precondition) that names the path if it cannot be read, is no
  /// table file or of another version, or has another digest than the one demanded;
  /// Error(data_loss) if it is damaged.
  [[nodiscard]] static LocalTable open(const std::string& path,
                                       const std::optional<std::string>& digest = std::nullopt);
  /// The same on all ranks of a group, each of which reads the file at its own `path`. If one of
  /// them has no file or another one than rank 0, all ranks throw an Error that names it.
  [[nodiscard]] static LocalTable open(const std::string& path, const GroupCalls& group);
  /// The decisions of one environment, as a table. Throws Error(invalid_argument) that lists the
  /// environments if there are several, Error(not_found) if there is no decision.
  [[nodiscard]] static LocalTable of(DecisionSet set);

  [[nodiscard]] TableIdentity identity() const;
  [[nodiscard]] const Generation& generation() const;
  [[nodiscard]] const std::string& environment_digest() const;
  /// Tables with equal digests give equal answers. A file has the digest that its export printed.
  [[nodiscard]] const std::string& digest() const;

  /// Answers as the daemon does. Throws Error(invalid_argument) if the query is malformed or fits
  /// several worlds, Error(not_found) if nothing fits.
  [[nodiscard]] LookupAnswer find(const LookupQuery& query) const;

  /// The calls that `query` names; its message size, members and form do not matter and must be
  /// empty but for the size. Throws as find() does if no size of them has an answer.
  [[nodiscard]] Group resolve(const LookupQuery& query) const;
  /// The answer for calls of `group`, a result of resolve(). Empty if no measured variant can run
  /// this size, or the table has no such group. Takes no lock and no memory.
  [[nodiscard]] std::optional<TableFound> find(Group group, Bytes size) const noexcept;
  /// "name{a=1,b=ring}"; ends with a 0, and is valid as long as a copy of this table is. Empty for
  /// a number that the table does not have.
  [[nodiscard]] std::string_view variant(std::uint32_t number) const noexcept;

  /// The decisions, and what they refer to.
  [[nodiscard]] const DecisionSet& set() const;

 private:
  class Impl;
  explicit LocalTable(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

/// What `open` returns on rank 0, and the same table on all other ranks: there `open` is given what
/// rank 0 has. If it throws on some rank or opens another table, all ranks throw an Error that
/// names these ranks. For groups that open tables in other ways than LocalTable and Client do.
[[nodiscard, gnu::visibility("default")]] LocalTable open_in_group(
    const GroupCalls& group,
    const std::function<LocalTable(const std::optional<TableIdentity>& wanted)>& open);

/// Throws Error(failed_precondition) that names both if `table` is not the one demanded.
[[gnu::visibility("default")]] void demand_digest(const LocalTable& table,
                                                  const std::string& digest,
                                                  const std::string& what);

/// What makes the variants of an answer run in their own libraries, in the order of its ranking.
/// Complete where the answer's environment is known.
[[nodiscard, gnu::visibility("default")]] std::vector<ApplySettings> apply_settings_of(
    const FoundAnswer& found);

}  // namespace colltune
