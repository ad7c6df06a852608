// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// What NCCL ran, told by its profiler interface: with the channels that it used.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "colltune/kernels/nccl_library/nccl_environment.h"
#include "nccl_fixture.h"

namespace colltune::test {
namespace {

using nccl::Algorithm;
using nccl::Protocol;
using testing::HasSubstr;
using testing::IsEmpty;

class NcclProfiled : public testing::Test {
 protected:
  NcclProfiled() { use_profiler(COLLTUNE_NCCL_TUNER); }
  ~NcclProfiled() override { ::unsetenv("NCCL_PROFILER_PLUGIN"); }

  /// As the user's environment names it.
  void use_profiler(const std::string& plugin) {
    ::setenv("NCCL_PROFILER_PLUGIN", plugin.c_str(), 1);
    places_ = nccl_.places();
    places_.profiler = plugin;
  }
  /// What rank 0 reads back of the variant; the same on all ranks.
  [[nodiscard]] Executed executed(const std::string& variant) const {
    const Implementations entries = FakeNccl::entries(places_);
    const PretendedGpus gpus(2);
    Executed first;
    gpus.run([&](Communicator& communicator) {
      SumCall call(communicator, entries, variant);
      call.run();
      const auto seen = call.operation().executed();
      ASSERT_TRUE(seen);
      call.run();
      EXPECT_EQ(call.operation().executed()->choice, seen->choice) << "the first call's stays";
      if (communicator.rank() == 0) first = *seen;
    });
    return first;
  }

