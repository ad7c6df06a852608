// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/nccl_tuner/snapshot_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>

#include "colltune/nccl_tuner/snapshot_layout.h"
#include "colltune/vocabulary/error.h"
#include "daemon/temporary_folder.h"

namespace colltune {
namespace {

using literals::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;

NcclRule plain_rule() {
  return {.function = nccl::Function::all_gather,
          .ranks = 8,
          .nodes = 2,
          .min_message = {1000},
          .max_message = {2000},
          .choice = {nccl::Algorithm::ring, nccl::Protocol::ll128, 8},
          .time_us = 17.5F};
}

std::string error_of(const std::function<void()>& act, StatusCode code) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  return {};
}
std::string refusal_of(const std::vector<NcclRule>& rules) {
  return error_of([&] { static_cast<void>(encode({.rules = rules})); },
                  StatusCode::invalid_argument);
}

TEST(NcclSnapshot, IsReadBackAsWritten) {
  NcclSnapshot snapshot{.generation = 42, .rules = {plain_rule(), plain_rule(), plain_rule()}};
  snapshot.rules[1].registered = true;
  snapshot.rules[0].registered = false;
  snapshot.rules[2].function = nccl::Function::all_reduce;
  snapshot.rules[2].pipe_operations = 3;
  snapshot.rules[2].max_message = {~std::uint64_t{0}};
  EXPECT_EQ(decode_nccl_snapshot(encode(snapshot)), snapshot);
  EXPECT_EQ(decode_nccl_snapshot(encode({})), NcclSnapshot{});
}

TEST(NcclSnapshot, OneContentHasOneFormAndOneDigest) {
  std::vector<NcclRule> rules(4, plain_rule());
  for (std::size_t rule = 0; rule < rules.size(); ++rule) {
    rules[rule].min_message = {10'000 - 1000 * rule};
    rules[rule].max_message = {10'999 - 1000 * rule};
  }
  const auto bytes = encode({.generation = 1, .rules = rules});
  std::ranges::reverse(rules);
  EXPECT_EQ(encode({.generation = 1, .rules = rules}), bytes);
  EXPECT_NE(encode({.generation = 2, .rules = rules}), bytes);
  EXPECT_NE(digest_text(encode({.generation = 2, .rules = rules})), digest_text(bytes));
}

// The form of version 1, which never changes: a snapshot of another machine is read here.
TEST(NcclSnapshot, TheFormOfVersionOneIsFixed) {
  const auto bytes = encode({.generation = 42, .rules = {plain_rule()}});
  ASSERT_EQ(bytes.size(), 96U);
  const auto at = [&](std::size_t place) { return std::to_integer<int>(bytes[place]); };
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), 8), "CTNCCLS\n");  // NOLINT
  EXPECT_EQ(at(8), 1);
  EXPECT_EQ(at(12), 56);
  EXPECT_EQ(at(16), 40);
  EXPECT_EQ(at(24), 1);
  EXPECT_EQ(at(32), 42);
  EXPECT_EQ(at(56) + 256 * at(57), 1000);
  EXPECT_EQ(at(64) + 256 * at(65), 2000);
  EXPECT_EQ(at(72), 8);
  EXPECT_EQ(at(76), 2);
  EXPECT_EQ(at(80), 0);
  EXPECT_EQ(at(88), 8);
  EXPECT_EQ(at(92), 2);
  EXPECT_EQ(at(93), 2);
  EXPECT_EQ(at(94), 1);
  EXPECT_EQ(at(95), 1);
  EXPECT_EQ(digest_text(bytes), "07ca7004377777161b6d81f60a7c872a");
}

