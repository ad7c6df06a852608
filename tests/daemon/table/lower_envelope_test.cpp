// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "lower_envelope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

namespace colltune {
namespace {

TEST(LowerEnvelope, HasNoPieceOfNoLinesAndOneOfOne) {
  EXPECT_TRUE(lower_envelope({}).empty());
  const std::vector<UnitLine> one{{.at_lower = 3, .at_upper = 1}};
  const std::vector<EnvelopePiece> pieces = lower_envelope(one);
  ASSERT_EQ(pieces.size(), 1);
  EXPECT_EQ(pieces[0].from, 0);
  EXPECT_EQ(pieces[0].line, 0);
}

TEST(LowerEnvelope, ChangesWhereLinesCross) {
  // The third is never the least; the second is from a quarter on.
  const std::vector<UnitLine> lines{{.at_lower = 0, .at_upper = 4},
                                    {.at_lower = 1, .at_upper = 1},
                                    {.at_lower = 2, .at_upper = 2}};
  const std::vector<EnvelopePiece> pieces = lower_envelope(lines);
  ASSERT_EQ(pieces.size(), 2);
  EXPECT_EQ(pieces[0].line, 0);
  EXPECT_EQ(pieces[1].line, 1);
  EXPECT_DOUBLE_EQ(pieces[1].from, 0.25);
}

TEST(LowerEnvelope, NamesTheLeastLineEverywhere) {
  std::mt19937 random(1);
  std::uniform_int_distribution<int> value(0, 20);  // so that some cross in one point
  for (int turn = 0; turn < 300; ++turn) {
    std::vector<UnitLine> lines(1 + static_cast<std::size_t>(turn) % 7);
    for (UnitLine& line : lines)
      line = {.at_lower = static_cast<double>(value(random)),
              .at_upper = static_cast<double>(value(random))};
    const std::vector<EnvelopePiece> pieces = lower_envelope(lines);
    EXPECT_TRUE(std::ranges::is_sorted(pieces, {}, &EnvelopePiece::from));
    for (int step = 0; step <= 64; ++step) {
      const double position = step / 64.0;
      std::size_t here = 0;
      while (here + 1 < pieces.size() && pieces[here + 1].from <= position) ++here;
      double least = lines[0].at(position);
      for (const UnitLine& line : lines) least = std::min(least, line.at(position));
      ASSERT_NEAR(lines[pieces[here].line].at(position), least, 1e-9)
          << "turn " << turn << ", position " << position;
    }
  }
}

}  // namespace
}  // namespace colltune
