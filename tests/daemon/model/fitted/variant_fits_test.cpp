// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/fitted/variant_fits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "colltune/vocabulary/field_limits.h"
#include "planted.h"

namespace colltune {
namespace {

using testing::nine_sizes;
using testing::noise_factor;

/// What a planted variant takes: alpha in ns, beta in ns per byte.
using Lines = std::map<std::string, AlphaBeta>;

TuningKey key_of(Bytes size, DataType data_type = DataType::f32) {
  return {.problem = {.data_type = data_type, .message_size = size},
          .topology = {.nodes = 1, .ranks_per_node = 2, .ranks = 2},
          .environment_digest = "e1"};
}

/// Decisions that rank all lines at all sizes, with log-normal noise.
std::vector<Decision> decide(const Lines& lines, const std::vector<Bytes>& sizes,
                             double deviation = 0, std::string family = std::string(any_family),
                             DataType data_type = DataType::f32, unsigned seed = 1) {
  std::mt19937_64 random(seed);
  std::vector<Decision> decisions;
  for (const Bytes size : sizes) {
    Decision decision{.key = key_of(size, data_type), .family = family, .ranked = {}};
    for (const auto& [variant, line] : lines)
      decision.ranked.push_back({.variant = parse_variant(variant),
                                 .median = std::chrono::nanoseconds(std::llround(
                                     line.at(size) * noise_factor(random, deviation)))});
    decisions.push_back(std::move(decision));
  }
  return decisions;
}

const VariantFit& fit_of(const std::vector<VariantFit>& fits, const std::string& variant) {
  const auto found = std::ranges::find(fits, parse_variant(variant), &VariantFit::variant);
  EXPECT_NE(found, fits.end()) << variant;
  return *found;
}

TEST(VariantFits, AreExactForLinesBetweenAndOutside) {
  const Lines lines{{"one", {2000, 0.5}}, {"two", {9000, 0.1}}};
  const auto fits = fits_of(decide(lines, nine_sizes()));
  ASSERT_EQ(fits.size(), 2U);
  for (const auto& [name, line] : lines) {
    const VariantFit& fit = fit_of(fits, name);
    EXPECT_EQ(fit.key, key_of({64}));
    EXPECT_EQ(fit.model, "alpha_beta");
    EXPECT_EQ(fit.segments.size(), 9U);
    EXPECT_NO_THROW(check_value(fit, FieldPath{.name = "fit"}));
    for (const std::uint64_t size : {40U, 64U, 100U, 5000U, 1U << 20U, 4U << 20U, 16U << 20U}) {
      const FittedTime time = predict(fit, {size});
      EXPECT_NEAR(time.time / line.at({size}), 1, 1e-3) << name << " at " << size;
      EXPECT_LE(time.low, time.time);
      EXPECT_GE(time.high, time.time);
      EXPECT_LT(time.high / time.low, 1.02) << name << " at " << size;
    }
  }
}

TEST(VariantFits, SayWhereTheSizeLies) {
  const auto fits = fits_of(decide({{"one", {2000, 0.5}}}, nine_sizes()));
  EXPECT_EQ(predict(fits.front(), {32}).position, SizePosition::below);
  EXPECT_EQ(predict(fits.front(), {100}).position, SizePosition::between);
  EXPECT_EQ(predict(fits.front(), {5U << 20U}).position, SizePosition::beyond);
  EXPECT_TRUE(reaches(fits.front(), {16}));
  EXPECT_FALSE(reaches(fits.front(), {15}));
  EXPECT_TRUE(reaches(fits.front(), {16U << 20U}));
  EXPECT_FALSE(reaches(fits.front(), {~std::uint64_t{0}}));
  EXPECT_FALSE(reaches(fits.front(), {0}));
}

TEST(VariantFits, IntervalsAreThoseOfTheTimesThatWereLeftOut) {
  const Lines lines{{"a", {2000, 0.5}}, {"b", {3000, 0.4}}, {"c", {4000, 0.3}}, {"d", {5000, 0.2}}};
  const auto exact = fits_of(decide(lines, nine_sizes()));
  const auto noisy = fits_of(decide(lines, nine_sizes(), 0.1));
  EXPECT_GT(exact.front().inside.low, 0.99);
  EXPECT_LT(noisy.front().inside.low, 0.9);
  // Of one problem, so that all of them have the same.
  for (const VariantFit& fit : noisy) EXPECT_EQ(fit.inside, noisy.front().inside);
  // Times at sizes between, with the same noise: 85 to 97 of 100 lie within.
  std::mt19937_64 random(7);
  int covered = 0;
  constexpr int asked = 2000;
  for (int i = 0; i < asked; ++i) {
    const AlphaBeta line = lines.at("c");
    const FittedTime time = predict(fit_of(noisy, "c"), {8192});
    const double measured = line.at({8192}) * noise_factor(random, 0.1);
    covered += time.low <= measured && measured <= time.high ? 1 : 0;
  }
  EXPECT_GT(covered, asked * 80 / 100);
}

TEST(VariantFits, TooFewTimesTellHalfToTwice) {
  const auto fits = fits_of(decide({{"one", {2000, 0.5}}}, {{64}, {256}, {1024}}));
  ASSERT_EQ(fits.size(), 1U);
  EXPECT_EQ(fits.front().inside, FitInterval{});
  EXPECT_EQ(fits.front().beyond, FitInterval{});
}

TEST(VariantFits, AVariantOfOneSizeHasNone) {
  EXPECT_TRUE(fits_of(decide({{"one", {2000, 0.5}}}, {{64}})).empty());
  EXPECT_TRUE(fits_of({}).empty());
}

TEST(VariantFits, AProblemAloneTellsItsIntervals) {
  const Lines lines{{"a", {2000, 0.5}}, {"b", {3000, 0.4}}, {"c", {4000, 0.3}}};
  auto decisions = decide(lines, nine_sizes());
  const auto noisy = decide(lines, nine_sizes(), 0.2, std::string(any_family), DataType::f64);
  decisions.insert(decisions.end(), noisy.begin(), noisy.end());
  const auto fits = fits_of(decisions);
  ASSERT_EQ(fits.size(), 6U);
  for (const VariantFit& fit : fits)
    EXPECT_EQ(fit.inside.low > 0.99, fit.key.problem.data_type == DataType::f32);
}

TEST(VariantFits, DependOnNoOrderAndPreferTheDecisionsOverAllFamilies) {
  const Lines lines{{"a", {2000, 0.5}}, {"b", {3000, 0.4}}};
  const auto any = decide(lines, nine_sizes());
  auto decisions = decide(lines, nine_sizes(), 0.3, "aaa");
  decisions.insert(decisions.end(), any.begin(), any.end());
  const auto fits = fits_of(decisions);
  EXPECT_EQ(fits, fits_of(any));
  std::ranges::reverse(decisions);
  EXPECT_EQ(fits, fits_of(decisions));
}

TEST(VariantFits, TimesOfZeroAreLeftOut) {
  auto decisions = decide({{"one", {2000, 0.5}}}, nine_sizes());
  decisions[3].ranked.front().median = {};
  const auto fits = fits_of(decisions);
  ASSERT_EQ(fits.size(), 1U);
  EXPECT_EQ(fits.front().segments.size(), 8U);
}

TEST(VariantFits, FallingTimesStayPositiveAndBounded) {
  auto decisions = decide({{"one", {2000, 0.5}}}, nine_sizes());
  decisions.back().ranked.front().median = std::chrono::nanoseconds(100);
  decisions.front().ranked.front().median = std::chrono::nanoseconds(90'000);
  const auto fits = fits_of(decisions);
  ASSERT_EQ(fits.size(), 1U);
  EXPECT_NO_THROW(check_value(fits.front(), FieldPath{.name = "fit"}));
  for (std::uint64_t size = 16; size <= 16U << 20U; size += size / 3 + 1) {
    const FittedTime time = predict(fits.front(), {size});
    EXPECT_GT(time.low, 0) << size;
    EXPECT_TRUE(std::isfinite(time.high)) << size;
  }
}

}  // namespace
}  // namespace colltune
