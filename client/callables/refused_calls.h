// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "colltune/kernels/communicator.h"

namespace colltune {

/// What the ranks of a node tell each other about calls that one of them did not make, since its
/// buffers were wrong: else the others would wait for it. Nothing is told of a call that is made,
/// so such a call costs a count. If all ranks refuse a call, it counts as made by nobody, and all
/// go on. Ranks of other nodes are not told. Not thread-safe.
class RefusedCalls final {
 public:
  /// Collective.
  RefusedCalls(Communicator& ranks, Deadline deadline);

  /// This rank makes its next call.
  void begin() noexcept { ++calls_; }
  /// It does not make its next call. Only while not is_open().
  void refuse() noexcept;
  /// It makes no further call.
  void end() noexcept;

  /// Whether the others may not yet have refused the call that this rank refused last.
  [[nodiscard]] bool is_open() const noexcept { return is_open_; }
  /// Whether all ranks have refused the call that this rank refused last. Throws as `look`.
  [[nodiscard]] bool agrees();
  /// Throws Error(aborted) if another rank has refused a call that this rank has made, or makes;
  /// has made one that this rank refused; or makes no further call.
  void look() const;

 private:
  /// A rank's refusals, in turn. Ranks that refuse the same calls have the same numbers in the same
  /// places, and none is more than one refusal ahead of another.
  static constexpr std::size_t places = 4;
  struct Line;

  [[nodiscard]] std::uint64_t read(int rank, std::size_t place) const;

  std::unique_ptr<SymmetricMemory> memory_;
  std::vector<Line*> lines_;  ///< by rank; null on other nodes
  std::vector<int> others_;   ///< the other ranks of this node
  int rank_;
  std::uint64_t calls_ = 0;                  ///< the number of the latest, refused ones counted
  std::array<std::uint64_t, places> own_{};  ///< numbers of the calls that this rank refused
  std::size_t latest_ = 0;                   ///< its last refusal's place
  std::uint64_t before_ = 0;                 ///< what was in that place
  bool is_open_ = false;
};

}  // namespace colltune
