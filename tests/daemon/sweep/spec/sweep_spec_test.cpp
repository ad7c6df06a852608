// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/spec/sweep_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "colltune/json/json.h"
#include "error_of.h"

namespace colltune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<Bytes> bytes(std::initializer_list<std::uint64_t> values) {
  std::vector<Bytes> sizes;
  for (const auto value : values) sizes.push_back({value});
  return sizes;
}

std::string spec_error(const std::string& text) {
  return error_of([&] { (void)parse_sweep_spec(text, "my.json"); });
}

/// A valid configuration with one more line.
std::string with(const std::string& line) {
  return R"({"version": 1, "collectives": ["all_reduce"], "sizes": "8")" +
         (line.empty() ? "" : ", " + line) + "}";
}

TEST(Sizes, RangesListsAndSingleSizes) {
  EXPECT_EQ(parse_sizes("1KiB..8KiB x2"), bytes({1024, 2048, 4096, 8192}));
  EXPECT_EQ(parse_sizes("8, 1K..64K x4"), bytes({8, 1024, 4096, 16384, 65536}));
  EXPECT_EQ(parse_sizes("100"), bytes({100}));
  EXPECT_EQ(parse_sizes("0"), bytes({0}));
  EXPECT_EQ(parse_sizes("1..1 x2"), bytes({1}));
}

TEST(Sizes, RangeStopsBeforeItsEndWhereTheFactorMissesIt) {
  EXPECT_EQ(parse_sizes("8..100 x4"), bytes({8, 32}));
}

TEST(Sizes, AreAscendingAndEachOnce) { EXPECT_EQ(parse_sizes("64,8,8..64 x8"), bytes({8, 64})); }

TEST(Sizes, RangeToTheLargestNumberEnds) {
  EXPECT_EQ(parse_sizes("1..9223372036854775807 x2").size(), 63u);
}

TEST(Sizes, ErrorsNameWhatIsWrong) {
  const auto error = [](const char* text) { return error_of([&] { (void)parse_sizes(text); }); };
  EXPECT_THAT(error("1KiB..64KiB"), AllOf(HasSubstr("1KiB..64KiB"), HasSubstr("factor")));
  EXPECT_THAT(error("1KiB..64KiB x1"), HasSubstr("at least 2"));
  EXPECT_THAT(error("1KiB..64KiB x"), HasSubstr("at least 2"));
  EXPECT_THAT(error("1KiB..64KiB x2k"), HasSubstr("at least 2"));
  EXPECT_THAT(error("0..64KiB x2"), HasSubstr("cannot begin at 0"));
  EXPECT_THAT(error("64KiB..1KiB x2"), HasSubstr("ends before it begins"));
  EXPECT_THAT(error("8,,16"), HasSubstr("a size is missing"));
  EXPECT_THAT(error(""), HasSubstr("a size is missing"));
  EXPECT_THAT(error("8,"), HasSubstr("a size is missing"));
  EXPECT_THAT(error("1MB"), HasSubstr("'1MB' is not a size"));
  EXPECT_THAT(error("-8"), HasSubstr("'-8' is not a size"));
}

