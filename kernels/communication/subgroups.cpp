// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/communication/subgroups.h"

#include <algorithm>
#include <string>
#include <utility>

#include "colltune/vocabulary/error.h"

namespace colltune {

const Subgroups::Group& Subgroups::of(const std::vector<int>& group_of_rank, Deadline deadline) {
  if (group_of_rank.size() != static_cast<std::size_t>(all_.size()))
    throw Error(StatusCode::invalid_argument,
                "groups of " + std::to_string(group_of_rank.size()) + " ranks are asked for among " +
                    std::to_string(all_.size()));
  const auto known = std::ranges::find(kept_, group_of_rank, &Kept::group_of_rank);
  if (known != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, known);
    return kept_.front().group;
  }
  const int own = group_of_rank[static_cast<std::size_t>(all_.rank())];
  Kept made{.group_of_rank = group_of_rank, .group = {}};
  for (int rank = 0; rank < all_.size(); ++rank)
    if (group_of_rank[static_cast<std::size_t>(rank)] == own) made.group.members.push_back(rank);
  if (std::ranges::all_of(group_of_rank, [&](int group) { return group == own; })) {
    made.group.communicator = std::shared_ptr<Communicator>(std::shared_ptr<void>(), &all_);
  } else {
    const auto before = std::chrono::steady_clock::now();
    made.group.communicator = all_.split(own, all_.rank(), deadline);
    made.group.making = std::chrono::steady_clock::now() - before;
  }
  kept_.push_front(std::move(made));
  if (kept_.size() > most_kept) kept_.pop_back();
  return kept_.front().group;
}

}  // namespace colltune
