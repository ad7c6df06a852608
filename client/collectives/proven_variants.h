// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "colltune/table_file/table_file.h"

namespace colltune {

/// A variant that was proven to be faster than the baseline at some sizes, and its times there.
struct ProvenVariant {
  Variant variant;
  double speedup = 1;  ///< over the baseline: the geometric mean of the sizes
  Bytes smallest;      ///< what it can run; 0: any
  Bytes largest;
  std::map<Bytes, std::chrono::nanoseconds> times;  ///< by size
};

/// What a table ranks between its winners and the baseline, for ranks that cannot run the winners.
class ProvenVariants {
 public:
  /// `table` outlives this. With `library_follows_rules`, what is ranked behind a variant of the
  /// MPI library is left out, since rules made of the table make the library run that one.
  ProvenVariants(const TableFile& table, bool library_follows_rules)
      : table_(table), library_follows_rules_(library_follows_rules) {}

  /// Those that were proven at each of these measured sizes of calls of `group`; the fastest first.
  /// The first call reads the evidence of the whole table, and throws Error(data_loss) if it is
  /// damaged.
  [[nodiscard]] std::vector<ProvenVariant> at(TableView::Group group, std::span<const Bytes> sizes);

 private:
  using BySize = std::map<Bytes, const Decision*>;
  [[nodiscard]] std::span<const RankedVariant> proven_in(const Decision& decision) const;

  const TableFile& table_;
  bool library_follows_rules_;
  std::optional<DecisionSet> set_;  ///< once it was read
  std::map<TableView::Group, BySize> decisions_;
};

}  // namespace colltune
