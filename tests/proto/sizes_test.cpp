// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "colltune/vocabulary/problem.h"
#include "colltune/vocabulary/topology.h"

namespace colltune::test {
namespace {

TEST(ParseBytes, ReadsTheDocumentedForms) {
  EXPECT_EQ(parse_bytes("0").value, 0U);
  EXPECT_EQ(parse_bytes("512").value, 512U);
  EXPECT_EQ(parse_bytes("512B").value, 512U);
  EXPECT_EQ(parse_bytes("64KiB").value, 65536U);
  EXPECT_EQ(parse_bytes("64K").value, 65536U);
  EXPECT_EQ(parse_bytes("1M").value, 1048576U);
  EXPECT_EQ(parse_bytes("3GiB").value, 3221225472U);
  EXPECT_EQ(parse_bytes("2T").value, 2199023255552U);
  EXPECT_EQ(parse_bytes("9223372036854775807").value, 9223372036854775807U);
  EXPECT_EQ(parse_bytes("8388607T").value, 9223370937343148032U);
}

TEST(ParseBytes, RefusesAllElse) {
  for (const char* bad : {"",         " ",
                          "K",        "KiB",
                          "-1",       "+1",
                          " 1",       "1 ",
                          "1 KiB",    "1.5M",
                          "1MB",      "1kB",
                          "1k",       "1Ki",
                          "1KiBs",    "1BB",
                          "1P",       "0x10",
                          "1e3",      "9223372036854775808",
                          "8388608T", "99999999999999999999",
                          "64KiB..1M"}) {
    try {
      (void)parse_bytes(bad);
      ADD_FAILURE() << "'" << bad << "' was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::invalid_argument);
      EXPECT_NE(std::string(error.what()).find("'" + std::string(bad) + "'"), std::string::npos);
      EXPECT_NE(std::string(error.what()).find("64KiB"), std::string::npos) << error.what();
    }
  }
}

TEST(BytesArithmetic, IsExactUpToTheLastNumberAndRefusesToWrapAround) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  static_assert((Bytes{5} + Bytes{7}).value == 12 && (Bytes{5} * 7).value == 35);
  EXPECT_EQ((Bytes{most - 1} + Bytes{1}).value, most);
  EXPECT_EQ((Bytes{most / 3} * 3).value, most);
  EXPECT_EQ((Bytes{most} * 0).value, 0U);

  const auto message_of = [](auto compute) -> std::string {
    try {
      (void)compute();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::out_of_range);
      return error.what();
    }
    return "nothing was thrown";
  };
  EXPECT_EQ(message_of([] { return Bytes{most} + Bytes{1}; }),
            "18446744073709551615 + 1 bytes is more than 64 bits can count");
  EXPECT_EQ(message_of([] { return Bytes{std::uint64_t{1} << 63} * 2; }),
            "9223372036854775808 * 2 bytes is more than 64 bits can count");
}

TEST(FormatBytes, IsTheShortestExactFormAndReadsBack) {
  EXPECT_EQ(format_bytes({0}), "0");
  EXPECT_EQ(format_bytes({1000}), "1000");
  EXPECT_EQ(format_bytes({1024}), "1KiB");
  EXPECT_EQ(format_bytes({1536}), "1536");
  EXPECT_EQ(format_bytes({65536}), "64KiB");
  EXPECT_EQ(format_bytes({1048576}), "1MiB");
  EXPECT_EQ(format_bytes({std::uint64_t{5} << 30}), "5GiB");
  EXPECT_EQ(format_bytes({std::uint64_t{5} << 50}), "5120TiB");
  for (std::uint64_t value = 1; value < std::uint64_t{1} << 62; value = value * 3 + 1)
    EXPECT_EQ(parse_bytes(format_bytes({value})).value, value);
}

/// f32, 1000 bytes asked for, 3 ranks, by hand. Split: 250 elements, 83 per rank.
struct Sizes {
  Collective collective;
  std::size_t block;
  std::uint64_t send, send_elsewhere, receive, receive_elsewhere;  ///< of the root, of the others
  std::uint64_t rounded;
};
constexpr std::array<Sizes, 8> sizes_of_1000{{
    {Collective::all_reduce, 250, 1000, 1000, 1000, 1000, 1000},
    {Collective::all_gather, 83, 332, 332, 996, 996, 996},
    {Collective::reduce_scatter, 83, 996, 996, 332, 332, 996},
    {Collective::broadcast, 250, 1000, 0, 1000, 1000, 1000},
    {Collective::reduce, 250, 1000, 1000, 1000, 0, 1000},
    {Collective::all_to_all, 83, 996, 996, 996, 996, 996},
    {Collective::gather, 83, 332, 332, 996, 0, 996},
    {Collective::scatter, 83, 996, 0, 332, 332, 996},
}};

