// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

namespace colltune {

/// Two groups that values fall into.
struct Modes {
  double low = 0;         ///< median of the lower group
  double high = 0;        ///< median of the upper group
  double share_high = 0;  ///< share of the values in the upper group

  friend bool operator==(const Modes&, const Modes&) = default;
};

/// Whether `values` fall into two groups with at least a fifth of them each. They do if the groups'
/// medians are further apart than 7 + 2000 / n^2 times the median distance of a value from its
/// group's median. The threshold comes from simulation: normal, t(2) and contaminated noise (10 %
/// outliers on each side) exceed it in at most 1 % of cases for each n from 12 to 256, exponential
/// noise in 3 %. Two equal groups 6 standard deviations apart are found in four of five cases from
/// n = 48 on; groups of 30 : 70 that are 10 apart from n = 24 on. Never true for fewer than 12
/// values.
[[nodiscard]] std::optional<Modes> find_modes(std::span<const double> values);

}  // namespace colltune
