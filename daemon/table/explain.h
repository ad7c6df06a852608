// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "index.h"

namespace colltune {

using EnvironmentList = std::span<const std::pair<std::string, Environment>>;

/// Why nothing was found, and the stored problems and worlds that come closest.
[[nodiscard]] std::string explain_absence(const LookupQuery& query,
                                          const std::vector<const Curve*>& stored);

/// Which worlds fit a question, what tells them apart and how to say it.
[[nodiscard]] std::string explain_ambiguity(const LookupQuery& query,
                                            std::span<const Curve* const> fitting,
                                            EnvironmentList environments);

/// "1KiB..4MiB (13 sizes)"
[[nodiscard]] std::string describe_sizes(const Curve& curve);

}  // namespace colltune
