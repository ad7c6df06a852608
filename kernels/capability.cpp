// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <set>

#include "arithmetic/isa/isa.h"
#include "arithmetic/processor.h"
#include "colltune/kernels/arithmetic/copy.h"
#include "colltune/kernels/arithmetic/isa_names.h"
#include "colltune/kernels/catalogue.h"
#include "colltune/machine/hardware_topology.h"
#include "communication/rank_places.h"
#include "device/device_implementation.h"
#include "shared_memory/cross_memory.h"

namespace colltune {
namespace {

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

const Implementation* find_implementation(const Implementations& catalogue, std::string_view name) {
  for (const auto& implementation : catalogue)
    if (implementation->name() == name) return implementation.get();
  return nullptr;
}

Capability detect_capability(const Implementations& catalogue, Communicator& communicator) {
  Capability capability;
  capability.architecture = cpu_architecture();
  for (const std::string& name : isa_names()) capability.features["isa." + name] = "";
  if (supported_isas().back()->streams) capability.features[std::string(streaming_feature)] = "";
  const HardwareTopology hardware;
  for (auto& [name, value] : hardware.features()) capability.features[name] = value;
  capability.features["cpu.cores"] =
      std::to_string(hardware.count_cores(threads_of_node(communicator)));
  for (const Locality level : {Locality::numa, Locality::cache})
    capability.features[places_feature(level)] =
        std::to_string(places_of_node(communicator, level));
  const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  capability.features["memory.bytes"] = std::to_string(pages * page);
  detect_cma(communicator, capability);
  detect_device(communicator, capability);
  for (const auto& implementation : catalogue) implementation->detect(communicator, capability);
  return capability;
}

}  // namespace colltune
