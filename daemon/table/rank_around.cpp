// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "rank_around.h"

#include <algorithm>

#include "colltune/model/size_model.h"

namespace colltune {
namespace {

const Decision& nearer(const Neighbours& around, Bytes size) {
  const Bytes low = around.lower->key.problem.message_size;
  const Bytes high = around.upper->key.problem.message_size;
  return position_between(low, high, size) < 0.5 ? *around.lower : *around.upper;
}

}  // namespace

Neighbours find_neighbours(const Curve& curve, Bytes size) {
  const auto above = std::ranges::lower_bound(
      curve.decisions, size, {},
      [](const Decision* decision) { return decision->key.problem.message_size; });
  if (above == curve.decisions.end()) return {curve.decisions.back(), nullptr};
  if ((*above)->key.problem.message_size == size) return {*above, *above};
  if (above == curve.decisions.begin()) return {nullptr, *above};
  return {*(above - 1), *above};
}

Asked rounded(const Problem& problem, int ranks) {
  Asked asked{problem, ranks};
  const std::uint64_t unit =
      message_size_unit(problem.collective, problem.data_type, ranks, problem.counts);
  asked.problem.message_size.value -= asked.problem.message_size.value % unit;
  return asked;
}

RankedAround rank_around(const Neighbours& around, const Asked& asked) {
  const bool is_measured = around.lower == around.upper;
  const bool is_between = !is_measured && around.lower != nullptr && around.upper != nullptr;
  RankedAround found;
  found.basis = around.lower != nullptr ? around.lower : around.upper;
  if (is_measured) {
    found.source = Source::measured;
    found.ranking = rank_at(*found.basis, asked);
  } else if (is_between) {
    found.source = Source::interpolated;
    found.measured_sizes = {around.lower->key.problem.message_size,
                            around.upper->key.problem.message_size};
    found.ranking = rank_between(*around.lower, *around.upper, asked);
  }
  if (!is_measured && found.ranking.ranked.empty()) {
    found.source = Source::predicted;
    if (is_between) found.basis = &nearer(around, asked.problem.message_size);
    found.measured_sizes.clear();
    found.ranking = rank_beyond(*found.basis, asked);
  }
  if (found.measured_sizes.empty())
    found.measured_sizes.push_back(found.basis->key.problem.message_size);
  return found;
}

}  // namespace colltune
