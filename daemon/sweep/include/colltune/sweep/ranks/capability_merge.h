// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "colltune/kernels/capability.h"
#include "colltune/sweep/control/control_plane.h"

namespace colltune {

/// What the ranks of a range can do. Each distinct capability appears once, ordered by value, so
/// the same ranks give the same numbers in whatever order they are merged.
struct CapabilityKinds {
  std::vector<Capability> kinds;
  std::vector<int> kind_of_rank;  ///< index into `kinds`

  friend bool operator==(const CapabilityKinds&, const CapabilityKinds&) = default;
};

/// Merges two neighbouring ranges, the lower ranks first. Pure and associative.
[[nodiscard]] CapabilityKinds merge(const CapabilityKinds& lower, const CapabilityKinds& upper);

/// The form in which it is sent. What several kinds have in common is written once, names with a
/// common prefix share it, and each rank takes one byte (two from 257 kinds on, four from 65,537
/// on).
[[nodiscard]] Payload encode(const CapabilityKinds& ranks);
/// Throws Error(data_loss) for anything that `encode` does not write.
[[nodiscard]] CapabilityKinds decode_kinds(const Payload& payload);

/// merge() on payloads, for ControlPlane::merge, which must not throw. If a payload cannot be read,
/// the result is one that `decode_kinds` refuses for the same reason.
[[nodiscard]] Payload merge_payloads(const Payload& lower, const Payload& upper) noexcept;

/// Collective: what all ranks can do; the same on every rank.
[[nodiscard]] CapabilityKinds exchange_kinds(ControlPlane& control, const Capability& own);

}  // namespace colltune
