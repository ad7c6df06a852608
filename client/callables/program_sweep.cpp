// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <mpi.h>

#include <fmt/format.h>
#include <cstdlib>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>

#include "callable_implementation.h"
#include "callable_plugin.h"
#include "colltune/json/json.h"
#include "colltune/kernels/catalogue.h"
#include "colltune/kernels/mpi_library/mpi_communicator.h"
#include "colltune/kernels/mpi_library/mpi_settings.h"
#include "colltune/plugin/load_plugin.h"
#include "colltune/vocabulary/error.h"
#include "commands/sweep_command.h"
#include "launch/agreement.h"
#include "launch/launch_agreement.h"
#include "launch/mpi_control_plane.h"
#include "launch/process_settings.h"
#include "program_meeting.h"
#include "program_sweep.h"
#include "registrations.h"

namespace colltune {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr const char* thread_level_variable = "OMPI_MPI_THREAD_LEVEL";

/// The level of threads that the program asked MPI for makes every call dearer, and the environment
/// records it by the variable that asks for it. While this lives, the variable says what is.
class ThreadLevelFact {
 public:
  ThreadLevelFact() {
    int level = MPI_THREAD_SINGLE;
    PMPI_Query_thread(&level);
    constexpr int funneled = 1;
    const int number = level == MPI_THREAD_MULTIPLE     ? 3
                       : level == MPI_THREAD_SERIALIZED ? 2
                       : level == MPI_THREAD_FUNNELED   ? funneled
                                                        : 0;
    if (number == 0 || std::getenv(thread_level_variable) != nullptr) return;
    ::setenv(thread_level_variable, std::to_string(number).c_str(), 1);
    is_set_ = true;
  }
  ~ThreadLevelFact() {
    if (is_set_) ::unsetenv(thread_level_variable);
  }
  ThreadLevelFact(const ThreadLevelFact&) = delete;
  ThreadLevelFact& operator=(const ThreadLevelFact&) = delete;

 private:
  bool is_set_ = false;
};

/// What the environment's facts say of this program. MPI runs already, so what had to be set before
/// stays as it is, and is recorded.
ProcessSettings read_settings(const MpiSettings& mpi) {
  const MallocRegime malloc = read_malloc_regime();
  if (malloc == MallocRegime::fresh)
    throw Error(StatusCode::failed_precondition,
                "COLLTUNE_MALLOC=fresh measures each key in a process of its own, which a sweep "
                "inside a program cannot; use colltune-agent");
  prepare_malloc(malloc);
  const ThreadLevelFact threads;
  return read_process_settings(malloc, mpi);
}

Payload to_payload(const json& value) { return json::to_cbor(value); }

/// Collective: the entries of all ranks' callables.
std::vector<json> exchange_entries(ControlPlane& control, std::span<const colltune_callable> own,
                                   const std::string& configuration) {
  std::vector<json> entries;
  run_on_all_ranks(control, [&] {
    for (const colltune_callable& callable : own) entries.push_back(described_entry(callable));
  });
  const auto all = control.gather(to_payload({{"entries", entries}, {"asks", configuration}}));
  std::vector<json> merged;
  run_on_rank_zero(control, [&] {
    std::vector<std::vector<json>> by_rank;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      const json of_rank = json::from_cbor(all[rank]);
      if (of_rank.at("asks") != configuration)
        throw Error(StatusCode::invalid_argument,
                    fmt::format("rank {} asks for another sweep than rank 0: {} there, {} here",
                                rank, of_rank.at("asks").get<std::string>(), configuration));
      by_rank.push_back(of_rank.at("entries").get<std::vector<json>>());
    }
    merged = merge_entries(by_rank);
  });
  return json::from_cbor(control.broadcast(to_payload(merged))).get<std::vector<json>>();
}

Implementations make_callables(const CallablePlugin& plugin, const std::vector<json>& entries,
                               int ranks, Refusals* asks_into, const Refusals& refused) {
  Implementations made;
  if (entries.empty()) return made;
  Implementations adapters = adopt_plugin(plugin.table(), "the program's callables");
  for (auto& adapter : adapters) {
    const std::string entry_name = adapter->name().substr(std::string(callables_prefix).size() + 1);
    const auto entry = std::ranges::find_if(
        entries, [&](const json& one) { return one.at("name") == entry_name; });
    made.push_back(std::make_unique<CallableImplementation>(
        std::move(adapter), plugin,
        CallableImplementation::Facts{.entry_name = entry_name,
                                      .family = family_of_entry(*entry),
                                      .ranks = ranks,
                                      .asks_into = asks_into,
                                      .refused = refused}));
  }
  return made;
}

