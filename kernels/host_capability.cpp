// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/host_capability.h"

#include <sched.h>

#include <cstring>
#include <memory>
#include <set>
#include <string>

#include "arithmetic/isa/isa.h"
#include "arithmetic/processor.h"
#include "colltune/kernels/arithmetic/copy.h"
#include "colltune/kernels/arithmetic/isa_names.h"
#include "colltune/machine/usable_cores.h"
#include "communication/rank_places.h"
#include "shared_memory/cross_memory.h"

namespace colltune {
namespace {

/// The hardware threads that the ranks of this rank's node may use together: launchers bind each
/// rank to cores of its own, so that one rank's binding says nothing about the others. Collective.
cpu_set_t threads_of_node(Communicator& communicator, Deadline deadline) {
  const int node = communicator.nodes()[static_cast<std::size_t>(communicator.rank())];
  const auto neighbours = communicator.split(node, communicator.rank(), deadline);
  const auto memory = neighbours->allocate(Bytes{sizeof(cpu_set_t)}, deadline);
  cpu_set_t own;
  CPU_ZERO(&own);
  ::sched_getaffinity(0, sizeof own, &own);
  std::memcpy(memory->part(neighbours->rank()).data(), &own, sizeof own);
  neighbours->barrier(deadline);
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int rank = 0; rank < neighbours->size(); ++rank) {
    cpu_set_t set;
    std::memcpy(&set, memory->part(rank).data(), sizeof set);
    CPU_OR(&all, &all, &set);
  }
  neighbours->barrier(deadline);  // nobody unmaps what another still reads
  return all;
}

/// In how many places of `level` the ranks of this rank's node are.
int places_of_node(const Communicator& communicator, Locality level) {
  const std::span<const int> nodes = communicator.nodes();
  const std::vector<int>& places = communicator.places().on(level);
  const int own = nodes[static_cast<std::size_t>(communicator.rank())];
  std::set<int> found;
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    if (nodes[rank] == own) found.insert(places[rank]);
  return static_cast<int>(found.size());
}

}  // namespace

Capability detect_host_capability(Communicator& communicator, Deadline deadline) {
  Capability capability;
  capability.architecture = cpu_architecture();
  for (const std::string& name : isa_names()) capability.features["isa." + name] = "";
  if (supported_isas().back()->streams) capability.features[std::string(streaming_feature)] = "";
  capability.features["cpu.cores"] =
      std::to_string(count_cores(threads_of_node(communicator, deadline)));
  for (const Locality level : {Locality::numa, Locality::cache})
    capability.features[places_feature(level)] =
        std::to_string(places_of_node(communicator, level));
  detect_cma(communicator, capability, deadline);
  return capability;
}

}  // namespace colltune
