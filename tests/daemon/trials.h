// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "colltune/vocabulary/measurement.h"

/// Measurements as literals, for tests of what is derived from them.
namespace colltune::literals {

/// A trial of 20 rounds of one sample around `median`, with noise that is the same for all variants
/// of a round (drift) and `own_noise` of its own.
struct Literal {
  std::string variant;
  double median = 1000;
  bool is_baseline = false;
  std::string family = "mpi";
  double own_noise = 0;
  int rounds = 20;
};

inline TuningKey key(std::uint64_t bytes = 1024) {
  return {.problem = {.message_size = {bytes}},
          .topology = {.ranks_per_node = 2,
                       .ranks = 2,
                       .architectures = {{"x86_64", 2}},
                       .layout_digest = "uniform",
                       .interconnect = "shared-memory"},
          .environment_digest = "env"};
}

inline Measurement trial(const Literal& literal, const TuningKey& filed_under = key()) {
  Measurement measurement{.key = filed_under,
                          .variant = parse_variant(literal.variant),
                          .family = literal.family,
                          .protocol = "p",
                          .is_baseline = literal.is_baseline,
                          .verified_calls = 2,
                          .rounding = Rounding::once,
                          .numeric_class = NumericClass::same_bits,
                          .limits = {.min_ranks = 2}};
  for (int round = 0; round < literal.rounds; ++round) {
    const double drift = 1 + 0.2 * std::sin(round);
    const double own = 1 + literal.own_noise * (round % 2 == 0 ? 1 : -1);
    measurement.samples.emplace_back(std::llround(literal.median * drift * own));
    measurement.slowest_ranks.push_back(0);
  }
  return measurement;
}

}  // namespace colltune::literals
