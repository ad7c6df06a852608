// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <hwloc.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <memory>

#include "colltune/kernels/catalogue.h"
#include "machine.h"

namespace colltune {
namespace {

struct DestroyTopology {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
struct FreeBitmap {
  void operator()(hwloc_bitmap_s* set) const { hwloc_bitmap_free(set); }
};

/// Cores that this process may run on; 0 where hwloc cannot tell.
int count_usable_cores() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return 0;
  const std::unique_ptr<hwloc_topology, DestroyTopology> topology(raw);
  if (hwloc_topology_load(raw) != 0) return 0;
  const std::unique_ptr<hwloc_bitmap_s, FreeBitmap> set(hwloc_bitmap_alloc());
  if (hwloc_get_cpubind(raw, set.get(), HWLOC_CPUBIND_PROCESS) != 0) return 0;
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
  capability.features["cpu.cores"] = std::to_string(count_usable_cores());
  const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  capability.features["memory.bytes"] = std::to_string(pages * page);
  utsname names{};
  if (::uname(&names) == 0) capability.features["node.name"] = names.nodename;
  for (const auto& implementation : catalogue) implementation->detect(communicator, capability);
  return capability;
}

}  // namespace colltune
