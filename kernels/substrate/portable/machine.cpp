// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "machine.h"

#include <sched.h>
#include <sys/utsname.h>

namespace colltune {
namespace {

std::string machine_name() {
  utsname names{};
  return ::uname(&names) == 0 ? names.machine : "unknown";
}

}  // namespace

void relax_processor() noexcept { ::sched_yield(); }

// Advanced SIMD is part of every 64-bit Arm processor that runs Linux.
std::vector<std::string> isa_names() {
  if (machine_name() == "aarch64") return {"neon"};
  return {};
}

std::string cpu_architecture() {
  const std::string name = machine_name();
  return name == "aarch64" ? "aarch64-neon" : name;
}

}  // namespace colltune
