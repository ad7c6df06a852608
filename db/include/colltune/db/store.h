// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "colltune/db/records.h"
#include "colltune/vocabulary/fits/variant_fit.h"
#include "colltune/vocabulary/measurement.h"

namespace colltune {

/// What models make of all decisions of a generation. It must depend on them, and on what is known
/// of their variants, alone.
using FitMaker = std::function<std::vector<VariantFit>(std::span<const Decision>)>;

/// The tuning database, opened by its only owner, which alone writes and checkpoints. A second
/// owner is refused at once with Error(failed_precondition), which names the holder: process, host,
/// since when. Not thread-safe.
///
/// Every call that writes is one durable transaction. Once it returns, neither a kill nor a power
/// cut loses any of it. If it throws, none of it is stored. A full disk gives
/// Error(resource_exhausted) and leaves the file intact.
class Store {
 public:
  /// Opens `path`, or creates it. Migrates an older file after making a backup next to it. Throws
  /// Error(failed_precondition) for a file that is not a tuning database, is newer, or lies on a
  /// network file system; Error(data_loss) for a damaged one.
  explicit Store(const std::filesystem::path& path);
  ~Store();
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;

  [[nodiscard]] const std::string& uuid() const;

  /// Adds the environment unless it is stored already; returns its digest.
  std::string put_environment(const Environment& environment);
  void begin_sweep(const SweepRecord& sweep);
  /// Appends finished trials of `sweep_uuid` to the journal. Error(already_exists) for a trial
  /// (key, variant) that the sweep already has.
  void append(const std::string& sweep_uuid, std::span<const Measurement> measurements);
  /// The newest sweep of exactly this configuration, environment, provenance and launch that is
  /// running or partial; the same command continues it. A running one was killed, since a live
  /// owner would hold the database. Empty if there is none, or if a later sweep of exactly these is
  /// complete: what the older one lacks was measured since.
  [[nodiscard]] std::optional<SweepRecord> unfinished_sweep(const std::string& configuration,
                                                            const std::string& environment_digest,
                                                            const Provenance& provenance,
                                                            const std::string& launch) const;
  /// Sets a sweep that ended early to running again. Error(failed_precondition) if it is complete.
  void resume_sweep(const std::string& sweep_uuid);
  void finish_sweep(const std::string& sweep_uuid, SweepState state, const std::string& finished_at,
                    const std::string& summary);
  [[nodiscard]] std::vector<Measurement> measurements(const std::string& sweep_uuid) const;

  /// Stores keys before anything is measured under them, so that `find_key` finds them.
  void put_keys(std::span<const TuningKey> keys);
  /// The key with that digest (digest_of_value); empty if none is stored.
  [[nodiscard]] std::optional<TuningKey> find_key(const std::string& digest) const;
  /// Returns how often this trial (key, variant) has failed in this sweep, including this time.
  /// Error(failed_precondition) if the sweep is complete or the key's environment is not stored.
  int record_failure(const FailureRecord& failure);
  /// Quarantines a variant for a key. If it already is quarantined, `since` stays and the other
  /// fields are updated.
  void quarantine(const QuarantineRecord& quarantine);
  /// Error(not_found) if no such quarantine is in force.
  void release_quarantine(const TuningKey& key, const Variant& variant,
                          const std::string& released_at);
  /// Quarantines in force, oldest first.
  [[nodiscard]] std::vector<QuarantineRecord> quarantines() const;

  /// Stores what the members of the world `topology`, which the sweep measures, can do. Repeating
  /// the call with the same members changes nothing. Other members for the same sweep and topology
  /// give Error(already_exists), since its measurements would then mix different members.
  /// Error(not_found) if the sweep is not stored; Error(invalid_argument) if `members` is malformed
  /// (check) or has another number of ranks than the topology.
  void note_members(const std::string& sweep_uuid, const Topology& topology,
                    const Members& members);
  /// Stores the compositions that variants name in the parameter `parts` (parts_name). Repeating
  /// the call with the same compositions changes nothing.
  void note_compositions(std::span<const Composition> compositions);

  /// Publishes a generation: `decisions` replace those of equal key and family, and all others are
  /// carried over. Error(failed_precondition) if a decision names a variant that is quarantined for
  /// its key; a decision that is carried over loses that variant instead (without_quarantined).
  /// Error(failed_precondition) also if a decision ranks a variant whose composition is not stored:
  /// call note_compositions first. `fits_of` is called once, in the transaction, with all decisions
  /// that the generation gets, and what it returns is stored with them; without it the generation
  /// has no fits. Then writes the immutable snapshot that readers open and renames it into place.
  /// If only that fails, the generation is stored, the Error says so, and the next call or the next
  /// owner writes the snapshot.
  Generation publish(std::span<const Decision> decisions, const std::string& published_at,
                     const FitMaker& fits_of = {});

  /// Rolls back: publishes a generation with exactly the decisions of generation `number`, except
  /// for variants quarantined since. Numbers keep growing. Error(not_found) if there is no such
  /// generation, Error(failed_precondition) if it is the newest. Fits and snapshot are made as by
  /// publish.
  Generation publish_again(std::uint64_t number, const std::string& published_at,
                           const FitMaker& fits_of = {});

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// A database file opened for reading, with or without an owner at the same time. It checks what it
/// reads: a row whose checksum does not match gives Error(data_loss) that names table and row. Not
/// thread-safe.
class StoreReader {
 public:
  explicit StoreReader(const std::filesystem::path& path);
  ~StoreReader();
  StoreReader(StoreReader&&) noexcept;
  StoreReader& operator=(StoreReader&&) noexcept;

  [[nodiscard]] const std::string& store_uuid() const;
  /// What was left out of the measurements read so far.
  [[nodiscard]] const LeftOut& left_out() const;
  [[nodiscard]] std::vector<SweepRecord> sweeps() const;
  [[nodiscard]] std::vector<EnvironmentRecord> environments() const;
  /// All measurements, or those of one sweep, in the order in which they were appended. Those that
  /// violate the vocabulary's limits are left out and counted by left_out().
  [[nodiscard]] std::vector<Measurement> measurements(
      const std::optional<std::string>& sweep_uuid = {}) const;
  /// Failed attempts, in the order in which they were recorded.
  [[nodiscard]] std::vector<FailureRecord> failures() const;
  /// Quarantines in force, oldest first.
  [[nodiscard]] std::vector<QuarantineRecord> quarantines() const;
  /// All quarantines, including released ones.
  [[nodiscard]] std::vector<QuarantineRecord> quarantine_history() const;
  /// What the members of the worlds that the sweep measured can do, in the order in which it was
  /// stored; empty if nothing was stored or there is no such sweep.
  [[nodiscard]] std::vector<WorldMembers> members(const std::string& sweep_uuid) const;
  /// All compositions, in the order in which they were stored.
  [[nodiscard]] std::vector<Composition> compositions() const;
  /// All generations, oldest first; empty if nothing is published.
  [[nodiscard]] std::vector<GenerationRecord> generations() const;
  /// The newest generation, or the requested one. Throws Error(not_found) if there is none.
  [[nodiscard]] PublishedTable published(const std::optional<std::uint64_t>& generation = {}) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Where `publish` writes the newest snapshot of the database at `path`. Readers that serve open
/// this file, never the live one.
[[nodiscard]] std::filesystem::path snapshot_path(const std::filesystem::path& path);
/// Whether a file is named as snapshots are: it is never changed, only replaced.
[[nodiscard]] bool is_named_as_snapshot(const std::filesystem::path& path);

}  // namespace colltune