TEST(SweepSpec, DefaultsOfAbsentKeys) {
  const SweepSpec spec = parse_sweep_spec(with(""), "my.json");
  EXPECT_THAT(spec.collectives, ElementsAre(Collective::all_reduce));
  EXPECT_THAT(spec.data_types, ElementsAre(DataType::f32));
  EXPECT_THAT(spec.reduce_ops, ElementsAre(ReduceOp::sum));
  EXPECT_EQ(spec.sizes, bytes({8}));
  EXPECT_TRUE(spec.worlds.empty());
  EXPECT_EQ(spec.in_place, (BooleanAxis{.off = true, .on = false}));
  EXPECT_EQ(spec.registered, (BooleanAxis{.off = true, .on = false}));
  EXPECT_EQ(spec.graph_capture, (BooleanAxis{.off = true, .on = false}));
  EXPECT_TRUE(spec.include.empty());
  EXPECT_TRUE(spec.exclude.empty());
  EXPECT_TRUE(spec.parameters.empty());
  EXPECT_EQ(spec.budget.count(), 0);
  EXPECT_EQ(spec.passes, 24);
  EXPECT_EQ(spec.full_passes, 1);
  EXPECT_EQ(spec.precision, 0.02);
  EXPECT_EQ(spec.seed, 1u);
  EXPECT_EQ(spec.calling, default_calling);
  EXPECT_EQ(spec.input_mode, InputMode::rewritten);
  EXPECT_FALSE(spec.synchronization.has_value());
  EXPECT_TRUE(spec.holdout_sizes.empty());
  EXPECT_EQ(spec.decision, DecisionPolicy{});
  EXPECT_TRUE(spec.null_test);
  EXPECT_FALSE(spec.prune);
  EXPECT_FALSE(spec.ring_prior);
  EXPECT_EQ(spec.text, with(""));
}

TEST(SweepSpec, EveryKeyIsRead) {
  const SweepSpec spec = parse_sweep_spec(R"({
    "$schema": "sweep.schema.json", "version": 1,
    "collectives": ["broadcast", "all_reduce"], "types": ["f16", "i8"], "ops": ["avg", "max"],
    "sizes": ["1KiB..4KiB x2", 8],
    "worlds": [{"nodes": 2, "ranks_per_node": 3}],
    "in_place": [true, false], "registered": [true], "graph_capture": [false, true],
    "implementations": {"include": ["mpi.*", "cpu.*"], "exclude": ["cpu.x"]},
    "parameters": {"mpi.*": {"segment": [0, 1024], "mode": ["fast"]}},
    "budget_seconds": 2.5, "passes": 7, "full_passes": 3, "precision": 0.1, "seed": 42,
    "calling": "each", "input": "rotating", "synchronization": "window", "holdout_sizes": "16,32",
    "decision": {"confidence": 0.9, "minimum_margin": 0.05, "most_kept_waiting": 0.5},
    "null_test": false, "prune": true, "ring_prior": true})",
                                          "my.json");
  EXPECT_THAT(spec.collectives, ElementsAre(Collective::broadcast, Collective::all_reduce));
  EXPECT_THAT(spec.data_types, ElementsAre(DataType::f16, DataType::i8));
  EXPECT_THAT(spec.reduce_ops, ElementsAre(ReduceOp::avg, ReduceOp::max));
  EXPECT_EQ(spec.sizes, bytes({8, 1024, 2048, 4096}));
  EXPECT_THAT(spec.worlds, ElementsAre(WorldSpec{.nodes = 2, .ranks_per_node = 3}));
  EXPECT_EQ(spec.in_place, (BooleanAxis{.off = true, .on = true}));
  EXPECT_EQ(spec.registered, (BooleanAxis{.off = false, .on = true}));
  EXPECT_EQ(spec.graph_capture, (BooleanAxis{.off = true, .on = true}));
  EXPECT_THAT(spec.include, ElementsAre("mpi.*", "cpu.*"));
  EXPECT_THAT(spec.exclude, ElementsAre("cpu.x"));
  ASSERT_EQ(spec.parameters.size(), 2u);
  EXPECT_EQ(spec.parameters[0],
            (ParameterOverride{.pattern = "mpi.*", .parameter = "mode", .values = {"fast"}}));
  EXPECT_EQ(
      spec.parameters[1],
      (ParameterOverride{.pattern = "mpi.*", .parameter = "segment", .values = {"0", "1024"}}));
  EXPECT_EQ(spec.budget, std::chrono::milliseconds(2500));
  EXPECT_EQ(spec.passes, 7);
  EXPECT_EQ(spec.full_passes, 3);
  EXPECT_EQ(spec.precision, 0.1);
  EXPECT_EQ(spec.seed, 42u);
  EXPECT_EQ(spec.calling, Calling::each);
  EXPECT_EQ(spec.input_mode, InputMode::rotating);
  EXPECT_EQ(spec.synchronization, Synchronization::window);
  EXPECT_EQ(spec.holdout_sizes, bytes({16, 32}));
  EXPECT_EQ(spec.decision,
            (DecisionPolicy{.minimum_margin = 0.05, .confidence = 0.9, .most_kept_waiting = 0.5}));
  EXPECT_FALSE(spec.null_test);
  EXPECT_TRUE(spec.prune);
  EXPECT_TRUE(spec.ring_prior);
}

