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

/// The share of its watched time that a key's ranks lost to others, over the trials and passes
/// `of_key`. Each trial counts by its worst rank and is weighted by its samples, since each sample
/// was watched for about the same time. Rare long gaps make up most of the loss: a median over the
/// trials would hardly ever meet one, and the worst trial always would. Negative: nothing was
/// watched.
[[nodiscard]] double steal_of(std::span<const Measurement* const> of_key);
/// The share of the time of a key's runs for which their ranks waited for a core, counted in the
/// same way. Negative: not observed.
[[nodiscard]] double kept_waiting_of(std::span<const Measurement* const> of_key);

/// The share of the time of a trial's counted runs for which its ranks waited for a core, over its
/// passes: all waiting except the part that the runs that do not count contain. From 0 to 0.9; 0 if
/// it was not observed.
[[nodiscard]] double waited_in_counted(std::span<const Measurement* const> of_trial);

/// A key whose ranks lose more of their time to others than this was disturbed. On two cores of a
/// quiet machine none lost more than 2.3 %.
inline constexpr double disturbed_key = 0.05;

/// What the machine did to a sweep's ranks.
struct Noise {
  std::size_t keys = 0;
  double median_steal = -1;  ///< of the keys' steal_of(); negative: unknown
  double worst_steal = -1;
  double median_kept_waiting = -1;  ///< of the keys' kept_waiting_of(); negative: unknown
  double worst_kept_waiting = -1;
  std::string worst_key{};         ///< the key that lost the most either way, for a person
  double worst_lost = -1;          ///< the larger of the two shares there
  std::size_t disturbed_keys = 0;  ///< keys that lost more than `disturbed_key` either way
  std::uint64_t samples = 0;
  std::uint64_t gaps = 0;  ///< samples that do not count, by RunMark; one sample may have several
  std::uint64_t switched = 0;
  std::uint64_t late = 0;
  std::uint64_t voided = 0;       ///< samples with any mark
  std::size_t windowed_keys = 0;  ///< keys whose runs started together on the global clock
  std::uint64_t throttle_events = 0;
  std::size_t told_by_devices = 0;   ///< trials whose devices reported how they ran
  std::size_t device_throttled = 0;  ///< of these, trials in which something held the clocks down
  std::map<std::string, std::size_t> device_throttles;  ///< how many trials each cause affected
  std::uint64_t lowest_device_clock_khz = 0;            ///< over all trials; 0: not reported
  /// MachineStates::all of the world whose cores moved the most, if it has several states.
  std::vector<MachineState> states;
  /// Printed variants that touch fresh memory in every timed run (on average), and in how many
  /// keys.
  std::map<std::string, std::size_t> faulting;

  friend bool operator==(const Noise&, const Noise&) = default;
};
[[nodiscard]] Noise noise_of(std::span<const Measurement> measurements);

/// One or a few lines for a person: "this machine was quiet: steal 0.2 % in the median key, 1.1 %
/// in the worst; ranks waited for a core 0.1 % of the time, 2.0 % in the worst key; 0.3 % of 81,234
/// runs void (…)". If the ranks' cores moved, it adds how long signals took, and how often; if
/// devices report it, in how many trials something held their clocks down. "Quiet" means that both
/// shares are below 2 % in the median key and below `disturbed_key` in each key, and that less than
/// 5 % of the runs are void. Otherwise the worst key is named.
[[nodiscard]] std::string noise_summary(std::span<const Measurement> measurements);

}  // namespace colltune
