// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "colltune/supervise/failure_log.h"

namespace colltune {

/// Records the supervisor's failures and quarantines in the tuning database. Opens the database for
/// each call and closes it again, since no other process owns it between two launches.
class StoreFailureLog final : public FailureLog {
 public:
  explicit StoreFailureLog(std::filesystem::path database) : database_(std::move(database)) {}

  [[nodiscard]] int record_failure(const FailedTrial& trial, Outcome outcome,
                                   const std::string& detail) override;
  void quarantine(const FailedTrial& trial, Outcome outcome, const std::string& detail) override;
  void release(const FailedTrial& trial) override;

 private:
  std::filesystem::path database_;
  int failures_ = 0;  ///< of the trial recorded last, which is the one quarantined, if any
};

}  // namespace colltune
