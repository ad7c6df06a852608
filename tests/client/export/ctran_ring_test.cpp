// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "colltune/export/export_ctran_ring.h"
#include "colltune/model/ring/ring_parameters.h"
#include "colltune/vocabulary/error.h"
#include "literal_decisions.h"

namespace colltune {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::uint64_t mib = 1 << 20;

/// A ring of ours, as a sweep names it.
std::string ring(int blocks, std::int64_t chunk, int slots, int threads = 512,
                 const std::string& name = "cuda.all_reduce_ring",
                 const std::string& scratch = "device") {
  std::ostringstream text;
  text << name << "{blocks=" << blocks << ",chunk=" << chunk << ",launch=stream,scratch=" << scratch
       << ",slots=" << slots << ",threads=" << threads << ",vector=64}";
  return text.str();
}

Topology gpus(int ranks, int ranks_per_node = 1) {
  return {.nodes = ranks / ranks_per_node,
          .ranks_per_node = ranks_per_node,
          .ranks = ranks,
          .architectures = {{.architecture = "sm_90", .ranks = ranks}},
          .layout_digest = "uniform",
          .interconnect = "network"};
}

using Times = std::vector<std::pair<std::string, int>>;  ///< variants with their time, best first

Decision decided(std::uint64_t bytes, const Times& times, Topology topology = gpus(8)) {
  std::vector<RankedVariant> all;
  for (const auto& [variant, time] : times) all.push_back(testing::ranked(variant, time, 0));
  return testing::decision(testing::test_key(bytes, std::move(topology)), std::move(all),
                           "colltune");
}

CtranRingExport exported(std::vector<Decision> decisions) {
  return export_ctran_ring(
      {.generation = {.store_uuid = "s", .number = 3, .content_digest = "d"},
       .decisions = std::move(decisions),
       .environments = {{digest_of(testing::test_environment()), testing::test_environment()}}});
}

/// What a shell would set.
std::vector<std::string> settings(const CtranRingExport& made) {
  std::vector<std::string> all;
  std::istringstream lines(made.text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(line.starts_with("# ") || line.starts_with("export ")) << line;
    if (line.starts_with("export ")) all.push_back(line.substr(7));
  }
  return all;
}

std::string refusal(std::vector<Decision> decisions) {
  try {
    (void)exported(std::move(decisions));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::not_found);
    return error.what();
  }
  return "nothing was refused";
}

TEST(CtranRing, WritesTheWinnersParametersWithTheirMeaning) {
  const CtranRingExport made = exported({decided(64 * mib, {{ring(8, 524288, 2), 1000}})});
  EXPECT_EQ(made.keys, 1);
  EXPECT_EQ(made.won, 1);
  EXPECT_THAT(settings(made), ElementsAre("NCCL_CTRAN_ALLREDUCE_RING_TMPBUF_CHUNK_SIZE=524288",
                                          "NCCL_CTRAN_ALLREDUCE_RING_TMPBUF_NUM_CHUNKS=16",
                                          "NCCL_CTRAN_ALLREDUCE_RING_NUM_THREAD_BLOCKS=8",
                                          "NCCL_CTRAN_ALLREDUCE_RING_THREAD_BLOCK_SIZE=512",
                                          "NCCL_CTRAN_ALLREDUCE_RING_BIDIR_AG_MAX_SIZE=0"));
  EXPECT_THAT(made.text, HasSubstr("generation 3 (d)"));
  EXPECT_THAT(made.text, HasSubstr("# bytes of a chunk: what a rank hands on at once (512KiB)\n"));
  EXPECT_THAT(made.text, HasSubstr("2 in flight for each of 8 ranks"));
  EXPECT_THAT(made.text, HasSubstr("2 of 8MiB each"));
  EXPECT_THAT(made.left_out, Contains("not set: vector=64: ctring has no such setting"));
}

