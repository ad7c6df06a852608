// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "nccl_library/entries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nccl_library/library.h"

namespace colltune::nccl {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(NcclEntries, AreThoseOfTheModel) {
  EXPECT_THAT(
      entries_of(Function::broadcast),
      ElementsAre(Entry{Algorithm::ring, Protocol::ll}, Entry{Algorithm::ring, Protocol::ll128},
                  Entry{Algorithm::ring, Protocol::simple}));
  EXPECT_EQ(entries_of(Function::reduce), entries_of(Function::broadcast));
  // Tree and ring with three protocols each, four with one.
  EXPECT_EQ(entries_of(Function::all_reduce).size(), 10U);
  EXPECT_THAT(entries_of(Function::all_reduce),
              Not(Contains(Entry{Algorithm::pat, Protocol::simple})));
  EXPECT_THAT(entries_of(Function::all_gather), Contains(Entry{Algorithm::pat, Protocol::simple}));
  EXPECT_EQ(entries_of(Function::all_gather), entries_of(Function::reduce_scatter));
}

TEST(NcclEntries, SomeNeedSeveralNodes) {
  const Topology one_node{.nodes = 1, .ranks_per_node = 8, .ranks = 8};
  const Topology two_nodes{.nodes = 2, .ranks_per_node = 8, .ranks = 16};
  const Topology one_each{.nodes = 4, .ranks_per_node = 1, .ranks = 4};
  const Entry nvls_tree{Algorithm::nvls_tree, Protocol::simple};
  const Entry pat{Algorithm::pat, Protocol::simple};
  EXPECT_THAT(why_not_there(nvls_tree, one_node), HasSubstr("across nodes"));
  EXPECT_THAT(why_not_there(nvls_tree, two_nodes), IsEmpty());
  EXPECT_THAT(why_not_there(pat, two_nodes), HasSubstr("one rank"));
  EXPECT_THAT(why_not_there(pat, one_each), IsEmpty());
}

TEST(NcclEntries, ShortMessagesUseFewChannels) {
  constexpr auto most = [](Function function, Protocol protocol, std::uint64_t bytes) {
    return most_channels_of(function, protocol, bytes);
  };
  EXPECT_EQ(most(Function::all_reduce, Protocol::simple, 4), 1);
  EXPECT_EQ(most(Function::all_reduce, Protocol::simple, 8 << 10), 1);
  EXPECT_EQ(most(Function::all_reduce, Protocol::simple, 64 << 10), 8);
  EXPECT_EQ(most(Function::all_reduce, Protocol::ll, 8 << 10), 4);
  EXPECT_EQ(most(Function::all_gather, Protocol::simple, 64 << 10), 4);
  EXPECT_EQ(most(Function::all_reduce, Protocol::simple, std::uint64_t{5} << 30), 64);
}

TEST(NcclEntries, ChannelsToTryArePruned) {
  const Entry ring{Algorithm::ring, Protocol::simple};
  EXPECT_THAT(channels_to_try(Function::all_reduce, ring, 8 << 10), ElementsAre(0));
  EXPECT_THAT(channels_to_try(Function::all_reduce, ring, 64 << 10), ElementsAre(0, 1, 2, 4, 8));
  EXPECT_THAT(channels_to_try(Function::all_reduce, ring, 1 << 30), ElementsAre(0, 16, 32));
  EXPECT_THAT(channels_to_try(Function::all_reduce, {Algorithm::ring, Protocol::ll}, 1 << 30),
              IsEmpty());
  // NCCL does not look at them.
  EXPECT_THAT(
      channels_to_try(Function::all_reduce, {Algorithm::collnet_chain, Protocol::simple}, 1 << 20),
      ElementsAre(0));
}

TEST(NcclEntries, CtasToTryAreWhatCannotBeForced) {
  EXPECT_THAT(ctas_to_try(Collective::all_reduce, 1 << 20), ElementsAre(32, 64));
  EXPECT_THAT(ctas_to_try(Collective::all_reduce, 64 << 10), ElementsAre(32));
  EXPECT_THAT(ctas_to_try(Collective::all_to_all, 1 << 20), ElementsAre(4, 16, 32, 64));
  EXPECT_THAT(ctas_to_try(Collective::all_to_all, std::uint64_t{4} << 30), ElementsAre(64));
  EXPECT_THAT(ctas_to_try(Collective::all_to_all, 1 << 10), IsEmpty());
}

TEST(NcclEntries, TheEnvironmentRestricts) {
  const auto allows = [](const char* text, Function function, const char* what) {
    return is_allowed_by(text, function, what);
  };
  EXPECT_TRUE(allows("", Function::all_reduce, "ring"));
  EXPECT_TRUE(allows("Ring,Tree", Function::all_reduce, "ring"));
  EXPECT_FALSE(allows("Tree", Function::all_reduce, "ring"));
  EXPECT_FALSE(allows("^LL128", Function::broadcast, "ll128"));
  EXPECT_TRUE(allows("^LL128", Function::broadcast, "ll"));
  // For one function alone; what is said for all counts for the others.
  EXPECT_TRUE(allows("allreduce:tree", Function::broadcast, "ring"));
  EXPECT_FALSE(allows("allreduce:tree", Function::all_reduce, "ring"));
  EXPECT_TRUE(allows("^LL128;allreduce:LL128", Function::all_reduce, "ll128"));
  EXPECT_FALSE(allows("^LL128;allreduce:LL128", Function::all_reduce, "simple"));
  EXPECT_FALSE(allows("^LL128;allreduce:LL128", Function::reduce, "ll128"));
}

TEST(NcclVersions, OldOnesAreRefusedAndNewOnesTaken) {
  EXPECT_THAT(why_not_version(2708), HasSubstr("older than 2.9"));
  EXPECT_THAT(why_not_version(version_code(2, 23, 4)), HasSubstr("2.23.4 is too old"));
  EXPECT_THAT(why_not_version(version_code(2, 24, 3)), IsEmpty());
  EXPECT_THAT(why_not_version(version_code(2, 28, 9)), IsEmpty());
  EXPECT_THAT(why_not_version(version_code(2, 99, 1)), IsEmpty());
  EXPECT_THAT(why_not_version(version_code(3, 0, 1)), HasSubstr("another major version"));
  EXPECT_EQ(version_text(22809), "2.28.9");
}

}  // namespace
}  // namespace colltune::nccl
