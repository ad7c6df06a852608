// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "colltune/vocabulary/problem.h"
#include "colltune/vocabulary/variant.h"

namespace colltune {

/// What the inputs of a verified call hold.
enum class DataPattern {
  exact,     ///< values for which every order of accumulation gives the same, exactly representable
             ///< result
  rounding,  ///< values for which accumulating in the narrow type gives another result than
             ///< rounding once
};

/// The result of a mesh reduction is defined by its steps, one after the other, each accumulated in
/// rank order and rounded once. Ranks that the steps do not connect hold different data.
///
/// One verified call: enough to compute every rank's input and result. `seed` shifts the pattern,
/// so that the result of an earlier call never passes for that of a later one.
struct VerifiedCall {
  Problem problem;
  int ranks = 1;
  int root = 0;
  DataPattern pattern = DataPattern::exact;
  std::uint64_t seed = 0;
  std::vector<std::size_t> blocks{};  ///< bytes of each rank's block; empty if counts are equal
};

/// Whether `pattern` tests anything for the problem: `exact` always; `rounding` for sum and avg of
/// 16-bit and 8-bit floating types from 3 ranks on (two summands are rounded once in any case).
///
/// `exact` has no rounding and no overflow up to 1024 ranks, because at a given element only some
/// ranks hold more than a neutral value (16 units in total for f8e4m3, 8 for f8e5m2, 4 ranks for
/// prod). Which ranks those are rotates with the element, so that every rank matters somewhere in a
/// message of at least `ranks` elements. Neighbouring results differ, and so do the results of
/// calls whose seeds differ by 1. The exception is avg of small types on many ranks, where the
/// division leaves too few values.
[[nodiscard]] bool is_meaningful(const VerifiedCall& call);

/// Why a result of `problem` cannot be verified independently of the order of accumulation; empty
/// except for mesh reductions that multiply sums.
[[nodiscard]] std::string why_not_verifiable(const Problem& problem);

/// Writes what `rank` sends into `send`, which has send_size() bytes (none on ranks that do not
/// send).
void fill_send(const VerifiedCall& call, int rank, std::span<std::byte> send);

/// The first element of a result that is wrong.
struct Mismatch {
  std::size_t element = 0;
  std::string expected;
  std::string got;
};

/// Compares every element that `rank` received (receive_size() bytes) with the reference.
/// `rounding` is what the variant declares. `exact` and `once` must match bit by bit (a zero of
/// either sign passes if numbers are reduced). `each_step` must too for exact data; for
/// `DataPattern::rounding`, and for avg, which may divide early, it must lie within the bound of
/// its (ranks - 1) roundings. Empty if everything is right.
[[nodiscard]] std::optional<Mismatch> find_mismatch(const VerifiedCall& call, int rank,
                                                    Rounding rounding,
                                                    std::span<const std::byte> receive);

}  // namespace colltune