TEST(SweepSpec, HeldOutSizesAreNotAmongTheSizes) {
  EXPECT_EQ(spec_error(with(R"("holdout_sizes": [16, "8"])")),
            "my.json: /holdout_sizes: 8 is one of /sizes as well; held-out sizes are those that do "
            "not decide");
}

TEST(SweepSpec, HowToDecideIsChecked) {
  EXPECT_THAT(spec_error(with(R"("decision": {"confidence": 1})")),
              HasSubstr("/decision/confidence"));
  EXPECT_THAT(
      spec_error(with(R"("decision": {"margin": 0.1})")),
      HasSubstr("unknown key 'margin'; allowed are confidence, minimum_margin, most_kept_waiting"));
  EXPECT_THAT(spec_error(with(R"("decision": {"most_kept_waiting": 1.5})")),
              HasSubstr("/decision/most_kept_waiting"));
  EXPECT_THAT(spec_error(with(R"("synchronization": "clock")")), HasSubstr("/synchronization"));
  EXPECT_THAT(spec_error(with(R"("input": "cold")")), HasSubstr("/input"));
}

TEST(SweepSpec, SoakIsReadAndHasDefaults) {
  const auto soak = [](const std::string& line) {
    return parse_sweep_spec(with(line), "my.json").soak;
  };
  EXPECT_EQ(soak(""), (Soak{.runs = 5000, .time = std::chrono::seconds(2)}));
  EXPECT_EQ(soak(R"("soak": {})"), Soak{});
  EXPECT_EQ(soak(R"("soak": {"seconds": 0.1})"),
            (Soak{.runs = 5000, .time = std::chrono::milliseconds(100)}));
  EXPECT_EQ(soak(R"("soak": {"runs": 0, "seconds": 0})"), (Soak{.runs = 0, .time = {}}));
  EXPECT_THAT(spec_error(with(R"("soak": {"run": 1})")),
              HasSubstr("my.json: /soak: unknown key 'run'; allowed are runs, seconds"));
  EXPECT_THAT(spec_error(with(R"("soak": {"runs": -1})")), HasSubstr("/soak/runs"));
  EXPECT_THAT(spec_error(with(R"("soak": {"seconds": "2"})")), HasSubstr("/soak/seconds"));
}

TEST(SweepSpec, PlugInsBeginAtTheFolderOfTheConfiguration) {
  const std::string text = with(R"("plugins": ["mine.so", "../lib/a.so", "/opt/b.so"])");
  EXPECT_EQ(parse_sweep_spec(text, "/etc/colltune/my.json").plugins,
            (std::vector<std::string>{"/etc/colltune/mine.so", "/etc/lib/a.so", "/opt/b.so"}));
  EXPECT_EQ(parse_sweep_spec(text, "my.json").plugins.at(0), "mine.so");
  EXPECT_TRUE(parse_sweep_spec(with(""), "my.json").plugins.empty());
  EXPECT_THAT(spec_error(with(R"("plugins": "mine.so")")), HasSubstr("/plugins"));
  EXPECT_THAT(spec_error(with(R"("plugins": [""])")), HasSubstr("/plugins/0"));
}

TEST(SweepSpec, PrecisionZeroIsTheDefault) {
  EXPECT_EQ(parse_sweep_spec(with(R"("precision": 0)"), "x").precision, SweepSpec{}.precision);
}

