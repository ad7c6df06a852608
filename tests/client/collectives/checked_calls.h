// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "colltune/collectives/collectives.h"
#include "colltune/kernels/verification/oracle.h"

namespace colltune::test {

/// Which calls; the buffers are none's yet.
struct WantedCall {
  CollectiveCall call;
  bool in_place = false;
  /// CollectiveCall::counts; empty: none.
  std::vector<std::size_t> counts{};
};

/// All collectives, types and operators; some sizes, and lists of counts; the first and the last
/// rank as root; in place and not. `thorough`: all types, more sizes.
[[nodiscard]] std::vector<WantedCall> all_calls(int ranks, bool thorough = true);

/// Which of `asked` have unequal counts.
[[nodiscard]] std::vector<WantedCall> of_unequal_counts(std::span<const WantedCall> asked);

/// Memory for one of a call's two buffers, aligned to 8 bytes at least.
using GetMemory = std::function<std::span<std::byte>(std::size_t bytes)>;

/// One call on this rank with buffers of its own, which the reference fills and checks.
class CheckedBuffers {
 public:
  /// `memory`: where the buffers lie; null: in memory of this.
  CheckedBuffers(const WantedCall& asked, int rank, int ranks, const GetMemory& memory = nullptr);
  CheckedBuffers(const CheckedBuffers&) = delete;
  CheckedBuffers& operator=(const CheckedBuffers&) = delete;

  /// With these buffers.
  [[nodiscard]] const CollectiveCall& call() const { return call_; }
  /// Writes the input of `seed`.
  void fill(std::uint64_t seed);
  /// Reports a failure of the test if what this rank received is not the result.
  void expect_result(std::uint64_t seed) const;

 private:
  [[nodiscard]] VerifiedCall verified(std::uint64_t seed) const;

  CollectiveCall call_;
  std::vector<std::size_t> counts_;
  bool in_place_;
  int rank_;
  int ranks_;
  std::vector<std::vector<std::byte>> own_;
  std::span<std::byte> send_;
  std::span<std::byte> receive_;
};

/// Makes all of `asked` by run(), and expects the reference's results.
void expect_all(Collectives& collectives, std::span<const WantedCall> asked);
/// The same as persistent calls, each three times. Returns how many ran by a variant of ours.
int expect_all_persistent(Collectives& collectives, std::span<const WantedCall> asked,
                          const GetMemory& memory = nullptr);

}  // namespace colltune::test
