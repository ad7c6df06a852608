// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Compiled with -msve-vector-bits=256.

#include "fixed_sve.h"

namespace colltune {

extern constexpr Isa sve256_isa{.name = "sve256",
                                .needs = {"sve256"},
                                .vector_bytes = FixedSve::width,
                                .streams = FixedSve::streams,
                                .reduce = vector_reduce<FixedSve>,
                                .copy = vector_copy<FixedSve>};

}  // namespace colltune
