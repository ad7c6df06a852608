// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// What the rules say for given sizes. v3 and v2: figures of torchcomms' own tests and of its code,
// with 64 blocks of 512 threads at most; v1: worked out by hand from the text of its request.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "colltune/model/ring/ring_parameters.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;
constexpr std::uint64_t gib = 1024 * mib;

/// "64M:8/4Mx8/q512K": the message, or a range of them in powers of two, then blocks, threads if
/// they are named, chunk and chunks, and the threshold of queue pairs if it is not 256K.
struct Golden {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  RingParameters parameters;
};

Golden parse(const std::string& text, const RingSetting& setting) {
  Golden golden;
  golden.parameters.threads = setting.max_threads;
  const auto size = [](const std::string& word) { return parse_bytes(word).value; };
  const std::size_t colon = text.find(':');
  const std::string messages = text.substr(0, colon);
  const std::size_t dots = messages.find("..");
  golden.first = size(messages.substr(0, dots));
  golden.last = dots == std::string::npos ? golden.first : size(messages.substr(dots + 2));
  std::istringstream parts(text.substr(colon + 1));
  std::vector<std::string> words;
  for (std::string word; std::getline(parts, word, '/');) words.push_back(word);
  std::uint64_t threshold = 256 * kib;
  if (words.back().front() == 'q') {
    threshold = size(words.back().substr(1));
    words.pop_back();
  }
  const std::size_t cross = words.back().find('x');
  golden.parameters.chunk = {size(words.back().substr(0, cross))};
  golden.parameters.chunks = std::stoull(words.back().substr(cross + 1));
  golden.parameters.blocks = std::stoull(words.front());
  if (words.size() == 3) golden.parameters.threads = std::stoull(words[1]);
  if (setting.rules == RingRules::v3 && setting.architecture == RingArchitecture::default_values)
    golden.parameters.qp_scaling_threshold = Bytes{threshold};
  return golden;
}

std::string print(const std::optional<RingParameters>& parameters) {
  if (!parameters) return "untuned";
  std::string text = std::to_string(parameters->blocks) + "/" +
                     std::to_string(parameters->threads) + "/" + format_bytes(parameters->chunk) +
                     "x" + std::to_string(parameters->chunks);
  if (parameters->qp_scaling_threshold)
    text += "/q" + format_bytes(*parameters->qp_scaling_threshold);
  return text + (parameters->is_limited ? " limited" : "");
}

void expect_goldens(const RingSetting& setting, const std::string& table) {
  std::istringstream words(table);
  int rows = 0;
  for (std::string word; words >> word;) {
    const Golden golden = parse(word, setting);
    for (std::uint64_t message = golden.first; message <= golden.last; message *= 2, ++rows)
      EXPECT_EQ(print(ring_parameters(setting, {message})), print(golden.parameters))
          << format_bytes({message}) << " of " << word;
  }
  EXPECT_GT(rows, 0);
}

RingSetting setting_of(RingRules rules, RingArchitecture architecture, std::uint64_t ranks,
                       const std::vector<std::string>& assignments = {}) {
  return {.rules = rules,
          .architecture = architecture,
          .ranks = ranks,
          .overrides = read_ring_overrides(assignments)};
}

constexpr RingArchitecture newest = RingArchitecture::default_values;
constexpr RingArchitecture hopper = RingArchitecture::hopper;

/// Of both sets of rules, where their bandwidth-delay product is the architecture's.
constexpr const char* hopper_8 =
    "1K:1/384/128x8 2K:1/384/256x8 4K:1/384/512x8 8K:1/384/1Kx8 16K:1/384/2Kx8 32K:1/384/4Kx8 "
    "64K:1/384/8Kx8 128K:1/512/16Kx8 256K:1/512/16Kx16 512K:1/512/32Kx16 1M:1/512/64Kx16 "
    "2M:2/512/128Kx16 4M:2/512/256Kx16 8M:2/512/256Kx32 16M:4/512/512Kx32 32M:4/512/2Mx16 "
    "64M..64G:4/512/4Mx8";

