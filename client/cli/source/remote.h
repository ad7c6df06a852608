// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "colltune/vocabulary/annotation/annotation.h"
#include "colltune/vocabulary/decision_set.h"
#include "colltune/vocabulary/lookup.h"

namespace colltune {

/// Asks the colltuned at `address`. Throws Error(unimplemented) if colltune was built without gRPC.
[[nodiscard]] FoundAnswer look_up_remotely(const std::string& address, const LookupQuery& query);
[[nodiscard]] DecisionSet fetch_remotely(const std::string& address,
                                         const std::optional<std::uint64_t>& generation);
[[nodiscard]] std::vector<Annotation> annotate_remotely(const std::string& address,
                                                        const AnnotatedProgram& program);

}  // namespace colltune
