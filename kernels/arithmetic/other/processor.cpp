// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// For all other processors.

#include <sched.h>

#include "arithmetic/processor.h"
#include "colltune/kernels/arithmetic/isa_names.h"

namespace colltune {

void relax_processor() noexcept { ::sched_yield(); }

std::vector<std::string> offered_isa_names() { return {}; }

}  // namespace colltune
