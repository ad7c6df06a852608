// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "measurement_steps.h"

namespace colltune::db {

/// A row of `decision` of version 7.
struct OldDecision {
  std::int64_t id = 0;
  std::int64_t key_id = 0;
  std::string family;
  std::string sweep_uuid;
  std::int64_t valid_from = 0;
  std::optional<std::int64_t> valid_to;
  Row row;
};

/// The decisions of version 7 for the step to version 8, in which keys may become one.
///
/// A generation holds one decision for a key and family. If several of its decisions are for the
/// same one now, the generation keeps the one that was published last (`valid_from`, then the id):
/// had the keys been one then, that publication would have replaced the others. In an earlier
/// generation, where that decision was not there yet, or a later one, where it is no more, the
/// others stay; so each generation still has a decision wherever it had one.
class OldDecisions {
 public:
  /// Reads and verifies them. Throws Error(data_loss) if one of a generation is missing.
  explicit OldDecisions(Connection& connection);

  [[nodiscard]] const std::vector<OldDecision>& all() const { return decisions_; }

  /// Rewrites `decision` and `ranked_variant` with the keys of `new_key`, and the counts of the
  /// generations. Their content digests stay to be restated.
  void rewrite(Connection& connection,
               const std::function<std::int64_t(const OldDecision&)>& new_key);

 private:
  std::vector<OldDecision> decisions_;               ///< by id
  std::map<std::int64_t, std::vector<Row>> ranked_;  ///< by decision, by position
  std::map<std::int64_t, Row> generations_;
};

}  // namespace colltune::db
