// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "colltune/decide/settle.h"
#include "simulated_load.h"

namespace colltune::simulation {

/// How many of `keys` rivals that are exactly as fast as the baseline ever displace it in so many
/// sweeps, each settled with all before it.
inline int ever_displaced(int keys, int sweeps, const Noise& noise, const Load& load,
                          std::uint64_t seed) {
  constexpr int rounds = 48;
  Rng rng(seed);
  std::vector<SweepEvidence> evidence;
  std::vector<Decision> published;
  std::set<TuningKey> displaced;
  for (int number = 0; number < sweeps; ++number) {
    SweepEvidence one{.sweep_uuid = std::to_string(number), .measurements = {}};
    for (int i = 0; i < keys; ++i)
      for (Measurement& measured :
           simulate_cell({1.0}, rounds, noise, rng, {}, true).measurements) {
        measured.key.problem.message_size = {static_cast<std::uint64_t>(i) + 1};
        if (load.share > 0) apply(load, measured, rng);
        one.measurements.push_back(std::move(measured));
      }
    evidence.push_back(std::move(one));
    const auto settled = settle(published, evidence, {});
    published.clear();
    for (const Settled& decision : settled) {
      published.push_back(decision.decision);
      if (decision.decision.verdict == Verdict::displaced) displaced.insert(decision.decision.key);
    }
  }
  return static_cast<int>(displaced.size());
}

}  // namespace colltune::simulation
