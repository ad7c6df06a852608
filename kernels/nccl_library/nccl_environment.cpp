// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/nccl_library/nccl_environment.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include "nccl_library/build_hint.h"
#include "plugins.h"

namespace colltune {
namespace {

namespace fs = std::filesystem;

constexpr const char* file_name = "libnccl-tuner-colltune.so";
constexpr const char* host_variable = "NCCL_HOSTID";
const std::string pretended_host = "colltune-rank-";

/// Interfaces, adapters, and paths of files that describe one node's topology or receive it, from
/// NCCL's documentation (env.html) and source (src/graph). The contents of a configuration file are
/// compared separately.
constexpr std::string_view settings_of_node[] = {
    "NCCL_CONF_FILE",      "NCCL_GRAPH_DUMP_FILE", "NCCL_GRAPH_FILE",     "NCCL_IB_HCA",
    "NCCL_OOB_NET_IFNAME", "NCCL_SOCKET_IFNAME",   "NCCL_TOPO_DUMP_FILE", "NCCL_TOPO_FILE"};

/// The home directory as NCCL finds it, regardless of HOME; empty: the user is unknown.
fs::path home_of_user() {
  std::array<char, 16384> text{};  // of one entry; sysconf's hint is 1 KiB
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(::getuid(), &entry, text.data(), text.size(), &found) != 0 || found == nullptr)
    return {};
  return found->pw_dir;
}

/// Reads a file as NCCL's param.cc does: nothing is trimmed, '#' counts only at the beginning of a
/// line, and the first line that names a variable wins.
void add_file(const fs::path& path, NcclVariables& into) {
  constexpr std::size_t most = 1023;  // characters of a name, and of a value
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t equals = line.find('=');
    if (line.starts_with('#') || equals == std::string::npos || equals == 0) continue;
    into.emplace(line.substr(0, std::min(equals, most)), line.substr(equals + 1, most));
  }
}

/// Whether the user sets it, in the environment or in one of NCCL's files.
bool is_set(const char* name) { return read_nccl_environment().contains(name); }

}  // namespace

NcclFiles find_nccl_files() {
  NcclFiles files{.user = {}, .system = "/etc/nccl.conf"};
  if (const char* const named = std::getenv("NCCL_CONF_FILE"); named != nullptr && *named != '\0')
    files.user = named;
  else if (const fs::path home = home_of_user(); !home.empty())
    files.user = home / ".nccl.conf";
  return files;
}

NcclVariables read_nccl_environment(const NcclFiles& files) {
  NcclVariables found;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (const std::size_t equals = text.find('='); equals != std::string_view::npos)
      found.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  add_file(files.user, found);
  add_file(files.system, found);
  return found;
}

void pretend_own_host(int rank) {
  // Must be in the environment: a file cannot give each rank its own name.
  ::setenv(host_variable, (pretended_host + std::to_string(rank)).c_str(), 0);
  if (!is_set("NCCL_NET")) ::setenv("NCCL_NET", "Socket", 1);
}

bool is_pretended_host() {
  const char* const host = std::getenv(host_variable);
  return host != nullptr && std::string_view(host).starts_with(pretended_host);
}

bool is_nccl_setting(std::string_view name) {
  // NVIDIA's images set NCCL_VERSION for their users; NCCL does not read it.
  return name.starts_with("NCCL_") && !name.starts_with("NCCL_DEBUG") && name != "NCCL_HOSTID" &&
         name != "NCCL_VERSION";
}

bool is_nccl_setting_of_node(std::string_view name) {
  return std::ranges::find(settings_of_node, name) != std::end(settings_of_node);
}

std::string find_nccl_tuner(const fs::path& program) {
  // bin/ and lib/ of a build, or the names that the installation uses.
  const fs::path root = program.parent_path().parent_path();
  std::error_code ignored;
  for (const fs::path& folder : {fs::path("lib"), fs::path(nccl::library_folder)})
    if (fs::path file = root / folder / file_name; fs::exists(file, ignored)) return file.string();
  return {};
}

std::string find_nccl_tuner() {
  std::error_code unreadable;
  const fs::path program = fs::read_symlink("/proc/self/exe", unreadable);
  return unreadable ? std::string() : find_nccl_tuner(program);
}

std::string find_foreign_nccl_plugin(const std::string& kind) {
  return nccl::find_foreign_plugin(kind, nccl::default_plugins(kind, read_nccl_environment()));
}

void prepare_nccl_environment() {
  std::error_code unreadable;
  const fs::path program = fs::read_symlink("/proc/self/exe", unreadable);
  if (!unreadable) prepare_nccl_environment(program);
}

void prepare_nccl_environment(
    const fs::path& program,
    const std::function<std::string(const std::string& kind)>& find_foreign) {
  const std::string tuner = find_nccl_tuner(program);
  if (tuner.empty()) return;
  for (const auto& [variable, kind] :
       {std::pair{"NCCL_TUNER_PLUGIN", "tuner"}, std::pair{"NCCL_PROFILER_PLUGIN", "profiler"}})
    if (!is_set(variable) && find_foreign(kind).empty()) ::setenv(variable, tuner.c_str(), 1);
}

}  // namespace colltune