TEST(NcclSnapshot, WhatNcclCannotBeAskedForIsRefused) {
  const auto refused = [](const std::function<void(NcclRule&)>& change) {
    NcclRule rule = plain_rule();
    change(rule);
    return refusal_of({rule});
  };
  EXPECT_THAT(refused([](NcclRule& rule) { rule.max_message = {999}; }),
              AllOf(HasSubstr("all_gather of 1000 to 999 bytes on 8 ranks, 2 nodes"),
                    HasSubstr("its range of bytes is empty")));
  EXPECT_THAT(refused([](NcclRule& rule) { rule.choice.channels = 65; }), HasSubstr("0 (NCCL"));
  EXPECT_THAT(refused([](NcclRule& rule) { rule.choice.channels = -1; }), HasSubstr("0 (NCCL"));
  EXPECT_THAT(
      refused([](NcclRule& rule) { rule.choice.algorithm = nccl::Algorithm::collnet_chain; }),
      HasSubstr("CollNet"));
  EXPECT_THAT(
      refused([](NcclRule& rule) { rule.choice.algorithm = static_cast<nccl::Algorithm>(7); }),
      HasSubstr("its algorithm is unknown"));
  EXPECT_THAT(
      refused([](NcclRule& rule) { rule.choice.protocol = static_cast<nccl::Protocol>(3); }),
      HasSubstr("its protocol is unknown"));
  EXPECT_THAT(refused([](NcclRule& rule) { rule.function = static_cast<nccl::Function>(5); }),
              AllOf(HasSubstr("collective 5"), HasSubstr("its collective is unknown")));
  EXPECT_THAT(refused([](NcclRule& rule) { rule.ranks = 1; }), HasSubstr("no world"));
  EXPECT_THAT(refused([](NcclRule& rule) { rule.nodes = 0; }), HasSubstr("no world"));
  EXPECT_THAT(refused([](NcclRule& rule) { rule.pipe_operations = -1; }), HasSubstr("negative"));
  EXPECT_THAT(refused([](NcclRule& rule) { rule.time_us = -1; }), HasSubstr("no time"));
  EXPECT_THAT(
      refused([](NcclRule& rule) { rule.time_us = std::numeric_limits<float>::infinity(); }),
      HasSubstr("no time"));
  EXPECT_EQ(refused([](NcclRule&) {}), "");
}

TEST(NcclSnapshot, TwoRulesForOneCallAreRefused) {
  const auto refused = [](const std::function<void(NcclRule&)>& change) {
    std::vector<NcclRule> rules(2, plain_rule());
    change(rules[1]);
    const std::string refusal = refusal_of(rules);
    EXPECT_EQ(refusal_of({rules[1], rules[0]}), refusal) << "whatever their order";
    return refusal;
  };
  constexpr const char* twice = "another rule is for calls of it too";
  EXPECT_THAT(refused([](NcclRule&) {}), HasSubstr(twice));
  EXPECT_THAT(refused([](NcclRule& rule) { rule.min_message = {1500}; }), HasSubstr(twice));
  EXPECT_THAT(refused([](NcclRule& rule) { rule.min_message = {0}; }), HasSubstr(twice));
  EXPECT_THAT(refused([](NcclRule& rule) { rule.registered = true; }), HasSubstr(twice));
  EXPECT_THAT(refused([](NcclRule& rule) { rule.pipe_operations = 2; }), HasSubstr(twice));
  EXPECT_EQ(refused([](NcclRule& rule) { rule.ranks = 16; }), "");
  EXPECT_EQ(refused([](NcclRule& rule) { rule.nodes = 1; }), "");
  EXPECT_EQ(refused([](NcclRule& rule) { rule.function = nccl::Function::reduce; }), "");
  EXPECT_EQ(refused([](NcclRule& rule) { rule.min_message = rule.max_message = {2001}; }), "");
  // What is for either kind of buffers meets both.
  std::vector<NcclRule> rules(3, plain_rule());
  rules[0].registered = true;
  rules[1].registered = false;
  rules[2].min_message = {2001};
  rules[2].max_message = {3000};
  EXPECT_EQ(refusal_of(rules), "");
  rules[2].min_message = {2000};
  EXPECT_THAT(refusal_of(rules), HasSubstr(twice));
  rules[2].min_message = {2001};
  rules[2].pipe_operations = 2;
  rules[1].pipe_operations = 1;
  EXPECT_EQ(refusal_of(rules), "");
}

TEST(NcclSnapshot, AFileReplacesTheOneBefore) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "nccl.snapshot";
  const std::string first = write_nccl_snapshot(path, {.generation = 1});
  const std::string second = write_nccl_snapshot(path, {.generation = 2, .rules = {plain_rule()}});
  EXPECT_NE(first, second);
  EXPECT_EQ(std::filesystem::file_size(path), 96U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1)
      << "nothing is left beside it";
  EXPECT_NE(std::filesystem::status(path).permissions() & std::filesystem::perms::others_read,
            std::filesystem::perms::none);
  EXPECT_THAT(
      error_of([&] { write_nccl_snapshot(folder / "no/such", {}); }, StatusCode::unavailable),
      HasSubstr("no/such"));
  EXPECT_THAT(error_of([] { static_cast<void>(decode_nccl_snapshot({})); }, StatusCode::data_loss),
              HasSubstr("it is empty"));
}

}  // namespace
}  // namespace colltune