TEST(CtranRing, TheModelReadsWhatItWrites) {
  const CtranRingExport made = exported(
      {decided(64 * mib, {{ring(16, 1048576, 4, 256, "cuda.all_reduce_ring_both_ways"), 1000}})});
  const RingSetting setting{.architecture = RingArchitecture::hopper,
                            .ranks = 8,
                            .overrides = read_ring_overrides(settings(made))};
  EXPECT_EQ(setting.overrides.both_ways_max_bytes, -1);
  const RingParameters got = *ring_parameters(setting, {64 * mib});
  EXPECT_EQ(got.chunk, Bytes{mib});
  EXPECT_EQ(got.chunks, 32U);
  EXPECT_EQ(got.blocks, 16U);
  EXPECT_EQ(got.threads, 256U);
  EXPECT_FALSE(got.is_limited);
}

TEST(CtranRing, OneChoiceForAllSizesByTheLeastWorstRegret) {
  const std::string small = ring(4, 131072, 2);
  const std::string middle = ring(8, 524288, 2);
  const std::string large = ring(32, 2097152, 2);
  const CtranRingExport made =
      exported({decided(mib, {{small, 100}, {middle, 120}, {large, 300}}),
                decided(16 * mib, {{middle, 1000}, {small, 1500}, {large, 1600}}),
                decided(256 * mib, {{large, 10000}, {middle, 11000}, {small, 20000}})});
  EXPECT_EQ(made.keys, 3);
  EXPECT_EQ(made.won, 1);
  EXPECT_THAT(settings(made), Contains("NCCL_CTRAN_ALLREDUCE_RING_TMPBUF_CHUNK_SIZE=524288"));
  EXPECT_THAT(made.text, HasSubstr("of 3 keys it won 1"));
  EXPECT_THAT(made.text, HasSubstr("1.20 times as fast"));
  EXPECT_THAT(refusal({decided(mib, {{small, 100}}), decided(2 * mib, {{large, 100}})}),
              HasSubstr("no variant of the ring was measured in all keys that it won:\n  "));
}

TEST(CtranRing, SaysWhatItCannotExpress) {
  const std::string one = ring(8, 524288, 2, 1024);
  const CtranRingExport made =
      exported({decided(mib, {{one, 100}}), decided(mib, {{one, 100}}, gpus(4)),
                decided(4096, {{"cuda.all_reduce_one_shot{blocks=1,threads=256}", 10}, {one, 90}}),
                decided(8192, {{ring(8, 524288, 2, 256, "cuda.all_reduce_ring", "host"), 10}})});
  EXPECT_EQ(made.keys, 2);
  for (const std::string& setting : settings(made)) {
    EXPECT_THAT(setting, Not(HasSubstr("NUM_CHUNKS")));
    EXPECT_THAT(setting, Not(HasSubstr("THREAD_BLOCK_SIZE")));
  }
  EXPECT_THAT(made.left_out, Contains(HasSubstr("not set: the number of chunks")));
  EXPECT_THAT(made.left_out, Contains(HasSubstr("not set: 1024 threads of a block")));
  EXPECT_THAT(made.left_out, Contains(HasSubstr("the winner is no ring")));
  EXPECT_THAT(made.left_out, Contains(HasSubstr("host's memory")));
  EXPECT_THAT(made.text, Not(HasSubstr("several ranks on a node")));
  EXPECT_THAT(exported({decided(mib, {{one, 100}}, gpus(8, 8))}).text,
              HasSubstr("several ranks on a node; ctring runs only where each node has one"));
}

TEST(CtranRing, SaysWhyThereIsNothing) {
  EXPECT_THAT(refusal({}), HasSubstr("won nowhere"));
  EXPECT_THAT(refusal({decided(mib, {{"cpu.all_reduce_ring{chunk=65536,slots=2}", 100}})}),
              HasSubstr("left out: the ring on CPUs won"));
  Decision shared = decided(mib, {{ring(8, 524288, 2), 100}});
  shared.key.topology.placement = Placement::shared_device;
  EXPECT_THAT(refusal({shared}), HasSubstr("share a device"));
  Decision prepared = decided(mib, {{ring(8, 524288, 2), 100}});
  prepared.key.calling = Calling::persistent;
  EXPECT_THAT(refusal({prepared}), HasSubstr("prepared once"));
  Decision gather = decided(mib, {{ring(8, 524288, 2), 100}});
  gather.key.problem.collective = Collective::all_gather;
  EXPECT_THAT(refusal({gather}), HasSubstr("ctring is an all_reduce"));
}

}  // namespace
}  // namespace colltune
