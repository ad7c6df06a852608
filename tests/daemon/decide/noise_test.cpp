// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/noise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace colltune {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;

Measurement trial(std::uint64_t size, const std::string& variant, double steal) {
  Measurement measured{
      .key = {.problem = {.message_size = {size}}, .topology = {}, .environment_digest = {}},
      .variant = parse_variant(variant)};
  measured.samples.assign(10, 5us);
  measured.slowest_ranks.assign(10, 0);
  measured.conditions.steal = steal;
  return measured;
}

TEST(Noise, EachKeyCountsByWhatItsTrialsLostOfTheWatchedTime) {
  std::vector<Measurement> trials{trial(8, "a", 0.01), trial(8, "b", 0.06), trial(8, "c", -1),
                                  trial(16, "a", 0.001), trial(32, "a", 0.002)};
  trials[1].samples.resize(5);  // watched for half of the time: 0.1 + 0.3 of 15
  trials[1].slowest_ranks.resize(5);
  const Noise noise = noise_of(trials);
  EXPECT_EQ(noise.keys, 3u);
  EXPECT_EQ(noise.median_steal, 0.002);
  EXPECT_NEAR(noise.worst_steal, 0.4 / 15, 1e-12);
  EXPECT_EQ(noise.samples, 45u);
  EXPECT_EQ(noise.voided, 0u);
  EXPECT_THAT(noise_summary(trials),
              StartsWith("this machine was quiet: steal 0.2 % in the median key, 2.7 % in the "
                         "worst; 0.0 % of 45 runs void"));
}

TEST(Noise, AMachineOnWhichRanksWaitForACoreIsNoisy) {
  std::vector<Measurement> trials{trial(8, "a", 0), trial(8, "b", 0), trial(16, "a", 0)};
  EXPECT_EQ(noise_of(trials).median_kept_waiting, -1);
  EXPECT_THAT(noise_summary(trials), ::testing::Not(HasSubstr("waited")));
  trials[0].conditions.kept_waiting = 0.5;
  trials[1].conditions.kept_waiting = 0.2;
  trials[1].samples.resize(5);  // 5 + 1 of 15
  trials[1].slowest_ranks.resize(5);
  const Noise noise = noise_of(trials);
  EXPECT_NEAR(noise.median_kept_waiting, 0.4, 1e-12);  // of the one key in which somebody looked
  EXPECT_NEAR(noise.worst_kept_waiting, 0.4, 1e-12);
  EXPECT_THAT(
      noise_summary(trials),
      StartsWith("this machine was noisy: steal 0.0 % in the median key, 0.0 % in the worst; "
                 "ranks waited for a core 40.0 % of the time, 40.0 % in the worst key; "));
  for (Measurement& measured : trials) measured.conditions.kept_waiting = 0.01;
  EXPECT_THAT(noise_summary(trials), StartsWith("this machine was quiet"));
}

TEST(Noise, OneDisturbedKeyIsNotQuietAndIsNamed) {
  std::vector<Measurement> trials;
  for (int i = 0; i < 32; ++i) {
    trials.push_back(trial(static_cast<std::uint64_t>(1024 * (i + 1)), "a", 0.001));
    trials.back().conditions.kept_waiting = i == 7 ? 0.28 : 0.001;
  }
  const std::string text = noise_summary(trials);
  EXPECT_THAT(text, StartsWith("this machine was noisy"));
  EXPECT_THAT(text, HasSubstr("\nmore than 5 % of the time was lost to something else in 1 of 32 "
                              "keys; the worst is "));
  EXPECT_THAT(text, HasSubstr("8KiB"));
  EXPECT_THAT(text, HasSubstr(": 28.0 %"));
  trials[7].conditions.kept_waiting = 0.04;
  EXPECT_THAT(noise_summary(trials), StartsWith("this machine was quiet"));
}

