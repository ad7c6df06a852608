// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// `colltune` about reductions over a process mesh.

#include <array>
#include <nlohmann/json.hpp>

#include "cli_fixture.h"
#include "colltune/vocabulary/composition.h"

namespace colltune {
namespace {

using ::testing::AllOf;
using testing::decision;
using ::testing::HasSubstr;
using testing::measurement;
using testing::ranked;
using testing::sweep;
using testing::test_environment;
using testing::test_key;

TuningKey mesh_key(std::uint64_t bytes) {
  Topology topology = testing::test_topology();
  topology.ranks_per_node = topology.ranks = 4;
  topology.architectures[0].ranks = 4;
  TuningKey key = test_key(bytes, topology);
  key.problem.kind = ProblemKind::mesh_reduce;
  key.problem.reduce_op = ReduceOp::none;
  key.problem.mesh = parse_mesh("2x2", "0:sum,1:avg");
  return key;
}

class MeshCommand : public testing::Cli {
 protected:
  void fill_with_a_mesh() const {
    const TuningKey key = mesh_key(1024);
    Store store(database);
    store.put_environment(test_environment());
    store.begin_sweep(sweep("sweep-1", "2026-01-01T00:00:00Z"));
    store.note_compositions(std::array{base, merged, levels});
    std::vector<Measurement> trials;
    for (const auto& [form, time, making] :
         {std::tuple(&base, 2000, 4000), std::tuple(&merged, 1500, 9000),
          std::tuple(&levels, 1800, 4000)}) {
      trials.push_back(measurement(key, name(*form), time));
      trials.back().is_baseline = form == &base;
      trials.back().conditions.communicators = std::chrono::nanoseconds(making);
    }
    store.append("sweep-1", trials);
    store.finish_sweep("sweep-1", SweepState::complete, "2026-01-01T00:01:00Z", "{}");
    std::vector<Decision> decisions{
        decision(key, {ranked(name(merged), 1500, 1.33), ranked(name(levels), 1800, 1.11),
                       ranked(name(base), 2000, 1.0)})};
    decisions[0].ranked.back().is_baseline = true;
    store.publish(decisions, "2026-01-01T00:01:00Z");
  }

  static std::string name(const Composition& form) {
    return to_string(name_composition("mesh_reduce", form));
  }

  [[nodiscard]] testing::Result ask(const std::string& command,
                                    const std::vector<std::string>& more) const {
    std::vector<std::string> line{command,       "mesh_reduce", "--mesh", "2x2",  "--reduce",
                                  "0:sum,1:avg", "--bytes",     "1KiB",   "--db", database};
    line.insert(line.end(), more.begin(), more.end());
    return colltune(line);
  }

  const Composition base{CompositionMode::sequential,
                         {{PartRole::step, {}, parse_variant("mpi.all_reduce"), 0},
                          {PartRole::step, {}, parse_variant("mpi.all_reduce"), 1}}};
  const Composition merged{CompositionMode::merged,
                           {{PartRole::whole, {}, parse_variant("cpu.all_reduce_flat"), {}}}};
  const Composition levels{CompositionMode::hierarchical,
                           {{PartRole::before, {}, parse_variant("cpu.reduce_scatter_flat"), 1},
                            {PartRole::bridge, {}, parse_variant("cpu.all_reduce_flat"), {}},
                            {PartRole::after, {}, parse_variant("cpu.all_gather_flat"), 1}}};
};

TEST_F(MeshCommand, LookupSaysWhichFormAndWhatEachStepRuns) {
  fill_with_a_mesh();
  auto result = ask("lookup", {});
  ASSERT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("mesh_reduce 2x2 0:sum,1:avg f32 1KiB on 1x4"),
                    HasSubstr("winner       " + name(merged) + "\n"),
                    HasSubstr("(merged)\n  all_reduce among all that the steps connect: "
                              "cpu.all_reduce_flat\n")));
  result = ask("lookup", {"--policy", "hierarchical"});
  ASSERT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(result.out, AllOf(HasSubstr("winner       " + name(levels) + "\n"),
                                HasSubstr("reduce_scatter in the groups of step 1 (1:avg): "),
                                HasSubstr("all_reduce across the groups of step 1 (1:avg): "),
                                HasSubstr("all_gather in the groups of step 1 (1:avg): ")));
  result = ask("lookup", {"--policy", "sequential"});
  ASSERT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(result.out, AllOf(HasSubstr("winner       " + name(base) + "\n"),
                                HasSubstr("step 0 (0:sum): mpi.all_reduce\n"),
                                HasSubstr("step 1 (1:avg): mpi.all_reduce\n")));
}