TEST(SweepSpec, UnknownKeysNameThePathAndTheAllowedOnes) {
  EXPECT_THAT(spec_error(with(R"("size": "8")")),
              AllOf(HasSubstr("my.json: /: unknown key 'size'"), HasSubstr("sizes"),
                    HasSubstr("budget_seconds")));
  EXPECT_EQ(spec_error(with(R"("worlds": [{"nodes": 1, "ranks_per_node": 1, "gpus": 2}])")),
            "my.json: /worlds/0: unknown key 'gpus'; allowed are nodes, ranks_per_node");
  EXPECT_EQ(spec_error(with(R"("implementations": {"only": []})")),
            "my.json: /implementations: unknown key 'only'; allowed are exclude, include");
}

TEST(SweepSpec, MissingKeysAreNamed) {
  EXPECT_EQ(spec_error(R"({"version": 1, "collectives": ["reduce"]})"),
            "my.json: /: key 'sizes' is missing; 'collectives' and 'meshes' are measured at these "
            "sizes");
  EXPECT_EQ(spec_error(R"({"collectives": ["reduce"], "sizes": "8"})"),
            "my.json: /: key 'version' is missing; required are version");
  EXPECT_EQ(spec_error(with(R"("worlds": [{"nodes": 1}])")),
            "my.json: /worlds/0: key 'ranks_per_node' is missing; required are nodes, "
            "ranks_per_node");
}

TEST(SweepSpec, UnknownNamesListTheAllowedOnes) {
  EXPECT_EQ(
      spec_error(R"({"version": 1, "collectives": ["reduce", "allreduce"], "sizes": "8"})"),
      "my.json: /collectives/1: found \"allreduce\"; allowed are " + allowed_names<Collective>());
  EXPECT_EQ(spec_error(with(R"("types": ["float"])")),
            "my.json: /types/0: found \"float\"; allowed are " + allowed_names<DataType>());
  EXPECT_EQ(spec_error(with(R"("ops": ["none"])")),
            "my.json: /ops/0: found \"none\"; allowed are sum, prod, min, max, avg");
  EXPECT_EQ(spec_error(with(R"("calling": "once")")),
            "my.json: /calling: found \"once\"; allowed are " + allowed_names<Calling>());
  EXPECT_EQ(spec_error(R"({"version": 2, "collectives": ["reduce"], "sizes": "8"})"),
            "my.json: /version: found 2; allowed are 1");
}

