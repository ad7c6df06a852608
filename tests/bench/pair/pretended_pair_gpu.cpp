// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// A pretended device, and the library that stands for NCCL told that its ranks are processes.
// PRETENDED_GPU=none: there is none. PRETENDED_NCCL says what else the library is like.

#include <dlfcn.h>

#include <cstdlib>
#include <string_view>

#include "pair_gpu.h"
#include "support/fake_nccl/fake_nccl.h"
#include "support/pretended_device.h"

namespace colltune {
namespace {

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view{} : value;
}

test::FakeNcclSettings settings() {
  test::FakeNcclSettings settings{.is_across_processes = true};
  const std::string_view like = variable("PRETENDED_NCCL");
  constexpr int tree_ll = 0;
  constexpr int ring_simple = 5;
  if (like == "runs tree whatever is forced") settings.entry_that_runs = tree_ll;
  if (like == "hangs in ring simple") {
    settings.rank_stuck_in_call = 1;
    settings.stuck_entries = std::uint64_t{1} << ring_simple;
  }
  if (like == "is from before profilers") settings.version = 22603;
  if (like == "rank 1 is refused") settings.rank_refused_in_init = 1;
  if (like == "has four channels") settings.channels = 4;
  return settings;
}

void configure_library() {
  void* const library = dlopen(std::getenv("COLLTUNE_NCCL_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return;  // whoever opens it next says why
  const auto configure = reinterpret_cast<test::FakeNcclConfigure>(  // NOLINT: what dlsym is for
      dlsym(library, "fake_nccl_configure"));
  const test::FakeNcclSettings wanted = settings();
  if (configure != nullptr) configure(&wanted);
}

}  // namespace

std::string why_no_pair_gpu() {
  return variable("PRETENDED_GPU") == "none" ? "the pretended machine has none" : std::string();
}

std::unique_ptr<Device> open_pair_gpu() {
  configure_library();
  auto device = std::make_unique<test::PretendedDevice>("gpu", 2);
  device->pretend_cuda();
  return device;
}

}  // namespace colltune