TEST(RingGoldens, V3DefaultOf8Ranks) {
  const char* const table =
      "1K:1/128x8 2K:1/256x8 4K:1/512x8 8K:1/1Kx8 16K:1/2Kx8 32K:1/4Kx8 64K:2/8Kx8 128K:2/16Kx8 "
      "256K:2/16Kx16 512K:4/32Kx16 1M:8/64Kx16 2M:8/128Kx16 4M:8/256Kx16 8M:8/512Kx16 16M:8/1Mx16 "
      "32M:8/2Mx16 64M:8/4Mx8 128M:8/8Mx4 256M..64G:8/16Mx2/q512K";
  for (const std::uint64_t element : {1, 2, 4, 8}) {
    RingSetting setting = setting_of(RingRules::v3, newest, 8);
    setting.element_bytes = element;
    expect_goldens(setting, table);
  }
}

TEST(RingGoldens, V3DefaultOf64Ranks) {
  expect_goldens(
      setting_of(RingRules::v3, newest, 64),
      "1K:1/16x64 2K:1/32x64 4K:1/64x64 8K:1/128x64 16K:1/256x64 32K:1/512x64 64K:1/1Kx64 "
      "128K:1/2Kx64 256K:1/4Kx64 512K:2/8Kx64 1M:2/16Kx64 2M:2/16Kx128 4M:4/32Kx128 8M:8/64Kx128 "
      "16M:8/128Kx128 32M:8/256Kx128 64M:8/512Kx64 128M:8/1Mx32 256M:8/1Mx32 512M..64G:8/2Mx16");
}

TEST(RingGoldens, V3AndV2HopperOf8Ranks) {
  expect_goldens(setting_of(RingRules::v3, hopper, 8), hopper_8);
  expect_goldens(setting_of(RingRules::v2, hopper, 8), hopper_8);
}

TEST(RingGoldens, V2DefaultWhereItDiffersFromV3) {
  expect_goldens(setting_of(RingRules::v2, newest, 8),
                 "8M:8/256Kx32 16M:8/512Kx32 32M:8/1Mx32 64M:8/2Mx32 128M:8/8Mx16 "
                 "256M..64G:8/16Mx8");
  expect_goldens(setting_of(RingRules::v2, newest, 64),
                 "64M:8/256Kx256 1G:8/1Mx128 2G..64G:8/2Mx64");
}

TEST(RingGoldens, V3Overrides) {
  const auto expect = [](std::uint64_t ranks, RingArchitecture architecture,
                         const std::vector<std::string>& assignments, const std::string& golden) {
    SCOPED_TRACE(::testing::PrintToString(assignments));
    expect_goldens(setting_of(RingRules::v3, architecture, ranks, assignments), golden);
  };
  expect(8, newest, {"TMPBUF_CHUNK_SIZE=2097152", "TMPBUF_NUM_CHUNKS=8"}, "1K..64G:8/2Mx8");
  expect(8, newest, {"AUTO_TUNE_MAX_BDP=262144"}, "1M:2/16Kx16");
  expect(8, newest, {"AUTO_TUNE_MAX_BDP=524288"}, "1M:4/32Kx16");
  expect(8, newest, {"MAX_NUM_THREAD_BLOCKS=3"}, "64M:3/4Mx8");
  expect(8, newest, {"TMPBUF_CHUNK_SIZE=4096", "MAX_NUM_THREAD_BLOCKS=16"}, "64M:1/4Kx8");
  expect(8, newest, {"TMPBUF_CHUNK_SIZE=8192"}, "64M:2/8Kx8");
  expect(8, newest, {"TMPBUF_CHUNK_SIZE=32768"}, "64M:4/32Kx8");
  expect(8, newest, {"TMPBUF_CHUNK_SIZE=65536"}, "64M:8/64Kx8");
  expect(8, newest, {"NUM_THREAD_BLOCKS=16"}, "1K:16/128x8 64M:16/4Mx8");
  expect(8, newest, {"NUM_THREAD_BLOCKS=6", "MAX_NUM_THREAD_BLOCKS=8"}, "64M:6/4Mx8");
  expect(8, hopper, {"THREAD_BLOCK_SIZE=128"}, "1K:1/128/128x8 64M:4/128/4Mx8");
  expect(64, newest, {"LARGE_CHUNK_RANK_THRESHOLD=0"}, "256M:8/1Mx32 512M:8/1Mx32");
  expect(64, newest, {"LARGE_CHUNK_RANK_THRESHOLD=64"}, "512M:8/1Mx32");
  expect(96, newest, {"LARGE_CHUNK_RANK_THRESHOLD=64"}, "512M:8/1Mx32");
  expect(64, hopper, {"LARGE_CHUNK_RANK_THRESHOLD=1"}, "512M:4/512/512Kx64");
}

