// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "colltune/sweep/plan/sweep_plan.h"
#include "colltune/vocabulary/canonical.h"

namespace colltune {

inline Capability able(std::vector<std::string> features = {}, std::string cores = "8",
                       std::string architecture = "x86_64") {
  Capability capability{.architecture = std::move(architecture), .features = {}};
  capability.features["cpu.cores"] = std::move(cores);
  for (auto& feature : features) capability.features[std::move(feature)] = "";
  return capability;
}

inline Availability launch(int nodes, int ranks_per_node, const Capability& capability = able()) {
  std::vector<Capability> ranks;
  std::vector<int> node_of_rank;
  for (int node = 0; node < nodes; ++node)
    for (int rank = 0; rank < ranks_per_node; ++rank) {
      ranks.push_back(capability);
      node_of_rank.push_back(node);
    }
  return merge_capabilities(ranks, node_of_rank);
}

inline SweepSpec spec_of(const std::string& sizes = "1KiB") {
  return {.collectives = {Collective::all_reduce}, .sizes = parse_sizes(sizes), .null_test = false};
}

inline std::vector<std::string> names(const Cell& cell) {
  std::vector<std::string> all;
  for (const auto& planned : cell.variants) all.push_back(to_string(planned.variant));
  return all;
}

}  // namespace colltune
