// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "colltune/vocabulary/tuning_key.h"
#include "colltune/vocabulary/variant.h"

namespace colltune {

/// The family that stands for "all families": its decision ranks every variant, for a caller who
/// can execute all.
inline constexpr std::string_view any_family = "any";

/// One variant's place in a decision, with the evidence for it. Times are per call.
struct RankedVariant {
  Variant variant;
  std::string family;
  std::string protocol;
  bool is_baseline = false;
  bool is_emulated = false;
  std::chrono::nanoseconds median{};
  std::chrono::nanoseconds low{};   ///< lower bound of the median's confidence interval
  std::chrono::nanoseconds high{};  ///< upper bound
  double speedup_over_baseline =
      1.0;  ///< baseline's median / this median; 0 where there is no baseline
  std::uint64_t samples = 0;
  std::uint64_t verified_calls = 0;
  Rounding rounding = Rounding::exact;
  NumericClass numeric_class = NumericClass::any;
  Limits limits;

  friend bool operator==(const RankedVariant&, const RankedVariant&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, RankedVariant>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("variant", self.variant);
  visit("family", self.family);
  visit("protocol", self.protocol);
  visit("is_baseline", self.is_baseline);
  visit("is_emulated", self.is_emulated);
  visit("median_ns", self.median);
  visit("low_ns", self.low);
  visit("high_ns", self.high);
  visit("speedup_over_baseline", self.speedup_over_baseline);
  visit("samples", self.samples);
  visit("verified_calls", self.verified_calls);
  visit("rounding", self.rounding);
  visit("numeric_class", self.numeric_class);
  visit("limits", self.limits);
}

/// The ranked variants for a key within one family (or `any_family`). `ranked` is never empty; its
/// first entry is the winner; the others follow by median.
struct Decision {
  TuningKey key;
  std::string family{any_family};
  std::vector<RankedVariant> ranked;
  std::string reason;      ///< why the first one won, in a sentence
  std::string sweep_uuid;  ///< the sweep whose measurements decided

  friend bool operator==(const Decision&, const Decision&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, Decision>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("key", self.key);
  visit("family", self.family);
  visit("ranked", self.ranked);
  visit("reason", self.reason);
  visit("sweep_uuid", self.sweep_uuid);
}

/// A published set of decisions: always the complete table. Numbers are never used again, also
/// after a restore.
struct Generation {
  std::string store_uuid;
  std::uint64_t number = 0;
  std::string content_digest;

  friend auto operator<=>(const Generation&, const Generation&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, Generation>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("store_uuid", self.store_uuid);
  visit("number", self.number);
  visit("content_digest", self.content_digest);
}

}  // namespace colltune
