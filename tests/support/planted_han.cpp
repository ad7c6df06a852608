// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// Writes a database in which Open MPI's coll/han wins on two hosts of two ranks at 4 KiB and at
// 64 KiB, and loses at 64 B, for each collective that it has, whatever its speed: a test of what
// runs it.
//
//   planted_han DATABASE MPI-LIBRARY

#include <exception>
#include <iostream>
#include <string>
#include <utility>

#include "client/literal_decisions.h"
#include "colltune/apply/open_mpi_han.h"
#include "colltune/db/store.h"
#include "colltune/vocabulary/canonical.h"
#include "colltune/vocabulary/problem_form.h"

namespace colltune {
namespace {

RankedVariant ranked(const std::string& name, int median_ns) {
  RankedVariant one = testing::ranked(name, median_ns, 1);
  one.family = "mpi";
  one.is_baseline = !name.ends_with("_han");
  return one;
}

Decision decide(Collective collective, std::uint64_t bytes, bool wins) {
  Topology hosts = testing::test_topology();
  hosts.nodes = hosts.ranks_per_node = 2;
  hosts.ranks = 4;
  hosts.interconnect = "network";
  TuningKey key = testing::test_key(bytes, hosts);
  key.problem.collective = collective;
  if (!shape_of(collective).reduces) key.problem.reduce_op = ReduceOp::none;
  key.problem.in_place = has_one_buffer({.collective = collective});
  const std::string name = "mpi." + std::string(name_of(collective));
  const RankedVariant own = ranked(name, 1000);
  const RankedVariant han = ranked(name + "_han", wins ? 500 : 2000);
  return testing::decision(key, wins ? std::vector{han, own} : std::vector{own, han}, "mpi");
}

void plant(const std::string& database, const std::string& library) {
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
  std::vector<Decision> all;
  for (const auto& collective : enum_names(Collective{})) {
    if (find_han_collective("mpi." + std::string(collective.name) + "_han") == nullptr) continue;
    for (const auto& [bytes, wins] :
         {std::pair(64U, false), std::pair(4096U, true), std::pair(65536U, true)}) {
      all.push_back(decide(collective.value, bytes, wins));
      all.back().key.environment_digest = digest;
    }
  }
  store.publish(all, "2026-01-01T00:01:00Z");
}

}  // namespace
}  // namespace colltune

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: planted_han DATABASE MPI-LIBRARY\n";
    return 2;
  }
  try {
    colltune::plant(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
