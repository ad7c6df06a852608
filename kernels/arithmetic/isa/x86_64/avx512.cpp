// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Compiled with -mavx512f -mavx512bw -mavx512vl -mavx512dq: see vector_body.h on what that forbids
// here.

#include "avx512.h"

namespace colltune {

extern constexpr Isa avx512_isa{.name = "avx512",
                                .needs = {"avx512f", "avx512bw", "avx512vl", "avx512dq"},
                                .vector_bytes = Avx512::width,
                                .streams = Avx512::streams,
                                .reduce = vector_reduce<Avx512>,
                                .copy = vector_copy<Avx512>};

}  // namespace colltune
