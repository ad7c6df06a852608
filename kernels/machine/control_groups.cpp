// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/machine/control_groups.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <sstream>
#include "kernel_file.h"

namespace colltune {
namespace {

constexpr const char* own_membership = "/proc/self/cgroup";
constexpr const char* mounted_at = "/sys/fs/cgroup";

/// The number in a file; empty if the file is missing or says "max".
std::optional<std::uint64_t> read_number(const std::filesystem::path& path) {
  const std::string text = read_text(path);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} ? std::optional(number) : std::nullopt;
}

/// The number after `name` in a file with lines "name number".
std::optional<std::uint64_t> read_named(const std::filesystem::path& path, std::string_view name) {
  std::istringstream lines(read_text(path));
  std::string found;
  std::uint64_t number = 0;
  while (lines >> found >> number)
    if (found == name) return number;
  return std::nullopt;
}

bool names(std::string_view controllers, std::string_view controller) {
  while (!controllers.empty()) {
    const std::string_view one = controllers.substr(0, controllers.find(','));
    if (one == controller) return true;
    controllers.remove_prefix(std::min(controllers.size(), one.size() + 1));
  }
  return false;
}

/// Appends `group` under `root`, and its ancestors.
void append_with_parents(std::filesystem::path root, std::string_view group,
                         std::vector<std::filesystem::path>& groups) {
  while (group.starts_with('/')) group.remove_prefix(1);
  for (std::filesystem::path inner(group); !inner.empty(); inner = inner.parent_path())
    groups.push_back(root / inner);
  groups.push_back(std::move(root));
}

/// Version 1 reports a number of this size if there is no limit.
constexpr std::uint64_t unlimited = std::uint64_t{1} << 62;

std::optional<MemoryLimit> limit_of(const std::filesystem::path& group) {
  struct Names {
    const char* limit;
    const char* used;
    const char* given_back;  ///< its name in memory.stat
  };
  for (const Names& names :
       {Names{"memory.max", "memory.current", "inactive_file"},
        Names{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}}) {
    const auto limit = read_number(group / names.limit);
    if (!limit || *limit >= unlimited) continue;
    const std::uint64_t used = read_number(group / names.used).value_or(0);
    const std::uint64_t files = read_named(group / "memory.stat", names.given_back).value_or(0);
    return MemoryLimit{.limit = {*limit}, .used = {used - std::min(used, files)}, .group = group};
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::filesystem::path> control_groups(std::string_view membership,
                                                  const std::filesystem::path& root,
                                                  std::string_view controller) {
  std::vector<std::filesystem::path> groups;
  while (!membership.empty()) {
    const std::string_view line = membership.substr(0, membership.find('\n'));
    membership.remove_prefix(std::min(membership.size(), line.size() + 1));
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view group = line.substr(second + 1);
    if (controllers.empty()) {
      append_with_parents(root, group, groups);
    } else if (names(controllers, controller)) {
      // "cpu,cpuacct" is mounted under that joint name; links have the single names.
      std::error_code error;
      const std::filesystem::path joint = root / controllers;
      append_with_parents(std::filesystem::exists(joint, error) ? joint : root / controller, group,
                          groups);
    }
  }
  return groups;
}

std::optional<MemoryLimit> find_memory_limit(std::string_view membership,
                                             const std::filesystem::path& root) {
  std::optional<MemoryLimit> tightest;
  for (const std::filesystem::path& group : control_groups(membership, root, "memory"))
    if (auto limit = limit_of(group); limit && (!tightest || limit->free() < tightest->free()))
      tightest = std::move(limit);
  return tightest;
}

std::optional<MemoryLimit> own_memory_limit() {
  return find_memory_limit(read_text(own_membership), mounted_at);
}

Bytes available_memory() {
  // "MemAvailable:    123 kB"; no limit if it cannot be read.
  std::uint64_t available = std::numeric_limits<std::uint64_t>::max();
  std::istringstream lines(read_text("/proc/meminfo"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t kibibytes = 0;
    if (words >> name >> kibibytes && name == "MemAvailable:") available = kibibytes * 1024;
  }
  if (const auto limit = own_memory_limit()) available = std::min(available, limit->free().value);
  return {available};
}

std::optional<std::uint64_t> count_memory_kills(std::string_view membership,
                                                const std::filesystem::path& root) {
  for (const std::filesystem::path& group : control_groups(membership, root, "memory"))
    for (const char* file : {"memory.events", "memory.oom_control"})
      if (const auto kills = read_named(group / file, "oom_kill")) return kills;
  return std::nullopt;
}

std::optional<std::uint64_t> own_memory_kills() {
  if (const auto kills = count_memory_kills(read_text(own_membership), mounted_at)) return kills;
  return read_named("/proc/vmstat", "oom_kill");
}

}  // namespace colltune
