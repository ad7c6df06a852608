// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "colltune/db/records.h"
#include "schema.h"

namespace colltune::db {

// Failed attempts and quarantines. For transactions see journal.h; every read is checked against
// the counts in `meta`.

/// Returns how many failures the trial has in its sweep.
int record_failure(Connection& connection, const FailureRecord& failure);
[[nodiscard]] std::vector<FailureRecord> read_failures(Connection& connection);

void put_quarantine(Connection& connection, const QuarantineRecord& quarantine);
void release_quarantine(Connection& connection, const TuningKey& key, const Variant& variant,
                        const std::string& released_at);
/// Includes quarantines that were released.
[[nodiscard]] std::vector<QuarantineRecord> read_quarantines(Connection& connection);
[[nodiscard]] std::vector<QuarantineRecord> read_quarantines_in_force(Connection& connection);

}  // namespace colltune::db