TEST(RingGoldens, V3RefusesWhatTheKernelCannotHave) {
  const auto refusal = [](const std::vector<std::string>& assignments) -> std::string {
    try {
      (void)ring_parameters(setting_of(RingRules::v3, newest, 8, assignments), {mib});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::invalid_argument);
      return error.what();
    }
    return "nothing was refused";
  };
  EXPECT_THAT(refusal({"THREAD_BLOCK_SIZE=1024"}),
              HasSubstr("NCCL_CTRAN_ALLREDUCE_RING_THREAD_BLOCK_SIZE is 1024; the kernel can have "
                        "at most 512"));
  EXPECT_THAT(refusal({"NUM_THREAD_BLOCKS=16", "MAX_NUM_THREAD_BLOCKS=8"}), HasSubstr("at most 8"));
}

TEST(RingGoldens, V3TheThresholdOfQueuePairs) {
  const auto threshold = [](const std::vector<std::string>& assignments,
                            std::optional<Bytes> chosen = {},
                            RingArchitecture architecture = newest) {
    RingSetting setting = setting_of(RingRules::v3, architecture, 8, assignments);
    setting.qp_scaling_threshold = chosen;
    return ring_parameters(setting, {gib})->qp_scaling_threshold;
  };
  EXPECT_EQ(threshold({}), Bytes{512 * kib});  // 16 MiB over 16 pairs of 2 devices
  EXPECT_EQ(threshold({"QP_SCALING_TH_MAX=400000"}), Bytes{400000});
  EXPECT_EQ(threshold({"QP_SCALING_TH_MIN=524288"}), Bytes{512 * kib});
  EXPECT_EQ(threshold({"QP_SCALING_TH_MIN=-1"}), std::nullopt);
  EXPECT_EQ(threshold({"QP_SCALING_TH_MAX=0"}), std::nullopt);
  EXPECT_EQ(threshold({"QP_SCALING_TH_MAX=1000"}), std::nullopt);
  EXPECT_EQ(threshold({}, {}, hopper), std::nullopt);
  EXPECT_EQ(threshold({"QP_SCALING_TH_MIN=-1"}, Bytes{7}), Bytes{7});
  EXPECT_EQ(threshold({}, Bytes{7}, hopper), Bytes{7});
  RingSetting setting = setting_of(RingRules::v3, newest, 8);
  setting.queue_pairs = 0;
  setting.devices_of_rank = 1;
  EXPECT_EQ(ring_parameters(setting, {8 * mib})->qp_scaling_threshold, Bytes{512 * kib});
}

/// A row of v1's table.
struct V1Row {
  RingArchitecture architecture;
  std::uint64_t ranks;
  std::uint64_t message;
  std::uint64_t chunk;
  std::uint64_t chunks;
  std::uint64_t blocks;
  std::uint64_t max_bdp = 0;  ///< 0: the architecture's
};

