// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "process_environment.h"

#include <fmt/core.h>
#include <hwloc.h>
#include <mpi.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "build_info.h"
#include "colltune/vocabulary/bytes.h"
#include "colltune/vocabulary/canonical.h"

namespace colltune {
namespace {

namespace fs = std::filesystem;

std::string trim(std::string text) {
  const auto is_space = [](unsigned char c) { return std::isspace(c) != 0; };
  text.erase(text.begin(), std::find_if_not(text.begin(), text.end(), is_space));
  text.erase(std::find_if_not(text.rbegin(), text.rend(), is_space).base(), text.end());
  return text;
}

/// The first line of a small system file; empty if it cannot be read (the kernel refuses some
/// reads, such as a NIC's speed while its link is down).
std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return trim(line);
}

/// The value after "key<spaces>separator" in a file of such lines.
std::string value_of(const fs::path& path, std::string_view key, char separator) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto at = line.find(separator);
    if (at != std::string::npos && trim(line.substr(0, at)) == key)
      return trim(line.substr(at + 1));
  }
  return {};
}

std::vector<fs::path> entries(const fs::path& directory) {
  std::vector<fs::path> paths;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored))
    paths.push_back(entry.path());
  std::ranges::sort(paths);
  return paths;
}

struct TopologyDeleter {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};

using Hardware = std::unique_ptr<hwloc_topology, TopologyDeleter>;

/// The whole machine, regardless of this rank's binding and of what its control group allows; null
/// if it cannot be determined.
Hardware load_hardware() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return {};
  Hardware hardware(raw);
  if (hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) != 0 ||
      hwloc_topology_load(raw) != 0)
    return {};
  return hardware;
}

std::string describe_cpu_layout(const Hardware& hardware) {
  if (!hardware) return {};
  hwloc_topology_t raw = hardware.get();
  const auto count = [&](hwloc_obj_type_t type) { return hwloc_get_nbobjs_by_type(raw, type); };
  const auto cache = [&](hwloc_obj_type_t type) -> std::uint64_t {
    const hwloc_obj_t object = hwloc_get_obj_by_type(raw, type, 0);
    return object != nullptr ? object->attr->cache.size / 1024 : 0;
  };
  return fmt::format(
      "{} socket(s), {} NUMA node(s), {} core(s), {} hardware thread(s), L2 {}KiB, L3 {}KiB",
      count(HWLOC_OBJ_PACKAGE), count(HWLOC_OBJ_NUMANODE), count(HWLOC_OBJ_CORE),
      count(HWLOC_OBJ_PU), cache(HWLOC_OBJ_L2CACHE), cache(HWLOC_OBJ_L3CACHE));
}

std::string mpi_library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string version(text, static_cast<std::size_t>(length));
  // Open MPI appends package, ident and date after a comma; the first part has the library's name
  // and version.
  version = version.substr(0, version.find_first_of(",\n"));
  return trim(version);
}

/// Whether the rank may use all cores that its job may use, however many those are.
bool is_unbound(const Hardware& hardware, const cpu_set_t& mask) {
  if (!hardware) return false;
  const hwloc_const_cpuset_t allowed = hwloc_topology_get_allowed_cpuset(hardware.get());
  for (int cpu = hwloc_bitmap_first(allowed); cpu >= 0; cpu = hwloc_bitmap_next(allowed, cpu))
    if (cpu < CPU_SETSIZE && !CPU_ISSET(cpu, &mask)) return false;
  return true;
}

/// The process's memory policy (numactl) and scheduling policy (chrt), if they are not the default.
std::string unusual_placement() {
  std::string out;
  int policy = 0;
  constexpr std::array<std::string_view, 7> names{
      "default",        "preferred",          "bind", "interleave", "local",
      "preferred_many", "weighted_interleave"};
  // Without a mask the call returns only the policy.
  if (syscall(SYS_get_mempolicy, &policy, nullptr, 0UL, nullptr, 0UL) == 0 && policy > 0)
    out += fmt::format(", memory {}", static_cast<std::size_t>(policy) < names.size()
                                          ? names[static_cast<std::size_t>(policy)]
                                          : std::to_string(policy));
  switch (sched_getscheduler(0)) {
    case SCHED_FIFO:
      return out + ", scheduled FIFO";
    case SCHED_RR:
      return out + ", scheduled RR";
    case SCHED_BATCH:
      return out + ", scheduled BATCH";
    case SCHED_IDLE:
      return out + ", scheduled IDLE";
    default:
      return out;
  }
}

