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

/// What one sweep measured, of one environment and with one InputMode.
struct SweepEvidence {
  std::string sweep_uuid;
  std::vector<Measurement> measurements;
};

/// What becomes of the decision that is published for a key and family. Printed by name.
enum class Settlement {
  added = 0,         ///< there was none
  replaced = 1,      ///< the evidence of all sweeps says otherwise
  strengthened = 2,  ///< the same winner and verdict, by more evidence
  kept = 3,          ///< the new sweep does not agree, or proves less: what is published stays
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
  std::string why;  ///< for a person, in a sentence

  friend bool operator==(const Settled&, const Settled&) = default;
};

/// The share of the policy's risk that the look at the evidence after sweep number `sweep` (from 1)
/// may take: 1 / (sweep * (sweep + 1)). All looks together take no more than the whole, however
/// many follow, so that sweeping again and again does
/// not displace a baseline by chance.
[[nodiscard]] double share_of_risk(std::size_t sweep);

/// How the last of `sweeps`, oldest first, changes what is published. Pure.
///
/// The evidence of all sweeps adds up: the passes of each are passes of one. It is judged by
/// decide() at share_of_risk(). Whole sweeps count, and within them whole rounds; a variant that a
/// sweep did not run at all is judged by the sweeps that ran it.
///
/// - Nothing published: what the evidence says.
/// - Proven (`displaced`, `kept`) is not replaced by `undecided`.
/// - A provisional winner is replaced where all evidence keeps the baseline, or where another one
///   is proven to be faster than it by the margin; also where it did not end well.
/// - Confirmed is replaced only where it is contradicted with at least as much evidence: in as many
///   sweeps as launches confirmed it (each but the one that chose it is one more launch) the other
///   one was faster, by the bounds of the median over them; or where the winner did not end well in
///   the last sweep.
///
/// Returns one entry for each decision that the last sweep's keys have, ordered by key and family.
/// `published` may hold others.
[[nodiscard]] std::vector<Settled> settle(std::span<const Decision> published,
                                          std::span<const SweepEvidence> sweeps,
                                          const DecisionPolicy& policy);

/// Whether `published` is worth more than `found` whatever the measurements are: confirmed beside
/// provisional, or proven (`displaced`, `kept`) beside `undecided`.
[[nodiscard]] bool is_worth_more(const Decision& published, const Decision& found);

/// How many were settled how; every one is there.
[[nodiscard]] std::map<Settlement, std::size_t> count_settlements(std::span<const Settled> settled);

/// Those that differ from what was published.
[[nodiscard]] std::vector<Decision> to_publish(std::span<const Settled> settled);

}  // namespace colltune
