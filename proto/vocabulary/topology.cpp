// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/vocabulary/topology.h"

namespace colltune {

std::string architecture_name(const Topology& topology) {
  if (topology.architectures.size() == 1) return topology.architectures.front().architecture;
  std::string text;
  for (const auto& entry : topology.architectures) {
    if (!text.empty()) text += '+';
    text += entry.architecture + ':' + std::to_string(entry.ranks);
  }
  return text;
}

std::string describe(const Topology& topology) {
  std::string text = std::to_string(topology.nodes) + 'x' +
                     std::to_string(topology.ranks_per_node) + ' ' + architecture_name(topology);
  if (topology.layout_digest != "uniform") text += " layout " + topology.layout_digest.substr(0, 8);
  if (topology.placement != Placement::dedicated) {
    text += ' ';
    text += name_of(topology.placement);
  }
  return text;
}

}  // namespace colltune