TEST_F(MeshCommand, ExplainComparesTheFormsAndSaysWhenCommunicatorsArePaidBack) {
  fill_with_a_mesh();
  const auto result = ask("explain", {});
  ASSERT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(result.out, HasSubstr("executed by\n  all ranks, all_reduce among all"));
  // 9 us against 4 us, 0.5 us saved by each call.
  EXPECT_THAT(result.out, HasSubstr("9.00 us for the winner, 4.00 us for the baseline; paid back "
                                    "after 10 call(s)"));
  const auto json = nlohmann::json::parse(ask("explain", {"--json"}).out);
  EXPECT_EQ(json["communicators"]["paid_back_after_calls"], 10);
  std::vector<std::string> modes;
  for (const auto& line : json["modes"]["best"]) modes.push_back(line["mode"]);
  EXPECT_THAT(modes, ::testing::UnorderedElementsAre("baseline", "merged", "hierarchical"));
}

TEST_F(MeshCommand, TheExportHasTheMeshAndTheParts) {
  fill_with_a_mesh();
  const auto result = colltune({"export", "json", "--db", database});
  ASSERT_EQ(result.code, 0) << result.errors;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["decisions"][0]["key"]["problem"]["mesh"]["steps"][1]["op"], "avg");
  EXPECT_EQ(json["compositions"].size(), 3u);
  EXPECT_EQ(json["tables"][0]["ranges"][0]["winner"], name(merged));
  EXPECT_EQ(colltune({"show", "decisions", "--db", database}).code, 0);
}

TEST_F(MeshCommand, WrongQuestionsSayWhatIsAllowed) {
  fill_with_a_mesh();
  const auto question = [&](std::vector<std::string> line) {
    line.insert(line.begin(), "lookup");
    line.insert(line.end(), {"--bytes", "1KiB", "--db", database});
    return colltune(line);
  };
  expect_failure(question({"mesh_reduce", "--mesh", "2x2"}), 2, "--reduce, what is reduced");
  expect_failure(question({"mesh_reduce", "--mesh", "2y2", "--reduce", "0:sum"}), 2,
                 "'2y2' is no shape");
  expect_failure(question({"mesh_reduce", "--mesh", "2x2", "--reduce", "0"}), 2, "as in 0:sum");
  expect_failure(question({"mesh_reduce", "--mesh", "2x2", "--reduce", "0:mean"}), 2,
                 "sum, prod, min, max");
  expect_failure(question({"mesh_reduce", "--mesh", "2x2", "--reduce", "{0-4}:sum"}), 2,
                 "ranks from 0 to 3");
  expect_failure(question({"mesh_reduce", "--mesh", "2x2", "--reduce", "0:sum", "--op", "sum"}), 2,
                 "--op");
  expect_failure(question({"broadcast", "--policy", "merged"}), 2, "not for broadcast");
  expect_failure(ask("lookup", {"--policy", "fused"}), 2, "measured, sequential, merged");
  expect_failure(question({"mesh_reduce", "--mesh", "2x2", "--reduce", "1:sum,0:avg"}), 3,
                 "mesh or what is reduced over it");
  // Three perfect matchings: an input enters twice.
  expect_failure(question({"mesh_reduce", "--mesh", "4", "--reduce",
                           "{0-1|2-3}:sum,{0,2|1,3}:sum,{0,3|1,2}:sum", "--policy", "merged"}),
                 2, "2 times");
}

}  // namespace
}  // namespace colltune
