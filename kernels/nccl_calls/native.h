// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "colltune/kernels/implementation.h"
#include "library_call.h"
#include "nccl_library/library.h"

/// What NCCL's entries of the catalogue have in common.
namespace colltune::nccl {

inline constexpr std::string_view family_name = "nccl";
/// The user had NCCL load no tuner, not even one that it would find by itself.
inline constexpr std::string_view without_tuner_feature = "nccl.tuner.none";

[[nodiscard]] std::vector<Collective> all_collectives();

/// Adds what this rank's NCCL is: "nccl.version", or "nccl.unavailable" with the reason;
/// "nccl.tuner" where its choices can be forced, or "nccl.tuner.unavailable" ("nccl.tuner.none"
/// besides); "nccl.profiler" where it tells what ran, or "nccl.profiler.unavailable";
/// "nccl.environment". Nothing where the rank's buffers lie on no device: the library is not even
/// opened there.
void detect_nccl(const Runtime& runtime, const Communicator& communicator, Capability& capability);

/// Whether a rank with `capability` can call NCCL's own `collective`.
[[nodiscard]] Support supports_native_call(const Problem& problem, const Topology& topology,
                                           const Capability& capability, Collective collective);
/// NCCL's value of one of the user's variables, as detected: empty where it is not set.
[[nodiscard]] std::string_view environment_value(const Capability& capability,
                                                 std::string_view variable);

/// `topology` as NCCL takes it, to which ranks may be hosts of their own.
[[nodiscard]] Topology topology_of_nccl(const Topology& topology, const Capability& capability);

/// Why NCCL has no symmetric windows between the ranks of such a topology; empty where it may.
[[nodiscard]] std::string why_not_windows(const Topology& topology, const Capability& capability);
/// Why a communicator's numbers of CTAs, or its policy, cannot be set on such a rank: NCCL is too
/// old for it, or the environment, which has the last word, says otherwise. Empty where they can.
[[nodiscard]] std::string why_not_ctas(const Capability& capability);
[[nodiscard]] std::string why_not_policy(const Capability& capability, CtaPolicy policy);

[[nodiscard]] NativeCall native_call(const Communicator& communicator, const Call& call);
/// A ring hands partial results on, and so does a tree: in the element type.
[[nodiscard]] Numerics numerics_of_native_call(const Problem& problem);
/// The lower bounds that its algorithms approach: as many `steps`, and the bytes that nccl-tests'
/// bus bandwidth counts.
[[nodiscard]] Cost cost_of_native_call(const Problem& problem, int ranks, double steps);

}  // namespace colltune::nccl
