// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "colltune/vocabulary/measurement.h"

namespace colltune {

/// The trial that was in flight when a launch failed, as its ranks recorded it.
struct FailedTrial {
  std::string sweep_uuid;
  std::string key_digest;       ///< as the agent recorded it in its steps
  std::string variant;          ///< printed
  bool variant_is_cut = false;  ///< longer than a record holds, so `variant` is only its beginning
  std::int64_t cell = -1;       ///< index in the sweep's plan

  friend bool operator==(const FailedTrial&, const FailedTrial&) = default;
};

/// Stores which trials failed. Called only between two launches, when no agent holds the database.
/// An exception from it ends the supervision.
class FailureLog {
 public:
  virtual ~FailureLog() = default;
  /// Returns how often this trial has failed so far, including this time. Durable on return.
  [[nodiscard]] virtual int record_failure(const FailedTrial& trial, Outcome outcome,
                                           const std::string& detail) = 0;
  /// From the next launch on, the agent leaves this variant out for this key.
  virtual void quarantine(const FailedTrial& trial, Outcome outcome, const std::string& detail) = 0;
  /// Takes the quarantine back: the failure was not the variant's fault.
  virtual void release(const FailedTrial& trial) = 0;
};

}  // namespace colltune
