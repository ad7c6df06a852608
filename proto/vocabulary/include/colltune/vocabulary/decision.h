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

/// The family that stands for "all families": its decision ranks every variant, for a caller that
/// can execute all of them.
inline constexpr std::string_view any_family = "any";

/// A variant and its rank in a decision, with the evidence. Times are per call.
struct RankedVariant {
  Variant variant;
  std::string family;
  std::string protocol;
  bool is_baseline = false;
  bool is_emulated = false;
  std::chrono::nanoseconds median{};
  std::chrono::nanoseconds low{};   ///< lower bound of the median's confidence interval
  std::chrono::nanoseconds high{};  ///< upper bound
  /// Over the common rounds: the geometric mean over the passes of the median of the baseline's
  /// time / this variant's time in the same round. 0 if there is no baseline.
  double speedup_over_baseline = 1.0;
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

/// What the measurements show about the baseline. Stored and sent by name.
enum class Verdict {
  displaced = 0,  ///< a rival is faster by the margin and by more than the noise
  kept = 1,       ///< no rival can be faster by the margin
  undecided =
      2,  ///< some rival may be faster by the margin, but noise hides it: the baseline stays
  no_baseline = 3,  ///< the family has none, and its fastest variant leads
};
constexpr std::array<Named<Verdict>, 4> enum_names(Verdict) {
  return {{{Verdict::displaced, "displaced"},
           {Verdict::kept, "kept"},
           {Verdict::undecided, "undecided"},
           {Verdict::no_baseline, "no_baseline"}}};
}
constexpr std::string_view enum_title(Verdict) { return "verdict"; }

/// How far a decision may be trusted. Stored and sent by name.
enum class DecisionStatus {
  provisional = 0,  ///< decided by one launch
  confirmed = 1,    ///< measured again in fresh launches, which agreed
};
constexpr std::array<Named<DecisionStatus>, 2> enum_names(DecisionStatus) {
  return {{{DecisionStatus::provisional, "provisional"}, {DecisionStatus::confirmed, "confirmed"}}};
}
constexpr std::string_view enum_title(DecisionStatus) { return "decision status"; }

/// What fresh launches show about a decision's winner: its speed-up over the baseline, or over the
/// next variant in the ranking if the family has no baseline. Times are paired within each launch;
/// the launch is the unit.
struct Confirmation {
  std::uint64_t launches = 0;
  double speedup = 0;  ///< median of the launches; 0 if there was nothing to compare
  double low = 0;      ///< bounds of its confidence interval
  double high = 0;

  friend bool operator==(const Confirmation&, const Confirmation&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, Confirmation>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("launches", self.launches);
  visit("speedup", self.speedup);
  visit("low", self.low);
  visit("high", self.high);
}

/// The ranked variants for a key within one family (or `any_family`). `ranked` is never empty; its
/// first entry is the winner. It is followed by the others that are proven to beat the baseline,
/// the baseline, and the rest, each group ordered by median. So a caller that cannot run the first
/// and takes the next one never does worse than the baseline, as far as was measured.
struct Decision {
  TuningKey key;
  std::string family{any_family};
  std::vector<RankedVariant> ranked;
  std::string reason;      ///< why the winner won, as a sentence
  std::string sweep_uuid;  ///< the sweep whose measurements decided
  Verdict verdict = Verdict::no_baseline;
  DecisionStatus status = DecisionStatus::provisional;
  Confirmation confirmation{};  ///< of the winner; empty while provisional

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
  visit("verdict", self.verdict);
  visit("status", self.status);
  visit("confirmation", self.confirmation);
}

/// A published set of decisions: always the complete table. Numbers are never reused, even after a
/// restore.
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