TEST(SweepSpec, WrongValuesNamePathFoundAndAllowed) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {R"("worlds": [{"nodes": 0, "ranks_per_node": 1}])", "/worlds/0/nodes: found 0"},
      {R"("worlds": [{"nodes": 1.5, "ranks_per_node": 1}])", "/worlds/0/nodes: found 1.5"},
      {R"("worlds": [{"nodes": 1, "ranks_per_node": "x"}])",
       "/worlds/0/ranks_per_node: found \"x\""},
      {R"("worlds": [7])", "/worlds/0: found 7"},
      {R"("worlds": [{"nodes":1,"ranks_per_node":1},{"nodes":1,"ranks_per_node":1}])",
       "/worlds: found [{"},
      {R"("in_place": "yes")", "/in_place: found \"yes\""},
      {R"("in_place": [1])", "/in_place/0: found 1"},
      {R"("in_place": [])", "/in_place: found []"},
      {R"("in_place": [true, true])", "/in_place: found [true,true]"},
      {R"("registered": [null])", "/registered/0: found null"},
      {R"("graph_capture": [])", "/graph_capture"},
      {R"("implementations": {"include": "mpi.*"})", "/implementations/include: found \"mpi.*\""},
      {R"("implementations": {"exclude": [""]})", "/implementations/exclude/0: found \"\""},
      {R"("parameters": {"mpi.*": {"segment": []}})", "/parameters/mpi.*/segment: found []"},
      {R"("parameters": {"mpi.*": {"segment": [1.5]}})", "/parameters/mpi.*/segment/0: found 1.5"},
      {R"("parameters": {"mpi.*": {"segment": ["a b"]}})",
       "/parameters/mpi.*/segment/0: found \"a b\""},
      {R"("budget_seconds": -1)", "/budget_seconds: found -1"},
      {R"("budget_seconds": "60")", "/budget_seconds: found \"60\""},
      {R"("precision": 0.6)", "/precision: found 0.6"},
      {R"("passes": 0)", "/passes: found 0; allowed is a whole number from 1 to 64"},
      {R"("passes": 65)", "/passes: found 65"},
      {R"("passes": 2.5)", "/passes: found 2.5"},
      {R"("passes": "4")", "/passes: found \"4\""},
      {R"("full_passes": 0)", "/full_passes: found 0; allowed is a whole number from 1 to 64"},
      {R"("passes": 2, "full_passes": 3)",
       "/full_passes: found 3; allowed is a whole number from 1 to 2, the passes"},
      {R"("seed": -1)", "/seed: found -1"},
      {R"("seed": 1.5)", "/seed: found 1.5"},
      {R"("types": [])", "/types: found []"},
      {R"("types": ["f32", "f32"])", "/types: found"},
  };
  for (const auto& [line, expected] : cases)
    EXPECT_THAT(spec_error(with(line)),
                AllOf(HasSubstr("my.json: " + expected), HasSubstr("; allowed is ")))
        << line;
}

TEST(SweepSpec, WrongSizesNameThePath) {
  const auto sizes = [](const std::string& value) {
    return spec_error(R"({"version": 1, "collectives": ["reduce"], "sizes": )" + value + "}");
  };
  EXPECT_THAT(sizes(R"("1MB")"), HasSubstr("my.json: /sizes: '1MB' is not a size"));
  EXPECT_THAT(sizes(R"(["8", "1..2"])"), HasSubstr("my.json: /sizes/1: '1..2': a range"));
  EXPECT_THAT(sizes("-8"), HasSubstr("my.json: /sizes: found -8"));
  EXPECT_THAT(sizes("[]"), HasSubstr("my.json: /sizes: found []"));
  EXPECT_THAT(sizes("[true]"), HasSubstr("my.json: /sizes/0: found true"));
  EXPECT_THAT(sizes("{}"), HasSubstr("my.json: /sizes: found {}"));
}

TEST(SweepSpec, SizesThatNobodyMeasuresAreRefusedAtOnce) {
  const auto refusal = [](const std::string& sizes, const std::string& more = "") {
    return error_of([&] {
      (void)parse_sweep_spec(
          R"({"version": 1, "collectives": ["all_reduce"], "sizes": )" + sizes + more + "}",
          "c.json");
    });
  };
  EXPECT_THAT(refusal("\"8,9223372036854775807\""),
              HasSubstr("c.json: /sizes: the size 9223372036854775807 is too large; at most 1TiB"));
  EXPECT_THAT(refusal("[9223372036854775000]"), HasSubstr("is too large; at most 1TiB"));
  std::string text = "8";
  std::string list = "[8";
  for (int size = 9; size < 100'000; ++size) {
    text += "," + std::to_string(size);
    list += "," + std::to_string(size);
  }
  EXPECT_THAT(refusal('"' + text + '"'), HasSubstr("99992 sizes; at most 4096 are allowed"));
  EXPECT_THAT(refusal(list + "]"), HasSubstr("the list of 'sizes' has 99992 entries"));
  EXPECT_THAT(refusal("[8]", R"(, "parameters": {"cpu.*": {"chunk": )" + list + "]}}"),
              HasSubstr("the list of 'chunk' has 99992 entries; allowed are 4096"));
}

