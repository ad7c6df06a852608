// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "launch_facts.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "agreement.h"
#include "colltune/json/json.h"
#include "colltune/kernels/catalogue.h"
#include "colltune/kernels/isa_names.h"
#include "colltune/plugin/load_plugin.h"
#include "process_environment.h"

namespace colltune {
namespace {

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

/// What each rank tells rank 0 about its process.
struct RankFacts {
  std::string host;
  Environment environment;
};

/// Refuses ranks of unlike builds (their messages to each other would not mean the same), and names
/// the other facts in which ranks differ. Returns a line for a person: how many ranks run where.
std::string compare_ranks(const std::vector<RankFacts>& ranks) {
  const auto own_build = [](const RankFacts& facts) {
    return facts.environment.colltune_version + " (" + facts.environment.build + ")";
  };
  std::map<std::string, int> ranks_per_host;
  std::string unlike;
  std::map<std::string, std::string> differing;  // field -> an example
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    ++ranks_per_host[ranks[rank].host];
    if (own_build(ranks[rank]) != own_build(ranks[0]))
      unlike +=
          fmt::format("\n  rank {} on {}: {}", rank, ranks[rank].host, own_build(ranks[rank]));
    std::map<std::string, std::string> first;
    visit_fields(ranks[0].environment, [&](std::string_view name, const std::string& value) {
      first.emplace(name, value);
    });
    visit_fields(ranks[rank].environment, [&](std::string_view name, const std::string& value) {
      if (first.at(std::string(name)) != value)
        differing.emplace(name, fmt::format("'{}' on rank 0, '{}' on rank {}",
                                            first.at(std::string(name)), value, rank));
    });
  }
  if (!unlike.empty())
    throw Error(
        StatusCode::failed_precondition,
        fmt::format("the ranks run different builds of colltune; rank 0 on {} runs {}, but{}",
                    ranks[0].host, own_build(ranks[0]), unlike));
  for (const auto& [field, example] : differing)
    fmt::print(stderr,
               "colltune-agent: warning: ranks differ in {}: {}; rank 0's value is recorded\n",
               field, example);
  std::string hosts;
  for (const auto& [host, count] : ranks_per_host)
    hosts += fmt::format("{}{}:{}", hosts.empty() ? "" : ",", host, count);
  return fmt::format("{} ranks on {}", ranks.size(), hosts);
}

std::string exchange_facts(ControlPlane& control, const Environment& environment) {
  nlohmann::json own = to_json_value(environment);
  own["host"] = host_name();
  const std::vector<Payload> all = control.gather(nlohmann::json::to_cbor(own));
  std::string launch;
  run_on_rank_zero(control, [&] {
    std::vector<RankFacts> ranks;
    for (const Payload& payload : all) {
      nlohmann::json facts = nlohmann::json::from_cbor(payload);
      std::string host = facts.at("host").get<std::string>();
      facts.erase("host");
      ranks.push_back(
          {std::move(host), from_json_value<Environment>(facts, "environment of a rank")});
    }
    launch = compare_ranks(ranks);
  });
  return launch;
}

/// The program's implementations and those of the user's plug-ins, the same on every rank.
Implementations load_catalogue(const AgentProcess& process,
                               std::span<const std::filesystem::path> plugins) {
  Implementations catalogue = process.make_catalogue();
  run_on_all_ranks(process.control, [&] {
    for (const auto& plugin : plugins) add_plugin(catalogue, plugin);
  });
  return catalogue;
}

/// Kernels of this process dispatch, from their first call on, as if the processor lacked these.
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
                         const CapabilityRules& rules) {
  LaunchFacts facts;
  facts.catalogue = load_catalogue(process, plugins);
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
  facts.environment = detect_environment(process.malloc_settings);
  facts.environment.cpu_features = features_for_dispatch(own);
  if (own.is_on_device()) {
    facts.environment.gpu_model = own.value("device.name");
    facts.environment.cuda_version = own.value("cuda.runtime");
  }
  facts.digest = digest_of(facts.environment);
  facts.launch = exchange_facts(process.control, facts.environment);
  if (!rules.empty() && process.control.rank() == 0) facts.launch += "; " + describe(rules);
  facts.availability = exchange_capabilities(process.control, process.launch, own);
  return facts;
}

std::chrono::milliseconds control_time_out(const SweepPlan& plan, const MeasurePolicy& policy) {
  // Ranks with nothing to do wait as long as a trial may take; and a slow disk's commit must fit
  // in.
  constexpr auto floor = std::chrono::seconds(60);
  return std::chrono::duration_cast<std::chrono::milliseconds>(longest_step(plan, policy)) + floor;
}

}  // namespace colltune
