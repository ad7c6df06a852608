// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "colltune/kernels/implementation.h"
#include "nccl/library.h"
#include "nccl/library_call.h"

/// What NCCL's entries of the catalogue have in common.
namespace colltune::nccl {

inline constexpr std::string_view family_name = "nccl";

/// Adds what this rank's NCCL is: "nccl.version", or "nccl.unavailable" with the reason;
/// "nccl.tuner" where its choices can be forced, or "nccl.tuner.unavailable"; "nccl.environment".
/// Nothing where the rank's buffers lie on no device: the library is not even opened there.
void detect_nccl(const Runtime& runtime, const Communicator& communicator, Capability& capability);

/// Whether a rank with `capability` can call NCCL's own `collective`.
[[nodiscard]] Support supports_native_call(const Problem& problem, const Topology& topology,
                                           const Capability& capability, Collective collective);
/// NCCL's value of one of the user's variables, as detected: empty where it is not set.
[[nodiscard]] std::string_view environment_value(const Capability& capability,
                                                 std::string_view variable);

[[nodiscard]] NativeCall native_call(const Communicator& communicator, const Call& call);
/// A ring hands partial results on, and so does a tree: in the element type.
[[nodiscard]] Numerics numerics_of_native_call(const Problem& problem);
/// The lower bounds that its algorithms approach: as many `steps`, and the bytes that nccl-tests'
/// bus bandwidth counts.
[[nodiscard]] Cost cost_of_native_call(const Problem& problem, int ranks, double steps);

}  // namespace colltune::nccl