TEST(RingGoldens, V1) {
  const V1Row rows[] = {
      {hopper, 8, 64 * kib, 256 * kib, 16, 2},
      {hopper, 8, 512 * kib, 256 * kib, 16, 2},
      {hopper, 8, 4 * mib, 256 * kib, 16, 2},
      {hopper, 8, 12 * mib - 1, 256 * kib, 32, 2},
      {hopper, 8, 12 * mib, 512 * kib, 32, 4},
      {hopper, 8, 16 * mib, 512 * kib, 32, 4},
      {hopper, 8, 32 * mib, 2 * mib, 16, 4},
      {hopper, 8, 64 * mib, 2 * mib, 16, 4},
      {hopper, 8, gib, 2 * mib, 16, 4},
      {hopper, 6, 24 * mib, 2796202, 12, 4},
      {hopper, 16, 32 * mib, 512 * kib, 64, 4},
      {hopper, 16, 64 * mib, mib, 32, 4},
      {hopper, 64, 64 * mib, 256 * kib, 128, 2},
      {hopper, 64, 256 * mib, 256 * kib, 128, 2},
      {newest, 2, 128 * mib, 16 * mib, 4, 8},
      {newest, 4, 128 * mib, 16 * mib, 8, 8},
      {newest, 8, 32 * kib, 256 * kib, 16, 8},
      {newest, 8, 8 * mib, 256 * kib, 32, 8},
      {newest, 8, 32 * mib, 2 * mib, 16, 8},
      {newest, 8, 128 * mib, 8 * mib, 16, 8},
      {newest, 8, gib, 8 * mib, 16, 8},
      {newest, 64, 64 * mib, 256 * kib, 256, 8},
      {newest, 64, 256 * mib, mib, 128, 8},
      {newest, 512, gib, 256 * kib, 512, 8},
      {newest, 8, mib, 256 * kib, 1, 8, 256 * kib},
      {hopper, 8, 64 * mib, 3 * mib, 16, 4, 48 * mib},
      {newest, 8, mib, 128 * kib, 1, 8, 128 * kib},
      {newest, 8, 256 * mib, 2 * mib, 16, 8, 32 * mib},
  };
  for (const V1Row& row : rows) {
    RingSetting setting = setting_of(RingRules::v1, row.architecture, row.ranks);
    setting.overrides.max_bdp_bytes = static_cast<std::int64_t>(row.max_bdp);
    const RingParameters golden{
        .chunk = {row.chunk}, .chunks = row.chunks, .blocks = row.blocks, .threads = 512};
    EXPECT_EQ(print(ring_parameters(setting, {row.message})), print(golden))
        << format_bytes({row.message}) << " of " << row.ranks << " ranks";
  }
}

TEST(RingGoldens, V1Overrides) {
  const auto expect = [](const std::vector<std::string>& assignments, const std::string& golden) {
    SCOPED_TRACE(::testing::PrintToString(assignments));
    expect_goldens(setting_of(RingRules::v1, newest, 8, assignments), golden);
  };
  expect({}, "64M:8/4Mx16");
  expect({"TMPBUF_NUM_CHUNKS=8"}, "64M:8/4Mx8");
  expect({"TMPBUF_CHUNK_SIZE=2097152"}, "64M:8/2Mx16");
  const std::vector<std::string> both{"TMPBUF_CHUNK_SIZE=2097152", "TMPBUF_NUM_CHUNKS=8"};
  expect(both, "64M:8/2Mx8");
  expect({both[0], both[1], "AUTO_TUNE_MAX_BDP=1048576"}, "64M:8/2Mx8");
  expect({"TMPBUF_CHUNK_SIZE=4096"}, "64M:1/4Kx16");
  expect({"MAX_NUM_THREAD_BLOCKS=3"}, "64M:3/4Mx16");
  expect({"NUM_THREAD_BLOCKS=3"}, "64M:8/4Mx16");  // the text has no such variable
  expect({"THREAD_BLOCK_SIZE=256"}, "64M:8/256/4Mx16");
  expect({"AUTO_TUNE_MAX_BDP=33554432"}, "64M:8/2Mx16");
}

