// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// `colltune export` and `check-export` over a real database.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli_fixture.h"
#include "colltune/export/formats.h"

namespace colltune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::Result;

class ExportCommand : public testing::Cli {
 protected:
  static constexpr const char* forced =
      "nccl.all_reduce_forced{algorithm=tree,channels=2,protocol=ll}";
  static constexpr const char* tuned = "mpi.all_reduce_tuned{algorithm=ring}";

  static Environment environment() {
    Environment with = testing::test_environment();
    with.mpi_library = "Open MPI v4.1.4";
    with.mpi_transport = "btl=self,vader";
    with.nccl_version = "2.28.3";
    return with;
  }

  /// A winner that beats the baseline in both families.
  void fill_both(Calling calling = Calling::each) const {
    Store store(database);
    store.put_environment(environment());
    SweepRecord record = testing::sweep("sweep-1", "2026-01-01T00:00:00Z");
    record.environment_digest = digest_of(environment());
    store.begin_sweep(record);
    store.finish_sweep("sweep-1", SweepState::complete, "2026-01-01T00:01:00Z", "{}");
    std::vector<Decision> all;
    for (const auto& [family, winner] : {std::pair("mpi", tuned), std::pair("nccl", forced)}) {
      RankedVariant first = testing::ranked(winner, 1000, 2);
      RankedVariant own = testing::ranked(std::string(family) + ".all_reduce", 2000, 1);
      own.is_baseline = true;
      own.family = first.family = family;
      all.push_back(testing::decision(testing::test_key(1024), {first, own}, family));
      all.back().key.environment_digest = digest_of(environment());
      all.back().key.calling = calling;
    }
    // Between hosts, for coll/han.
    RankedVariant han = testing::ranked("mpi.all_reduce_han", 1000, 2);
    RankedVariant own = testing::ranked("mpi.all_reduce", 2000, 1);
    own.is_baseline = true;
    own.family = han.family = "mpi";
    Topology hosts = testing::test_topology();
    hosts.nodes = 2;
    hosts.ranks = 4;
    hosts.interconnect = "network";
    all.push_back(testing::decision(testing::test_key(1024, hosts), {han, own}, "mpi"));
    all.back().key.environment_digest = digest_of(environment());
    all.back().key.calling = calling;
    // For ctring.
    all.push_back(testing::decision(
        testing::test_key(1 << 20, testing::test_topology("sm_90")),
        {testing::ranked("cuda.all_reduce_ring{blocks=4,chunk=524288,slots=2,threads=256}", 1000,
                         2)},
        "colltune"));
    all.back().key.environment_digest = digest_of(environment());
    all.back().key.calling = calling;
    store.publish(all, "2026-01-01T00:01:00Z");
  }

  [[nodiscard]] Result exported(const std::string& format,
                                std::vector<std::string> more = {}) const {
    std::vector<std::string> all{"export", format, "--db", database};
    all.insert(all.end(), more.begin(), more.end());
    if (format.starts_with("openmpi")) all.insert(all.end(), {"--for", "4.1.x"});
    return colltune(all);
  }
};

TEST_F(ExportCommand, WritesEachFormatOfTheList) {
  fill_both();
  for (const ExportFormat& format : export_formats()) {
    const std::string name(format.name);
    const std::string file = folder.file("out." + name);
    const Result written = exported(name, {"-o", file});
    EXPECT_EQ(written.code, 0) << name << ": " << written.errors;
    EXPECT_EQ(written.out, "") << name;
    EXPECT_NE(testing::read_file(file), "") << name;
    const Result printed = exported(name);
    if (format.is_binary) {
      expect_failure(printed, 2, "--output is required");
    } else {
      EXPECT_EQ(printed.code, 0) << name << ": " << printed.errors;
      EXPECT_EQ(testing::read_file(file), printed.out) << name;
    }
    const Result help = colltune({"export", name, "--help"});
    EXPECT_EQ(help.code, 0);
    EXPECT_THAT(help.out, HasSubstr(describe(format)));
    EXPECT_THAT(help.out, HasSubstr("colltune export " + std::string(format.example)));
    EXPECT_THAT(colltune({"export", "--help"}).out, HasSubstr(name + ":\n" + describe(format)));
  }
}