/// Asks this rank's checks about everything that the sweep may plan: a plan is made as if all ranks
/// were like this one.
Refusals ask_checks(const CallablePlugin& plugin, const std::vector<json>& entries,
                    Communicator& launch, const std::string& configuration) {
  Refusals refusals;
  if (entries.empty()) return refusals;
  const Implementations asking = make_callables(plugin, entries, launch.size(), &refusals, {});
  Capability own;
  for (const auto& one : asking) one->detect(launch, own);
  SweepSpec spec = parse_sweep_spec(configuration, "the program's request");
  spec.include.clear();
  spec.exclude.clear();
  spec.parameters.clear();
  const Availability alike{
      .kinds = {own},
      .kind_of_rank = std::vector<int>(static_cast<std::size_t>(launch.size())),
      .node_of_rank = {launch.nodes().begin(), launch.nodes().end()}};
  static_cast<void>(make_plan(spec, alike, asking, {}));
  return refusals;
}

json to_result(const SweepFindings& found) {
  json trials = json::array();
  for (const Measurement& one : found.measurements)
    if (one.outcome != Outcome::ok)
      trials.push_back({{"problem", to_json_value(one.key.problem)},
                        {"variant", to_string(one.variant)},
                        {"family", one.family},
                        {"outcome", to_json_value(one.outcome)},
                        {"detail", one.detail}});
  json skipped = json::array();
  for (const Skipped& one : found.plan.skipped)
    skipped.push_back({{"problem", to_json_value(one.problem)},
                       {"variant", one.variant},
                       {"reason", one.reason}});
  return {{"sweep_uuid", found.sweep_uuid},
          {"environment_digest", digest_of(found.environment)},
          {"environment", to_json_value(found.environment)},
          {"generation", found.generation ? to_json_value(*found.generation) : json()},
          {"decisions", to_json_value(std::vector(found.decisions.begin(), found.decisions.end()))},
          {"trials", trials},
          {"skipped", skipped}};
}

}  // namespace

std::string sweep_in_program(const colltune_callables_request& request, MPI_Comm comm) {
  const auto begin = Clock::now();
  meet_in_program(comm, "a sweep");
  MpiControlPlane control(comm, meeting_limit,
                          [&](const std::string& message, int) { end_program(comm, message); });
  MpiSettings mpi;
  ProcessSettings settings;
  run_on_all_ranks(control, [&] {
    mpi = read_mpi_settings();
    settings = read_settings(mpi);
  });
  if (const std::string why =
          compare_ranks(comm, describe_rank(settings.of_launch), Clock::now() + meeting_limit);
      !why.empty())
    throw Error(StatusCode::failed_precondition, why);
  AbortFlag abort;
  const AbortFlag stop;
  const auto launch = make_measured_communicator(&comm, abort, Clock::now() + meeting_limit);
  const std::string configuration = request.configuration;
  const std::span own(request.callables, request.callable_count);
  const std::vector<json> entries = exchange_entries(control, own, configuration);
  std::optional<CallablePlugin> made;
  Refusals refused;
  run_on_all_ranks(control, [&] {
    made.emplace(entries, own);
    refused = ask_checks(*made, entries, *launch, configuration);
  });
  const CallablePlugin& plugin = *made;

  SweepOptions options{.configuration = {},
                       .configuration_text = configuration,
                       .database = request.database == nullptr
                                       ? std::optional<std::filesystem::path>()
                                       : std::filesystem::path(request.database),
                       .quiet = true,
                       .allow_oversubscribe = request.allow_oversubscribe != 0,
                       .resume = Resume::never,
                       .call_limit = std::chrono::seconds(request.call_limit_seconds)};
  json result;
  std::unique_ptr<RankWatch> watch;
  LaunchState end_state = LaunchState::finished;
  const auto make_all = [&] {
    Implementations all = make_catalogue();
    for (auto& one : make_callables(plugin, entries, launch->size(), nullptr, refused))
      all.push_back(std::move(one));
    std::ranges::sort(all, {}, [](const auto& entry) { return entry->name(); });
    return all;
  };
  static_cast<void>(run_sweep_command(
      options, {.control = control,
                .launch = *launch,
                .stop = stop,
                .settings = settings,
                .begin = begin,
                .set_control_time_out =
                    [&](std::chrono::milliseconds time_out) { control.set_time_out(time_out); },
                .watch = watch,
                .end_state = end_state,
                .make_catalogue = make_all,
                .take_findings = [&](const SweepFindings& found) { result = to_result(found); }}));
  if (watch) watch->finish();
  result["notes"] = json::array();
  if (!mpi.uses_dynamic_rules)
    result["notes"].push_back(
        "Open MPI's forced algorithms are left out: OMPI_MCA_coll_tuned_use_dynamic_rules=1 was "
        "not "
        "set before MPI_Init");
  return json::from_cbor(control.broadcast(to_payload(result))).dump();
}

}  // namespace colltune
