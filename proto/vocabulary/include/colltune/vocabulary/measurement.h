// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "colltune/vocabulary/tuning_key.h"
#include "colltune/vocabulary/variant.h"

namespace colltune {

/// How a trial ended. Stored and sent by name.
enum class Outcome {
  ok = 0,
  wrong = 1,   ///< a result differed from the reference
  failed = 2,  ///< the implementation reported an error
  timed_out = 3,
  crashed = 4,
  /// Not a fault: a library reported that it has no such call only when the variant was prepared or
  /// first called.
  unavailable = 5,
};
constexpr std::array<Named<Outcome>, 6> enum_names(Outcome) {
  return {{{Outcome::ok, "ok"},
           {Outcome::wrong, "wrong"},
           {Outcome::failed, "failed"},
           {Outcome::timed_out, "timed_out"},
           {Outcome::crashed, "crashed"},
           {Outcome::unavailable, "unavailable"}}};
}
constexpr std::string_view enum_title(Outcome) { return "outcome"; }
/// Whether the trial ended with a fault.
[[nodiscard]] constexpr bool is_fault(Outcome outcome) {
  return outcome != Outcome::ok && outcome != Outcome::unavailable;
}

/// How the ranks of a run were started together. Stored and sent by name.
enum class Synchronization {
  barrier = 0,  ///< a barrier before each run; a sample is the MAX of local durations
  window = 1,   ///< a common start on the global clock; a sample is the latest end minus that start
};
constexpr std::array<Named<Synchronization>, 2> enum_names(Synchronization) {
  return {{{Synchronization::barrier, "barrier"}, {Synchronization::window, "window"}}};
}
constexpr std::string_view enum_title(Synchronization) { return "synchronization"; }

/// Why a sample does not count; `Measurement::marks` holds sums of these. Persisted: never change a
/// value.
enum class RunMark : int {
  gap = 1,       ///< some rank's clock jumped by more than 10 us in the spin windows around the run
  switched = 2,  ///< some rank lost its core for more than a small part of the run
  late = 4,      ///< some rank reached the common start too late
};

/// What the machine did to the ranks while a trial was timed; each value is the worst over all
/// ranks.
struct Conditions {
  /// Share of the spin windows around the runs that lay in clock gaps above 1 us: time that
  /// something else took (hypervisor, interrupts, other processes). Negative: not observed.
  double steal = -1;
  std::chrono::nanoseconds longest_gap{};  ///< in those windows
  std::uint64_t involuntary_switches = 0;  ///< of the measuring thread, around and in timed runs
  std::uint64_t page_faults = 0;           ///< in timed runs; shows that the variant touches fresh
                                           ///< memory
  std::uint64_t throttle_events = 0;       ///< thermal or power, if the kernel counts them
  std::uint64_t lowest_frequency_khz = 0;  ///< of the cores; 0: unreadable
  std::chrono::nanoseconds clock_error{};  ///< bound on the offsets between the ranks' clocks
  /// Share of the time around and in the timed runs in which the thread could have run and got no
  /// core, because something else ran on it. Empty: not observed, or written before this field
  /// existed.
  std::optional<double> kept_waiting;
  /// Share of the sampled time, which is the host's, in which the device was at work by its own
  /// clock, in the last call of each run. The rest is spent on submitting, on waiting for the ranks
  /// that share the device, and on noticing the end. The maximum over the ranks. Empty: the buffers
  /// are in host memory.
  std::optional<double> device_share;
  /// The time of a call by the device's own clock: the mean over the last calls of the runs, the
  /// maximum over the ranks. It decides nothing, because it excludes the submission and the host's
  /// noticing of the end. Empty: as above.
  std::optional<std::chrono::nanoseconds> device_time;
  /// If there is more than one clock: which clock timed the samples, from where on, and whether
  /// waiting for late ranks is included: "host,from=common_start,late_ranks=inside". Empty: there
  /// is only the host's clock, and `synchronization` says the rest.
  std::optional<std::string> timed_by;
  /// How the devices ran, read after each batch of timed runs: the lowest clock of their
  /// processors, and the slowest power state (0 is the fastest, 15 the slowest). Empty: not
  /// reported.
  std::optional<std::uint64_t> device_clock_khz;
  std::optional<int> device_power_state;
  /// What held their clocks down in any of these readings: "power_cap,thermal". Empty: nothing did,
  /// or it was not reported.
  std::optional<std::string> device_throttles;

  /// The time until a rank sees the signal of its neighbour on the same node, measured before each
  /// round: the value of the farthest neighbours, as the median over the visit's rounds. Empty:
  /// ranks share cores, or no two share a node, or it was written before this field existed.
  std::optional<std::chrono::nanoseconds> hand_over;
  /// The time to make the communicators of subsets of the ranks that the variant runs on. A caller
  /// pays it once, and no sample includes it. Empty: it needs none.
  std::optional<std::chrono::nanoseconds> communicators;
  /// What a library that chooses for itself executed: "algorithm=ring,channels=8,protocol=ll".
  /// Empty: it did not report it, or no library chose.
  std::optional<std::string> executed;
  /// The same if it executed something other than the variant's settings say. Then the times are
  /// not the variant's, and decide nothing.
  std::optional<std::string> executed_instead;