TEST_F(ExportCommand, SaysWhyThereIsNothing) {
  fill();  // family colltune alone
  expect_failure(exported("nccl"), 3, "no decision of family nccl");
  expect_failure(exported("openmpi"), 3, "no decision of family mpi");
  expect_failure(exported("openmpi-han"), 3, "on several nodes");
  expect_failure(exported("ctran-ring"), 3, "cuda.all_reduce_ring) won nowhere");
  for (const char* const format : {"csv", "json", "nccl", "ctran-ring", "mpi-env"})
    expect_failure(exported(format, {"--input", "hot"}), 3, "no decision is of the regime");
}

TEST_F(ExportCommand, FilesForLibrariesAreOfOrdinaryCalls) {
  fill_both(Calling::persistent);
  EXPECT_EQ(exported("csv", {"--calling", "persistent"}).code, 0);
  for (const char* const format : {"openmpi", "openmpi-han", "nccl", "ctran-ring"})
    expect_failure(exported(format, {"--calling", "persistent"}), 3,
                   "calls that were prepared once is no answer for ordinary ones");
}

TEST_F(ExportCommand, TheFileForNcclIsCheckedAsItWasWritten) {
  fill_both();
  const std::string file = folder.file("nccl_tuner.conf");
  const Result made = exported("nccl", {"-o", file});
  EXPECT_THAT(made.errors, HasSubstr("1 of 1 keys have what was proven to beat NCCL's own choice"));
  EXPECT_THAT(made.errors,
              HasSubstr("note: broadcast: no line, so NCCL's own algorithm on ONE channel"));
  const Result checked = colltune({"check-export", "nccl", file});
  EXPECT_EQ(checked.code, 0) << checked.errors;
  EXPECT_THAT(checked.out,
              HasSubstr("allreduce of 2 ranks on 1 nodes, from 0 on: tree, ll, 2 channels\n"));
  const auto json = nlohmann::json::parse(colltune({"check-export", "nccl", file, "--json"}).out);
  ASSERT_EQ(json.size(), 1U);
  EXPECT_EQ(json[0]["algorithm"], "tree");
  EXPECT_EQ(json[0]["channels"], 2);
}

TEST_F(ExportCommand, AForeignFileForNcclIsReadAsThePlugInReadsIt) {
  const std::string file = write("foreign.conf", "AllReduce,0,64K,Tree,simple,-1,-1,-1\n");
  const Result checked = colltune({"check-export", "nccl", file});
  EXPECT_EQ(checked.code, 2);
  EXPECT_THAT(checked.out,
              HasSubstr("line 1: allreduce of any number of ranks on any number of nodes, 0 to 64: "
                        "ring, simple, ONE channel\n"));
  EXPECT_THAT(checked.errors, HasSubstr("'AllReduce' is no collective"));
  EXPECT_THAT(checked.errors, HasSubstr("'64K' is read as 64 bytes"));
  expect_failure(colltune({"check-export", "nccl", "/nowhere/x"}), 2, "cannot read /nowhere/x");
}