TEST(RingGoldens, V1LeavesSmallMessagesUntunedOnRequestAlone) {
  RingSetting setting = setting_of(RingRules::v1, hopper, 8);
  EXPECT_TRUE(ring_parameters(setting, {64 * kib}));
  setting.leaves_small_untuned = true;
  EXPECT_FALSE(ring_parameters(setting, {64 * kib}));
  EXPECT_FALSE(ring_parameters(setting, {0}));
  EXPECT_TRUE(ring_parameters(setting, {512 * kib}));  // just 64 KiB a rank
  EXPECT_FALSE(ring_parameters(setting, {384 * kib - 1}));
  setting.rules = RingRules::v3;
  EXPECT_THROW((void)ring_parameters(setting, {mib}), Error);
}

TEST(RingGoldens, OccupancyCapsBlocksAndThreads) {
  RingSetting setting = setting_of(RingRules::v3, hopper, 8);
  setting.max_blocks = 3;
  setting.max_threads = 256;
  EXPECT_EQ(print(ring_parameters(setting, {64 * mib})), "3/256/4MiBx8");
  setting.overrides.blocks = 5;  // forced exactly
  EXPECT_EQ(ring_parameters(setting, {64 * mib})->blocks, 5U);
}

TEST(RingGoldens, AnUnalignedChunkDoesNotOutgrowTheBuffers) {
  // Its source would take a number of chunks that holds the whole message: 1074 here.
  const RingSetting setting = setting_of(RingRules::v3, newest, 8, {"TMPBUF_CHUNK_SIZE=1000001"});
  EXPECT_EQ(print(ring_parameters(setting, {gib})), "8/512/1000000x33/q256KiB limited");
  // A number of chunks that the user set stays.
  const RingSetting both =
      setting_of(RingRules::v3, newest, 8, {"TMPBUF_CHUNK_SIZE=1000001", "TMPBUF_NUM_CHUNKS=4"});
  EXPECT_EQ(print(ring_parameters(both, {gib})), "8/512/1000000x4/q256KiB");
  // Neither by shards that do not divide the message.
  EXPECT_EQ(print(ring_parameters(setting_of(RingRules::v2, hopper, 6), {24 * mib})),
            "4/512/2796200x12 limited");
  // Nor by one override alone.
  EXPECT_EQ(print(ring_parameters(
                setting_of(RingRules::v3, newest, 8, {"TMPBUF_CHUNK_SIZE=67108864"}), {gib})),
            "8/512/32MiBx1/q512KiB limited");
  EXPECT_EQ(print(ring_parameters(setting_of(RingRules::v1, hopper, 8, {"TMPBUF_NUM_CHUNKS=100"}),
                                  {gib})),
            "4/512/2MiBx16 limited");
}