  /// How often in the visit the variant was prepared anew because what it runs on ended together
  /// with another variant that hung (a library's communicator that is aborted). Empty: never.
  std::optional<std::uint64_t> renewals;
  /// Bytes of a rank's memory among which the buffers of ordinary calls change from call to call.
  /// Empty: all calls had the same buffers.
  std::optional<std::uint64_t> footprint;

  friend bool operator==(const Conditions&, const Conditions&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, Conditions>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("steal", self.steal);
  visit("longest_gap_ns", self.longest_gap);
  visit("involuntary_switches", self.involuntary_switches);
  visit("page_faults", self.page_faults);
  visit("throttle_events", self.throttle_events);
  visit("lowest_frequency_khz", self.lowest_frequency_khz);
  visit("clock_error_ns", self.clock_error);
  visit("kept_waiting", self.kept_waiting);
  visit("device_share", self.device_share);
  visit("device_time_ns", self.device_time);
  visit("timed_by", self.timed_by);
  visit("device_clock_khz", self.device_clock_khz);
  visit("device_power_state", self.device_power_state);
  visit("device_throttles", self.device_throttles);
  visit("hand_over_ns", self.hand_over);
  visit("communicators_ns", self.communicators);
  visit("executed", self.executed);
  visit("executed_instead", self.executed_instead);
  visit("renewals", self.renewals);
  visit("footprint_bytes", self.footprint);
}

/// Outcome and raw samples of one trial in one pass: one variant under one key, as measured in one
/// visit.
///
/// A sample is the time of the SLOWEST rank over `calls_per_sample` back-to-back calls; all
/// variants of a key, including the baseline, use the same number of calls. `samples[i]` belongs to
/// round `i / samples_per_round`. Rounds of a key's variants with the same index in the same pass
/// were interleaved.
struct Measurement {
  TuningKey key;
  Variant variant;
  std::string family;
  std::string protocol;
  bool is_baseline = false;
  bool is_twin = false;  ///< the baseline a second time under another name, for the null test;
                         ///< never ranks
  bool is_holdout =
      false;  ///< the size does not take part in deciding, in order to test interpolation
  bool is_emulated = false;  ///< composed, because the library lacks this type or operator
  /// Which of its sweep's visits to the key this was, from 0. Passes are apart in time, so that no
  /// temporary state of the machine decides alone.
  int pass = 0;
  Outcome outcome = Outcome::ok;
  std::string detail;  ///< why it is not ok
  std::vector<std::chrono::nanoseconds> samples;
  std::vector<int> slowest_ranks;  ///< the rank that determined each sample's MAX; as long as
                                   ///< `samples`
  /// For each sample the sum of its RunMarks, 0 if it counts; empty if all count.
  std::vector<int> marks;
  int samples_per_round = 1;
  int calls_per_sample = 1;
  int ranks_ran = 0;
  int ranks_failed = 0;
  std::uint64_t verified_calls = 0;
  std::uint64_t seed = 0;  ///< of the order of the rounds
  Synchronization synchronization = Synchronization::barrier;
  Rounding rounding = Rounding::exact;
  NumericClass numeric_class = NumericClass::any;  ///< what the variant guarantees
  Limits limits;
  Conditions conditions;

  friend bool operator==(const Measurement&, const Measurement&) = default;
};
/// Whether its times belong to the variant: it ended well, and executed what its name says.
[[nodiscard]] inline bool is_credited(const Measurement& measurement) {
  return measurement.outcome == Outcome::ok && !measurement.conditions.executed_instead;
}
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, Measurement>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("key", self.key);
  visit("variant", self.variant);
  visit("family", self.family);
  visit("protocol", self.protocol);
  visit("is_baseline", self.is_baseline);
  visit("is_twin", self.is_twin);
  visit("is_holdout", self.is_holdout);
  visit("is_emulated", self.is_emulated);
  visit("pass", self.pass);
  visit("outcome", self.outcome);
  visit("detail", self.detail);
  visit("samples_ns", self.samples);
  visit("slowest_ranks", self.slowest_ranks);
  visit("marks", self.marks);
  visit("samples_per_round", self.samples_per_round);
  visit("calls_per_sample", self.calls_per_sample);
  visit("ranks_ran", self.ranks_ran);
  visit("ranks_failed", self.ranks_failed);
  visit("verified_calls", self.verified_calls);
  visit("seed", self.seed);
  visit("synchronization", self.synchronization);
  visit("rounding", self.rounding);
  visit("numeric_class", self.numeric_class);
  visit("limits", self.limits);
  visit("conditions", self.conditions);
}

}  // namespace colltune
