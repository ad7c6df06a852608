// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "colltune/kernels/implementation.h"
#include "library_call.h"
#include "nccl_library/library.h"

/// What NCCL's entries of the catalogue share.
namespace colltune::nccl {

inline constexpr std::string_view family_name = "nccl";
/// Set if the user made NCCL load no tuner, not even one that it would find by itself.
inline constexpr std::string_view without_tuner_feature = "nccl.tuner.none";

[[nodiscard]] std::vector<Collective> all_collectives();

/// Adds the features of this rank's NCCL: "nccl.version", or "nccl.unavailable" with the reason;
/// "nccl.tuner" if its choices can be forced, otherwise "nccl.tuner.unavailable" (and perhaps
/// "nccl.tuner.none"); "nccl.profiler" if it reports what ran, otherwise
/// "nccl.profiler.unavailable"; "nccl.environment". If the rank's buffers lie on no device, adds
/// nothing and does not open the library.
void detect_nccl(const Runtime& runtime, const Communicator& communicator, Capability& capability);

/// Whether a rank with `capability` can call NCCL's own `collective`.
[[nodiscard]] Support supports_native_call(const Problem& problem, const Topology& topology,
                                           const Capability& capability, Collective collective);
/// NCCL's value of one of the user's variables, as detected; empty if it is not set.
[[nodiscard]] std::string_view environment_value(const Capability& capability,
                                                 std::string_view variable);

/// `topology` as NCCL sees it: NCCL may take each rank for a separate host.
[[nodiscard]] Topology topology_of_nccl(const Topology& topology, const Capability& capability);

/// Implementation::why_not_bound of such calls: what is registered, in windows or captured was so
/// when the call was prepared.
[[nodiscard]] std::string why_not_bound_native(const Problem& problem);
/// What of such a call can be another one in each call.
[[nodiscard]] CallTraits traits_of_native_call(const Problem& problem);

/// Bytes of an element of the widest type.
inline constexpr std::size_t widest_element = 8;

/// Why NCCL's result would be wrong in place; empty if it is right, or the problem not in place.
[[nodiscard]] std::string_view why_not_in_place(const Problem& problem, int ranks);
/// Why it is no average as a sum of shares; empty if it is one.
[[nodiscard]] std::string_view why_not_premultiplied(const Problem& problem);

/// Why NCCL has no symmetric windows between the ranks of such a topology; empty if it may have.
[[nodiscard]] std::string why_not_windows(const Topology& topology, const Capability& capability);
/// Why such a rank cannot set a communicator's number of CTAs or its policy: NCCL is too old, or
/// the environment, which takes precedence, sets another value. Empty if it can.
[[nodiscard]] std::string why_not_ctas(const Capability& capability);
/// Why such a rank cannot ask its tuner for a number of channels: NCCL may take fewer, and nothing
/// reports how many. Empty if it can.
[[nodiscard]] std::string why_not_channels(const Capability& capability);
/// Why such a rank cannot say in a call what shall run it: NCCL is too old, or the environment
/// decides. Empty if it can.
[[nodiscard]] std::string why_not_selection(const Capability& capability);
[[nodiscard]] std::string why_not_policy(const Capability& capability, CtaPolicy policy);

/// Rings and trees hand partial results on in the element type.
[[nodiscard]] Numerics numerics_of_native_call(const Problem& problem);
/// The lower bounds that NCCL's algorithms approach, with the given `steps` and the bytes that
/// nccl-tests' bus bandwidth counts.
[[nodiscard]] Cost cost_of_native_call(const Problem& problem, int ranks, double steps);
/// The same for an algorithm that reduces in the switch (NVLS): for an all-reduce of S bytes each
/// rank takes its n-th from the switch, reduced, and hands it back to all, S (1 + 1/n) through its
/// link.
[[nodiscard]] Cost cost_in_switch(const Problem& problem, int ranks, double steps);
/// Whether NCCL, left to itself, reduces long messages of this kind in the switch: all-reduces of
/// types and operators that it adds up, on one node of more than two GPUs, all sm_90 or later.
[[nodiscard]] bool is_reduced_in_switch(const Problem& problem, const Topology& topology);

}  // namespace colltune::nccl
