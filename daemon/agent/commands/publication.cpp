// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "publication.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <ranges>
#include <set>
#include <utility>

#include "colltune/db/store.h"
#include "colltune/vocabulary/canonical.h"

namespace colltune {
namespace {

// The raw samples of this many sweeps are read again at each publication; older sweeps no longer
// count.
constexpr std::size_t most_sweeps = 15;
// Models need times of each size, not many of them, and a plan should not wait for them.
constexpr std::size_t most_forecast_sweeps = 3;
constexpr std::size_t most_listed = 20;
constexpr std::size_t most_in_a_line = 3;

std::string describe_key(const TuningKey& key) {
  return fmt::format("{} on {}", describe(key.problem), describe(key.topology));
}

/// All the lines, or the first ones and the number of the others.
std::string listed(const std::vector<std::string>& lines) {
  std::string text;
  for (std::size_t i = 0; i < std::min(lines.size(), most_listed); ++i)
    text += "  " + lines[i] + '\n';
  if (lines.size() > most_listed)
    text += fmt::format("  ... and {} more\n", lines.size() - most_listed);
  return text;
}

/// What the buffers of the ranks on one node take at least, on the node where that is the most.
/// Buffers on devices are not counted. The largest number where it is more than numbers hold.
Bytes buffers_of(const Cell& cell, const SweepPlan& plan, const Availability& availability) {
  const PlannedWorld& world = plan.worlds.at(static_cast<std::size_t>(cell.world));
  std::map<int, std::uint64_t> on_node;
  for (const int rank : world.ranks)
    if (!availability.capability_of(rank).is_on_device())
      ++on_node[availability.node_of_rank[static_cast<std::size_t>(rank)]];
  std::uint64_t ranks = 0;
  for (const auto& [node, count] : on_node) ranks = std::max(ranks, count);
  // Each pair has a buffer to send and one to receive, both counted at the size of the larger.
  const std::uint64_t buffers = 2 * ranks * fewest_buffer_pairs(cell.key.calling);
  const std::uint64_t size = cell.key.problem.message_size.value;
  constexpr std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
  return {buffers > 0 && size > all / buffers ? all : size * buffers};
}

std::string why_too_large(Bytes needed, Bytes available) {
  return fmt::format(
      "the buffers of the ranks on one node take at least {:.1f} MiB, and {:.1f} MiB are available "
      "there",
      static_cast<double>(needed.value) / (1 << 20),
      static_cast<double>(available.value) / (1 << 20));
}

}  // namespace

std::vector<SweepEvidence> earlier_evidence(const std::filesystem::path& database,
                                            const std::string& environment_digest,
                                            const SweepPlan& plan, const std::string& sweep_uuid,
                                            std::span<const QuarantineRecord> quarantines) {
  std::set<TuningKey> planned;
  for (const Cell& cell : plan.cells) planned.insert(cell.key);
  const StoreReader reader(database);
  std::vector<SweepEvidence> evidence;
  const auto sweeps = reader.sweeps();
  for (const SweepRecord& sweep : std::views::reverse(sweeps)) {
    if (evidence.size() == most_sweeps) break;
    if (sweep.purpose != SweepPurpose::choose || sweep.environment_digest != environment_digest ||
        sweep.uuid == sweep_uuid || sweep.state == SweepState::running ||
        sweep.state == SweepState::failed)
      continue;
    SweepEvidence one{.sweep_uuid = sweep.uuid, .measurements = reader.measurements(sweep.uuid)};
    std::erase_if(one.measurements, [&](const Measurement& trial) {
      return !planned.contains(trial.key) ||
             std::ranges::any_of(quarantines, [&](const QuarantineRecord& quarantine) {
               return quarantine.variant == trial.variant && quarantine.key == trial.key;
             });
    });
    if (!one.measurements.empty()) evidence.push_back(std::move(one));
  }
  std::ranges::reverse(evidence);
  return evidence;
}

std::vector<Quarantined> quarantined_of(std::span<const QuarantineRecord> records) {
  std::vector<Quarantined> trials;
  for (const QuarantineRecord& record : records)
    trials.push_back({.key_digest = digest_of_value(record.key),
                      .variant = to_string(record.variant),
                      .reason = record.reason});
  return trials;
}

EarlierFindings read_findings(const std::filesystem::path& database,
                              const std::string& environment_digest) {
  const StoreReader reader(database);
  EarlierFindings found{.quarantined = quarantined_of(reader.quarantines()),
                        .decisions = {},
                        .measured = measured_earlier(database, environment_digest)};
  if (!reader.generations().empty()) found.decisions = reader.published().decisions;
  return found;
}

std::vector<Measurement> measured_earlier(const std::filesystem::path& database,
                                          const std::string& environment_digest) {
  const StoreReader reader(database);
  std::vector<Measurement> measured;
  std::size_t read = 0;
  const auto sweeps = reader.sweeps();
  for (const SweepRecord& sweep : std::views::reverse(sweeps)) {
    if (read == most_forecast_sweeps) break;
    if (sweep.purpose != SweepPurpose::choose || sweep.environment_digest != environment_digest ||
        sweep.state != SweepState::complete)
      continue;
    std::ranges::move(reader.measurements(sweep.uuid), std::back_inserter(measured));
    ++read;
  }
  return measured;
}

std::string describe_publication(std::span<const Settled> settled) {
  const auto counts = count_settlements(settled);
  std::string text;
  for (const auto& [what, name] : enum_names(Settlement{}))
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts.at(what), name);
  text += '\n';
  std::vector<std::string> lines;
  for (const Settled& one : settled)
    if (one.decision.family == any_family &&
        (one.what == Settlement::replaced || one.what == Settlement::kept))
      lines.push_back(fmt::format("{}: {} {}: {}", name_of(one.what),
                                  describe_key(one.decision.key),
                                  to_string(one.decision.ranked.front().variant), one.why));
  return text + listed(lines);
}

