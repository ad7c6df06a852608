// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "report_data.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "colltune/decide/decide.h"
#include "colltune/vocabulary/canonical.h"
#include "source/database.h"

namespace colltune {
namespace {

/// The decisions of the newest generation that this sweep made, by key and family.
std::map<std::pair<TuningKey, std::string>, Decision> published_by(const StoreReader& reader,
                                                                   const std::string& uuid) {
  std::map<std::pair<TuningKey, std::string>, Decision> published;
  try {
    for (Decision& decision : reader.published().decisions)
      if (decision.sweep_uuid == uuid)
        published.emplace(std::pair(decision.key, decision.family), std::move(decision));
  } catch (const Error& error) {
    if (error.code() != StatusCode::not_found) throw;  // nothing was published yet
  }
  return published;
}

/// What the members of the sweep's world can do; empty if unknown.
std::optional<Members> members_of(const ReportedSweep& sweep, const Topology& topology) {
  if (sweep.members.empty()) return {};
  const auto found =
      std::ranges::find(sweep.members, digest_of_value(topology), &WorldMembers::topology_digest);
  return found == sweep.members.end() ? std::nullopt : std::optional(found->members);
}

}  // namespace

SweepRecord named_sweep(const StoreReader& reader, const std::string& database,
                        const std::string& uuid) {
  std::vector<SweepRecord> found;
  for (SweepRecord& sweep : reader.sweeps()) {
    if (sweep.uuid == uuid) return sweep;
    if (sweep.uuid.starts_with(uuid)) found.push_back(std::move(sweep));
  }
  if (found.empty())
    throw Error(StatusCode::not_found, database + " holds no sweep '" + uuid +
                                           "'; colltune show sweeps lists what it holds");
  if (found.size() > 1)
    throw Error(StatusCode::invalid_argument, database + ": '" + uuid + "' begins the names of " +
                                                  std::to_string(found.size()) + " sweeps, " +
                                                  found[0].uuid + " and " + found[1].uuid +
                                                  " among them; give more of it");
  return found.front();
}

SweepRecord find_sweep(const StoreReader& reader, const std::string& database,
                       const std::string& uuid) {
  std::optional<SweepRecord> found;
  if (!uuid.empty()) found = named_sweep(reader, database, uuid);
  if (uuid.empty())
    for (SweepRecord& sweep : reader.sweeps())
      if (sweep.purpose == SweepPurpose::choose &&
          (!found || sweep.started_at >= found->started_at))
        found = std::move(sweep);
  if (!found)
    throw Error(StatusCode::not_found,
                database + " holds no sweep; colltune show sweeps lists what it holds");
  if (found->purpose != SweepPurpose::choose)
    throw Error(StatusCode::failed_precondition,
                "'" + uuid +
                    "' is a launch that confirms decisions, not a sweep that makes them; "
                    "colltune show sweeps lists the sweeps");
  return *std::move(found);
}

ReportedSweep read_sweep(const StoreReader& reader, const SweepRecord& record) {
  ReportedSweep sweep{.record = record, .summary = read_sweep_summary(record.summary, record.uuid)};
  if (sweep.summary.decision_policy) sweep.policy = *sweep.summary.decision_policy;
  sweep.measurements = reader.measurements(record.uuid);
  say_left_out(reader.left_out());
  auto published = published_by(reader, record.uuid);
  const auto quarantines = reader.quarantines();
  for (Decision& decision : decide(sweep.measurements, sweep.policy, record.uuid)) {
    const auto found = published.find({decision.key, decision.family});
    auto usable = without_quarantined(
        found != published.end() ? std::move(found->second) : std::move(decision), quarantines);
    if (usable) sweep.decisions.push_back(*std::move(usable));
  }
  sweep.members = reader.members(record.uuid);
  sweep.compositions = reader.compositions();
  return sweep;
}

LookupQuery query_for(const ReportedSweep& sweep, const TuningKey& key) {
  return {.problem = key.problem,
          .nodes = key.topology.nodes,
          .ranks_per_node = key.topology.ranks_per_node,
          .architecture = architecture_name(key.topology),
          .environment_digest = key.environment_digest,
          .placement = key.topology.placement,
          .layout_digest = key.topology.layout_digest,
          .interconnect = key.topology.interconnect,
          .members = members_of(sweep, key.topology),
          .calling = key.calling,
          .input = key.input};
}

}  // namespace colltune
