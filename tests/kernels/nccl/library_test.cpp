// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Which libraries are used, and what is said of those that are not.

#include "nccl_library/library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "colltune/kernels/nccl_library/nccl_environment.h"
#include "nccl_calls/native.h"
#include "nccl_fixture.h"

namespace colltune::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class NcclLibrary : public testing::Test {
 protected:
  /// What a rank on a pretended GPU finds out, of a world of two.
  [[nodiscard]] static Capability detect(const nccl::Places& places) {
    const Implementations entries = FakeNccl::entries(places);
    const PretendedGpus gpus(2);
    Capability found;
    gpus.run([&](Communicator& communicator) {
      Capability own = detect_capability(entries, communicator);
      if (communicator.rank() == 0) found = std::move(own);
    });
    return found;
  }
  [[nodiscard]] static std::string why_not(const Capability& capability, const std::string& variant,
                                           DataType type = DataType::f32) {
    const Variant parsed = parse_variant(variant);
    const Implementations entries = FakeNccl::entries({});
    const Implementation& entry = *find_implementation(entries, parsed.implementation);
    const bool reduces = shape_of(entry.collective()).reduces;
    const Problem problem{.collective = entry.collective(),
                          .data_type = type,
                          .reduce_op = reduces ? ReduceOp::sum : ReduceOp::none,
                          .message_size = {64 << 10}};
    return entry.supports(problem, {.ranks_per_node = 2, .ranks = 2}, capability, parsed).reason();
  }

  FakeNccl nccl_;
};

TEST_F(NcclLibrary, OneThatFitsIsUsed) {
  const Capability capability = detect(nccl_.places());
  EXPECT_EQ(capability.value("nccl.version"), "2.28.9");
  EXPECT_THAT(why_not(capability, "nccl.all_reduce"), IsEmpty());
  EXPECT_THAT(why_not(capability, "nccl.all_to_all"), IsEmpty());
  EXPECT_THAT(why_not(capability, forced("ring", "ll", 8)), IsEmpty());
}

TEST_F(NcclLibrary, ANewerOneIsUsed) {
  FakeNcclSettings settings;
  settings.version = 23501;
  settings.tuner_interface = 6;
  nccl_.configure(settings);
  const Capability capability = detect(nccl_.places());
  EXPECT_EQ(capability.value("nccl.version"), "2.35.1");
  EXPECT_THAT(why_not(capability, forced("ring", "ll", 0)), IsEmpty());
  EXPECT_THAT(why_not(capability, forced("ring", "ll", 8)), HasSubstr("takes its own number"));
}

TEST_F(NcclLibrary, OneThatIsTooOldIsNot) {
  FakeNcclSettings settings;
  settings.version = 22105;
  nccl_.configure(settings);
  const Capability capability = detect(nccl_.places());
  EXPECT_FALSE(capability.has("nccl.version"));
  for (const std::string& variant : {std::string("nccl.all_reduce"), forced("ring", "ll", 8)})
    EXPECT_THAT(why_not(capability, variant), HasSubstr("NCCL 2.21.5 is too old"));
}

TEST_F(NcclLibrary, OneFromBefore228LacksThreeCollectives) {
  const FakeNccl old(COLLTUNE_OLD_FAKE_NCCL);
  FakeNcclSettings settings;
  settings.version = 22703;
  settings.tuner_interface = 4;
  old.configure(settings);
  const Capability capability = detect(old.places());
  EXPECT_THAT(why_not(capability, "nccl.all_gather"), IsEmpty());
  EXPECT_THAT(why_not(capability, "nccl.scatter"), HasSubstr("2.27.3 has no ncclScatter"));
  EXPECT_THAT(why_not(capability, "nccl.gather"), HasSubstr("it came with 2.28"));
  EXPECT_THAT(why_not(capability, "nccl.all_to_all"), HasSubstr("ncclAlltoAll"));
}

TEST_F(NcclLibrary, AMissingOneIsNamed) {
  nccl::Places places = nccl_.places();
  places.libraries = {"/nowhere/libnccl.so.2", "libnccl-of-nobody.so"};
  const Capability capability = detect(places);
  EXPECT_THAT(why_not(capability, "nccl.all_reduce"),
              AllOf(HasSubstr("cannot be opened"), HasSubstr("/nowhere/libnccl.so.2"),
                    HasSubstr("libnccl-of-nobody.so")));
}

TEST_F(NcclLibrary, AnotherLibraryIsNoNccl) {
  nccl::Places places = nccl_.places();
  places.libraries = {COLLTUNE_NCCL_TUNER};
  EXPECT_THAT(why_not(detect(places), "nccl.all_reduce"), HasSubstr("is no libnccl"));
}

TEST_F(NcclLibrary, AnotherTunerLeavesOnlyTheBaseline) {
  nccl::Places places = nccl_.places();
  places.tuner = COLLTUNE_FAKE_NCCL;
  const Capability capability = detect(places);
  EXPECT_THAT(why_not(capability, "nccl.all_reduce"), IsEmpty());
  EXPECT_THAT(why_not(capability, forced("ring", "ll", 8)),
              HasSubstr("NCCL_TUNER_PLUGIN names another tuner than colltune's"));
}

