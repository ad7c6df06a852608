// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <sys/prctl.h>

#include "arithmetic/processor.h"
#include "colltune/kernels/arithmetic/isa_names.h"

namespace colltune {

// Not `yield`, which is a nop on cores with a single hardware thread. An isb drains the pipeline,
// which takes about as long as a pause on x86-64 (Rust's std::hint::spin_loop does the same).
void relax_processor() noexcept { asm volatile("isb" : : : "memory"); }

std::vector<std::string> offered_isa_names() {
  std::vector<std::string> names;
  names.emplace_back("neon");  // part of every 64-bit Arm processor that runs Linux
  // The length of this process's SVE vectors; an error if there is no SVE.
  if (const int length = ::prctl(PR_SVE_GET_VL); length > 0)
    names.push_back("sve" + std::to_string(8 * (length & PR_SVE_VL_LEN_MASK)));
  return names;
}

}  // namespace colltune
