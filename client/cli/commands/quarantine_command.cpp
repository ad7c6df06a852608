// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "quarantine_command.h"

#include <fmt/format.h>

#include <ostream>

#include "colltune/db/store.h"
#include "colltune/vocabulary/canonical.h"
#include "source/database.h"
#include "text/figures.h"

namespace colltune {

void run_release(const ReleaseOptions& options, std::ostream& out) {
  const Variant variant = parse_variant(options.variant);
  (void)open_database(options.database);  // an owner would create a missing file
  Store store(options.database);
  int released = 0;
  for (const QuarantineRecord& record : store.quarantines()) {
    const std::string digest = digest_of_value(record.key);
    if (record.variant != variant || !digest.starts_with(options.key_digest)) continue;
    store.release_quarantine(record.key, record.variant, now_utc());
    ++released;
    out << fmt::format("released {} for {} on {} (key {})\n", to_string(record.variant),
                       describe(record.key.problem), describe(record.key.topology),
                       short_form(digest));
  }
  if (released > 0) return;
  const std::string key =
      options.key_digest.empty() ? "" : " for a key that begins with '" + options.key_digest + "'";
  throw Error(StatusCode::not_found, options.database + ": no quarantine of " + options.variant +
                                         key +
                                         " is in force; colltune show quarantines lists them");
}

}  // namespace colltune
