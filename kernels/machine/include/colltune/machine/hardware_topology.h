// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <map>
#include <memory>
#include <string>

struct hwloc_topology;

namespace colltune {

/// This machine's cores, shared caches and memory, as hwloc sees them. If hwloc does not know,
/// counts are 0 and places -1.
class HardwareTopology {
 public:
  HardwareTopology();

  /// The NUMA node, or the level 3 cache, that contains all of `threads`.
  [[nodiscard]] int numa_of(const cpu_set_t& threads) const;
  [[nodiscard]] int cache_of(const cpu_set_t& threads) const;
  /// Capabilities of the whole machine: "machine.packages", "machine.l3_bytes", …
  [[nodiscard]] std::map<std::string, std::string> features() const;

 private:
  struct Destroy {
    void operator()(hwloc_topology* topology) const;
  };
  [[nodiscard]] int place_of(int type, const cpu_set_t& threads) const;

  std::unique_ptr<hwloc_topology, Destroy> topology_;  ///< null if hwloc fails
};

}  // namespace colltune