TEST_F(NcclLibrary, TheEnvironmentRestrictsWhatIsForced) {
  nccl::Places places = nccl_.places();
  places.environment = "NCCL_ALGO=allreduce:tree NCCL_PROTO=^LL";
  const Capability capability = detect(places);
  EXPECT_THAT(why_not(capability, forced("ring", "simple", 0)), HasSubstr("NCCL_ALGO"));
  EXPECT_THAT(why_not(capability, forced("tree", "ll", 0)), HasSubstr("NCCL_PROTO"));
  EXPECT_THAT(why_not(capability, forced("tree", "simple", 0)), IsEmpty());
  EXPECT_THAT(why_not(capability, "nccl.all_reduce"), IsEmpty());
}

TEST_F(NcclLibrary, VariablesThatOverrideAreFoundByName) {
  ::setenv("NCCL_PROTO", "ll", 1);
  ::setenv("NCCL_ALGO", "ring", 1);
  ::setenv("NCCL_NET", "Socket", 1);
  ::setenv("NCCL_DEBUG", "WARN", 1);
  ::setenv("COLLTUNE_NCCL_LIBRARY", "/somewhere/libnccl.so", 1);
  const nccl::Places places = nccl::places_in(read_nccl_environment({}));
  // Entered the other way round they are the same.
  for (const char* const name : {"NCCL_PROTO", "NCCL_ALGO", "NCCL_NET"}) ::unsetenv(name);
  ::setenv("NCCL_NET", "Socket", 1);
  ::setenv("NCCL_ALGO", "ring", 1);
  ::setenv("NCCL_PROTO", "ll", 1);
  EXPECT_EQ(nccl::places_in(read_nccl_environment({})).environment, places.environment);
  for (const char* const name :
       {"NCCL_PROTO", "NCCL_ALGO", "NCCL_NET", "NCCL_DEBUG", "COLLTUNE_NCCL_LIBRARY"})
    ::unsetenv(name);
  EXPECT_EQ(places.environment, "NCCL_ALGO=ring NCCL_NET=Socket NCCL_PROTO=ll");
  EXPECT_THAT(places.libraries, testing::ElementsAre("/somewhere/libnccl.so"));
  EXPECT_EQ(places.tuner, COLLTUNE_NCCL_TUNER);
  EXPECT_EQ(nccl::find_places().libraries.front(), "libnccl.so.2");
}

TEST_F(NcclLibrary, WhatRightlyDiffersByNodeIsReportedButNotCompared) {
  nccl::Places places = nccl_.places();
  places.environment =
      "NCCL_ALGO=ring NCCL_CONF_FILE=/a.conf NCCL_GRAPH_DUMP_FILE=/b.xml NCCL_GRAPH_FILE=/c.xml "
      "NCCL_IB_HCA=mlx5_0,mlx5_1 NCCL_IB_TIMEOUT=22 NCCL_OOB_NET_IFNAME=mlx5_2 NCCL_RINGS=0 1 2 "
      "NCCL_SOCKET_IFNAME=eth0 and a blank NCCL_TOPO_DUMP_FILE=/d.xml NCCL_TOPO_FILE=/e.xml";
  const nccl::Opened opened = nccl::open_libraries(places);
  EXPECT_EQ(opened.environment, places.environment);
  EXPECT_EQ(opened.compared_environment, "NCCL_ALGO=ring NCCL_IB_TIMEOUT=22 NCCL_RINGS=0 1 2");
  EXPECT_EQ(detect(places).value("nccl.environment"), places.environment);
}

TEST_F(NcclLibrary, NoneIsNoTunerAndNoProfilerHoweverItIsWritten) {
  nccl::Places places = nccl_.places();
  places.tuner = "None";
  places.profiler = "NONE";
  const nccl::Opened opened = nccl::open_libraries(places);
  EXPECT_TRUE(opened.is_without_tuner);
  EXPECT_EQ(opened.why_no_tuner, "NCCL loads no tuner: NCCL_TUNER_PLUGIN=None");
  EXPECT_THAT(opened.why_no_profiler, HasSubstr("NCCL_PROFILER_PLUGIN is NONE"));
  places.tuner = "nonesuch";
  EXPECT_FALSE(nccl::open_libraries(places).is_without_tuner);
}

TEST(NcclLibraryItself, HasAllThatIsUsedWhereItIsInstalled) {
  const nccl::Opened opened = nccl::open_libraries(nccl::find_places());
  if (!opened.library) GTEST_SKIP() << opened.why_not;
  EXPECT_THAT(opened.why_not, IsEmpty());
  EXPECT_GE(opened.version, nccl::version_code(2, 24, 3));
  std::cout << opened.path << " is NCCL " << nccl::version_text(opened.version) << '\n';
  nccl::UniqueId id{};
  EXPECT_EQ(opened.functions.get_unique_id(&id), nccl::result_success);
}

