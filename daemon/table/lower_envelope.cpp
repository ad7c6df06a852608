// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "lower_envelope.h"

#include <tuple>

namespace colltune {

double crossing(const UnitLine& one, const UnitLine& other) {
  const double slopes = one.slope() - other.slope();
  return slopes == 0 ? -1 : (other.at_lower - one.at_lower) / slopes;
}

std::vector<EnvelopePiece> lower_envelope(std::span<const UnitLine> lines) {
  if (lines.empty()) return {};
  EnvelopePiece here;
  const auto order_at_0 = [](const UnitLine& line) {
    return std::tuple(line.at_lower, line.slope());
  };
  for (std::size_t i = 1; i < lines.size(); ++i)
    if (order_at_0(lines[i]) < order_at_0(lines[here.line])) here.line = i;
  std::vector<EnvelopePiece> pieces{here};
  // Only a line that falls faster than the least one becomes the least.
  while (true) {
    EnvelopePiece next{.from = 1, .line = here.line};
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].slope() >= lines[here.line].slope()) continue;
      const double at = crossing(lines[i], lines[here.line]);
      const bool is_sooner = at < next.from;
      const bool is_steeper = at == next.from && lines[i].slope() < lines[next.line].slope();
      if (at >= here.from && at < 1 && (is_sooner || is_steeper)) next = {.from = at, .line = i};
    }
    if (next.line == here.line) return pieces;
    here = next;
    pieces.push_back(here);
  }
}

}  // namespace colltune