TEST(SweepSpec, SyntaxErrorsGiveLineAndColumn) {
  EXPECT_THAT(spec_error("{\n  \"version\": 1,\n  nonsense\n}"),
              AllOf(HasSubstr("my.json: not JSON"), HasSubstr("line 3, column 4")));
  EXPECT_THAT(spec_error(""), HasSubstr("my.json: not JSON"));
  EXPECT_THAT(spec_error(with(R"("budget_seconds": 1e999)")), HasSubstr("my.json: not JSON"));
  EXPECT_THAT(spec_error("{\"version\": \"\xff\"}"), HasSubstr("my.json: not JSON"));
}

TEST(SweepSpec, NoObjectIsAnError) {
  EXPECT_THAT(spec_error("[]"), HasSubstr("my.json: /: found []"));
  EXPECT_THAT(spec_error("3"), HasSubstr("my.json: /: found 3"));
}

TEST(SweepSpec, KeysGivenTwiceAreRefused) {
  EXPECT_EQ(spec_error(with(R"("seed": 1, "seed": 2)")),
            "my.json: key 'seed' is given twice in one object");
}

TEST(SweepSpec, AbsurdDepthAndLengthAreRefusedBeforeParsing) {
  EXPECT_THAT(spec_error(std::string(1'000'000, '[')), HasSubstr("nested deeper than 32"));
  EXPECT_THAT(spec_error(std::string(2'000'000, ' ')), HasSubstr("2000000 bytes of text"));
  // Brackets within strings do not nest.
  EXPECT_THAT(spec_error(with("\"x\\\"" + std::string(100, '[') + "\": 1")),
              HasSubstr("unknown key"));
}

TEST(SweepSpec, UnreadableFilesAreNamed) {
  for (const std::string& path :
       {std::string("/nonexistent/x.json"), std::filesystem::temp_directory_path().string()})
    try {
      (void)load_sweep_spec(path);
      FAIL() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::failed_precondition);
      EXPECT_THAT(error.what(), HasSubstr(path));
    }
}

TEST(SweepSpec, LaunchEnvironmentsAreNamedSetsOfVariables) {
  const SweepSpec spec = parse_sweep_spec(with(R"("launch_rounds": 5, "launch_environments": [
      {"name": "buffers_8m", "variables": {"NCCL_BUFFSIZE": "8388608"}},
      {"name": "both", "variables": {"UCX_TLS": "rc,sm", "OMPI_MCA_btl_vader_eager_limit": ""}}])"),
                                          "my.json");
  EXPECT_EQ(spec.launch_turns, 5);
  EXPECT_EQ(spec.launch_environments,
            (std::vector<LaunchEnvironment>{
                {"buffers_8m", {{"NCCL_BUFFSIZE", "8388608"}}},
                {"both", {{"OMPI_MCA_btl_vader_eager_limit", ""}, {"UCX_TLS", "rc,sm"}}}}));
  EXPECT_TRUE(parse_sweep_spec(with(""), "my.json").launch_environments.empty());
}

