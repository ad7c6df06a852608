// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

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
/// rank order and rounded once; ranks that the steps do not connect hold unlike data.
///
/// One verified call: enough to know every rank's input and every rank's result. `seed` shifts the
/// pattern, so that the result of an earlier call never passes for that of a later one.
struct VerifiedCall {
  Problem problem;
  int ranks = 1;
  int root = 0;
  DataPattern pattern = DataPattern::exact;
  std::uint64_t seed = 0;
};

/// Whether `pattern` says anything about the problem: `exact` always, `rounding` for sum and avg of
/// 16-bit and 8-bit floating types from 3 ranks on (two summands are rounded once in any case).
///
/// `exact` has no rounding and no overflow up to 1024 ranks because only some ranks hold more than
/// a neutral value at a given element (16 units among all for f8e4m3, 8 for f8e5m2, 4 ranks for
/// prod); which ones turns with the element, so that every rank counts somewhere in a message of at
/// least `ranks` elements. Neighbouring results differ, and so do those of calls whose seeds differ
/// by 1, but for avg of small types on many ranks, where the division leaves too few values.
[[nodiscard]] bool is_meaningful(const VerifiedCall& call);

/// Why a result of `problem` cannot be told right from wrong whatever the order of accumulation;
/// empty for all but mesh reductions that multiply sums.
[[nodiscard]] std::string why_not_verifiable(const Problem& problem);

/// Writes what `rank` sends into `send`, which has send_size() bytes (nothing on ranks that do not
/// send).
void fill_send(const VerifiedCall& call, int rank, std::span<std::byte> send);

/// The first element of a result that is wrong.
struct Mismatch {
  std::size_t element = 0;
  std::string expected;
  std::string got;
};

/// Compares every element of what `rank` received (receive_size() bytes) with the reference.
/// `rounding` is what the variant declares: `exact` and `once` must match bit by bit (a zero of
/// either sign passes where numbers are reduced); `each_step` as well for exact data, but lies
/// within the bound of its (ranks - 1) roundings for `DataPattern::rounding` and for avg, which may
/// divide early. Empty where all is right.
[[nodiscard]] std::optional<Mismatch> find_mismatch(const VerifiedCall& call, int rank,
                                                    Rounding rounding,
                                                    std::span<const std::byte> receive);

}  // namespace colltune
