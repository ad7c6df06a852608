// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/serve/lookup_service.h"

#include <algorithm>
#include <functional>
#include <set>

namespace colltune {
namespace {

bool is_admitted(const WorldFilter& filter, const TuningKey& key) {
  const Topology& world = key.topology;
  return (!filter.nodes || *filter.nodes == world.nodes) &&
         (!filter.ranks_per_node || *filter.ranks_per_node == world.ranks_per_node) &&
         (!filter.environment_digest || *filter.environment_digest == key.environment_digest) &&
         (!filter.architecture || *filter.architecture == architecture_name(world));
}

}  // namespace

void check_batch_size(std::size_t questions) {
  if (questions <= LookupService::largest_batch) return;
  throw Error(StatusCode::invalid_argument,
              "queries: the batch has " + std::to_string(questions) + " questions; at most " +
                  std::to_string(LookupService::largest_batch) + " are allowed");
}

FoundAnswer LookupService::lookup(const LookupQuery& query,
                                  const std::optional<std::string>& digest,
                                  bool with_environment) const {
  std::optional<Pin> pin;
  if (query.generation) pin.emplace(*query.generation, digest);
  const TableSource::Table table = source_.get(pin);
  FoundAnswer found{.answer = table->find(query), .environment = {}};
  const std::string& wanted = found.answer.decision.key.environment_digest;
  if (with_environment)
    if (const auto* const known = find_environment(table->set(), wanted))
      found.environment = *known;
  return found;
}

TableSource::Table LookupService::pin(const std::optional<Pin>& pin) const {
  return source_.get(pin);
}

BatchItem LookupService::lookup_in(const DecisionTable& table, const LookupQuery& query) {
  try {
    if (query.generation && *query.generation != table.generation().number)
      throw Error(StatusCode::invalid_argument,
                  "generation: a question of a batch cannot pin generation " +
                      std::to_string(*query.generation) +
                      "; the batch is answered from generation " +
                      std::to_string(table.generation().number));
    return table.find(query);
  } catch (const Error& error) {
    return error;
  }
}

TableSlice LookupService::slice(const WorldFilter& filter, const std::optional<Pin>& pin) const {
  TableSlice out{source_.get(pin), {}, {}, {}, {}, {}};
  for (const Decision& decision : out.table->set().decisions)
    if (is_admitted(filter, decision.key)) out.decisions.push_back(&decision);
  std::set<std::string_view> digests;
  for (const Decision* decision : out.decisions) digests.insert(decision->key.environment_digest);
  for (const auto& environment : out.table->set().environments)
    if (digests.contains(environment.first)) out.environments.push_back(&environment);
  std::set<std::string_view> sweeps;
  std::set<std::string, std::less<>> parts;
  for (const Decision* decision : out.decisions) {
    sweeps.insert(decision->sweep_uuid);
    for (const RankedVariant& ranked : decision->ranked)
      parts.emplace(parts_named_by(ranked.variant));
  }
  for (const WorldMembers& world : out.table->set().members)
    if (sweeps.contains(world.sweep_uuid)) out.members.push_back(&world);
  for (const Composition& composition : out.table->set().compositions)
    if (parts.contains(parts_name(composition))) out.compositions.push_back(&composition);
  for (const VariantFit& fit : out.table->set().fits)
    if (is_admitted(filter, fit.key) && digests.contains(fit.key.environment_digest))
      out.fits.push_back(&fit);
  return out;
}

}  // namespace colltune
