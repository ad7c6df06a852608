// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "fits.h"

#include <map>
#include <optional>
#include <utility>

#include "colltune/vocabulary/canonical.h"
#include "colltune/vocabulary/field_limits.h"
#include "journal.h"
#include "sqlite/columns.h"

namespace colltune::db {
namespace {

/// A fit with the generations that contain it: from valid_from up to, but not including, valid_to.
struct StoredFit {
  std::int64_t id = 0;
  std::int64_t key_id = 0;
  VariantFit fit;
  std::int64_t valid_from = 0;
  std::optional<std::int64_t> valid_to;
};
using FitPlace = std::pair<TuningKey, Variant>;
using StoredFits = std::map<FitPlace, StoredFit>;

Row row_of(const StoredFit& stored) {
  Row row{stored.key_id};
  put_fields(row, stored.fit);
  row.emplace_back(stored.valid_from);
  row.push_back(stored.valid_to ? Value(*stored.valid_to) : Value(Null{}));
  return row;
}

/// The fits that `condition` selects. Each row is verified, but not that none is missing.
StoredFits load_fits(Connection& connection, const std::string& condition, const Row& parameters) {
  const auto keys =
      read_keys(connection, "WHERE id IN (SELECT key_id FROM variant_fit WHERE " + condition + ")",
                parameters);
  StoredFits fits;
  read_rows(connection, variant_fit_table(), "WHERE " + condition, parameters,
            [&](RowCursor& cursor, std::int64_t id, const Row&) {
              StoredFit stored{.id = id};
              cursor.get(stored.key_id);
              cursor.get_fields(stored.fit);
              cursor.get(stored.valid_from);
              stored.valid_to = cursor.get_number_or_null();
              const auto key = keys.find(stored.key_id);
              if (key == keys.end())
                throw Error(StatusCode::data_loss, "its key is missing from tuning_key");
              stored.fit.key = key->second;
              FitPlace place{stored.fit.key, stored.fit.variant};
              fits.emplace(std::move(place), std::move(stored));
            });
  return fits;
}

FitTotals totals_of(const StoredFits& fits) {
  if (fits.empty()) return {};
  std::string text;
  for (const auto& [place, stored] : fits) append_canonical(text, stored.fit);
  return {.count = static_cast<std::int64_t>(fits.size()), .digest = digest_of_text(text)};
}

}  // namespace

FitTotals put_fits(Connection& connection, std::int64_t number, std::vector<VariantFit> fits) {
  const StoredFits before = load_fits(connection, "valid_to IS NULL", {});
  std::int64_t id = next_id(connection, variant_fit_table());
  StoredFits after;
  for (VariantFit& fit : fits) {
    const std::string what =
        "fit of " + to_string(fit.variant) + " for " + describe(fit.key.problem);
    check_value(fit, FieldPath{.name = what});
    FitPlace place{fit.key, fit.variant};
    const auto same = before.find(place);
    if (same != before.end() && same->second.fit == fit) {
      if (!after.insert(*same).second)
        throw Error(StatusCode::invalid_argument, what + " is given twice");
      continue;
    }
    StoredFit stored{.id = id++, .fit = std::move(fit), .valid_from = number};
    stored.key_id = put_key(connection, stored.fit.key);
    insert_row(connection, variant_fit_table(), stored.id, row_of(stored));
    if (!after.emplace(std::move(place), std::move(stored)).second)
      throw Error(StatusCode::invalid_argument, what + " is given twice");
  }
  for (const auto& [place, stored] : before) {
    const auto kept = after.find(place);
    if (kept != after.end() && kept->second.id == stored.id) continue;
    StoredFit retired = stored;
    retired.valid_to = number;
    update_row(connection, variant_fit_table(), retired.id, row_of(retired));
  }
  return totals_of(after);
}

std::vector<VariantFit> read_fits(Connection& connection, std::int64_t number,
                                  const FitTotals& totals) {
  StoredFits stored = load_fits(
      connection, "valid_from <= ?1 AND (valid_to IS NULL OR valid_to > ?1)", Row{number});
  const FitTotals found = totals_of(stored);
  if (found.count != totals.count || found.digest != totals.digest)
    fail_row(connection, "generation", number, "does not fit its fits: one is missing or damaged");
  std::vector<VariantFit> fits;
  fits.reserve(stored.size());
  for (auto& [place, one] : stored) fits.push_back(std::move(one.fit));
  return fits;
}

}  // namespace colltune::db