TEST(SweepSpec, LaunchEnvironmentsThatCouldNotBeToldApartAreRefused) {
  const auto error = [](const std::string& list) {
    return spec_error(with("\"launch_environments\": " + list));
  };
  const std::string first = R"([{"name": "a", "variables": {"NCCL_BUFFSIZE": "1"}}, )";
  EXPECT_THAT(error(R"([{"name": "a", "variables": {"HOME": "/"}}])"),
              AllOf(HasSubstr("my.json: /launch_environments/0/variables: 'HOME'"),
                    HasSubstr("does not record it"), HasSubstr("NCCL_*, UCX_*")));
  EXPECT_THAT(error(R"([{"name": "a", "variables": {"OMPI_MCA_rmaps_base_oversubscribe": "1"}}])"),
              HasSubstr("give it to the launcher"));
  EXPECT_THAT(error(R"([{"name": "a", "variables": {"NCCL_A=B": "1"}}])"),
              HasSubstr("no name of a variable"));
  EXPECT_THAT(error(R"([{"name": "a", "variables": {"NCCL_A": "1\u0000"}}])"),
              HasSubstr("/variables/NCCL_A: a value holds no character 0"));
  EXPECT_THAT(error(R"([{"name": "unchanged", "variables": {"NCCL_BUFFSIZE": "1"}}])"),
              AllOf(HasSubstr("/launch_environments/0/name"), HasSubstr("in any case")));
  EXPECT_THAT(error(first + R"({"name": "a", "variables": {"NCCL_BUFFSIZE": "2"}}])"),
              HasSubstr("/launch_environments/1/name: 'a' stands there twice"));
  EXPECT_THAT(error(first + R"({"name": "b", "variables": {"NCCL_BUFFSIZE": "1"}}])"),
              HasSubstr("/launch_environments/1/variables: are those of 'a' as well"));
  EXPECT_THAT(error("[]"), HasSubstr("/launch_environments: found []"));
  EXPECT_THAT(error(R"([{"name": "a", "variables": {}}])"), HasSubstr("/0/variables: found {}"));
  EXPECT_THAT(error(R"([{"name": "a b", "variables": {"NCCL_BUFFSIZE": "1"}}])"),
              HasSubstr("/0/name: found \"a b\""));
  EXPECT_THAT(error(R"([{"name": "a", "variables": {"NCCL_BUFFSIZE": 1}}])"),
              HasSubstr("the variable's value, a text"));
  EXPECT_THAT(error(R"([{"name": "a", "environment": {}}])"), HasSubstr("unknown key"));
  EXPECT_THAT(spec_error(with(R"("launch_rounds": 2)")), HasSubstr("no /launch_environments"));
  EXPECT_THAT(spec_error(with(R"("launch_rounds": 0)")), HasSubstr("from 1 to 64"));
}

TEST(LaunchEnvironment, AVariableIsRecordedInOnePlaceOrNotAtAll) {
  for (const char* name :
       {"NCCL_BUFFSIZE", "NCCL_SYM_KERNEL", "NCCL_TUNER_PLUGIN", "UCX_TLS", "OFI_NCCL_PROTOCOL"})
    EXPECT_EQ(where_recorded(name), RecordedIn::variables) << name;
  for (const char* name : {"OMPI_MCA_btl_vader_eager_limit", "OMPI_MCA_rmaps_base_mapping_policy"})
    EXPECT_EQ(where_recorded(name), RecordedIn::mpi_transport) << name;
  // Who a process is, what is logged, what the launcher or the agent itself sets.
  for (const char* name :
       {"PATH", "NCCL_DEBUG", "NCCL_DEBUG_FILE", "NCCL_HOSTID", "NCCL_VERSION", "UCX_LOG_LEVEL",
        "OMPI_MCA_coll_tuned_use_dynamic_rules", "OMPI_MCA_orte_hnp_uri", "OMPI_COMM_WORLD_RANK"})
    EXPECT_EQ(where_recorded(name), std::nullopt) << name;
}

TEST(LaunchEnvironment, TextTellsOneVariableFromTheNext) {
  EXPECT_EQ(to_text({{"A", "1"}, {"B", "x y"}, {"C", ""}, {"D", "\"\n"}, {"E", "a=b"}}),
            "A=1 B=\"x y\" C=\"\" D=\"\\\"\\n\" E=a=b");
  EXPECT_EQ(parse_assignment("A=b=c"), (Assignment{"A", "b=c"}));
  EXPECT_EQ(parse_assignment("A="), (Assignment{"A", ""}));
  for (const char* wrong : {"A", "=1", ""})
    EXPECT_THAT(error_of([&] { (void)parse_assignment(wrong); }), HasSubstr("write NAME=value"));
}