TEST(Noise, CoresThatMovedAreToldWithTheirShares) {
  std::vector<Measurement> trials;
  for (int pass = 0; pass < 20; ++pass) {
    trials.push_back(trial(8, "a", 0));
    trials.back().pass = pass;
    trials.back().conditions.hand_over = pass < 5 ? 160ns : 30ns;
  }
  EXPECT_THAT(noise_summary(trials),
              HasSubstr("\nthe cores moved: a signal to the neighbour took 30 ns in 75.0 %, 160 ns "
                        "in 25.0 % of the visits\n"));
  for (Measurement& measured : trials) measured.conditions.hand_over = 30ns;
  EXPECT_THAT(noise_summary(trials), ::testing::Not(HasSubstr("moved")));
}

TEST(Noise, MarksAreCountedByKind) {
  std::vector<Measurement> trials{trial(8, "a", 0.1)};
  trials[0].marks = {0, 1, 2, 3, 4, 0, 0, 0, 0, 7};
  const Noise noise = noise_of(trials);
  EXPECT_EQ(noise.gaps, 3u);
  EXPECT_EQ(noise.switched, 3u);
  EXPECT_EQ(noise.late, 2u);
  EXPECT_EQ(noise.voided, 5u);
  EXPECT_THAT(noise_summary(trials),
              HasSubstr("noisy: steal 10.0 % in the median key, 10.0 % in the worst; 50.0 % of 10 "
                        "runs void (clock gaps 30.0 %, taken off the core 30.0 %, late starts 20.0 "
                        "%)"));
}

TEST(Noise, VariantsThatTouchFreshMemoryAreNamedAndTheTwinCountsOnce) {
  std::vector<Measurement> trials{trial(8, "a", 0), trial(8, "a", 0), trial(16, "a", 0),
                                  trial(16, "b", 0)};
  trials[1].is_twin = true;
  for (Measurement& measured : trials) measured.conditions.page_faults = 10;
  trials[3].conditions.page_faults = 9;
  EXPECT_THAT(noise_summary(trials),
              HasSubstr("\nfresh memory is touched in every run by (trials): a (2)\n"));
}

TEST(Noise, CommonStartsAndThrottlingAreToldByKey) {
  std::vector<Measurement> trials{trial(8, "a", 0), trial(8, "b", 0), trial(16, "a", 0)};
  trials[0].synchronization = trials[1].synchronization = Synchronization::window;
  // The counters are the cell's: both trials carry the same ones.
  trials[0].conditions.throttle_events = trials[1].conditions.throttle_events = 3;
  EXPECT_THAT(noise_summary(trials), HasSubstr("common starts in 1 of 2 keys"));
  EXPECT_THAT(noise_summary(trials), HasSubstr("throttled 3 time(s)"));
}

TEST(Noise, TrialsInWhichDevicesWereHeldDownAreCountedByWhat) {
  std::vector<Measurement> trials{trial(8, "a", 0), trial(8, "b", 0), trial(16, "a", 0),
                                  trial(16, "b", 0)};
  EXPECT_THAT(noise_summary(trials), ::testing::Not(HasSubstr("GPU"))) << "there are none";
  for (std::size_t i = 0; i < 3; ++i) {
    trials[i].conditions.device_clock_khz = 1'980'000;
    trials[i].conditions.device_power_state = 0;
  }
  EXPECT_THAT(noise_summary(trials),
              HasSubstr("\nthe GPUs' clocks were held down in 0 of 3 trials; the lowest clock was "
                        "1980 MHz\n"));
  trials[1].conditions.device_throttles = "power_cap,thermal";
  trials[1].conditions.device_clock_khz = 1'200'000;
  trials[2].conditions.device_throttles = "power_cap";
  EXPECT_THAT(
      noise_summary(trials),
      HasSubstr("\nthe GPUs' clocks were held down in 2 of 3 trials: power_cap (2), thermal "
                "(1); the lowest clock was 1200 MHz\n"));
}

TEST(Noise, WhatWasNotObservedIsNotCalledQuiet) {
  const std::vector<Measurement> trials{trial(8, "a", -1)};
  EXPECT_THAT(noise_summary(trials), StartsWith("noise was not observed"));
  EXPECT_THAT(noise_summary({}), StartsWith("noise was not observed"));
}

}  // namespace
}  // namespace colltune
