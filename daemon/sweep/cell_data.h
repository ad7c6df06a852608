// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "colltune/kernels/communicator.h"
#include "colltune/kernels/operation.h"
#include "colltune/kernels/oracle.h"
#include "colltune/sweep/run_timer.h"
#include "trial.h"

namespace colltune {

/// Memory for the buffers of all cells of a world: two regions, grown to the largest that was asked
/// for, first touched by this rank.
class BufferArena {
 public:
  struct Regions {
    std::span<std::byte> first;
    std::span<std::byte> second;
  };

  /// Two private regions of `bytes` each, aligned to pages.
  [[nodiscard]] Regions plain(Bytes bytes);
  /// The same in symmetric memory. Collective over `communicator`; all ranks throw, or none.
  [[nodiscard]] Regions registered(Communicator& communicator, Bytes bytes, Deadline deadline);

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };
  std::unique_ptr<std::byte, Free> plain_memory_;
  std::size_t plain_bytes_ = 0;
  std::unique_ptr<SymmetricMemory> registered_memory_;
  std::size_t registered_bytes_ = 0;
};

/// One rank's buffers for a cell and the data that its calls are verified with.
class CellData {
 public:
  CellData(const Problem& problem, const Communicator& world, const BufferArena::Regions& regions);

  [[nodiscard]] Call call() const;
  /// The input of the timed runs.
  [[nodiscard]] RunInput run_input() const;

  /// Runs `operation` on known data and compares every element of the result. All ranks of the
  /// world take part. A rank without an operation (its own fault) only comes to the start.
  struct Check {
    DataPattern pattern = DataPattern::exact;
    int seed = 0;  ///< 0 or 1: another one gives other data
    Rounding rounding = Rounding::exact;
  };
  [[nodiscard]] std::optional<Fault> verify(Communicator& world, Operation* operation,
                                            const Check& check, const RunLimits& limits);

 private:
  [[nodiscard]] VerifiedCall verified_call(const Check& check) const;
  /// What this rank sends in a verified call; made once.
  [[nodiscard]] std::span<const std::byte> input_of(const Check& check);

  Problem problem_;
  int rank_;
  int ranks_;
  std::span<std::byte> send_;
  std::span<std::byte> receive_;
  std::array<std::array<std::optional<std::vector<std::byte>>, 2>, 2> inputs_;  ///< pattern, seed
  std::span<const std::byte> run_image_;
};

}  // namespace colltune
