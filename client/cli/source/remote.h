// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "colltune/vocabulary/environment.h"
#include "colltune/vocabulary/lookup.h"
#include "colltune/vocabulary/world_members.h"

namespace colltune {

/// An answer and the facts of the environment that it was measured in, where they are known.
struct FoundAnswer {
  LookupAnswer answer;
  std::optional<Environment> environment;
};

/// Asks the colltuned at `address`. Where colltune was built without gRPC: Error(unimplemented).
[[nodiscard]] FoundAnswer look_up_remotely(const std::string& address, const LookupQuery& query);
[[nodiscard]] DecisionSet fetch_remotely(const std::string& address,
                                         const std::optional<std::uint64_t>& generation);

}  // namespace colltune
