// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "colltune/decide/machine_states.h"
#include "colltune/vocabulary/measurement.h"

namespace colltune {

/// What share of its watched time a key's ranks lost to others: over the trials and passes
/// `of_key`, in each by the worst rank, weighted by samples, since each was watched for about the
/// same time. Rare long gaps make up most of it: a median over the trials would hardly ever meet
/// one, the worst trial always. Negative: none was watched.
[[nodiscard]] double steal_of(std::span<const Measurement* const> of_key);
/// What share of the time of a key's runs their ranks waited for a core, counted alike. Negative:
/// not observed.
[[nodiscard]] double kept_waiting_of(std::span<const Measurement* const> of_key);

/// What share of the time of a trial's runs that count its ranks waited for a core, over its
/// passes: of all waiting that which the runs that do not count do not hold. From 0 to 0.9; 0 where
/// nobody looked.
[[nodiscard]] double lost_in_counted(std::span<const Measurement* const> of_trial);

/// A key whose ranks lose more of their time to others was disturbed: on two cores of a quiet
/// machine none lost more than 2.3 %.
inline constexpr double disturbed_key = 0.05;

/// What the machine did to a sweep's ranks.
struct Noise {
  std::size_t keys = 0;
  double median_steal = -1;  ///< of the keys' steal_of(); negative: unknown
  double worst_steal = -1;
  double median_kept_waiting = -1;  ///< of the keys' kept_waiting_of(); negative: unknown
  double worst_kept_waiting = -1;
  std::string worst_key{};         ///< in which the most was lost either way, for a person
  double worst_lost = -1;          ///< the most of both there
  std::size_t disturbed_keys = 0;  ///< in which more than `disturbed_key` was lost either way
  std::uint64_t samples = 0;
  std::uint64_t gaps = 0;  ///< samples that do not count, by RunMark; one may bear several
  std::uint64_t switched = 0;
  std::uint64_t late = 0;
  std::uint64_t voided = 0;       ///< samples with any mark
  std::size_t windowed_keys = 0;  ///< whose runs began at a common start on the global clock
  std::uint64_t throttle_events = 0;
  std::size_t told_by_devices = 0;   ///< trials in which the devices told how they ran
  std::size_t device_throttled = 0;  ///< of them, those in which something held the clocks down
  std::map<std::string, std::size_t> device_throttles;  ///< which did in how many
  std::uint64_t lowest_device_clock_khz = 0;            ///< of all; 0: not told
  /// Of the world whose cores moved the most: MachineStates::all, where those are several.
  std::vector<MachineState> states;
  /// Variants that touch fresh memory in (on average) every timed run, printed, and in how many
  /// keys.
  std::map<std::string, std::size_t> faulting;

  friend bool operator==(const Noise&, const Noise&) = default;
};
[[nodiscard]] Noise noise_of(std::span<const Measurement> measurements);

/// For a person, a line or a few: "this machine was quiet: steal 0.2 % in the median key, 1.1 % in
/// the worst; ranks waited for a core 0.1 % of the time, 2.0 % in the worst key; 0.3 % of 81,234
/// runs void (…)", and where the ranks' cores moved, how long signals took how often, and where
/// devices tell, in how many trials what held their clocks down. Quiet: both below 2 % in the
/// median key, below `disturbed_key` in each, and below 5 % of the runs void. Else the worst key is
/// named.
[[nodiscard]] std::string noise_summary(std::span<const Measurement> measurements);

}  // namespace colltune
