// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "colltune/db/records.h"
#include "colltune/vocabulary/measurement.h"

namespace colltune {

/// The tuning database opened by its one owner, who alone writes and checkpoints. A second owner is
/// refused at once (Error(failed_precondition) that says who holds it: process, host, since when).
/// Not thread-safe.
///
/// Every call that writes is one durable transaction: when it returns, a kill or a power cut loses
/// nothing of it; when it throws, nothing of it is there. A full disk is Error(resource_exhausted)
/// and leaves the file whole.
class Store {
 public:
  /// Opens `path`, or creates it. Migrates an older file after a backup beside it. Throws
  /// Error(failed_precondition) for a file that is not ours, is newer, or lies on a network file
  /// system; Error(data_loss) for a damaged one.
  explicit Store(const std::filesystem::path& path);
  ~Store();
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;

  [[nodiscard]] const std::string& uuid() const;

  /// Adds the environment where it is not there yet; returns its digest.
  std::string put_environment(const Environment& environment);
  void begin_sweep(const SweepRecord& sweep);
  /// Appends finished trials of `sweep_uuid`: the journal. A trial (key, variant) that the sweep
  /// already has is Error(already_exists).
  void append(const std::string& sweep_uuid, std::span<const Measurement> measurements);
  /// The newest sweep of exactly this configuration, environment and launch that is running (it was
  /// killed: its owner would hold the database) or partial; the same command continues it. Empty
  /// where there is none, or where a later sweep of exactly these is complete: what the older one
  /// lacks was measured since.
  [[nodiscard]] std::optional<SweepRecord> unfinished_sweep(const std::string& configuration,
                                                            const std::string& environment_digest,
                                                            const std::string& launch) const;
  /// Makes a sweep that ended early running again. Error(failed_precondition) where it is complete.
  void resume_sweep(const std::string& sweep_uuid);
  void finish_sweep(const std::string& sweep_uuid, SweepState state, const std::string& finished_at,
                    const std::string& summary);
  [[nodiscard]] std::vector<Measurement> measurements(const std::string& sweep_uuid) const;

  /// Stores keys before anything is measured under them, so that `find_key` knows them.
  void put_keys(std::span<const TuningKey> keys);
  /// The key with that digest (digest_of_value); empty where none is stored.
  [[nodiscard]] std::optional<TuningKey> find_key(const std::string& digest) const;
  /// Returns how often this trial (key, variant) has failed in this sweep, this time included.
  /// Error(failed_precondition) where the sweep is complete or the key's environment not stored.
  int record_failure(const FailureRecord& failure);
  /// Puts a variant into quarantine for a key. Where it is there already, `since` stays and the
  /// rest is brought up to date.
  void quarantine(const QuarantineRecord& quarantine);
  /// Error(not_found) where no such quarantine is in force.
  void release_quarantine(const TuningKey& key, const Variant& variant,
                          const std::string& released_at);
  /// Those in force, oldest first.
  [[nodiscard]] std::vector<QuarantineRecord> quarantines() const;

  /// What the members of the world `topology` that the sweep measures can do. The same again
  /// changes nothing; other members for the same sweep and topology are Error(already_exists),
  /// since its measurements would then be of unlike members. Error(not_found) where the sweep is
  /// not stored, Error(invalid_argument) where `members` is malformed (check) or has not as many
  /// ranks as the topology.
  void note_members(const std::string& sweep_uuid, const Topology& topology,
                    const Members& members);
  /// Stores what variants' parameters `parts` name (parts_name). The same again changes nothing.
  void note_compositions(std::span<const Composition> compositions);

  /// Publishes a generation: `decisions` replace those of equal key and family, all others are
  /// carried over. A decision that names a variant which is quarantined for its key is
  /// Error(failed_precondition); one that is carried over goes on without it
  /// (without_quarantined). One that ranks a variant whose composition is not stored is
  /// Error(failed_precondition), too: note_compositions comes first. Then writes the immutable
  /// snapshot that readers open, by a rename. Where only that fails, the generation is stored, the
  /// Error says so, and the next call or owner writes it.
  Generation publish(std::span<const Decision> decisions, const std::string& published_at);

  /// Publishes a generation with exactly the decisions of generation `number`, without what was
  /// quarantined since: the way back. Numbers go on. Error(not_found) where there is no such
  /// generation, Error(failed_precondition) where it is the newest. The snapshot as above.
  Generation publish_again(std::uint64_t number, const std::string& published_at);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// A database file opened for reading, beside its owner or without one. Checks what it reads: a row
/// whose checksum does not fit is Error(data_loss) that names table and row. Not thread-safe.
class StoreReader {
 public:
  explicit StoreReader(const std::filesystem::path& path);
  ~StoreReader();
  StoreReader(StoreReader&&) noexcept;
  StoreReader& operator=(StoreReader&&) noexcept;

  [[nodiscard]] const std::string& store_uuid() const;
  /// What was left out of the measurements that were read so far.
  [[nodiscard]] const LeftOut& left_out() const;
  [[nodiscard]] std::vector<SweepRecord> sweeps() const;
  [[nodiscard]] std::vector<EnvironmentRecord> environments() const;
  /// All measurements, or those of one sweep, in the order in which they were appended; without
  /// those that break the vocabulary's limits, which left_out() counts.
  [[nodiscard]] std::vector<Measurement> measurements(
      const std::optional<std::string>& sweep_uuid = {}) const;
  /// Failed attempts, in the order in which they were recorded.
  [[nodiscard]] std::vector<FailureRecord> failures() const;
  /// Quarantines in force, oldest first.
  [[nodiscard]] std::vector<QuarantineRecord> quarantines() const;
  /// The same and those that were released.
  [[nodiscard]] std::vector<QuarantineRecord> quarantine_history() const;
  /// What the members of the worlds that the sweep measured can do, in the order in which it was
  /// noted; empty where nothing was, or there is no such sweep.
  [[nodiscard]] std::vector<WorldMembers> members(const std::string& sweep_uuid) const;
  /// All compositions, in the order in which they were noted.
  [[nodiscard]] std::vector<Composition> compositions() const;
  /// All generations, oldest first; empty where nothing is published.
  [[nodiscard]] std::vector<GenerationRecord> generations() const;
  /// The newest generation, or that very one. Throws Error(not_found) where there is none.
  [[nodiscard]] PublishedTable published(const std::optional<std::uint64_t>& generation = {}) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Where `publish` on the database at `path` leaves its newest snapshot: readers that serve open
/// this file, never the live one.
[[nodiscard]] std::filesystem::path snapshot_path(const std::filesystem::path& path);

}  // namespace colltune
