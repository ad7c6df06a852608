// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "launch_facts.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <vector>

#include "agreement.h"
#include "colltune/kernels/arithmetic/isa_names.h"
#include "colltune/kernels/catalogue.h"
#include "colltune/plugin/load_plugin.h"
#include "colltune/sweep/ranks/capability_merge.h"
#include "launch_comparison.h"
#include "plugin_probe.h"
#include "process_environment.h"

namespace colltune {
namespace {

constexpr auto longest_call_limit = std::chrono::seconds(10);
// A process is started and a library loaded.
constexpr std::chrono::milliseconds shortest_probe = std::chrono::seconds(1);

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

std::string features_for_dispatch(const Capability& capability) {
  constexpr std::string_view prefix = "isa.";
  std::string out;
  for (const auto& [feature, value] : capability.features)
    if (feature.starts_with(prefix))
      out += (out.empty() ? "" : " ") + feature.substr(prefix.size());
  return out;
}

/// A rank's facts in the form that is exchanged, in which facts common to all ranks are sent once.
Capability to_features(const ProcessFacts& process) {
  Capability facts;
  visit_all_facts(process, [&](std::string_view name, const std::string& value) {
    facts.features.emplace(name, value);
  });
  return facts;
}

ProcessFacts to_process_facts(const Capability& facts) {
  ProcessFacts process;
  const auto take = [&](std::string_view name, auto& value) {
    if (const auto text = facts.value(name); !text.empty()) value = std::string(text);
  };
  visit_fields(process.environment, take);
  visit_fields(process.provenance, take);
  return process;
}

struct ExchangedFacts {
  std::string launch;  ///< rank 0: how many ranks run where, for a person
  bool has_unlike_builds = false;
};

/// Collective. Throws on all ranks if their builds differ and may not; rank 0 warns of other
/// differences.
ExchangedFacts exchange_facts(ControlPlane& control, const ProcessFacts& process,
                              bool builds_may_differ) {
  const CapabilityKinds facts = exchange_kinds(control, to_features(process));
  const std::string host = host_name();
  const std::vector<Payload> hosts = control.gather({host.begin(), host.end()});
  ExchangedFacts exchanged;
  run_on_rank_zero(control, [&] {
    LaunchProcesses processes{.kinds = {}, .kind_of_rank = facts.kind_of_rank, .hosts = {}};
    std::ranges::transform(facts.kinds, std::back_inserter(processes.kinds), to_process_facts);
    for (const Payload& name : hosts) processes.hosts.emplace_back(name.begin(), name.end());
    exchanged.has_unlike_builds = are_builds_unlike(processes, builds_may_differ);
    for (const std::string& difference : differences_of(processes))
      fmt::print(stderr, "colltune-agent: warning: {}; rank 0's value is recorded\n", difference);
    exchanged.launch = describe(processes);
  });
  std::int64_t word = exchanged.has_unlike_builds ? 1 : 0;
  control.all_reduce_max({&word, 1});
  exchanged.has_unlike_builds = word != 0;
  return exchanged;
}

/// The program's implementations and those of the user's plug-ins; the same on every rank.
Implementations load_catalogue(const AgentProcess& process,
                               std::span<const std::filesystem::path> plugins,
                               std::chrono::milliseconds call_limit) {
  Implementations catalogue = process.make_catalogue();
  run_on_all_ranks(process.control, [&] {
    for (const auto& plugin : plugins) {
      probe_plugin(plugin, call_limit.count() > 0 ? std::max(call_limit, shortest_probe)
                                                  : longest_call_limit);
      add_plugin(catalogue, plugin);
    }
  });
  return catalogue;
}

/// Makes the kernels of this process, from their first call on, dispatch as if the processor lacked
/// these instruction sets.
void do_without(const std::vector<std::string>& isas) {
  if (isas.empty()) return;
  const char* const already = std::getenv(hidden_isas);
  ::setenv(hidden_isas,
           fmt::format("{},{}", already == nullptr ? "" : already, fmt::join(isas, ",")).c_str(),
           1);
}

}  // namespace

LaunchFacts learn_launch(const AgentProcess& process,
                         std::span<const std::filesystem::path> plugins,
                         std::chrono::milliseconds call_limit, const CapabilityRules& rules) {
  LaunchFacts facts;
  facts.catalogue = load_catalogue(process, plugins, call_limit);
  RankRules own_rules;
  std::vector<std::string> isas;
  run_on_all_ranks(process.control, [&] {
    own_rules = rules_of_rank(rules, process.control.rank(), process.control.size());
    check_implementation_masks(rules, facts.catalogue);
    isas = masked_isas(own_rules, isa_names());
    do_without(isas);
  });
  Capability own;
  run_on_all_ranks(process.control, [&] {
    own = apply(own_rules, isas, detect_capability(facts.catalogue, process.launch));
  });
  facts.environment = detect_environment(process.settings);
  facts.environment.cpu_features = features_for_dispatch(own);
  if (own.is_on_device()) {
    facts.environment.gpu_model = own.value("device.name");
    facts.environment.cuda_version = own.value("cuda.runtime");
    facts.environment.nccl_version = own.value("nccl.version");
  }
  facts.digest = digest_of(facts.environment);
  facts.provenance = detect_provenance();
  const ProcessFacts own_facts{facts.environment, facts.provenance};
  ExchangedFacts exchanged = exchange_facts(process.control, own_facts, rules.builds_may_differ);
  facts.launch = std::move(exchanged.launch);
  if (exchanged.has_unlike_builds) own.features[std::string(build_feature)] = build_of(own_facts);
  if (!rules.empty() && process.control.rank() == 0) facts.launch += "; " + describe(rules);
  own.features["net.fabric"] = facts.environment.fabric;
  if (!facts.environment.gpu_driver.empty())
    own.features["gpu.driver"] = facts.environment.gpu_driver;
  facts.availability = exchange_capabilities(process.control, process.launch, own);
  return facts;
}

std::chrono::nanoseconds call_limit_floor(std::chrono::milliseconds asked, const SweepPlan& plan) {
  using std::chrono::nanoseconds;
  using std::chrono::seconds;
  if (asked.count() > 0) return asked;
  if (plan.budget.count() == 0) return longest_call_limit;
  const bool shares_cores = std::ranges::any_of(plan.worlds, [](const PlannedWorld& world) {
    return world.topology.placement == Placement::oversubscribed;
  });
  const nanoseconds least = seconds(shares_cores ? 4 : 1);
  constexpr int hangs_in_budget = 8;
  return std::clamp<nanoseconds>(plan.budget / hangs_in_budget, least, longest_call_limit);
}

std::chrono::milliseconds control_time_out(const SweepPlan& plan, const MeasurePolicy& policy) {
  // Ranks with nothing to do wait as long as a trial may take, and the floor must cover a slow
  // disk's commit.
  constexpr auto floor = std::chrono::seconds(60);
  return std::chrono::duration_cast<std::chrono::milliseconds>(longest_step(plan, policy)) + floor;
}

}  // namespace colltune
