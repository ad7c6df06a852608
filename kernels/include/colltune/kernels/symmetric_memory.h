// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace colltune {

/// Memory of equal size on each rank of a communicator, each part reachable by all ranks of its
/// node. Zeroed when allocated, aligned to 2 MiB, first touched by its owner. Owns the mapping; destroying it is
/// local and must happen on every rank only after all ranks are done with it. Not thread-safe.
class SymmetricMemory {
 public:
  virtual ~SymmetricMemory() = default;
  /// The part of `rank`, mapped here; empty where that rank lives on another node.
  [[nodiscard]] virtual std::span<std::byte> part(int rank) const = 0;
};

}  // namespace colltune
