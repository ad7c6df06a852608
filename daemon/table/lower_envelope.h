// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace colltune {

/// A straight line from position 0 to position 1.
struct UnitLine {
  double at_lower = 0;
  double at_upper = 0;

  [[nodiscard]] double at(double position) const {
    return (1 - position) * at_lower + position * at_upper;
  }
  [[nodiscard]] double slope() const { return at_upper - at_lower; }
};

/// From this position on, up to the next piece's, this line is the least one.
struct EnvelopePiece {
  double from = 0;
  std::size_t line = 0;
};

/// Which of `lines` is the least, from 0 to 1; empty if there are none.
[[nodiscard]] std::vector<EnvelopePiece> lower_envelope(std::span<const UnitLine> lines);

/// Where one line crosses the other; a number outside 0 to 1 if it does so nowhere between.
[[nodiscard]] double crossing(const UnitLine& one, const UnitLine& other);

}  // namespace colltune
