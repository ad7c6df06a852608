// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>

namespace colltune {

/// `colltune crossover …` as typed; empty fields were not given.
struct CrossoverOptions {
  std::string database;
  std::string sweep;       ///< exactly this sweep; empty: the newest
  std::string collective;  ///< of this operation only
  std::string first;       ///< a variant as printed; with `second`
  std::string second;
  std::string threshold;
  bool json = false;
  bool is_wide = false;  ///< tables may take more than 80 columns
};

/// For each problem of a sweep the sizes at which its two best variants, or two that are named,
/// meet; and what a constant threshold between them loses.
void run_crossover(const CrossoverOptions& options, std::ostream& out);

}  // namespace colltune
