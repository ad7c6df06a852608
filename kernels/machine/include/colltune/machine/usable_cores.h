// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace colltune {

/// The processor time that a control group allows its processes together.
struct CpuQuota {
  int cores = 0;            ///< begun ones; 0: as many as there are
  std::uint64_t group = 0;  ///< whose: of one machine, equal where it is the same group
};

/// The cores of a `cpu.max` ("150000 100000": 2), or of version 1's quota and period; 0 where it
/// sets no limit.
[[nodiscard]] int cores_of_quota(std::string_view cpu_max);
/// The tightest quota of the control group that `membership` (a `/proc/self/cgroup`) names, and of
/// those around it, in both versions (control_groups.h).
[[nodiscard]] CpuQuota find_cpu_quota(std::string_view membership,
                                      const std::filesystem::path& root);

/// Where one rank may run.
struct RankCores {
  cpu_set_t threads{};  ///< of the hardware
  CpuQuota quota{};
};

/// Of this thread, and of the process that it belongs to.
[[nodiscard]] RankCores own_cores();

/// Whether some of these ranks, which share a machine and all run at the same time, have to share a
/// core: there is a set of hardware threads that more of them are bound to than it has, or more of
/// them under one quota than it allows cores. Looked for among the ranks' own sets and all of them
/// together, which are all there are where launchers bind ranks to places that lie in one another
/// or apart.
[[nodiscard]] bool have_to_share_cores(std::span<const RankCores> ranks);

}  // namespace colltune
