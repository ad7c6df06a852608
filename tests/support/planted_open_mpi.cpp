// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// Writes a database in which Open MPI's coll/han wins on two hosts of two ranks at 4 KiB and at
// 64 KiB, and loses at 64 B, for each collective that it has; or algorithms of coll/tuned with two
// ranks, one at each of these sizes; whatever their speed: a test of what runs them.
//
//   planted_open_mpi DATABASE MPI-LIBRARY han|tuned

#include <array>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/literal_decisions.h"
#include "colltune/apply/open_mpi_han.h"
#include "colltune/db/store.h"
#include "colltune/vocabulary/canonical.h"
#include "colltune/vocabulary/problem_form.h"

namespace colltune {
namespace {

RankedVariant ranked(const std::string& name, int median_ns, bool is_baseline = false) {
  RankedVariant one = testing::ranked(name, median_ns, 1);
  one.family = "mpi";
  one.is_baseline = is_baseline;
  return one;
}

/// `other` wins, or loses to the default.
Decision decide(Collective collective, const Topology& topology, std::uint64_t bytes,
                const std::string& other, bool wins) {
  TuningKey key = testing::test_key(bytes, topology);
  key.problem.collective = collective;
  if (!shape_of(collective).reduces) key.problem.reduce_op = ReduceOp::none;
  key.problem.in_place = has_one_buffer({.collective = collective});
  const RankedVariant own = ranked("mpi." + std::string(name_of(collective)), 1000, true);
  const RankedVariant forced = ranked(other, wins ? 500 : 2000);
  return testing::decision(key, wins ? std::vector{forced, own} : std::vector{own, forced}, "mpi");
}

std::vector<Decision> decide_han() {
  Topology hosts = testing::test_topology();
  hosts.nodes = hosts.ranks_per_node = 2;
  hosts.ranks = 4;
  hosts.interconnect = "network";
  std::vector<Decision> all;
  for (const auto& collective : enum_names(Collective{})) {
    const std::string han = "mpi." + std::string(collective.name) + "_han";
    if (find_han_collective(han) == nullptr) continue;
    for (const auto& [bytes, wins] :
         {std::pair(64U, false), std::pair(4096U, true), std::pair(65536U, true)})
      all.push_back(decide(collective.value, hosts, bytes, han, wins));
  }
  return all;
}

struct TunedWinners {
  Collective collective;
  std::string_view at_4_kib;
  std::string_view at_64_kib;
};
// scatter has one algorithm for all sizes.
constexpr std::array<TunedWinners, 8> tuned_winners{
    {{Collective::all_reduce, "algorithm=ring", "algorithm=nonoverlapping"},
     {Collective::all_gather, "algorithm=ring", "algorithm=bruck"},
     {Collective::reduce_scatter, "algorithm=recursive_halving", "algorithm=butterfly"},
     {Collective::broadcast, "algorithm=basic_linear", "algorithm=binomial,segment_size=0"},
     {Collective::reduce, "algorithm=linear", "algorithm=binomial,segment_size=0"},
     {Collective::all_to_all, "algorithm=pairwise", "algorithm=linear_sync"},
     {Collective::gather, "algorithm=binomial", "algorithm=basic_linear"},
     {Collective::scatter, "algorithm=linear_nb", "algorithm=linear_nb"}}};

std::vector<Decision> decide_tuned() {
  const Topology pair = testing::test_topology();
  std::vector<Decision> all;
  for (const TunedWinners& one : tuned_winners) {
    const auto variant = [&](std::string_view settings) {
      return "mpi." + std::string(name_of(one.collective)) + "_tuned{" + std::string(settings) +
             "}";
    };
    const bool has_one = one.collective == Collective::scatter;
    all.push_back(decide(one.collective, pair, 64, variant(one.at_4_kib), has_one));
    all.push_back(decide(one.collective, pair, 4096, variant(one.at_4_kib), true));
    all.push_back(decide(one.collective, pair, 65536, variant(one.at_64_kib), true));
  }
  return all;
}

void plant(const std::string& database, const std::string& library, std::vector<Decision> all) {
  Environment environment = testing::test_environment();
  environment.mpi_library = library;
  const std::string digest = digest_of(environment);
  Store store(database);
  store.put_environment(environment);
  store.begin_sweep({.uuid = "sweep-1",
                     .started_at = "2026-01-01T00:00:00Z",
                     .configuration = "{}",
                     .environment_digest = digest,
                     .launch = "planted",
                     .provenance = testing::test_provenance()});
  store.finish_sweep("sweep-1", SweepState::complete, "2026-01-01T00:01:00Z", "{}");
  for (Decision& one : all) one.key.environment_digest = digest;
  store.publish(all, "2026-01-01T00:01:00Z");
}

}  // namespace
}  // namespace colltune

int main(int argc, char** argv) {
  const std::string_view what = argc == 4 ? argv[3] : "";
  if (what != "han" && what != "tuned") {
    std::cerr << "usage: planted_open_mpi DATABASE MPI-LIBRARY han|tuned\n";
    return 2;
  }
  try {
    colltune::plant(argv[1], argv[2],
                    what == "han" ? colltune::decide_han() : colltune::decide_tuned());
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
