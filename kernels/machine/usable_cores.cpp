// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/machine/usable_cores.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "colltune/machine/control_groups.h"
#include "kernel_file.h"

namespace colltune {
namespace {

/// The cores that a group allows; 0 if it sets no limit. Version 1's quota is then -1.
int cores_of_group(const std::filesystem::path& group) {
  if (const int cores = cores_of_quota(read_text(group / "cpu.max")); cores > 0) return cores;
  std::string text = read_text(group / "cpu.cfs_quota_us");
  while (text.ends_with('\n')) text.pop_back();
  return cores_of_quota(text + ' ' + read_text(group / "cpu.cfs_period_us"));
}

bool is_within(const cpu_set_t& inner, const cpu_set_t& outer) {
  cpu_set_t both;
  CPU_AND(&both, &inner, &outer);
  return CPU_EQUAL(&both, &inner) != 0;
}

bool holds_too_many(const cpu_set_t& threads, std::span<const RankCores> ranks) {
  return std::ranges::count_if(ranks, [&](const RankCores& rank) {
           return is_within(rank.threads, threads);
         }) > CPU_COUNT(&threads);
}

}  // namespace

int cores_of_quota(std::string_view cpu_max) {
  std::int64_t time = 0;
  std::int64_t period = 0;
  const char* const end = cpu_max.data() + cpu_max.size();
  const auto [behind_time, failure] = std::from_chars(cpu_max.data(), end, time);
  if (failure != std::errc{} || behind_time == end) return 0;  // "max 100000"
  std::from_chars(behind_time + 1, end, period);
  if (time <= 0 || period <= 0) return 0;
  return static_cast<int>((time + period - 1) / period);
}

CpuQuota find_cpu_quota(std::string_view membership, const std::filesystem::path& root) {
  CpuQuota tightest;
  for (const std::filesystem::path& group : control_groups(membership, root, "cpu")) {
    struct stat of_group {};
    const int cores = cores_of_group(group);
    if (cores > 0 && (tightest.cores == 0 || cores < tightest.cores) &&
        ::stat(group.c_str(), &of_group) == 0)
      tightest = {cores, of_group.st_ino};
  }
  return tightest;
}

RankCores own_cores() {
  RankCores own;
  if (::sched_getaffinity(0, sizeof own.threads, &own.threads) != 0) CPU_ZERO(&own.threads);
  own.quota = find_cpu_quota(read_text("/proc/self/cgroup"), "/sys/fs/cgroup");
  return own;
}

int count_cores(const cpu_set_t& threads, const std::filesystem::path& cpus) {
  std::set<std::string> cores;  // each by the list of its threads
  for (int thread = 0; thread < CPU_SETSIZE; ++thread) {
    if (CPU_ISSET(thread, &threads) == 0) continue;
    const std::string name = "cpu" + std::to_string(thread);
    std::string siblings = read_text(cpus / name / "topology" / "thread_siblings_list");
    cores.insert(siblings.empty() ? name : std::move(siblings));
  }
  return static_cast<int>(cores.size());
}

bool have_to_share_cores(std::span<const RankCores> ranks) {
  std::vector<cpu_set_t> sets;
  std::map<std::uint64_t, int> ranks_under;
  const auto is_known = [&](const cpu_set_t& threads) {
    return std::ranges::any_of(
        sets, [&](const cpu_set_t& known) { return CPU_EQUAL(&known, &threads) != 0; });
  };
  cpu_set_t all;
  CPU_ZERO(&all);
  for (const RankCores& rank : ranks) {
    if (rank.quota.cores > 0 && ++ranks_under[rank.quota.group] > rank.quota.cores) return true;
    if (!is_known(rank.threads)) sets.push_back(rank.threads);
    CPU_OR(&all, &all, &rank.threads);
  }
  if (!is_known(all)) sets.push_back(all);
  return std::ranges::any_of(
      sets, [&](const cpu_set_t& threads) { return holds_too_many(threads, ranks); });
}

}  // namespace colltune
