// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/noise.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "colltune/decide/rounds.h"
#include "colltune/decide/statistics.h"

namespace colltune {
namespace {

// What a decision about a few per cent can tolerate: if a key's ranks lose more of their time, for
// any reason, its samples differ by that much.
constexpr double quiet_steal = 0.02;
constexpr double quiet_void = 0.05;

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string percent(double fraction) { return fmt::format("{:.1f} %", 100 * fraction); }

struct KeyConditions {
  std::vector<const Measurement*> trials;
  std::map<int, std::uint64_t> throttle_events;  ///< for each pass
  bool has_windows = false;
};

/// A variant under one key, over all its passes.
struct Touched {
  std::uint64_t page_faults = 0;
  std::uint64_t samples = 0;
};

/// Weighted by samples, over the trials for which `share_in` is known; negative if there are none.
double share_of(std::span<const Measurement* const> of_key,
                std::optional<double> (*share_in)(const Conditions&)) {
  double sum = 0;
  double weights = 0;
  for (const Measurement* trial : of_key) {
    const auto samples = static_cast<double>(trial->samples.size());
    if (const auto share = share_in(trial->conditions)) {
      sum += *share * samples;
      weights += samples;
    }
  }
  return weights > 0 ? sum / weights : -1;
}

void count_device(const Conditions& seen, Noise& noise) {
  if (!seen.device_clock_khz && !seen.device_power_state && !seen.device_throttles) return;
  ++noise.told_by_devices;
  if (const std::uint64_t clock = seen.device_clock_khz.value_or(0);
      clock > 0 && (noise.lowest_device_clock_khz == 0 || clock < noise.lowest_device_clock_khz))
    noise.lowest_device_clock_khz = clock;
  if (!seen.device_throttles) return;
  ++noise.device_throttled;
  std::istringstream names(*seen.device_throttles);
  for (std::string name; std::getline(names, name, ',');) ++noise.device_throttles[name];
}

/// For example "the GPUs' clocks were held down in 3 of 40 trials: power_cap (3), thermal (1); the
/// lowest clock was 1200 MHz".
std::string device_summary(const Noise& noise) {
  std::string names;
  for (const auto& [name, trials] : noise.device_throttles)
    names += fmt::format("{}{} ({})", names.empty() ? ": " : ", ", name, trials);
  std::string text = fmt::format("the GPUs' clocks were held down in {} of {} trials{}",
                                 noise.device_throttled, noise.told_by_devices, names);
  if (noise.lowest_device_clock_khz > 0)
    text += fmt::format("; the lowest clock was {} MHz", noise.lowest_device_clock_khz / 1000);
  return text;
}

}  // namespace

double steal_of(std::span<const Measurement* const> of_key) {
  return share_of(of_key, [](const Conditions& seen) {
    return seen.steal < 0 ? std::nullopt : std::optional(seen.steal);
  });
}

double kept_waiting_of(std::span<const Measurement* const> of_key) {
  return share_of(of_key, [](const Conditions& seen) { return seen.kept_waiting; });
}

double waited_in_counted(std::span<const Measurement* const> of_trial) {
  constexpr double most = 0.9;  // at a larger loss the bounds are wide enough in any case
  double counted = 0;
  double waited = 0;
  for (const Measurement* trial : of_trial) {
    std::vector<double> good;
    double whole = 0;
    for (std::size_t i = 0; i < trial->samples.size(); ++i) {
      const auto time = static_cast<double>(trial->samples[i].count());
      whole += time;
      if (counts(*trial, i)) good.push_back(time);
    }
    for (const double time : good) counted += time;
    waited += trial->conditions.kept_waiting.value_or(0) * whole;
    if (good.empty()) continue;
    const double usual = median_of(good);
    for (std::size_t i = 0; i < trial->samples.size(); ++i)
      if (!counts(*trial, i))
        waited -= std::max(0.0, static_cast<double>(trial->samples[i].count()) - usual);
  }
  return counted > 0 ? std::clamp(waited / counted, 0.0, most) : 0;
}

Noise noise_of(std::span<const Measurement> measurements) {
  Noise noise;
  std::map<TuningKey, KeyConditions> keys;
  std::map<std::pair<TuningKey, Variant>, Touched> touched;
  for (const Measurement& trial : measurements) {
    KeyConditions& key = keys[trial.key];
    key.trials.push_back(&trial);
    // The counters belong to the cell: all trials of a pass carry the same values.
    std::uint64_t& throttle_events = key.throttle_events[trial.pass];
    throttle_events = std::max(throttle_events, trial.conditions.throttle_events);
    key.has_windows = key.has_windows || trial.synchronization == Synchronization::window;
    noise.samples += trial.samples.size();
    for (const int marks : trial.marks) {
      noise.gaps += (marks & static_cast<int>(RunMark::gap)) != 0;
      noise.switched += (marks & static_cast<int>(RunMark::switched)) != 0;
      noise.late += (marks & static_cast<int>(RunMark::late)) != 0;
      noise.voided += marks != 0;
    }
    count_device(trial.conditions, noise);
    if (trial.is_twin) continue;
    Touched& variant = touched[{trial.key, trial.variant}];
    variant.page_faults += trial.conditions.page_faults;
    variant.samples += trial.samples.size();
  }
  for (const auto& [name, variant] : touched)
    if (variant.samples > 0 && variant.page_faults >= variant.samples)
      ++noise.faulting[to_string(name.second)];
  noise.keys = keys.size();
  std::map<Topology, std::vector<const Measurement*>> worlds;
  for (const Measurement& trial : measurements) worlds[trial.key.topology].push_back(&trial);
  for (const auto& [topology, of_world] : worlds)
    if (MachineStates states(of_world);
        states.all().size() > std::max<std::size_t>(1, noise.states.size()))
      noise.states = states.all();
  std::vector<double> steals;
  std::vector<double> waits;
  for (const auto& [key, conditions] : keys) {
    if (const double steal = steal_of(conditions.trials); steal >= 0) steals.push_back(steal);
    const double wait = kept_waiting_of(conditions.trials);
    if (wait >= 0) waits.push_back(wait);
    const double lost = std::max(steal_of(conditions.trials), wait);
    noise.disturbed_keys += lost > disturbed_key ? 1 : 0;
    if (lost > noise.worst_lost) {
      noise.worst_lost = lost;
      noise.worst_key = describe(key.problem) + " on " + describe(key.topology);
    }
    for (const auto& [pass, events] : conditions.throttle_events) noise.throttle_events += events;
    noise.windowed_keys += conditions.has_windows ? 1 : 0;
  }
  if (!steals.empty()) {
    noise.median_steal = median_of(steals);
    noise.worst_steal = std::ranges::max(steals);
  }
  if (!waits.empty()) {
    noise.median_kept_waiting = median_of(waits);
    noise.worst_kept_waiting = std::ranges::max(waits);
  }
  return noise;
}

std::string noise_summary(std::span<const Measurement> measurements) {
  const Noise noise = noise_of(measurements);
  std::string text;
  if (noise.median_steal < 0) {
    text = "noise was not observed: the ranks share cores, or nothing was timed";
  } else {
    const bool is_quiet = noise.median_steal < quiet_steal &&
                          noise.median_kept_waiting < quiet_steal && noise.disturbed_keys == 0 &&
                          share(noise.voided, noise.samples) < quiet_void;
    const std::string waits =
        noise.median_kept_waiting < 0
            ? std::string()
            : fmt::format("; ranks waited for a core {} of the time, {} in the worst key",
                          percent(noise.median_kept_waiting), percent(noise.worst_kept_waiting));
    text = fmt::format(
        "this machine was {}: steal {} in the median key, {} in the worst{}; {} of {} runs void "
        "(clock gaps {}, taken off the core {}, late starts {}); common starts in {} of {} keys",
        is_quiet ? "quiet" : "noisy", percent(noise.median_steal), percent(noise.worst_steal),
        waits, percent(share(noise.voided, noise.samples)), noise.samples,
        percent(share(noise.gaps, noise.samples)), percent(share(noise.switched, noise.samples)),
        percent(share(noise.late, noise.samples)), noise.windowed_keys, noise.keys);
    if (noise.disturbed_keys > 0)
      text += fmt::format(
          "\nmore than {:.0f} % of the time was lost to something else in {} of {} keys; the worst "
          "is {}: {}",
          100 * disturbed_key, noise.disturbed_keys, noise.keys, noise.worst_key,
          percent(noise.worst_lost));
  }
  if (!noise.states.empty()) {
    std::string states;
    for (const MachineState& state : noise.states)
      states += fmt::format("{}{:.0f} ns in {}", states.empty() ? "" : ", ", state.median,
                            percent(state.share));
    text +=
        fmt::format("\nthe cores moved: a signal to the neighbour took {} of the visits", states);
  }
  if (noise.throttle_events > 0)
    text += fmt::format("\nthe cores were throttled {} time(s)", noise.throttle_events);
  if (noise.told_by_devices > 0) text += "\n" + device_summary(noise);
  if (!noise.faulting.empty()) {
    // By implementation; the report lists the variants.
    std::map<std::string, std::size_t> trials;
    for (const auto& [variant, count] : noise.faulting)
      trials[variant.substr(0, variant.find('{'))] += count;
    std::string names;
    for (const auto& [implementation, count] : trials)
      names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", implementation, count);
    text += "\nfresh memory is touched in every run by (trials): " + names;
  }
  return text + "\n";
}

}  // namespace colltune
