// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <hwloc.h>
#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <memory>

#include "colltune/kernels/catalogue.h"
#include "cross_memory.h"
#include "machine.h"

namespace colltune {
namespace {

struct DestroyTopology {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
struct FreeBitmap {
  void operator()(hwloc_bitmap_s* set) const { hwloc_bitmap_free(set); }
};

/// The hardware threads that the ranks of this rank's node may use together: launchers bind each
/// rank to cores of its own, so that one rank's binding says nothing about the others. Collective.
cpu_set_t threads_of_node(Communicator& communicator) {
  const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
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

/// Cores with a hardware thread in `threads`; 0 where hwloc cannot tell.
int count_cores(const cpu_set_t& threads) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return 0;
  const std::unique_ptr<hwloc_topology, DestroyTopology> topology(raw);
  if (hwloc_topology_load(raw) != 0) return 0;
  const std::unique_ptr<hwloc_bitmap_s, FreeBitmap> set(hwloc_bitmap_alloc());
  for (unsigned thread = 0; thread < CPU_SETSIZE; ++thread)
    if (CPU_ISSET(thread, &threads)) hwloc_bitmap_set(set.get(), thread);
  const int cores = hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_CORE);
  int usable = 0;
  for (int i = 0; i < cores; ++i) {
    const hwloc_obj_t core = hwloc_get_obj_by_type(raw, HWLOC_OBJ_CORE, static_cast<unsigned>(i));
    if (hwloc_bitmap_intersects(core->cpuset, set.get()) != 0) ++usable;
  }
  return usable;
}

}  // namespace

const Implementation* find_implementation(const Implementations& catalogue, std::string_view name) {
  for (const auto& implementation : catalogue)
    if (implementation->name() == name) return implementation.get();
  return nullptr;
}

Capability detect_capability(const Implementations& catalogue, Communicator& communicator) {
  Capability capability;
  capability.architecture = cpu_architecture();
  for (const std::string& name : isa_names()) capability.features["isa." + name] = "";
  capability.features["cpu.cores"] = std::to_string(count_cores(threads_of_node(communicator)));
  const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  capability.features["memory.bytes"] = std::to_string(pages * page);
  detect_cma(communicator, capability);
  for (const auto& implementation : catalogue) implementation->detect(communicator, capability);
  return capability;
}

}  // namespace colltune