  FakeNccl nccl_;
  nccl::Places places_;
};

TEST_F(NcclProfiled, TheBaselinesChoiceHasTheChannelsThatRan) {
  for (const int interface_version : {4, 5, 6}) {
    FakeNcclSettings settings;
    settings.profiler_interface = interface_version;
    settings.channels = 12;
    nccl_.configure(settings);
    const Executed ran = executed("nccl.all_reduce");
    EXPECT_EQ(ran.choice, "algorithm=tree,channels=12,protocol=ll,told_by=profiler");
    EXPECT_TRUE(ran.is_what_was_named);
  }
}

TEST_F(NcclProfiled, AForcedChoiceThatRanIsCredited) {
  const Executed ran = executed(forced("ring", "ll128", 4));
  EXPECT_EQ(ran.choice, "algorithm=ring,channels=4,protocol=ll128,told_by=profiler");
  EXPECT_TRUE(ran.is_what_was_named);
  const Executed own_channels = executed(forced("ring", "simple", 0));
  EXPECT_EQ(own_channels.choice, "algorithm=ring,channels=32,protocol=simple,told_by=profiler");
  EXPECT_TRUE(own_channels.is_what_was_named);
}

TEST_F(NcclProfiled, FewerChannelsThanRequestedAreNotCredited) {
  FakeNcclSettings settings;
  settings.channels = 2;
  nccl_.configure(settings);
  const Executed ran = executed(forced("ring", "ll128", 4));
  EXPECT_EQ(ran.choice, "algorithm=ring,channels=2,protocol=ll128,told_by=profiler");
  EXPECT_FALSE(ran.is_what_was_named);
}

// From 2.31 on a tuner's number of channels is a limit for NCCL's own.
TEST_F(NcclProfiled, MoreChannelsThanNcclTakesByItselfAreCreditedWhereItTakesThem) {
  for (const auto& [version, interface_version] :
       {std::pair(23007, 6), std::pair(23102, 6), std::pair(23206, 7)}) {
    SCOPED_TRACE(version);
    const bool is_limit = version >= nccl::first_channels_as_limit;
    FakeNcclSettings settings;
    settings.version = version;
    settings.tuner_interface = interface_version;
    settings.profiler_interface = 6;
    settings.own_channels = 4;
    nccl_.configure(settings);
    const Executed more = executed(forced("ring", "ll128", 8));
    EXPECT_EQ(more.choice, is_limit ? "algorithm=ring,channels=4,protocol=ll128,told_by=profiler"
                                    : "algorithm=ring,channels=8,protocol=ll128,told_by=profiler");
    EXPECT_EQ(more.is_what_was_named, !is_limit);
    const Executed fewer = executed(forced("ring", "ll128", 2));
    EXPECT_EQ(fewer.choice, "algorithm=ring,channels=2,protocol=ll128,told_by=profiler");
    EXPECT_TRUE(fewer.is_what_was_named);
  }
}

TEST_F(NcclProfiled, NumbersOfChannelsThatNobodyTellsAreNotPlanned) {
  const Variant asking = parse_variant(forced("ring", "ll128", 8));
  const Problem problem{.collective = Collective::all_reduce,
                        .data_type = DataType::f32,
                        .reduce_op = ReduceOp::sum,
                        .message_size = {1 << 20}};
  const Topology topology{.ranks_per_node = 2, .ranks = 2};
  /// How many variants there are with a number of channels, and why one is none.
  const auto plan = [&] {
    const Implementations entries = FakeNccl::entries(places_);
    const Implementation& entry = *find_implementation(entries, asking.implementation);
    const PretendedGpus gpus(1);
    std::pair<int, std::string> found;
    gpus.run([&](Communicator& communicator) {
      const Capability capability = detect_capability(entries, communicator);
      for (const Variant& variant : entry.variants(problem, topology, capability)) {
        found.first += to_string(variant).find("channels=0") == std::string::npos ? 1 : 0;
        EXPECT_TRUE(entry.supports(problem, topology, capability, variant)) << to_string(variant);
      }
      found.second = entry.supports(problem, topology, capability, asking).reason();
    });
    return found;
  };
  for (const int version : {23007, 23102}) {
    FakeNcclSettings settings;
    settings.version = version;
    nccl_.configure(settings);
    use_profiler(COLLTUNE_NCCL_TUNER);
    EXPECT_GT(plan().first, 0);
    EXPECT_THAT(plan().second, IsEmpty());
    use_profiler("none");
    if (version < nccl::first_channels_as_limit) {
      EXPECT_GT(plan().first, 0);
      EXPECT_THAT(plan().second, IsEmpty());
    } else {
      EXPECT_EQ(plan().first, 0);
      EXPECT_THAT(plan().second, testing::AllOf(HasSubstr("NCCL 2.31.2 takes its own number"),
                                                HasSubstr("NCCL_PROFILER_PLUGIN is none")));
    }
  }
}

TEST_F(NcclProfiled, AnotherEntryThanTheTablesIsNotCredited) {
  for (const auto& [entry, words] :
       {std::pair{entry_number(Algorithm::tree, Protocol::ll128), "algorithm=tree,channels=4,"},
        std::pair{entry_number(Algorithm::ring, Protocol::ll), "algorithm=ring,channels=4,"}}) {
    FakeNcclSettings settings;
    settings.entry_that_runs = entry;
    nccl_.configure(settings);
    const Executed ran = executed(forced("ring", "ll128", 4));
    EXPECT_THAT(ran.choice, testing::StartsWith(words));
    EXPECT_FALSE(ran.is_what_was_named);
  }
}

TEST_F(NcclProfiled, WithoutATunerItIsToldAsWell) {
  ::setenv("NCCL_TUNER_PLUGIN", "none", 1);
  places_.tuner = "none";
  const Executed ran = executed("nccl.all_reduce_configured{ctas=0,policy=efficiency}");
  EXPECT_EQ(ran.choice, "algorithm=tree,channels=32,protocol=ll,told_by=profiler");
  EXPECT_TRUE(ran.is_what_was_named);
}

TEST_F(NcclProfiled, WhatIsCapturedIsToldThenOrWhenItIsReplayed) {
  for (const bool tells_of_replays : {false, true}) {
    FakeNcclSettings settings;
    settings.channels = 2;
    settings.tells_of_replays = tells_of_replays;
    nccl_.configure(settings);
    const Implementations entries = FakeNccl::entries(places_);
    const PretendedGpus gpus(2);
    gpus.run([&](Communicator& communicator) {
      constexpr bool is_captured = true;
      SumCall own(communicator, entries, "nccl.all_reduce", 64 << 10, soon_enough(), is_captured);
      SumCall clamped(communicator, entries, forced("ring", "ll128", 4), 64 << 10, soon_enough(),
                      is_captured);
      EXPECT_EQ(own.operation().executed()->choice,
                tells_of_replays ? "algorithm=tree,protocol=ll"
                                 : "algorithm=tree,channels=2,protocol=ll,told_by=profiler");
      for (int replay = 0; replay < 2; ++replay) {
        own.run();
        clamped.run();
        EXPECT_EQ(own.operation().executed()->choice,
                  "algorithm=tree,channels=2,protocol=ll,told_by=profiler");
        EXPECT_TRUE(own.operation().executed()->is_what_was_named);
        EXPECT_EQ(clamped.operation().executed()->choice,
                  "algorithm=ring,channels=2,protocol=ll128,told_by=profiler");
        EXPECT_FALSE(clamped.operation().executed()->is_what_was_named);
      }
    });
  }
}

TEST_F(NcclProfiled, WhereItIsNotToldTheTunersTableStands) {
  const std::string table = "algorithm=ring,channels=4,protocol=ll128";
  const auto expect_table = [&] {
    const Executed ran = executed(forced("ring", "ll128", 4));
    EXPECT_EQ(ran.choice, table);
    EXPECT_TRUE(ran.is_what_was_named);
  };
  for (const char* const of_the_user : {"none", COLLTUNE_FAKE_NCCL, "nobodys"}) {
    use_profiler(of_the_user);
    expect_table();
  }
  use_profiler(COLLTUNE_NCCL_TUNER);
  FakeNcclSettings settings;
  settings.profiler_interface = 3;  // a library from before version 4
  nccl_.configure(settings);
  expect_table();
  settings.version = 22604;
  nccl_.configure(settings);
  expect_table();
}

TEST_F(NcclProfiled, WhyNothingIsToldIsPartOfTheCapability) {
  const auto why = [&] {
    const Implementations entries = FakeNccl::entries(places_);
    const PretendedGpus gpus(1);
    std::string reason;
    gpus.run([&](Communicator& communicator) {
      const Capability capability = detect_capability(entries, communicator);
      reason = capability.value("nccl.profiler.unavailable");
      EXPECT_NE(reason.empty(), !capability.has("nccl.profiler"));
    });
    return reason;
  };
  EXPECT_THAT(why(), IsEmpty());
  use_profiler("none");
  EXPECT_THAT(why(), HasSubstr("NCCL_PROFILER_PLUGIN is none"));
  use_profiler("");
  EXPECT_THAT(why(), HasSubstr("NCCL_PROFILER_PLUGIN is not set"));
  use_profiler("nobodys");
  EXPECT_THAT(why(), HasSubstr("libnccl-profiler-nobodys.so"));
  use_profiler(COLLTUNE_FAKE_NCCL);
  EXPECT_THAT(why(), HasSubstr("names another profiler than colltune's"));
  use_profiler(COLLTUNE_NCCL_TUNER);
  FakeNcclSettings settings;
  settings.version = 22604;
  nccl_.configure(settings);
  EXPECT_THAT(why(), HasSubstr("NCCL 2.26.4 tells no profiler how many channels a call has"));
}

TEST_F(NcclProfiled, GroupsThatCallAtOnceAreToldTheirOwn) {
  const Implementations entries = FakeNccl::entries(places_);
  const PretendedGpus gpus(6);
  gpus.run([&](Communicator& all) {
    const int group = all.rank() % 3;
    const auto own = all.split(group, all.rank(), soon_enough());
    for (const int channels : {2 + group, 5 + group}) {
      SumCall call(*own, entries, forced("ring", "simple", channels));
      call.run();
      EXPECT_EQ(call.operation().executed()->choice,
                "algorithm=ring,channels=" + std::to_string(channels) +
                    ",protocol=simple,told_by=profiler");
    }
  });
}

TEST_F(NcclProfiled, TheEnvironmentNamesItUnlessTheUserHas) {
  const auto root = std::filesystem::path(testing::TempDir()) / "nccl_profiled_test";
  std::filesystem::create_directories(root / "lib");
  const auto file = root / "lib/libnccl-tuner-colltune.so";
  std::ofstream(file).flush();
  ::unsetenv("NCCL_TUNER_PLUGIN");
  use_profiler("nvtx");
  prepare_nccl_environment(root / "bin/colltune-agent");
  EXPECT_STREQ(std::getenv("NCCL_PROFILER_PLUGIN"), "nvtx");
  EXPECT_EQ(std::getenv("NCCL_TUNER_PLUGIN"), file.string());
  ::unsetenv("NCCL_PROFILER_PLUGIN");
  prepare_nccl_environment(root / "bin/colltune-agent");
  EXPECT_EQ(std::getenv("NCCL_PROFILER_PLUGIN"), file.string());
  const nccl::Places places = nccl::find_places();
  EXPECT_EQ(places.profiler, file.string());
  EXPECT_THAT(places.environment, testing::Not(HasSubstr("PROFILER")));
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace colltune::test
