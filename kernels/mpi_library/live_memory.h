// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "colltune/kernels/communicator.h"
#include "colltune/machine/mapping.h"

namespace colltune {

/// The live symmetric memory of a process; shared by all communicators made from the world. Not
/// thread-safe.
class LiveMemory : public std::enable_shared_from_this<LiveMemory> {
 public:
  static constexpr Bytes no_limit{std::numeric_limits<std::uint64_t>::max()};
  /// `most`: of this process's own parts together.
  explicit LiveMemory(Bytes most = no_limit) : most_(most) {}

  /// Throws Error(resource_exhausted) if `more` would exceed the limit.
  void require_room(Bytes more) const;
  /// A name that no other allocation of this process has had.
  [[nodiscard]] AllocationName make_name();
  /// Takes the mappings of all ranks' parts; `world_ranks` has the world rank of each, and a
  /// mapping is empty if that part is not mapped here. `own` is this rank's index among them.
  /// Registered as long as the returned memory lives.
  [[nodiscard]] std::unique_ptr<SymmetricMemory> add(const AllocationName& name,
                                                     std::vector<Mapping> parts,
                                                     std::span<const int> world_ranks, int own);
  /// Where this process's `own` bytes lie; nothing if not wholly in one allocation.
  [[nodiscard]] std::optional<SymmetricAddress> symmetric_address_of(
      std::span<const std::byte> own) const;
  /// The address at which that address of the part of `world_rank` is mapped here; null if it is
  /// not.
  [[nodiscard]] std::byte* find(const SymmetricAddress& address, int world_rank) const;

 private:
  /// One allocation, as this process maps it.
  struct Allocation {
    AllocationName name;
    std::span<std::byte> own;
    std::map<int, std::span<std::byte>> parts;  ///< by world rank
  };
  class Memory;

  Bytes most_;
  std::int64_t made_ = 0;
  std::list<Allocation> allocations_;
};

}  // namespace colltune