TEST(MessageSize, OfEachCollective) {
  ASSERT_EQ(sizes_of_1000.size(), enum_names(Collective{}).size());
  for (const Sizes& expected : sizes_of_1000) {
    SCOPED_TRACE(name_of(expected.collective));
    const Problem problem{.collective = expected.collective, .message_size = {1000}};
    EXPECT_EQ(block_elements(problem, 3), expected.block);
    EXPECT_EQ(send_size(problem, 3, true).value, expected.send);
    EXPECT_EQ(send_size(problem, 3, false).value, expected.send_elsewhere);
    EXPECT_EQ(receive_size(problem, 3, true).value, expected.receive);
    EXPECT_EQ(receive_size(problem, 3, false).value, expected.receive_elsewhere);
    const Bytes rounded = round_message_size(expected.collective, DataType::f32, {1000}, 3);
    EXPECT_EQ(rounded.value, expected.rounded);
    // The message size is the larger of the two buffers, the root's where there is one.
    const Problem exact{.collective = expected.collective, .message_size = rounded};
    EXPECT_EQ(std::max(send_size(exact, 3), receive_size(exact, 3)), rounded);
  }
}

TEST(MessageSize, RoundsToNothingBelowOneElementPerRank) {
  EXPECT_EQ(round_message_size(Collective::all_gather, DataType::f64, {63}, 8).value, 0U);
  EXPECT_EQ(round_message_size(Collective::all_gather, DataType::f64, {64}, 8).value, 64U);
  EXPECT_EQ(round_message_size(Collective::all_reduce, DataType::f64, {63}, 8).value, 56U);
  EXPECT_EQ(round_message_size(Collective::broadcast, DataType::i8, {7}, 8).value, 7U);
  const Problem problem{.collective = Collective::all_to_all, .message_size = {3}};
  EXPECT_EQ(block_elements(problem, 2), 0U);
  EXPECT_EQ(send_size(problem, 2).value, 0U);
}

TEST(BusBandwidth, FactorsAreThoseOfNcclTests) {
  // nccl-tests doc/PERFORMANCE.md, for 2, 4 and 8 ranks.
  struct Factors {
    Collective collective;
    double two, four, eight;
  };
  for (const auto& [collective, two, four, eight] :
       {Factors{Collective::all_reduce, 1.0, 1.5, 1.75},
        Factors{Collective::all_gather, 0.5, 0.75, 0.875},
        Factors{Collective::reduce_scatter, 0.5, 0.75, 0.875},
        Factors{Collective::all_to_all, 0.5, 0.75, 0.875},
        Factors{Collective::gather, 0.5, 0.75, 0.875},
        Factors{Collective::scatter, 0.5, 0.75, 0.875}, Factors{Collective::broadcast, 1, 1, 1},
        Factors{Collective::reduce, 1, 1, 1}}) {
    SCOPED_TRACE(name_of(collective));
    EXPECT_DOUBLE_EQ(bus_bandwidth_factor(collective, 2), two);
    EXPECT_DOUBLE_EQ(bus_bandwidth_factor(collective, 4), four);
    EXPECT_DOUBLE_EQ(bus_bandwidth_factor(collective, 8), eight);
  }
}

TEST(DataTypes, HaveTheirSizesAndKinds) {
  const std::string ones = "i8 u8 f8e4m3 f8e5m2", twos = "f16 bf16", fours = "i32 u32 f32";
  for (const auto& [type, name] : enum_names(DataType{})) {
    const std::size_t expected = ones.find(name) != std::string::npos    ? 1
                                 : twos.find(name) != std::string::npos  ? 2
                                 : fours.find(name) != std::string::npos ? 4
                                                                         : 8;
    EXPECT_EQ(size_of(type), expected) << name;
    EXPECT_EQ(is_floating(type), name.find('f') != std::string_view::npos) << name;
  }
}

TEST(Check, WantsAReduceOpExactlyWhereTheCollectiveReduces) {
  for (const auto& [collective, name] : enum_names(Collective{})) {
    const bool reduces = shape_of(collective).reduces;
    EXPECT_EQ(reduces, name.find("reduce") != std::string_view::npos) << name;
    for (const auto& [op, op_name] : enum_names(ReduceOp{})) {
      const Problem problem{.collective = collective, .reduce_op = op};
      if (reduces == (op != ReduceOp::none))
        EXPECT_NO_THROW(check(problem)) << name << ' ' << op_name;
      else
        EXPECT_THROW(check(problem), Error) << name << ' ' << op_name;
    }
  }
}

TEST(Describe, SaysWhatDiffersFromTheDefaults) {
  EXPECT_EQ(describe(Problem{.message_size = {1 << 20}}), "all_reduce f32 sum 1MiB");
  EXPECT_EQ(describe(Problem{.collective = Collective::gather,
                             .data_type = DataType::i8,
                             .reduce_op = ReduceOp::none,
                             .message_size = {10},
                             .in_place = true,
                             .registered = true,
                             .graph_capture = true,
                             .numeric_class = NumericClass::same_bits}),
            "gather i8 10 in-place registered graph same_bits");
  Topology topology{.nodes = 2,
                    .ranks_per_node = 4,
                    .ranks = 8,
                    .architectures = {{"sm_90", 8}},
                    .layout_digest = "uniform"};
  EXPECT_EQ(describe(topology), "2x4 sm_90");
  topology.architectures = {{"sm_80", 4}, {"sm_90", 4}};
  topology.layout_digest = "0123456789abcdef";
  topology.placement = Placement::oversubscribed;
  EXPECT_EQ(architecture_name(topology), "sm_80:4+sm_90:4");
  EXPECT_EQ(describe(topology), "2x4 sm_80:4+sm_90:4 layout 01234567 oversubscribed");
}

}  // namespace
}  // namespace colltune::test