void refuse_empty(const SweepPlan& plan) {
  if (!plan.cells.empty()) return;
  std::set<std::string> reasons;
  for (const Skipped& skipped : plan.skipped)
    if (skipped.variant.empty())
      reasons.insert(fmt::format("{}: {}", describe(skipped.problem), skipped.reason));
  throw Error(StatusCode::not_found,
              "there is nothing to measure: the configuration has no problem that this launch can "
              "run\n" +
                  listed({reasons.begin(), reasons.end()}));
}

std::string why_not_in_memory(const SweepPlan& plan, const Availability& availability,
                              Bytes available) {
  const Cell* largest = nullptr;
  Bytes most;
  for (const Cell& cell : plan.cells) {
    const Bytes needed = buffers_of(cell, plan, availability);
    if (largest != nullptr && needed <= most) continue;
    largest = &cell;
    most = needed;
  }
  if (largest == nullptr || most <= available) return {};
  return fmt::format(
      "{} does not fit: {}; leave out the largest sizes, start fewer ranks or allow more memory",
      describe_key(largest->key), why_too_large(most, available));
}

void refuse_too_large(const SweepPlan& plan, const Availability& availability, Bytes available) {
  if (std::string why = why_not_in_memory(plan, availability, available); !why.empty())
    throw Error(StatusCode::failed_precondition, why);
}

std::string leave_out_too_large(SweepPlan& plan, const Availability& availability,
                                Bytes available) {
  const std::size_t keys = plan.cells.size();
  double all_weight = 0;
  double weight = 0;
  Bytes least{std::numeric_limits<std::uint64_t>::max()};
  std::vector<std::string> names;
  std::erase_if(plan.cells, [&](const Cell& cell) {
    all_weight += cell.weight;
    const Bytes needed = buffers_of(cell, plan, availability);
    if (needed <= available) return false;
    weight += cell.weight;
    least = std::min(least, needed);
    names.push_back(describe_key(cell.key));
    plan.skipped.push_back({.world = cell.world,
                            .problem = cell.key.problem,
                            .variant = {},
                            .reason = why_too_large(needed, available),
                            .supporting_kinds = {}});
    return true;
  });
  if (names.empty()) return {};
  const std::size_t more = names.size() - std::min(names.size(), most_in_a_line);
  names.resize(names.size() - more);
  return fmt::format(
      "not measured, too large for the memory: {} of {} keys, {:.1f} % of their "
      "time: {}{}: {}",
      names.size() + more, keys, 100 * weight / all_weight, fmt::join(names, ", "),
      more > 0 ? fmt::format(" and {} more", more) : "", why_too_large(least, available));
}

Missing missing_of(const SweepPlan& plan, std::span<const Measurement> measurements,
                   std::span<const Decision> decisions) {
  Missing missing{.unmeasured = {}, .failed = {}, .planned = plan.cells.size()};
  std::map<TuningKey, const Measurement*> measured;  ///< preferably a trial that did not end well
  for (const Measurement& one : measurements) {
    const Measurement*& trial = measured[one.key];
    if (trial == nullptr || trial->outcome == Outcome::ok) trial = &one;
  }
  std::set<TuningKey> decided;
  for (const Decision& decision : decisions) decided.insert(decision.key);
  for (const Cell& cell : plan.cells) {
    const auto trial = measured.find(cell.key);
    if (trial == measured.end())
      missing.unmeasured.push_back(describe_key(cell.key));
    else if (!cell.is_holdout && !decided.contains(cell.key))
      missing.failed.push_back(
          fmt::format("{}: no variant ended well; {} {}{}{}", describe_key(cell.key),
                      to_string(trial->second->variant), name_of(trial->second->outcome),
                      trial->second->detail.empty() ? "" : ": ", trial->second->detail));
  }
  return missing;
}

std::string describe_missing(const Missing& missing, const SweepPlan& plan, SweepEnd end) {
  std::string text;
  if (!missing.unmeasured.empty()) {
    const std::string why =
        end == SweepEnd::stopped
            ? std::string("the sweep was stopped; the same command goes on with them")
            : fmt::format(
                  "the budget of {:.3g} s was over; the same command with --resume goes on with "
                  "them, or give more budget_seconds",
                  std::chrono::duration<double>(plan.budget).count());
    text += fmt::format("{} of {} keys were not measured: {}\n", missing.unmeasured.size(),
                        missing.planned, why) +
            listed(missing.unmeasured);
  }
  if (!missing.failed.empty())
    text +=
        fmt::format("{} of {} keys have no decision:\n", missing.failed.size(), missing.planned) +
        listed(missing.failed);
  return text;
}

int exit_code_of(const Missing& missing, bool has_fault) {
  if (missing.planned > 0 && missing.unmeasured.size() + missing.failed.size() == missing.planned)
    return exit_code_of(StatusCode::not_found);
  if (!missing.unmeasured.empty()) return exit_incomplete;
  return has_fault || !missing.failed.empty() ? 1 : 0;
}

}  // namespace colltune
