// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace colltune {

/// The processor time that the processes of a control group may use together.
struct CpuQuota {
  int cores = 0;            ///< rounded up; 0: no limit
  std::uint64_t group = 0;  ///< identifies the group on its machine: equal for the same group
};

/// The number of cores that a `cpu.max` ("150000 100000": 2) or version 1's quota and period allow;
/// 0 if there is no limit.
[[nodiscard]] int cores_of_quota(std::string_view cpu_max);
/// The tightest quota of the control group that `membership` (a `/proc/self/cgroup`) names and of
/// its ancestors, in both versions (control_groups.h).
[[nodiscard]] CpuQuota find_cpu_quota(std::string_view membership,
                                      const std::filesystem::path& root);

/// The cores on which one rank may run.
struct RankCores {
  cpu_set_t threads{};  ///< hardware threads
  CpuQuota quota{};
};

/// For this thread, and the process that it belongs to.
[[nodiscard]] RankCores own_cores();

/// How many cores have some of these hardware threads, by what the system says in `cpus`. A thread
/// of which it says nothing counts as a core.
[[nodiscard]] int count_cores(const cpu_set_t& threads,
                              const std::filesystem::path& cpus = "/sys/devices/system/cpu");

/// Whether some of these ranks, which share a machine and all run at the same time, must share a
/// core. That is so if more ranks are bound to a set of hardware threads than it has, or if more
/// ranks are under one quota than it allows cores. Checks only the ranks' own sets and their union.
/// These suffice when launchers bind ranks to sets that are nested or disjoint.
[[nodiscard]] bool have_to_share_cores(std::span<const RankCores> ranks);

}  // namespace colltune
