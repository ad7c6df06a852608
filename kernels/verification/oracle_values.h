// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "colltune/kernels/verification/oracle.h"

namespace colltune {

/// Every rank's data repeats after so many elements: a prime, so that blocks and chunks, which
/// people cut at powers of two, never hold the same data at the same place.
inline constexpr std::size_t pattern_period = 4093;

/// What the values of a call's elements are made by.
struct ValueSource {
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::none;  ///< what the values are made for
  DataPattern pattern = DataPattern::exact;
  int ranks = 1;                  ///< that reduce together
  std::int64_t weight = 1;        ///< the most inputs that enter one result, each as often as it does
  std::int64_t multiplicity = 1;  ///< the most often that one does
  std::int64_t divisor = 1;       ///< averages: what values are multiples of, where the type allows it
  bool signs_alone = false;       ///< values are 1 and -1
};

/// Every rank's data of one call, as far as the result of one rank depends on it.
class OracleData {
 public:
  /// `rank`: whose results are asked for.
  OracleData(const VerifiedCall& call, int rank);

  /// Where in the period element `index` of a stream lies.
  [[nodiscard]] std::size_t position_of(std::size_t index) const;
  /// Writes what `source`, which reduces with the rank, holds at the positions from `first` on,
  /// going round at the period, into `elements` (whole elements).
  void write_inputs(int source, std::size_t first, std::span<std::byte> elements) const;
  /// Writes what all ranks' elements at these positions reduce to, for the rank.
  void write_reduced(std::size_t first, std::span<std::byte> elements) const;
  /// How far a result at `position` may lie from the reference where a variant rounds at each step:
  /// the usual bound ((1 + u)^roundings - 1) * sum |x|, where u is half the distance of 1 to the
  /// next number. A result of a mesh reduction has two such distances: its steps round as well.
  [[nodiscard]] double rounding_bound(std::size_t position) const;
  [[nodiscard]] const ValueSource& source() const { return source_; }

 private:
  /// One reduction of the inputs: which of `members_` go together, by their places there.
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
  int place_ = 0;                  ///< of the rank among them
  std::size_t component_ = 0;      ///< unlike ones of a mesh hold unlike data
};

/// The number that the element at `at` stands for.
[[nodiscard]] double number_at(DataType type, const std::byte* at);

}  // namespace colltune
