// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Writes what the tests of the Python module ask:
//   planted_answers table FILE GENERATION [WORLDS]    a table file of that generation
//   planted_answers publish DATABASE                  one more generation of a database
//   planted_answers publish_two_worlds DATABASE       one that answers for other numbers of ranks
// Of the first two: all_reduce f32 of 1 KiB and 4 KiB on 1 x 2 ranks, a gather, an all_gather of
// equal and of random counts, and all_reduce on WORLDS further numbers of nodes. The third:
// models/two_worlds.h.

#include <fstream>
#include <functional>
#include <iostream>
#include <span>

#include "colltune/db/store.h"
#include "colltune/model/fitted/variant_fits.h"
#include "colltune/table/decision_table.h"
#include "colltune/table_file/table_content.h"
#include "literal_decisions.h"
#include "models/two_worlds.h"

namespace colltune::testing {
namespace {

std::vector<Decision> planted(std::uint64_t generation, int worlds) {
  const int faster = 1000 + static_cast<int>(generation % 100);
  TuningKey gather = test_key(1024);
  gather.problem.collective = Collective::gather;
  gather.problem.reduce_op = ReduceOp::none;
  Decision of_gather =
      decision(gather, {ranked("mpi.gather_tuned{algorithm=linear_sync,segment_size=0}", 800, 1.2),
                        ranked("mpi.default", 960, 1.0)});
  of_gather.ranked[0].family = "mpi";
  const auto all_gather = [&](Counts counts, const char* winner, int median_ns) {
    TuningKey key = gather;
    key.problem.collective = Collective::all_gather;
    key.problem.counts = counts;
    return decision(key,
                    {ranked(winner, median_ns, 2.0), ranked("mpi.default", 2 * median_ns, 1.0)});
  };
  std::vector<Decision> all{decision(test_key(1024), {ranked("cpu.one_shot{n=2}", faster, 2.0),
                                                      ranked("mpi.default", 2 * faster, 1.0)}),
                            decision(test_key(4096), {ranked("mpi.default", 9000, 1.0)}), of_gather,
                            all_gather(Counts::equal, "cpu.of_equal", 700),
                            all_gather(Counts::random, "cpu.of_random", 1100)};
  for (int nodes = 2; nodes < 2 + worlds; ++nodes) {
    Topology topology = test_topology();
    topology.nodes = nodes;
    topology.ranks = topology.architectures[0].ranks = 2 * nodes;
    for (std::uint64_t bytes = 8; bytes <= 1U << 20U; bytes *= 4)
      all.push_back(
          decision(test_key(bytes, topology),
                   {ranked("cpu.one_shot{n=" + std::to_string(bytes % 7) + "}", faster, 2.0),
                    ranked("mpi.default", 2 * faster, 1.0)}));
  }
  return all;
}

void write_table(const std::string& path, std::uint64_t generation, int worlds) {
  const DecisionTable table(
      {.generation = {"store", generation, "content " + std::to_string(generation)},
       .decisions = planted(generation, worlds),
       .environments = {{digest_of(test_environment()), test_environment()}}});
  std::ofstream file(path, std::ios::binary);
  file << encode_table({.set = table.set(),
                        .environment_digest = digest_of(test_environment()),
                        .groups = table.answer_groups()});
  if (!file.flush()) throw Error(StatusCode::failed_precondition, path + " cannot be written");
}

/// `decisions` makes them of how many generations there are.
void publish(const std::string& path,
             const std::function<std::vector<Decision>(std::uint64_t)>& decisions,
             const FitMaker& fits) {
  Store store(path);
  const std::size_t generations = StoreReader(path).generations().size();
  if (generations == 0) {
    store.put_environment(test_environment());
    store.begin_sweep({.uuid = "sweep-1",
                       .started_at = "2026-01-01T00:00:00Z",
                       .configuration = "{}",
                       .environment_digest = digest_of(test_environment())});
  }
  std::cout << store.publish(decisions(generations), "2026-01-01T00:01:00Z", fits).number << '\n';
}

}  // namespace
}  // namespace colltune::testing

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    if (arguments.size() >= 3 && arguments[0] == "table")
      colltune::testing::write_table(arguments[1], std::stoull(arguments[2]),
                                     arguments.size() > 3 ? std::stoi(arguments[3]) : 0);
    else if (arguments.size() == 2 && arguments[0] == "publish")
      colltune::testing::publish(
          arguments[1],
          [](std::uint64_t generations) { return colltune::testing::planted(generations, 0); },
          colltune::fits_of);
    else if (arguments.size() == 2 && arguments[0] == "publish_two_worlds")
      colltune::testing::publish(
          arguments[1], [](std::uint64_t) { return colltune::testing::decisions_of_two_worlds(); },
          [](std::span<const colltune::Decision> all) {
            return colltune::fits_with_worlds(all, colltune::testing::counts_of);
          });
    else
      throw std::runtime_error(
          "usage: table FILE GENERATION [WORLDS], publish DATABASE, or publish_two_worlds "
          "DATABASE");
  } catch (const std::exception& error) {
    std::cerr << "planted_answers: " << error.what() << '\n';
    return 1;
  }
}
