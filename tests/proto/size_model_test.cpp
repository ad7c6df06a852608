// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/size_model.h"

#include <gtest/gtest.h>

namespace colltune {
namespace {

using std::chrono::nanoseconds;

TimedSize at(std::uint64_t size, int time) { return {{size}, nanoseconds(time)}; }

TEST(InterpolateTime, EndsAreTheMeasuredTimes) {
  EXPECT_EQ(interpolate_time(at(1024, 700), at(4096, 1900), {1024}), nanoseconds(700));
  EXPECT_EQ(interpolate_time(at(1024, 700), at(4096, 1900), {4096}), nanoseconds(1900));
}

TEST(InterpolateTime, FollowsAPowerOfTheSize) {
  // Time in proportion to the size, and to its square root.
  EXPECT_EQ(interpolate_time(at(1000, 1000), at(4000, 4000), {2000}), nanoseconds(2000));
  EXPECT_EQ(interpolate_time(at(1000, 1000), at(16000, 4000), {4000}), nanoseconds(2000));
}

TEST(InterpolateTime, ConstantStaysConstant) {
  for (std::uint64_t size = 8; size <= 64; ++size)
    EXPECT_EQ(interpolate_time(at(8, 555), at(64, 555), {size}), nanoseconds(555));
}

TEST(InterpolateTime, LinearWhereALogarithmDoesNotExist) {
  EXPECT_EQ(interpolate_time(at(0, 100), at(1000, 200), {500}), nanoseconds(150));
  EXPECT_EQ(interpolate_time(at(0, 0), at(1000, 200), {0}), nanoseconds(0));
}

TEST(InterpolateTime, IsMonotoneAndStaysBetweenTheTwo) {
  for (const auto& [low, high] : {std::pair{300, 90000}, std::pair{90000, 300}}) {
    nanoseconds last(low);
    for (std::uint64_t size = 1; size <= 4096; ++size) {
      const auto time = interpolate_time(at(1, low), at(4096, high), {size});
      EXPECT_GE(time, nanoseconds(std::min(low, high)));
      EXPECT_LE(time, nanoseconds(std::max(low, high)));
      if (low < high)
        EXPECT_GE(time, last);
      else
        EXPECT_LE(time, last);
      last = time;
    }
  }
}

TEST(ExtrapolateTime, ConstantBelowProportionalAbove) {
  EXPECT_EQ(extrapolate_time(at(1024, 500), {8}), nanoseconds(500));
  EXPECT_EQ(extrapolate_time(at(1024, 500), {4096}), nanoseconds(2000));
  EXPECT_EQ(extrapolate_time(at(0, 500), {4096}), nanoseconds(500));
  EXPECT_EQ(extrapolate_time(at(1, 5000), {~std::uint64_t{0}}), nanoseconds::max());
}

TEST(Position, IsLogarithmicFromZeroToOne) {
  EXPECT_EQ(position_between({1}, {16}, {1}), 0);
  EXPECT_DOUBLE_EQ(position_between({1}, {16}, {4}), 0.5);
  EXPECT_EQ(position_between({1}, {16}, {16}), 1);
  EXPECT_EQ(position_between({8}, {8}, {8}), 0);
}

TEST(InterpolateRatio, StaysTheQuotientOfInterpolatedTimes) {
  const double position = position_between({1000}, {16000}, {4000});
  EXPECT_DOUBLE_EQ(interpolate_ratio(1, 4, position), 2);
  EXPECT_EQ(interpolate_ratio(0, 4, position), 0);
  EXPECT_EQ(interpolate_ratio(4, 0, position), 0);
}

}  // namespace
}  // namespace colltune