TEST(NcclTuner, IsFoundBesideTheProgram) {
  const auto root = std::filesystem::path(testing::TempDir()) / "nccl_library_test";
  std::filesystem::create_directories(root / "lib");
  EXPECT_EQ(find_nccl_tuner(root / "bin/colltune-agent"), "");
  const auto file = root / "lib/libnccl-tuner-colltune.so";
  std::ofstream(file).flush();
  EXPECT_EQ(find_nccl_tuner(root / "bin/colltune-agent"), file.string());
  std::filesystem::remove_all(root);
}

TEST_F(NcclLibrary, RanksInTheHostsMemoryDoNotEvenLook) {
  const Implementations entries = nccl_.entries();
  run_ranks(1, [&](Communicator& communicator) {
    const Capability capability = detect_capability(entries, communicator);
    EXPECT_FALSE(capability.has("nccl.version"));
    EXPECT_THAT(why_not(capability, "nccl.all_reduce"), testing::Not(IsEmpty()));
  });
}

TEST_F(NcclLibrary, WrongSettingsAreRefused) {
  Capability capability = detect(nccl_.places());
  EXPECT_THAT(why_not(capability, forced("ring", "ll", 64)), HasSubstr("the message is too short"));
  EXPECT_THAT(why_not(capability, forced("star", "ll", 1)), HasSubstr("its parameters are"));
  EXPECT_THAT(why_not(capability, forced("ring", "ll", 65)), HasSubstr("its parameters are"));
  EXPECT_THAT(why_not(capability, forced("nvls", "ll", 1)), HasSubstr("no such algorithm"));
  EXPECT_THAT(why_not(capability, forced("nvlstree", "simple", 1)), HasSubstr("across nodes"));
  EXPECT_THAT(why_not(capability, "nccl.all_reduce{a=1}"), HasSubstr("no parameters"));
  capability.features["cuda.compute_capability"] = "8.0";
  EXPECT_THAT(why_not(capability, forced("nvls", "simple", 1)), HasSubstr("sm_90"));
  EXPECT_THAT(why_not(capability, "nccl.all_reduce", DataType::f8e4m3), HasSubstr("fp8"));
  capability.features["device.ranks"] = "2";
  EXPECT_THAT(why_not(capability, "nccl.all_reduce"), HasSubstr("2 ranks share a GPU"));
}

// Seen on an H200: an error of NCCL's in the middle of a sweep.
TEST_F(NcclLibrary, AveragesOfFp8NeedASecondRank) {
  const Implementations entries = nccl_.entries();
  const auto why = [&](DataType type, ReduceOp op, int ranks) {
    const PretendedGpus gpus(1);
    std::string reason;
    gpus.run([&](Communicator& communicator) {
      const std::string name = "nccl.all_reduce";
      reason = find_implementation(entries, name)
                   ->supports({.collective = Collective::all_reduce,
                               .data_type = type,
                               .reduce_op = op,
                               .message_size = {64}},
                              {.ranks_per_node = ranks, .ranks = ranks},
                              detect_capability(entries, communicator), {name, {}})
                   .reason();
    });
    return reason;
  };
  EXPECT_THAT(why(DataType::f8e4m3, ReduceOp::avg, 1), HasSubstr("one rank alone"));
  EXPECT_THAT(why(DataType::f8e5m2, ReduceOp::avg, 1), HasSubstr("one rank alone"));
  EXPECT_THAT(why(DataType::f8e4m3, ReduceOp::sum, 1), IsEmpty());
  EXPECT_THAT(why(DataType::f8e4m3, ReduceOp::avg, 2), IsEmpty());
  EXPECT_THAT(why(DataType::f16, ReduceOp::avg, 1), IsEmpty());
}

TEST_F(NcclLibrary, EachRankIsAHostOfItsOwnUnlessTheUserSaidOtherwise) {
  const auto clear = [] {
    ::unsetenv("NCCL_HOSTID");
    ::unsetenv("NCCL_NET");
  };
  clear();
  EXPECT_FALSE(detect(nccl_.places()).has("nccl.shares_gpus"));
  const Topology two_ranks{.nodes = 1, .ranks_per_node = 2, .ranks = 2};
  EXPECT_EQ(nccl::topology_of_nccl(two_ranks, detect(nccl_.places())), two_ranks);
  EXPECT_FALSE(is_pretended_host());
  pretend_own_host(3);
  EXPECT_TRUE(is_pretended_host());
  EXPECT_EQ(nccl::topology_of_nccl(two_ranks, detect(nccl_.places())).nodes, 2);
  EXPECT_THAT(nccl::why_not_windows(two_ranks, detect(nccl_.places())), HasSubstr("one node"));
  EXPECT_STREQ(std::getenv("NCCL_HOSTID"), "colltune-rank-3");
  EXPECT_STREQ(std::getenv("NCCL_NET"), "Socket");
  EXPECT_TRUE(detect(nccl_.places()).has("nccl.shares_gpus"));
  pretend_own_host(4);  // what is there stays
  EXPECT_STREQ(std::getenv("NCCL_HOSTID"), "colltune-rank-3");
  clear();
}

}  // namespace
}  // namespace colltune::test
