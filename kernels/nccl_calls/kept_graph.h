// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "nccl_rank.h"

namespace colltune::nccl {

/// A graph that holds calls of an NCCL communicator. The member owns the graph and destroys it
/// before it ends the communicator, since NCCL waits there until all such graphs are gone. This
/// object marks the graph as in use.
class KeptGraph {
 public:
  /// Captures what `put` puts on a queue (Device::capture).
  KeptGraph(std::shared_ptr<NcclRank> member, const std::function<void(void* queue)>& put);
  KeptGraph(const KeptGraph&) = delete;
  KeptGraph& operator=(const KeptGraph&) = delete;
  ~KeptGraph();
  /// Throws OperationLost if the communicator was aborted, and the graph with it.
  void replay(void* queue);

 private:
  std::shared_ptr<NcclRank> member_;
  NcclRank::Graphs::iterator place_;
};

}  // namespace colltune::nccl
