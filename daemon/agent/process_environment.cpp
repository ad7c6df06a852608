// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "process_environment.h"

#include <fmt/core.h>
#include <hwloc.h>
#include <malloc.h>
#include <mpi.h>
#include <sched.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "build_info.h"
#include "colltune/sweep/launch_environment.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

namespace fs = std::filesystem;

std::string trim(std::string text) {
  const auto is_space = [](unsigned char c) { return std::isspace(c) != 0; };
  text.erase(text.begin(), std::find_if_not(text.begin(), text.end(), is_space));
  text.erase(std::find_if_not(text.rbegin(), text.rend(), is_space).base(), text.end());
  return text;
}

/// The first line of a small system file; empty where it cannot be read (or the kernel refuses, as
/// for a NIC's speed while its link is down).
std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return trim(line);
}

/// The value behind "key<spaces>separator" in a file of such lines.
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

std::string describe_cpu_layout() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return {};
  const std::unique_ptr<hwloc_topology, TopologyDeleter> topology(raw);
  // The whole machine, whatever this rank is bound to.
  if (hwloc_topology_load(raw) != 0) return {};
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
  // Open MPI appends package, ident and date after a comma; the first part names library and
  // version.
  version = version.substr(0, version.find_first_of(",\n"));
  return trim(version);
}

/// The variables that the fact `in` records, by name, as `environment` has them.
NcclVariables recorded_variables(NcclVariables environment, RecordedIn in) {
  std::erase_if(environment, [&](const auto& one) { return where_recorded(one.first) != in; });
  return environment;
}

/// MCA parameters that the user set, whichever way mpirun hands them down.
std::string mpi_transport() {
  std::map<std::string, std::string> parameters;
  // MPI reads no file of NCCL's.
  for (const auto& [name, value] :
       recorded_variables(read_nccl_environment({}), RecordedIn::mpi_transport))
    parameters.emplace(name.substr(mca_prefix.size()), value);
  std::string out;
  for (const auto& [name, value] : parameters) out += (out.empty() ? "" : " ") + name + "=" + value;
  return out.empty() ? "default" : out;
}

std::string mpi_binding() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return "unknown";
  const int allowed = CPU_COUNT(&mask);
  return allowed == 1 ? "one hardware thread per rank"
                      : fmt::format("{} hardware threads per rank", allowed);
}

}  // namespace

std::string pin_malloc() {
  constexpr int glibc_start = 128 * 1024;
  std::string out;
  const auto pin = [&](const char* variable, int parameter, std::string_view name) {
    const char* user = std::getenv(variable);
    if (user == nullptr) mallopt(parameter, glibc_start);
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", name,
                       user != nullptr ? user : std::to_string(glibc_start));
  };
  pin("MALLOC_MMAP_THRESHOLD_", M_MMAP_THRESHOLD, "mmap_threshold");
  pin("MALLOC_TRIM_THRESHOLD_", M_TRIM_THRESHOLD, "trim_threshold");
  return out;
}

bool set_variables(std::span<const std::string> variables) {
  const NcclVariables before = read_nccl_environment();
  for (const std::string& text : variables) {
    const Assignment variable = parse_assignment(text);
    if (const std::string why = why_not_set_per_process(variable.name); !why.empty())
      throw Error(StatusCode::invalid_argument, variable.name + ": " + why);
    ::setenv(variable.name.c_str(), variable.value.c_str(), 1);
  }
  return read_nccl_environment() != before;
}

std::optional<std::string> read_variables(const NcclFiles& files) {
  std::string out;
  for (const auto& [name, value] :
       recorded_variables(read_nccl_environment(files), RecordedIn::variables))
    out += (out.empty() ? "" : " ") + to_text(Assignment{name, value});
  return out.empty() ? std::nullopt : std::optional(std::move(out));
}

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
  return out.empty() ? "not visible" : out;
}

std::string read_fabric(const std::string& root) {
  std::map<std::string, int> kinds;
  for (const auto& nic : entries(fs::path(root) / "sys/class/net")) {
    // A NIC of hardware has a device behind it; bridges, tunnels and the like have none.
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

Environment detect_environment(std::string malloc_settings, std::optional<std::string> variables) {
  utsname kernel{};
  uname(&kernel);
  Environment environment;
  environment.colltune_version = std::string(build_info::version);
  environment.build = std::string(build_info::build);
  environment.operating_system = read_operating_system("/");
  environment.kernel_release = kernel.release;
  environment.cpu_model = read_cpu_model("/");
  environment.cpu_layout = describe_cpu_layout();
  environment.frequency_policy = read_frequency_policy("/");
  environment.hypervisor = read_hypervisor("/");
  environment.malloc_settings = std::move(malloc_settings);
  environment.mpi_library = mpi_library();
  environment.mpi_transport = mpi_transport();
  environment.mpi_binding = mpi_binding();
  environment.gpu_driver = value_of("/proc/driver/nvidia/version", "NVRM version", ':');
  environment.fabric = read_fabric("/");
  environment.variables = std::move(variables);
  return environment;
}

}  // namespace colltune
