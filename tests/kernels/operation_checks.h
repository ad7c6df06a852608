// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "conformance.h"
#include "support/run_ranks.h"
#include "support/sanitizer.h"

namespace colltune::test {

/// What this process has of the system.
struct Held {
  std::size_t mappings = 0;
  std::size_t mapped = 0;  ///< bytes
  std::size_t descriptors = 0;
};

inline Held held_by_process() {
  Held held;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line); ++held.mappings) {
    std::size_t end_of_first = 0;
    const auto first = std::stoull(line, &end_of_first, 16);
    held.mapped += std::stoull(line.substr(end_of_first + 1), nullptr, 16) - first;
  }
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    static_cast<void>(entry);
    ++held.descriptors;
  }
  return held;
}

/// The same of each rank, one after the other: where they share a process, looking is something
/// that it holds. Collective.
inline Held held_by_rank(Communicator& communicator) {
  Held held;
  for (int rank = 0; rank < communicator.size(); ++rank) {
    if (rank == communicator.rank()) held = held_by_process();
    communicator.barrier(soon_enough());
  }
  return held;
}

/// One rank's part in a call whose result the oracle knows.
class CheckedOperation {
 public:
  CheckedOperation(Communicator& communicator, const Implementation& implementation,
                   const Variant& variant, const Problem& problem)
      : rank_(communicator.rank()),
        rounding_(implementation.numerics(problem, variant).rounding),
        call_{.problem = problem, .ranks = communicator.size()},
        send_(send_size(problem, call_.ranks, rank_ == 0).value),
        receive_(receive_size(problem, call_.ranks, rank_ == 0).value),
        operation_(implementation.prepare(communicator, {problem, 0, {send_, receive_}}, variant,
                                          soon_enough())) {}

  void start() {
    ++call_.seed;
    fill_send(call_, rank_, send_);
    operation_->start();
  }
  void wait() {
    operation_->wait(soon_enough());
    const auto wrong = find_mismatch(call_, rank_, rounding_, receive_);
    EXPECT_FALSE(wrong) << describe(call_.problem) << ", call " << call_.seed << ": element "
                        << wrong->element << " is " << wrong->got << ", not " << wrong->expected;
  }

 private:
  int rank_;
  Rounding rounding_;
  VerifiedCall call_;
  std::vector<std::byte> send_;
  std::vector<std::byte> receive_;
  std::unique_ptr<Operation> operation_;
};

/// A problem of `collective` with some `size` bytes, which all ranks can share.
inline Problem problem_of_size(Collective collective, std::uint64_t size, int ranks) {
  const std::uint64_t unit = sizeof(float) * static_cast<std::uint64_t>(ranks);
  return {.collective = collective,
          .data_type = DataType::f32,
          .reduce_op = shape_of(collective).reduces ? ReduceOp::sum : ReduceOp::none,
          .message_size = {(size + unit - 1) / unit * unit}};
}

/// Calls `act` with each of our own implementations, and its first and last variant for a message
/// of some `size` bytes.
template <class Act>
void for_each_own_variant(Communicator& communicator, const Implementations& catalogue,
                          std::uint64_t size, Act act) {
  const Capability capability = detect_capability(catalogue, communicator);
  const Topology topology = topology_of(communicator, capability);
  std::size_t turn = 0;
  for (const auto& implementation : catalogue) {
    if (implementation->family() != "colltune" || implementation->runs_on_device()) continue;
    const Problem problem =
        problem_of_size(implementation->collective(), size, communicator.size());
    const std::vector<Variant> all = implementation->variants(problem, topology, capability);
    // Under a sanitizer, which takes twenty times as long, they take turns.
    std::vector<Variant> chosen{all.front(), all.back()};
    if (has_sanitizer) chosen = {chosen[turn++ % 2]};
    for (const Variant& variant : chosen)
      if (implementation->supports(problem, topology, capability, variant))
        act(*implementation, variant, problem);
  }
}

/// What operations map and open goes with them. Collective.
inline void check_operations_give_back_what_they_hold(Communicator& communicator,
                                                      const Implementations& catalogue) {
  const auto use_all = [&](int times) {
    for_each_own_variant(
        communicator, catalogue, 256 << 10,
        [&](const Implementation& implementation, const Variant& variant, const Problem& problem) {
          for (int time = 0; time < times; ++time) {
            CheckedOperation operation(communicator, implementation, variant, problem);
            operation.start();
            operation.wait();
          }
        });
    communicator.barrier(soon_enough());
  };
  use_all(1);  // what libraries keep they have by now
  const Held before = held_by_rank(communicator);
  constexpr int times = 5;
  use_all(times);
  const Held after = held_by_rank(communicator);
  EXPECT_EQ(after.descriptors, before.descriptors);
  // What the C library's allocator keeps of one thread more; an operation has a mapping at least,
  // most of them half a megabyte.
  EXPECT_LE(after.mappings, before.mappings + 16);
  EXPECT_LE(after.mapped, before.mapped + (std::size_t{16} << 20));
}

/// Operations of unlike sizes on one communicator do not disturb each other. Collective.
inline void check_live_operations_take_turns(Communicator& communicator,
                                             const Implementations& catalogue) {
  for_each_own_variant(
      communicator, catalogue, 20 << 10,
      [&](const Implementation& implementation, const Variant& variant, const Problem& problem) {
        const Problem small = problem_of_size(problem.collective, 4, communicator.size());
        CheckedOperation large(communicator, implementation, variant, problem);
        CheckedOperation other(communicator, implementation, variant, small);
        constexpr int next = has_sanitizer ? 5 : 1;  // the first and the last of them
        for (int round = 0; round < 6; round += next) {
          // Now each after the other, now several of one, more than there are slots.
          for (int call = 0; call < 1 + round; ++call) {
            large.start();
            large.wait();
          }
          for (int call = 0; call < 6 - round; ++call) {
            other.start();
            other.wait();
          }
        }
        // Nobody's buffers go away while another may still look at them.
        communicator.barrier(soon_enough());
      });
}

}  // namespace colltune::test
