// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "kept_graph.h"

#include <utility>

namespace colltune::nccl {

KeptGraph::KeptGraph(std::shared_ptr<NcclRank> member, const std::function<void(void* queue)>& put)
    : member_(std::move(member)), place_(member_->keep(member_->device().capture(put))) {}

KeptGraph::~KeptGraph() { member_->drop(place_); }

void KeptGraph::replay(void* queue) {
  member_->require_usable();
  (*place_)->replay(queue);
}

}  // namespace colltune::nccl
