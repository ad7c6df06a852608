// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "origin.h"

#include <algorithm>
#include <iostream>

#include "colltune/vocabulary/error.h"

namespace colltune {

void check(const Origin& origin) {
  const auto given = {&origin.database, &origin.server, &origin.table};
  const auto count = std::ranges::count_if(given, [](const auto* one) { return !one->empty(); });
  if (count == 1) return;
  throw Error(StatusCode::invalid_argument,
              count == 0
                  ? "where to look is missing; give --db FILE, --server ADDRESS or --table FILE"
                  : "more than one of --db, --server and --table is given; give one of them");
}

void say_guess(const std::string& why) {
  if (!why.empty()) std::cerr << "colltune: " << why << " (--environment names another)\n";
}

}  // namespace colltune
