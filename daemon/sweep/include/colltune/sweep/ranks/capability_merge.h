// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "colltune/kernels/capability.h"
#include "colltune/sweep/control/control_plane.h"

namespace colltune {

/// What a range of ranks can do: each different capability once, ordered by value, so that the same
/// ranks give the same numbers in whatever order they are merged.
struct CapabilityKinds {
  std::vector<Capability> kinds;
  std::vector<int> kind_of_rank;  ///< index into `kinds`

  friend bool operator==(const CapabilityKinds&, const CapabilityKinds&) = default;
};

/// Two neighbouring ranges, the lower ranks first. Pure; associative.
[[nodiscard]] CapabilityKinds merge(const CapabilityKinds& lower, const CapabilityKinds& upper);

/// As it travels: what several kinds have in common is written once, names that begin alike share
/// their beginning, and a rank takes one byte (two from 257 kinds on, four from 65,537 on).
[[nodiscard]] Payload encode(const CapabilityKinds& ranks);
/// Throws Error(data_loss) for anything but what `encode` writes.
[[nodiscard]] CapabilityKinds decode_kinds(const Payload& payload);

/// merge() of payloads, for ControlPlane::merge, which must not throw: a payload that cannot be
/// read makes one that `decode_kinds` refuses for the same reason.
[[nodiscard]] Payload merge_payloads(const Payload& lower, const Payload& upper) noexcept;

/// Collective: what all ranks can do, the same on all of them.
[[nodiscard]] CapabilityKinds exchange_kinds(ControlPlane& control, const Capability& own);

}  // namespace colltune
