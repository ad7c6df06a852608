// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "colltune/decide/decision_policy.h"
#include "colltune/vocabulary/decision.h"
#include "colltune/vocabulary/measurement.h"

namespace colltune {

/// The measurements of one sweep, in one environment.
struct SweepEvidence {
  std::string sweep_uuid;
  std::vector<Measurement> measurements;
};

/// What happens to the decision that is published for a key and family. Printed by name.
enum class Settlement {
  added = 0,         ///< nothing was published
  replaced = 1,      ///< the evidence of all sweeps contradicts it
  strengthened = 2,  ///< the same winner and verdict, with more evidence
  kept = 3,          ///< the new sweep disagrees or proves less; the published decision stays
};
constexpr std::array<Named<Settlement>, 4> enum_names(Settlement) {
  return {{{Settlement::added, "added"},
           {Settlement::replaced, "replaced"},
           {Settlement::strengthened, "strengthened"},
           {Settlement::kept, "kept"}}};
}
constexpr std::string_view enum_title(Settlement) { return "settlement"; }

struct Settled {
  Decision decision;  ///< what is published from now on
  Settlement what = Settlement::added;
  std::string why;  ///< for a person, as a sentence

  friend bool operator==(const Settled&, const Settled&) = default;
};

/// The share of the policy's risk for looking at the evidence after sweep number `sweep` (from 1):
/// 1 / (sweep * (sweep + 1)). However many looks follow, together they take no more than the whole
/// risk. So repeated sweeping does not displace a baseline by chance.
[[nodiscard]] double share_of_risk(std::size_t sweep);

/// How the last of `sweeps`, ordered oldest first, changes what is published. Pure.
///
/// The evidence of all sweeps adds up: all their passes are treated as passes of one sweep.
/// decide() judges it at share_of_risk(). Whole sweeps count, and within them whole rounds; a
/// variant that a sweep did not run at all is judged by the sweeps that ran it.
///
/// - If nothing is published, the evidence decides.
/// - A proven decision (`displaced`, `kept`) is not replaced by `undecided`.
/// - A provisional winner is replaced if all evidence keeps the baseline, or if another variant is
///   proven to be faster than it by the margin; also if it did not end well.
/// - A confirmed decision is replaced only if it is contradicted by at least as much evidence.
///   Either the other variant was faster, by the bounds of the median over the sweeps, in as many
///   sweeps as launches confirmed the decision (each sweep but the one that chose it is one more
///   launch). Or the winner did not end well in the last sweep.
///
/// Returns one entry for each decision for the last sweep's keys, ordered by key and family.
/// `published` may hold others.
[[nodiscard]] std::vector<Settled> settle(std::span<const Decision> published,
                                          std::span<const SweepEvidence> sweeps,
                                          const DecisionPolicy& policy);

/// Whether `published` outranks `found` whatever the measurements are: confirmed over provisional,
/// or proven (`displaced`, `kept`) over `undecided`.
[[nodiscard]] bool is_worth_more(const Decision& published, const Decision& found);

/// How many decisions had each settlement; every settlement is listed.
[[nodiscard]] std::map<Settlement, std::size_t> count_settlements(std::span<const Settled> settled);

/// The decisions that differ from what was published.
[[nodiscard]] std::vector<Decision> to_publish(std::span<const Settled> settled);

}  // namespace colltune
