// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

namespace colltune {

/// The same partition of ranks with nodes numbered from 0 in order of first appearance.
[[nodiscard]] std::vector<int> renumber_nodes(std::span<const int> node_of_rank);
[[nodiscard]] bool is_one_node(std::span<const int> nodes);

}  // namespace colltune
