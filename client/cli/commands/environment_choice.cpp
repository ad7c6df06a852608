// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "environment_choice.h"

#include <vector>

#include "reports/environment_name.h"
#include "source/database.h"
#include "source/table.h"

namespace colltune {

std::string choose_environment(const Origin& origin, const std::string& text) {
  std::vector<std::string> digests;
  std::vector<SweepRecord> sweeps;
  for (const auto& [digest, facts] : read_decisions(origin).environments) digests.push_back(digest);
  if (!origin.database.empty()) sweeps = open_database(origin.database).sweeps();
  return environment_named(text, digests, sweeps);
}

}  // namespace colltune