TEST_F(ExportCommand, AFileOfRulesIsCheckedForTheReleaseThatIsAsked) {
  const std::string json =
      write("rules.json", R"({"collectives": {"allreduce": [{"comm_size_min": 2, "comm_size_max": 4,
          "rules": [{"msg_size_max": 1023, "alg": "ring"}, {"alg": 5, "seg_size": 65536}]}]}})");
  const Result newest = colltune({"check-export", "openmpi", json, "--for", "6.x"});
  EXPECT_EQ(newest.code, 0) << newest.errors;
  EXPECT_THAT(newest.out, HasSubstr("allreduce, 2 to 4 ranks:\n"));
  EXPECT_THAT(newest.out, HasSubstr("segmented_ring, segments of 64KiB\n"));
  const auto listed = nlohmann::json::parse(
      colltune({"check-export", "openmpi", json, "--for", "6.x", "--json"}).out);
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed[0]["to_bytes"], 1023);
  EXPECT_TRUE(listed[1]["to_bytes"].is_null());
  const Result older = colltune({"check-export", "openmpi", json, "--for", "4.1.x"});
  EXPECT_EQ(older.code, 2);
  EXPECT_THAT(older.errors, HasSubstr("drops"));
  const std::string classic = write("rules.conf", "1\n2\n2\n2 1\n0 4 0 0\n4 1\n0 99 0 0\n");
  const Result shifted = colltune({"check-export", "openmpi", classic, "--for", "6.x"});
  EXPECT_EQ(shifted.code, 2);
  EXPECT_THAT(shifted.out, HasSubstr("communicators shifted"));
  EXPECT_THAT(colltune({"check-export", "openmpi", classic, "--for", "4.1.x"}).out,
              Not(HasSubstr("shifted")));
}

TEST_F(ExportCommand, TheFileForHanIsCheckedAsItWasWritten) {
  fill_both();
  const std::string file = folder.file("han.conf");
  const Result made = exported("openmpi-han", {"-o", file});
  EXPECT_THAT(made.errors, HasSubstr("1 of 1 keys have coll/han in place of the default"));
  EXPECT_THAT(made.errors, HasSubstr("left out: "));
  EXPECT_THAT(made.errors, HasSubstr("OMPI_MCA_coll_han_priority=40"));
  const Result checked = colltune({"check-export", "openmpi-han", file, "--for", "4.1.x"});
  EXPECT_EQ(checked.code, 0) << checked.errors;
  EXPECT_THAT(checked.out, HasSubstr("allreduce, all ranks, 4 ranks and more:\n"));
  EXPECT_THAT(checked.out, HasSubstr("1KiB  han\n"));
  EXPECT_THAT(checked.out, HasSubstr("self: the component before coll/han\n"));
  const auto json = nlohmann::json::parse(
      colltune({"check-export", "openmpi-han", file, "--for", "4.1.x", "--json"}).out);
  EXPECT_EQ(std::ranges::count(json, "han", [](const auto& rule) { return rule["component"]; }), 1);
  const Result newer = colltune({"check-export", "openmpi-han", file, "--for", "5.0.x"});
  EXPECT_EQ(newer.code, 2);
  EXPECT_THAT(newer.errors, HasSubstr("known for Open MPI 4.1.x alone"));
}

TEST_F(ExportCommand, AForeignFileForHanIsReadAsItIsThere) {
  const auto check = [&](const std::string& text) {
    return colltune({"check-export", "openmpi-han", write("foreign.conf", text), "--for", "4.1.x"});
  };
  const Result dropped = check("1\n2\n1\n2\n1\n1 1\n0 6\n");
  EXPECT_EQ(dropped.code, 2);
  EXPECT_THAT(dropped.errors, HasSubstr("without a word, and coll/han runs every collective"));
  EXPECT_THAT(dropped.errors, HasSubstr("line 7: there is no component '6'"));
  const Result ending = check("1\n2\n1\n2\n1\n1 1\n0 tuned\n");
  EXPECT_EQ(ending.code, 2);
  EXPECT_THAT(ending.errors, HasSubstr("ends the program"));
  const Result sound = check("1\n7\n1\n2\n1\n1 1\n0 tuned\n");
  EXPECT_EQ(sound.code, 0) << sound.errors;
  EXPECT_THAT(sound.out, HasSubstr("note: allreduce: has no rule for all ranks"));
  expect_failure(colltune({"check-export", "openmpi-han", "nowhere", "--for", "4.1.x"}), 2,
                 "cannot read nowhere");
}

}  // namespace
}  // namespace colltune
