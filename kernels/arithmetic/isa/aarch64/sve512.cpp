// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Compiled with -msve-vector-bits=512.

#include "fixed_sve.h"

namespace colltune {

extern constexpr Isa sve512_isa{.name = "sve512",
                                .needs = {"sve512"},
                                .vector_bytes = FixedSve::width,
                                .streams = FixedSve::streams,
                                .reduce = vector_reduce<FixedSve>,
                                .copy = vector_copy<FixedSve>};

}  // namespace colltune
