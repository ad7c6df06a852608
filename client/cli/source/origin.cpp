// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "origin.h"

#include "colltune/vocabulary/error.h"

namespace colltune {

void check(const Origin& origin) {
  if (origin.database.empty() != origin.server.empty()) return;
  throw Error(StatusCode::invalid_argument,
              origin.database.empty()
                  ? "where to look is missing; give --db FILE or --server ADDRESS"
                  : "--db and --server are both given; give one of them");
}

}  // namespace colltune