std::string mpi_binding(const Hardware& hardware) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return "unknown";
  const int allowed = CPU_COUNT(&mask);
  return (allowed == 1                 ? "one hardware thread per rank"
          : is_unbound(hardware, mask) ? "not bound"
                                       : fmt::format("{} hardware threads per rank", allowed)) +
         unusual_placement();
}

/// The value of a setting; in "always [madvise] never" the one in brackets.
std::string setting_in(const fs::path& path) {
  const std::string line = first_line(path);
  const auto open = line.find('[');
  const auto close = line.find(']', open == std::string::npos ? 0 : open);
  return open == std::string::npos || close == std::string::npos
             ? line
             : line.substr(open + 1, close - open - 1);
}

}  // namespace

std::string read_operating_system(const std::string& root) {
  std::string name = value_of(fs::path(root) / "etc/os-release", "PRETTY_NAME", '=');
  if (name.size() >= 2 && name.front() == '"' && name.back() == '"')
    name = name.substr(1, name.size() - 2);
  return name.empty() ? "unknown" : name;
}

std::string read_cpu_model(const std::string& root) {
  for (const std::string_view key : {"model name", "CPU implementer", "cpu model"}) {
    const std::string model = value_of(fs::path(root) / "proc/cpuinfo", key, ':');
    if (!model.empty()) return model;
  }
  return "unknown";
}

std::string read_hypervisor(const std::string& root) {
  const std::string flags = value_of(fs::path(root) / "proc/cpuinfo", "flags", ':');
  if ((" " + flags + " ").find(" hypervisor ") == std::string::npos) return "none";
  const std::string vendor = first_line(fs::path(root) / "sys/class/dmi/id/sys_vendor");
  return vendor.empty() ? "unknown" : vendor;
}

std::string read_frequency_policy(const std::string& root) {
  std::set<std::string> governors;
  for (const auto& cpu : entries(fs::path(root) / "sys/devices/system/cpu")) {
    std::string governor = first_line(cpu / "cpufreq/scaling_governor");
    if (!governor.empty()) governors.insert(std::move(governor));
  }
  std::string out;
  for (const auto& governor : governors) out += (out.empty() ? "" : "+") + governor;
  if (out.empty()) out = "not visible";
  const fs::path cpus = fs::path(root) / "sys/devices/system/cpu";
  if (first_line(cpus / "cpufreq/boost") == "0" ||
      first_line(cpus / "intel_pstate/no_turbo") == "1")
    out += ", no boost";
  return out;
}

std::string read_kernel_settings(const std::string& root) {
  // Settings that the time of calls depends on: huge pages, single copy between processes, page
  // migration, the cost of reading the clock.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> settings{
      {{"sys/kernel/mm/transparent_hugepage/enabled", "huge_pages"},
       {"sys/kernel/mm/transparent_hugepage/shmem_enabled", "huge_shared_pages"},
       {"sys/kernel/mm/transparent_hugepage/defrag", "huge_page_defrag"},
       {"proc/sys/kernel/yama/ptrace_scope", "ptrace_scope"},
       {"proc/sys/kernel/numa_balancing", "numa_balancing"},
       {"proc/sys/vm/overcommit_memory", "overcommit"},
       {"sys/kernel/mm/ksm/run", "same_page_merging"},
       {"sys/devices/system/clocksource/clocksource0/current_clocksource", "clock"}}};
  std::string out;
  for (const auto& [file, name] : settings)
    if (const std::string value = setting_in(fs::path(root) / file); !value.empty())
      out += fmt::format("{}{}={}", out.empty() ? "" : " ", name, value);
  // Mitigations make system calls slower, and with them single copies.
  std::string mitigations;
  for (const auto& path : entries(fs::path(root) / "sys/devices/system/cpu/vulnerabilities"))
    mitigations += path.filename().string() + ": " + first_line(path) + "\n";
  constexpr std::size_t digits = 8;
  if (!mitigations.empty())
    out += fmt::format("{}mitigations={}", out.empty() ? "" : " ",
                       digest_of_text(mitigations).substr(0, digits));
  return out;
}