TEST(SweepSpec, ShippedConfigurationsLoad) {
  for (const char* settings : {"/nccl_knobs.json", "/open_mpi_knobs.json"})
    EXPECT_FALSE(
        load_sweep_spec(std::string(COLLTUNE_CONFIGS) + settings).launch_environments.empty())
        << settings;
  const SweepSpec nccl = load_sweep_spec(COLLTUNE_CONFIGS "/nccl_knobs.json");
  EXPECT_EQ(nccl.registered, (BooleanAxis{.off = true, .on = true}))
      << "symmetric kernels need registered buffers";
  std::set<std::string> symmetric_kernels;
  for (const LaunchEnvironment& environment : nccl.launch_environments)
    for (const Assignment& variable : environment.variables)
      if (variable.name == "NCCL_SYM_KERNEL") symmetric_kernels.insert(variable.value);
  EXPECT_THAT(symmetric_kernels,
              testing::ElementsAre("AllReduce_AGxLLMC_R", "AllReduce_RSxLDMC_AGxSTMC"));
  const SweepSpec quick = load_sweep_spec(COLLTUNE_CONFIGS "/quick.json");
  EXPECT_EQ(quick.collectives.size(), enum_names(Collective{}).size());
  EXPECT_GT(quick.budget.count(), 0);
  EXPECT_LT(quick.budget, std::chrono::seconds(60));
  const SweepSpec bringup = load_sweep_spec(COLLTUNE_CONFIGS "/bringup.json");
  EXPECT_EQ(bringup.sizes.front(), Bytes{8});
  EXPECT_EQ(bringup.sizes.back(), parse_bytes("64MiB"));
  EXPECT_EQ(bringup.in_place, (BooleanAxis{.off = true, .on = true}));
}

/// The schema names what the vocabulary names: neither can grow without the other.
TEST(SweepSchema, ListsTheNamesOfTheVocabulary) {
  const auto properties = nlohmann::json::parse(sweep_spec_schema()).at("properties");
  const auto listed = [&](const char* key) {
    return properties.at(key).at("items").at("enum").get<std::vector<std::string>>();
  };
  const auto names = [](auto value) {
    std::vector<std::string> all;
    for (const auto& named : enum_names(value)) all.emplace_back(named.name);
    return all;
  };
  EXPECT_EQ(listed("collectives"), names(Collective{}));
  EXPECT_EQ(listed("types"), names(DataType{}));
  auto ops = names(ReduceOp{});
  std::erase(ops, "none");
  EXPECT_EQ(listed("ops"), ops);
  const auto of_call = [&](const char* key) {
    return properties.at("calls").at("items").at("properties").at(key).at("enum");
  };
  EXPECT_EQ(of_call("collective"), properties.at("collectives").at("items").at("enum"));
  EXPECT_EQ(of_call("type"), properties.at("types").at("items").at("enum"));
  EXPECT_EQ(of_call("op"), properties.at("ops").at("items").at("enum"));
}

TEST(ShareSweepSpec, AllRanksGetRankZerosOrItsError) {
  constexpr int ranks = 3;
  const auto planes = make_thread_control_planes(ranks, std::chrono::seconds(20));
  const SweepSpec original = parse_sweep_spec(
      with(R"("worlds": [{"nodes": 1, "ranks_per_node": 2}], "parameters": {"*": {"a": [1]}})"),
      "my.json");
  std::vector<SweepSpec> got(ranks);
  std::vector<std::string> errors(ranks);
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        got[rank] = share_sweep_spec(*planes[rank], [&] {
          EXPECT_EQ(rank, 0u);
          return original;
        });
        try {
          (void)share_sweep_spec(*planes[rank], [] { return parse_sweep_spec("[]", "bad.json"); });
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), StatusCode::invalid_argument);
          errors[rank] = error.what();
        }
      });
  }
  for (const auto& spec : got) EXPECT_EQ(spec, original);
  for (const auto& error : errors) EXPECT_THAT(error, HasSubstr("bad.json: /: found []"));
}

}  // namespace
}  // namespace colltune
