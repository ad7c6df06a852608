// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/nccl_environment.h"

#include <cstdlib>
#include <string>
#include <system_error>

#include "nccl/build_hint.h"

namespace colltune {
namespace {

namespace fs = std::filesystem;

constexpr const char* variable = "NCCL_TUNER_PLUGIN";
constexpr const char* file_name = "libnccl-tuner-colltune.so";

}  // namespace

void pretend_own_host(int rank) {
  ::setenv("NCCL_HOSTID", ("colltune-rank-" + std::to_string(rank)).c_str(), 0);
  ::setenv("NCCL_NET", "Socket", 0);
}

bool is_nccl_setting(std::string_view name) {
  // NCCL_VERSION is set by images of NVIDIA's for their users; NCCL does not read it.
  return name.starts_with("NCCL_") && !name.starts_with("NCCL_DEBUG") && name != "NCCL_HOSTID" &&
         name != "NCCL_VERSION";
}

std::string find_nccl_tuner(const fs::path& program) {
  // bin/ and lib/ of a build, or what the installation calls them.
  const fs::path root = program.parent_path().parent_path();
  std::error_code ignored;
  for (const fs::path& folder : {fs::path("lib"), fs::path(nccl::library_folder)})
    if (fs::path file = root / folder / file_name; fs::exists(file, ignored)) return file.string();
  return {};
}

void prepare_nccl_environment() {
  std::error_code unreadable;
  const fs::path program = fs::read_symlink("/proc/self/exe", unreadable);
  if (unreadable) return;
  if (const std::string tuner = find_nccl_tuner(program); !tuner.empty())
    ::setenv(variable, tuner.c_str(), 0);
}

}  // namespace colltune
