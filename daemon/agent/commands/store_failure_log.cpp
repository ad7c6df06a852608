// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "store_failure_log.h"

#include <algorithm>

#include "colltune/db/store.h"
#include "colltune/journal/sweep_journal.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

struct StoredTrial {
  TuningKey key;
  Variant variant;
};

StoredTrial find_trial(const Store& store, const FailedTrial& trial) {
  const auto key = store.find_key(trial.key_digest);
  if (!key)
    throw Error(StatusCode::not_found, "the trial in flight, " + trial.variant + ", names a key (" +
                                           trial.key_digest + ") that the database does not hold");
  if (trial.variant_is_cut)
    throw Error(StatusCode::failed_precondition,
                "the name of the variant in flight is longer than a flight record holds: " +
                    trial.variant + "…");
  return {*key, parse_variant(trial.variant)};
}

}  // namespace

int StoreFailureLog::record_failure(const FailedTrial& trial, Outcome outcome,
                                    const std::string& detail) {
  Store store(database_);
  const StoredTrial stored = find_trial(store, trial);
  failures_ = store.record_failure({.sweep_uuid = trial.sweep_uuid,
                                    .key = stored.key,
                                    .variant = stored.variant,
                                    .outcome = outcome,
                                    .detail = detail,
                                    .recorded_at = utc_now()});
  return failures_;
}

void StoreFailureLog::quarantine(const FailedTrial& trial, Outcome outcome,
                                 const std::string& detail) {
  Store store(database_);
  const StoredTrial stored = find_trial(store, trial);
  store.quarantine({.key = stored.key,
                    .variant = stored.variant,
                    .failures = std::max(1, failures_),
                    .outcome = outcome,
                    .reason = detail,
                    .since = utc_now(),
                    .released_at = {}});
}

void StoreFailureLog::release(const FailedTrial& trial) {
  Store store(database_);
  const StoredTrial stored = find_trial(store, trial);
  store.release_quarantine(stored.key, stored.variant, utc_now());
}

}  // namespace colltune
