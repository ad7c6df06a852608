// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/machine/hardware_topology.h"

#include <hwloc.h>

#include <algorithm>
#include <cstdint>

namespace colltune {
namespace {

struct FreeBitmap {
  void operator()(hwloc_bitmap_s* set) const { hwloc_bitmap_free(set); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

Bitmap bitmap_of(const cpu_set_t& threads) {
  Bitmap set(hwloc_bitmap_alloc());
  for (unsigned thread = 0; thread < CPU_SETSIZE; ++thread)
    if (CPU_ISSET(thread, &threads)) hwloc_bitmap_set(set.get(), thread);
  return set;
}

int count_of(hwloc_topology_t topology, hwloc_obj_type_t type) {
  return std::max(0, hwloc_get_nbobjs_by_type(topology, type));
}

hwloc_obj_t object(hwloc_topology_t topology, hwloc_obj_type_t type, int index) {
  return hwloc_get_obj_by_type(topology, type, static_cast<unsigned>(index));
}

std::uint64_t cache_bytes(hwloc_topology_t topology, hwloc_obj_type_t type) {
  const hwloc_obj_t cache = object(topology, type, 0);
  return cache == nullptr || cache->attr == nullptr ? 0 : cache->attr->cache.size;
}

}  // namespace

void HardwareTopology::Destroy::operator()(hwloc_topology* topology) const {
  hwloc_topology_destroy(topology);
}

HardwareTopology::HardwareTopology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return;
  topology_.reset(raw);
  if (hwloc_topology_load(raw) != 0) topology_.reset();
}

int HardwareTopology::place_of(int type, const cpu_set_t& threads) const {
  if (!topology_ || CPU_COUNT(&threads) == 0) return -1;
  const auto kind = static_cast<hwloc_obj_type_t>(type);
  const Bitmap set = bitmap_of(threads);
  // Several kinds of memory next to the same cores count as one place: the first of them.
  for (int i = 0; i < count_of(topology_.get(), kind); ++i)
    if (hwloc_bitmap_isincluded(set.get(), object(topology_.get(), kind, i)->cpuset) != 0) return i;
  return -1;
}

int HardwareTopology::numa_of(const cpu_set_t& threads) const {
  return place_of(HWLOC_OBJ_NUMANODE, threads);
}

int HardwareTopology::cache_of(const cpu_set_t& threads) const {
  return place_of(HWLOC_OBJ_L3CACHE, threads);
}

std::map<std::string, std::string> HardwareTopology::features() const {
  std::map<std::string, std::string> found;
  if (!topology_) return found;
  const auto add = [&](const char* name, std::uint64_t value) {
    if (value > 0) found["machine." + std::string(name)] = std::to_string(value);
  };
  const auto count = [&](hwloc_obj_type_t type) {
    return static_cast<std::uint64_t>(count_of(topology_.get(), type));
  };
  add("packages", count(HWLOC_OBJ_PACKAGE));
  add("cores", count(HWLOC_OBJ_CORE));
  add("numa_nodes", count(HWLOC_OBJ_NUMANODE));
  add("l3_caches", count(HWLOC_OBJ_L3CACHE));
  add("l2_bytes", cache_bytes(topology_.get(), HWLOC_OBJ_L2CACHE));
  add("l3_bytes", cache_bytes(topology_.get(), HWLOC_OBJ_L3CACHE));
  return found;
}

}  // namespace colltune