std::string read_fabric(const std::string& root) {
  std::map<std::string, int> kinds;
  for (const auto& nic : entries(fs::path(root) / "sys/class/net")) {
    // A hardware NIC has a device; bridges, tunnels and the like have none.
    if (!fs::exists(nic / "device") || first_line(nic / "operstate") != "up") continue;
    const std::string speed = first_line(nic / "speed");
    ++kinds["ethernet " + (speed.empty() || speed.starts_with('-') ? std::string("of unknown speed")
                                                                   : speed + " Mb/s")];
  }
  for (const auto& device : entries(fs::path(root) / "sys/class/infiniband")) {
    for (const auto& port : entries(device / "ports")) {
      if (first_line(port / "state").find("ACTIVE") == std::string::npos) continue;
      std::string layer = first_line(port / "link_layer");
      ++kinds[(layer == "Ethernet" ? "roce " : "infiniband ") + first_line(port / "rate")];
    }
  }
  std::string out;
  for (const auto& [kind, count] : kinds)
    out += fmt::format("{}{}x {}", out.empty() ? "" : ", ", count, kind);
  return out.empty() ? "none" : out;
}

std::string kernel_version(std::string_view release) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto number_from = [&](std::size_t begin) {
    while (begin < release.size() && is_digit(release[begin])) ++begin;
    return begin;
  };
  const std::size_t dot = number_from(0);
  if (dot == 0 || dot == release.size() || release[dot] != '.') return std::string(release);
  const std::size_t end = number_from(dot + 1);
  return std::string(end == dot + 1 ? release : release.substr(0, end));
}

std::optional<std::string> read_limits(const std::string& root, std::uint64_t locked_memory) {
  // Memory is registered with these network cards; what cannot be locked is copied instead.
  const bool registers_memory = !entries(fs::path(root) / "sys/class/infiniband").empty();
  if (locked_memory == RLIM_INFINITY || !registers_memory) return std::nullopt;
  return "locked_memory=" + format_bytes({locked_memory});
}

Provenance detect_provenance() {
  utsname kernel{};
  uname(&kernel);
  return {.colltune_version = std::string(build_info::version),
          .build = std::string(build_info::build),
          .operating_system = read_operating_system("/"),
          .kernel_release = kernel.release};
}

Environment detect_environment(const ProcessSettings& settings) {
  const Hardware hardware = load_hardware();
  utsname kernel{};
  uname(&kernel);
  Environment environment;
  environment.kernel = kernel_version(kernel.release);
  if (const std::string of_kernel = read_kernel_settings("/"); !of_kernel.empty())
    environment.kernel += " " + of_kernel;
  environment.cpu_model = read_cpu_model("/");
  environment.cpu_layout = describe_cpu_layout(hardware);
  environment.frequency_policy = read_frequency_policy("/");
  environment.hypervisor = read_hypervisor("/");
  environment.malloc_settings = settings.malloc_settings;
  environment.mpi_library = mpi_library();
  environment.mpi_transport = settings.mpi_transport;
  environment.mpi_binding = mpi_binding(hardware);
  environment.gpu_driver = value_of("/proc/driver/nvidia/version", "NVRM version", ':');
  environment.fabric = read_fabric("/");
  environment.variables = settings.variables;
  rlimit locked{};
  const bool is_known = getrlimit(RLIMIT_MEMLOCK, &locked) == 0;
  environment.limits = read_limits("/", is_known ? locked.rlim_cur : RLIM_INFINITY);
  return environment;
}

}  // namespace colltune
