// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "colltune/kernels/communicator.h"
#include "colltune/kernels/implementation.h"

namespace colltune {

/// Call::capacity for calls of any size: no more than the sizes of waves depends on it.
inline constexpr Bytes any_size{std::uint64_t{1} << 46U};

/// What runs where the table has no winner.
struct PlainWay {
  /// Prepares a call. Collective where it waits for others. Throws Error on all ranks or none.
  std::function<std::unique_ptr<Operation>(Communicator&, const Call&)> prepare;
  /// Of elements in a block, or in all blocks together if counts are unequal; nothing: any.
  std::optional<std::size_t> most_elements{};
  /// Whether a reduce_scatter in place can be prepared.
  bool scatters_in_place = true;
};

/// The MPI library's own choice. Only in builds with MPI.
[[nodiscard]] PlainWay make_library_way();
/// The same as parts of compositions ("mpi.all_reduce", …), on communicators that MPI made: without
/// a bound in time, but for reduce_scatters in place too. Only in builds with MPI.
[[nodiscard]] Implementations make_library_parts();
/// Kernels of `catalogue`, make_host_catalogue(), that take any type, operator, size and number of
/// ranks from 2 on: each rank reads what it needs through staging of 64 KiB at a time, and reduces
/// in rank order, so a call has the same bits in every run.
[[nodiscard]] PlainWay make_thread_way(std::shared_ptr<const Implementations> catalogue);

/// The plain calls of one communicator on one rank. Not thread-safe.
class PlainCalls {
 public:
  /// `communicator` outlives this.
  PlainCalls(PlainWay way, Communicator& communicator)
      : way_(std::move(way)), communicator_(communicator) {}

  /// Throws Error(invalid_argument) if it could not be done, on all ranks or none: it looks at
  /// nothing but type, size and counts.
  void check(const Problem& problem) const;
  /// The operation for the call, which starts next; collective if it is the first of its
  /// collective. Belongs to this. Throws Error on all ranks or none, except for RankMissing.
  [[nodiscard]] Operation& next(const Call& call);
  /// An operation for these buffers. Collective, throws likewise.
  [[nodiscard]] std::unique_ptr<Operation> prepare(Call call) const;

 private:
  [[nodiscard]] bool needs_block(const Problem& problem) const;

  PlainWay way_;
  Communicator& communicator_;
  /// By collective; those for unequal counts apart, since the library has other functions for them.
  using Operations = std::array<std::unique_ptr<Operation>, enum_names(Collective{}).size()>;
  Operations of_equal_counts_;
  Operations of_unequal_counts_;
};

}  // namespace colltune
