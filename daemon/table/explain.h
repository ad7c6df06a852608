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

/// Why nothing was found, and the closest stored problems and worlds.
[[nodiscard]] std::string explain_absence(const LookupQuery& query,
                                          const std::vector<const Curve*>& stored);

/// That nothing was found in the query's regime, which regimes have an answer, and how to ask for
/// them.
[[nodiscard]] std::string explain_other_regimes(const LookupQuery& query,
                                                std::span<const Regime> decided);

/// Which worlds fit a query, how they differ and how to ask for one of them.
[[nodiscard]] std::string explain_ambiguity(const LookupQuery& query,
                                            std::span<const Curve* const> fitting,
                                            EnvironmentList environments);

/// For example "1KiB..4MiB (13 sizes)".
[[nodiscard]] std::string describe_sizes(const Curve& curve);

}  // namespace colltune
