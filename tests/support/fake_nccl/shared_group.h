// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "colltune/vocabulary/collective.h"
#include "colltune/vocabulary/problem.h"
#include "support/fake_nccl/fake_nccl.h"

namespace colltune::test {

/// What the ranks of a communicator see of each other where they are processes: memory that all
/// map, zero at first. Who looks for something in it polls.
struct SharedGroup {
  struct Call {
    Collective collective{};
    DataType type{};
    ReduceOp op{};
    int root = 0;
    std::uint64_t count = 0;
    FakeNcclChoice choice{};
    std::array<std::byte, most_bytes_across_processes> sent{};
  };
  std::atomic<int> joined;
  std::atomic<bool> is_broken;  ///< a member was aborted
  /// Of each rank: the number of the call that it has come to, and of the last whose result it has.
  std::array<std::atomic<std::uint64_t>, most_fake_ranks> arrived;
  std::array<std::atomic<std::uint64_t>, most_fake_ranks> computed;
  /// Written before `arrived`, and not again before all have `computed`.
  std::array<Call, most_fake_ranks> calls;
};

struct Unmap {
  void operator()(SharedGroup* group) const noexcept;
};
/// The group called `name`, made by whoever comes first. Null where the system refuses.
[[nodiscard]] std::shared_ptr<SharedGroup> open_shared_group(std::uint64_t name);
/// Nobody else finds it any more; those who have it keep it.
void forget_shared_group(std::uint64_t name);

}  // namespace colltune::test
