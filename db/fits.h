// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "colltune/vocabulary/fits/variant_fit.h"
#include "schema.h"

namespace colltune::db {

/// What a generation says of its fits, so that a lost one is noticed.
struct FitTotals {
  std::int64_t count = 0;
  std::string digest;  ///< over the fits in order of key and variant; empty without fits
};

/// Makes `fits` those of generation `number`, which must be newer than all that are stored. Rows
/// that say the same as in the generation before stay. Error(invalid_argument) for a malformed fit,
/// or two of one variant and key. Must be called in a write transaction.
[[nodiscard]] FitTotals put_fits(Connection& connection, std::int64_t number,
                                 std::vector<VariantFit> fits);

/// The fits of generation `number`, by key and variant, checked against what it says of them.
[[nodiscard]] std::vector<VariantFit> read_fits(Connection& connection, std::int64_t number,
                                                const FitTotals& totals);

}  // namespace colltune::db