TEST(RingGoldens, WhatIsAllocated) {
  const auto size = [](RingRules rules, RingArchitecture architecture,
                       const std::vector<std::string>& assignments) {
    return format_bytes(ring_staging_size(rules, architecture, read_ring_overrides(assignments)));
  };
  const std::vector<std::string> none;
  const std::vector<std::string> both{"TMPBUF_CHUNK_SIZE=8388608", "TMPBUF_NUM_CHUNKS=32"};
  const std::vector<std::string> one{"TMPBUF_CHUNK_SIZE=1073741824"};
  const std::vector<std::string> bdp{"AUTO_TUNE_MAX_BDP=1048576"};
  const std::vector<std::string> staging{"STAGING_BUF_SIZE=65536"};
  EXPECT_EQ(size(RingRules::v1, newest, none), "128MiB");
  EXPECT_EQ(size(RingRules::v1, hopper, none), "32MiB");
  EXPECT_EQ(size(RingRules::v1, hopper, both), "256MiB");  // the larger of both
  EXPECT_EQ(size(RingRules::v1, hopper, {"TMPBUF_CHUNK_SIZE=4096", "TMPBUF_NUM_CHUNKS=1"}),
            "32MiB");
  EXPECT_EQ(size(RingRules::v1, hopper, bdp), "1MiB");
  EXPECT_EQ(size(RingRules::v2, newest, none), "128MiB");
  EXPECT_EQ(size(RingRules::v2, hopper, none), "128MiB");
  EXPECT_EQ(size(RingRules::v2, hopper, both), "256MiB");
  EXPECT_EQ(size(RingRules::v2, hopper, bdp), "1MiB");
  EXPECT_EQ(size(RingRules::v3, newest, none), "32MiB");
  EXPECT_EQ(size(RingRules::v3, newest, one), "32MiB");
  EXPECT_EQ(size(RingRules::v3, newest, both), "256MiB");
  EXPECT_EQ(size(RingRules::v3, newest, bdp), "32MiB");
  EXPECT_EQ(size(RingRules::v3, newest, staging), "64KiB");
  EXPECT_EQ(size(RingRules::v3, newest, {"STAGING_BUF_SIZE=1"}), "16");
  EXPECT_THROW(
      size(RingRules::v3, newest, {"TMPBUF_CHUNK_SIZE=9223372036854775807", "TMPBUF_NUM_CHUNKS=2"}),
      Error);
  EXPECT_EQ(ring_staging_buffers(RingRules::v3, {}), 4);
  EXPECT_EQ(ring_staging_buffers(RingRules::v3, {.both_ways_max_bytes = 0}), 2);
  EXPECT_EQ(ring_staging_buffers(RingRules::v2, {}), 2);
}

TEST(RingGoldens, TheLogHasPowersOfTwoAndTheirMidpoints) {
  const std::vector<Bytes> sizes = ring_log_sizes();
  ASSERT_EQ(sizes.size(), 51U);
  EXPECT_EQ(sizes[0], Bytes{kib});
  EXPECT_EQ(sizes[1], Bytes{kib + kib / 2});
  EXPECT_EQ(sizes.back(), Bytes{32 * gib});
  const RingSetting setting = setting_of(RingRules::v3, newest, 8);
  const std::vector<RingDecision> rows = ring_decisions(setting, sizes);
  ASSERT_EQ(rows.size(), sizes.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].message, sizes[i]);
    EXPECT_EQ(rows[i].parameters, ring_parameters(setting, sizes[i]));
  }
  EXPECT_EQ(rows[1].parameters, rows[2].parameters);  // a midpoint rounds up
}

TEST(RingGoldens, ImpossibleSettingsAreRefused) {
  const auto refusal = [](const auto& change) -> std::string {
    RingSetting setting;
    change(setting);
    try {
      (void)ring_parameters(setting, {mib});
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was refused";
  };
  EXPECT_THAT(refusal([](RingSetting& one) { one.ranks = 0; }), HasSubstr("0 ranks"));
  EXPECT_THAT(refusal([](RingSetting& one) { one.max_blocks = 0; }), HasSubstr("0 blocks"));
  EXPECT_THAT(refusal([](RingSetting& one) { one.max_threads = 0; }), HasSubstr("0 threads"));
  for (const std::uint64_t element : {0, 3, 12, 32})
    EXPECT_THAT(refusal([&](RingSetting& one) { one.element_bytes = element; }),
                HasSubstr("elements of " + std::to_string(element) + " bytes"));
  EXPECT_THAT(refusal([](RingSetting& one) { one.overrides.chunks = -1; }),
              HasSubstr("TMPBUF_NUM_CHUNKS: -1"));
  EXPECT_THROW((void)ring_parameters({}, {std::uint64_t{1} << 63}), Error);
  EXPECT_NO_THROW((void)ring_parameters({}, {(std::uint64_t{1} << 63) - 1}));
}

}  // namespace
}  // namespace colltune
