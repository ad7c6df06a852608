// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <string>
#include <type_traits>
#include <vector>

#include "colltune/vocabulary/bytes.h"
#include "colltune/vocabulary/tuning_key.h"
#include "colltune/vocabulary/variant.h"

namespace colltune {

/// From this size on, up to the next segment's, a call takes alpha + beta * size.
struct FitSegment {
  Bytes from;
  double alpha = 0;  ///< in ns; negative where the slope changes above the smallest sizes
  double beta = 0;   ///< in ns per byte; negative between two sizes of which the larger was faster

  friend bool operator==(const FitSegment&, const FitSegment&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, FitSegment>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("from_bytes", self.from);
  visit("alpha_ns", self.alpha);
  visit("beta_ns_per_byte", self.beta);
}

/// Bounds of measured / predicted time, which 90 % of the times that were left out kept.
struct FitInterval {
  double low = 0.5;  ///< above 0, at most 1
  double high = 2;   ///< at least 1

  friend bool operator==(const FitInterval&, const FitInterval&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, FitInterval>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("low", self.low);
  visit("high", self.high);
}

/// What a model makes of one variant's measured times over sizes. Stored with a generation; it
/// answers for sizes at which nothing was measured.
struct VariantFit {
  TuningKey key;  ///< that of the smallest size at which the variant was measured, or predicted
  Variant variant;
  std::string model;  ///< "alpha_beta", or "loggp" in a world that was not measured
  /// One from each measured size on. The last one holds beyond all of them.
  std::vector<FitSegment> segments;
  FitInterval inside;  ///< between two measured sizes
  FitInterval below;   ///< below all of them
  FitInterval beyond;  ///< beyond all of them

  friend bool operator==(const VariantFit&, const VariantFit&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, VariantFit>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("key", self.key);
  visit("variant", self.variant);
  visit("model", self.model);
  visit("segments", self.segments);
  visit("inside", self.inside);
  visit("below", self.below);
  visit("beyond", self.beyond);
}

}  // namespace colltune
