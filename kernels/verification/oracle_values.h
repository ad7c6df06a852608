// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "colltune/kernels/verification/oracle.h"

namespace colltune {

/// Every rank's data repeats after this many elements. A prime, so that blocks and chunks, which
/// are usually cut at powers of two, never hold the same data at the same offset.
inline constexpr std::size_t pattern_period = 4093;

/// The parameters from which the values of a call's elements are made.
struct ValueSource {
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::none;  ///< the operator for which the values are made
  DataPattern pattern = DataPattern::exact;
  int ranks = 1;                  ///< ranks that reduce together
  std::int64_t weight = 1;        ///< the most inputs that enter one result, counted as often as
                                  ///< each enters
  std::int64_t multiplicity = 1;  ///< how often one input enters a result at most
  std::int64_t divisor = 1;       ///< averages: values are multiples of this, if the type allows it
  bool signs_alone = false;       ///< values are 1 and -1
};

/// Every rank's data of one call, as far as the result of one rank depends on it.
class OracleData {
 public:
  /// `rank`: the one whose results are needed.
  OracleData(const VerifiedCall& call, int rank);

  /// The position in the period of element `index` of a stream.
  [[nodiscard]] std::size_t position_of(std::size_t index) const;
  /// Writes into `elements` (whole elements) what `source`, which reduces with the rank, holds at
  /// the positions from `first` on, wrapping at the period.
  void write_inputs(int source, std::size_t first, std::span<std::byte> elements) const;
  /// Writes the rank's results of reducing all ranks' elements at these positions.
  void write_reduced(std::size_t first, std::span<std::byte> elements) const;
  /// How far a result at `position` may be from the reference if a variant rounds at each step: the
  /// usual bound ((1 + u)^roundings - 1) * sum |x|, where u is half the distance from 1 to the next
  /// number. For a mesh reduction it is twice as large, because the reference rounds at each step
  /// as well.
  [[nodiscard]] double rounding_bound(std::size_t position) const;
  [[nodiscard]] const ValueSource& source() const { return source_; }

 private:
  /// One reduction of the inputs: the groups, as indices into `members_`.
  struct Step {
    ReduceOp op = ReduceOp::none;
    std::vector<std::vector<int>> groups;
  };
  [[nodiscard]] int place_of(int rank) const;
  void write_values(int place, std::size_t first, std::span<std::byte> elements) const;

  VerifiedCall call_;
  ValueSource source_;
  std::vector<int> members_{};  ///< the ranks that reduce together; empty: all
  std::vector<Step> steps_{};
  int place_ = 0;                  ///< of the rank in `members_`
  std::size_t component_ = 0;      ///< different components of a mesh hold different data
};

/// The number that the element at `at` stands for.
[[nodiscard]] double number_at(DataType type, const std::byte* at);

}  // namespace colltune
