// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace colltune {

/// A rank's position in the binomial tree that control steps travel along. Its parent's number is
/// its own with the lowest set bit cleared. The ranks below a child form one range; the children's
/// ranges follow this rank and each other in ascending order.
struct TreePlace {
  int parent = -1;            ///< -1 on rank 0
  std::vector<int> children;  ///< ascending
  int height = 0;             ///< levels below; 0 for a leaf
  int depth = 0;              ///< levels above
};

[[nodiscard]] inline TreePlace place_in_tree(int rank, int ranks) {
  TreePlace place;
  for (int bit = 1; bit < ranks && (rank & bit) == 0; bit <<= 1) {
    if (rank + bit < ranks) place.children.push_back(rank + bit);
    ++place.height;
  }
  if (rank != 0) place.parent = rank & (rank - 1);
  for (int at = rank; at != 0; at &= at - 1) ++place.depth;
  return place;
}

}  // namespace colltune
