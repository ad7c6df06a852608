// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "cli_fixture.h"

namespace colltune::testing {

/// A sweep of two collectives over sizes from 64 B by factors of 4, whose variants take
/// alpha + beta * size, and half as much again from 16 KiB on.
class PlantedSweep : public Cli {
 protected:
  struct Planted {
    std::string variant;
    double alpha = 0;  ///< in ns
    double beta = 0;   ///< in ns per byte
  };

  static Measurement trial(const TuningKey& key, const Planted& planted, double slower) {
    const auto size = static_cast<double>(key.problem.message_size.value);
    const double time = (planted.alpha + planted.beta * size) * (size >= 16384 ? 1.5 : 1) * slower;
    Measurement made = measurement(key, planted.variant, 1);
    made.samples_per_round = 1;
    made.samples.clear();
    for (int round = 0; round < 24; ++round)
      made.samples.emplace_back(std::llround(time * (1 + 0.001 * ((round * 7) % 5))));
    made.slowest_ranks.assign(made.samples.size(), 0);
    return made;
  }

  /// The default is mpi.default; `low` has less latency than `wide`, which has more bandwidth.
  /// In every other pass all take `slower` times as long.
  void plant(int sizes, int passes = 1, double slower = 1) const {
    const std::vector<Planted> variants{{"mpi.default", 2000, 0.30}, {"low", 1000, 0.25},
                                        {"wide", 3000, 0.05},        {"third{n=2}", 2500, 0.20},
                                        {"third{n=4}", 2600, 0.18},  {"fourth", 1800, 0.22}};
    std::vector<Measurement> trials;
    for (const Collective collective : {Collective::all_reduce, Collective::all_gather}) {
      std::uint64_t size = 64;
      for (int i = 0; i < sizes; ++i, size *= 4)
        for (const Planted& planted : variants) {
          TuningKey key = test_key(size);
          key.problem.collective = collective;
          if (collective == Collective::all_gather) key.problem.reduce_op = ReduceOp::none;
          for (int pass = 0; pass < passes; ++pass) {
            trials.push_back(trial(key, planted, pass % 2 == 0 ? 1 : slower));
            trials.back().pass = pass;
          }
        }
    }
    Store store(database);
    store.put_environment(test_environment());
    store.begin_sweep(sweep("sweep-1", "2026-01-01T00:00:00Z"));
    store.append("sweep-1", trials);
    store.finish_sweep("sweep-1", SweepState::complete, "2026-01-01T00:01:00Z", "{}");
  }
};

}  // namespace colltune::testing
