// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "trial.h"

#include <algorithm>

#include "control/shared_result.h"

namespace colltune {
namespace {

using nlohmann::json;

/// A rank whose operation is lost makes other ranks wait in vain, and so does one that lacks
/// memory.
constexpr std::int64_t lost_severity = 2;
constexpr std::int64_t memory_severity = 3;

/// Ordered by cause: a rank that failed, or lacks the variant, makes other ranks wait in vain.
std::int64_t severity_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::ok:
      return 0;
    case Outcome::timed_out:
      return 1;
    case Outcome::unavailable:
      return 4;
    case Outcome::wrong:
      return 5;
    case Outcome::failed:
      return 6;
    case Outcome::crashed:
      return 7;
  }
  return 0;
}

Outcome outcome_of(std::int64_t severity) {
  if (severity == memory_severity) return Outcome::failed;
  for (const auto& named : enum_names(Outcome{}))
    if (severity_of(named.value) == severity) return named.value;
  return Outcome::failed;
}

json own_faults(std::span<Trial* const> trials) {
  json faults = json::array();
  for (std::size_t i = 0; i < trials.size(); ++i)
    if (trials[i]->fault) faults.push_back({i, severity_of(*trials[i]), trials[i]->fault->message});
  return faults;
}

/// Takes the first rank's words for each outcome, and how many ranks had a fault.
void take_details(const std::vector<Payload>& by_rank, std::span<Trial* const> trials) {
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank)
    for (const auto& fault : from_payload(by_rank[rank])) {
      Trial& trial = *trials[fault.at(0).get<std::size_t>()];
      const auto severity = fault.at(1).get<std::int64_t>();
      if (trial.is_alive() || severity == lost_severity) continue;
      const Outcome outcome = outcome_of(severity);
      if (is_fault(outcome)) ++trial.ranks_failed;
      if (trial.detail.empty() && outcome == trial.outcome)
        trial.detail = "rank " + std::to_string(rank) + ": " + fault.at(2).get<std::string>();
    }
}

}  // namespace

std::optional<Fault> catch_fault(const std::function<void()>& action) {
  try {
    action();
    return std::nullopt;
  } catch (const UnavailableHere& error) {
    return Fault{Outcome::unavailable, error.what()};
  } catch (const OperationLost& error) {
    return Fault{Outcome::failed, error.what(), true};
  } catch (const Error& error) {
    return Fault{.outcome = error.code() == StatusCode::deadline_exceeded ? Outcome::timed_out
                                                                          : Outcome::failed,
                 .message = error.what(),
                 .lacks_memory = error.code() == StatusCode::resource_exhausted};
  } catch (const std::exception& error) {
    return Fault{Outcome::failed, error.what()};
  } catch (...) {
    return Fault{Outcome::failed, "an exception of unknown type"};
  }
}

std::int64_t severity_of(const Trial& trial) {
  if (!trial.fault) return 0;
  if (trial.fault->is_lost) return lost_severity;
  return trial.fault->lacks_memory ? memory_severity : severity_of(trial.fault->outcome);
}

void end_trial(Trial& trial, Outcome outcome) {
  trial.outcome = outcome;
  trial.samples.clear();
  trial.slowest_ranks.clear();
  trial.marks.clear();
  trial.round_medians.clear();
  trial.ranks_failed = 0;
}

bool end_faulty_trials(ControlPlane& control, std::span<Trial* const> trials,
                       std::span<const std::int64_t> severities) {
  if (std::ranges::all_of(severities, [](std::int64_t severity) { return severity == 0; }))
    return false;
  const auto by_rank = control.gather(to_payload(own_faults(trials)));
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (severities[i] == 0) continue;
    trials[i]->was_lost = severities[i] == lost_severity;
    trials[i]->lacked_memory = severities[i] == memory_severity;
    if (!trials[i]->was_lost) end_trial(*trials[i], outcome_of(severities[i]));
  }
  if (control.rank() == 0) take_details(by_rank, trials);
  for (Trial* trial : trials) trial->fault.reset();
  return true;
}

bool vote(ControlPlane& control, std::span<Trial* const> trials) {
  std::vector<std::int64_t> severities;
  for (const Trial* trial : trials) severities.push_back(severity_of(*trial));
  control.all_reduce_max(severities);
  return end_faulty_trials(control, trials, severities);
}

std::int64_t pack_duration(std::chrono::nanoseconds duration, int rank) {
  return (duration.count() << packed_rank_bits) | rank;
}

std::chrono::nanoseconds unpack_duration(std::int64_t packed) {
  return std::chrono::nanoseconds(packed >> packed_rank_bits);
}

int unpack_rank(std::int64_t packed) {
  return static_cast<int>(packed & ((std::int64_t{1} << packed_rank_bits) - 1));
}

}  // namespace colltune
