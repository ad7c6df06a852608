// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The tuner library as NCCL loads it, with a table file: what production does.

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <thread>

#include "tuner_fixture.h"

namespace colltune::test {
namespace {

using nccl::Algorithm;
using nccl::Choice;
using nccl::Function;
using nccl::Protocol;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;

NcclRule rule_of(Function function, std::uint64_t least, std::uint64_t most, Choice choice) {
  return {.function = function,
          .ranks = 8,
          .nodes = 1,
          .min_message = {least},
          .max_message = {most},
          .choice = choice,
          .time_us = 12.5F};
}

class DecisionsTest : public TunerTest {
 protected:
  /// What the tuner makes of a table in which everything costs 5, and of 0 channels.
  struct Answer {
    Costs costs = Costs::of(5);
    int channels = 0;
    [[nodiscard]] bool is_untouched() const { return costs == Costs::of(5) && channels == 0; }
    [[nodiscard]] bool is(const Choice& choice, float cost = 12.5F) const {
      return costs == only(choice, cost) && channels == choice.channels;
    }
  };
  static Answer ask(const TunedCommunicator& communicator, const Asked& call) {
    Answer answer;
    EXPECT_EQ(communicator.ask(call, answer.costs, answer.channels), nccl::result_success);
    return answer;
  }
  Answer ask(const Asked& call, std::size_t ranks = 8, std::size_t nodes = 1) const {
    return ask(TunedCommunicator(tuner, ranks, nodes, capture), call);
  }
};

TEST_F(DecisionsTest, EachCollectiveHasItsOwnRules) {
  std::vector<NcclRule> rules;
  for (const Function function : all_functions)
    rules.push_back(rule_of(function, 1024, 2047,
                            {Algorithm::ring, Protocol::simple, 1 + static_cast<int>(function)}));
  publish(rules);
  for (const int version : {4, 5, 6, 7}) {
    const LoadedTuner one(COLLTUNE_NCCL_TUNER, version);
    const TunedCommunicator communicator(one, 8, 1);
    for (const Function function : all_functions) {
      EXPECT_TRUE(ask(communicator, {function, 1024})
                      .is({Algorithm::ring, Protocol::simple, 1 + static_cast<int>(function)}));
      EXPECT_FALSE(ask(communicator, {function, 2047}).is_untouched());
      EXPECT_TRUE(ask(communicator, {function, 1023}).is_untouched());
      EXPECT_TRUE(ask(communicator, {function, 2048}).is_untouched());
      EXPECT_TRUE(ask(communicator, {function, 0}).is_untouched());
    }
    EXPECT_TRUE(ask(communicator, {static_cast<Function>(8), 1024}).is_untouched());
  }
}

TEST_F(DecisionsTest, SizesBeyondFourGibibytesAreNotCut) {
  const Choice small{Algorithm::tree, Protocol::ll, 2};
  const Choice large{Algorithm::nvls, Protocol::simple, 16};
  publish({rule_of(Function::all_reduce, gibibyte, 2 * gibibyte - 1, small),
           rule_of(Function::all_reduce, 5 * gibibyte, 6 * gibibyte, large),
           rule_of(Function::all_gather, 8 * gibibyte, ~std::uint64_t{0}, large)});
  EXPECT_TRUE(ask({Function::all_reduce, 5 * gibibyte}).is(large));
  EXPECT_TRUE(ask({Function::all_reduce, 6 * gibibyte}).is(large));
  EXPECT_TRUE(ask({Function::all_reduce, 6 * gibibyte + 1}).is_untouched());
  EXPECT_TRUE(ask({Function::all_reduce, gibibyte}).is(small)) << "which is 5 GiB in 32 bits";
  EXPECT_TRUE(ask({Function::all_gather, ~std::size_t{0}}).is(large));
  EXPECT_TRUE(ask({Function::all_gather, 0}).is_untouched());
}

TEST_F(DecisionsTest, RanksNodesAndBuffersMustMatch) {
  const Choice plain{Algorithm::ring, Protocol::ll, 1};
  const Choice registered{Algorithm::ring, Protocol::ll, 3};
  std::vector<NcclRule> rules(2, rule_of(Function::all_reduce, 0, 100, plain));
  rules[1].registered = true;
  rules[1].choice = registered;
  publish(rules);
  const auto call = [](int pipe_operations, int is_registered) {
    return Asked{Function::all_reduce, 50, pipe_operations, is_registered};
  };
  EXPECT_TRUE(ask(call(1, 0)).is(plain));
  EXPECT_TRUE(ask(call(4, 0)).is(plain));
  EXPECT_TRUE(ask(call(1, 1)).is(registered));
  EXPECT_TRUE(ask(call(9, 1)).is(registered));
  for (const auto& [ranks, nodes] : {std::pair(7, 1), std::pair(8, 2), std::pair(16, 1)})
    EXPECT_TRUE(ask(call(1, 0), ranks, nodes).is_untouched());
}

TEST_F(DecisionsTest, AnUnavailableEntryLeavesTheTableAndIsSeen) {
  publish({rule_of(Function::all_reduce, 0, 100, {Algorithm::nvls, Protocol::simple, 8})});
  const TunedCommunicator communicator(tuner, 8, 1);
  ASSERT_EQ(control.observe(newest().number, 1), 0);
  Costs costs = Costs::of(5);
  costs.at(Algorithm::nvls, Protocol::simple) = nccl::cost_ignored;
  const Costs before = costs;
  int channels = 0;
  communicator.ask({Function::all_reduce, 10}, costs, channels);
  EXPECT_EQ(costs, before);
  EXPECT_EQ(channels, 0);
  colltune_nccl_call seen{};
  ASSERT_EQ(control.last_call(newest().number, &seen), 0);
  EXPECT_EQ(seen.outcome, colltune_nccl_rule_unavailable);
  communicator.ask({Function::all_reduce, 101}, costs, channels);
  ASSERT_EQ(control.last_call(newest().number, &seen), 0);
  EXPECT_EQ(seen.outcome, colltune_nccl_left);
}

TEST_F(DecisionsTest, AForceStandsInThePlaceOfTheRules) {
  const Choice ruled{Algorithm::ring, Protocol::ll, 1};
  publish({rule_of(Function::all_reduce, 0, 100, ruled)});
  const TunedCommunicator communicator(tuner, 8, 1);
  const std::uint64_t number = newest().number;
  const Asked call{Function::all_reduce, 50};
  EXPECT_TRUE(ask(communicator, call).is(ruled));
  const Choice forced{Algorithm::tree, Protocol::ll128, 3};
  colltune_nccl_force force = force_of(forced, 2);
  ASSERT_EQ(control.force(number, &force), 0);
  EXPECT_TRUE(ask(communicator, call).is(forced, 2));
  force = {.id = 1, .functions = 31, .algorithm = -1, .protocol = -1};
  ASSERT_EQ(control.force(number, &force), 0);
  EXPECT_TRUE(ask(communicator, call).is_untouched()) << "NCCL's own choice, measured as such";
  ASSERT_EQ(control.force(number, nullptr), 0);
  EXPECT_TRUE(ask(communicator, call).is(ruled));
}

TEST_F(DecisionsTest, ACommunicatorKeepsTheTableThatItBeganWith) {
  const Choice first{Algorithm::ring, Protocol::ll, 1};
  const Choice second{Algorithm::tree, Protocol::ll, 2};
  publish({rule_of(Function::all_reduce, 0, 100, first)});
  const TunedCommunicator before(tuner, 8, 1);
  const auto digest_before = newest();
  publish({rule_of(Function::all_reduce, 0, 100, second)});
  const TunedCommunicator after(tuner, 8, 1);
  EXPECT_TRUE(ask(before, {Function::all_reduce, 1}).is(first));
  EXPECT_TRUE(ask(after, {Function::all_reduce, 1}).is(second));
  EXPECT_NE(0, std::memcmp(digest_before.table_digest, newest().table_digest, 16));
}

TEST_F(DecisionsTest, AFileThatIsWrittenWhileItIsReadIsWholeOrRefused) {
  const Choice choice{Algorithm::ring, Protocol::simple, 2};
  std::vector<NcclRule> rules;
  for (std::uint64_t bytes = 0; bytes < 2000; ++bytes)
    rules.push_back(rule_of(Function::all_reduce, bytes, bytes, choice));
  publish(rules);
  const auto whole = static_cast<off_t>(std::filesystem::file_size(file));
  std::atomic<bool> ends = false;
  std::jthread writer([&] {
    // What is cut off comes back as zeros, and then as it was.
    const std::string bytes = nccl_table(rules);
    while (!ends) {
      ASSERT_EQ(::truncate(file.c_str(), 0), 0);
      ASSERT_EQ(::truncate(file.c_str(), whole), 0);
      std::ofstream(file, std::ios::binary | std::ios::in)
          .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    }
  });
  for (int round = 0; round < 200; ++round) {
    const TunedCommunicator communicator(tuner, 8, 1);
    ASSERT_EQ(communicator.result(), nccl::result_success);
    const Answer answer = ask(communicator, {Function::all_reduce, 1999});
    ASSERT_TRUE(answer.is(choice) || answer.is_untouched());
  }
  ends = true;
}

TEST_F(DecisionsTest, AFileThatEveryUserMayWriteDrawsAWarning) {
  const std::string digest = publish({});
  const auto warnings = [&] {
    const TunedCommunicator communicator(tuner, 8, 1, capture);
    EXPECT_EQ(communicator.result(), nccl::result_success);
    std::vector<std::string> lines;
    for (const std::string& line : log_lines())
      if (line.starts_with("WARN ")) lines.push_back(line);
    return lines;
  };
  EXPECT_THAT(warnings(), IsEmpty());
  ASSERT_EQ(::chmod(file.c_str(), 0666), 0);
  setenv("COLLTUNE_TABLE_DIGEST", digest.c_str(), 1);
  EXPECT_THAT(warnings(), IsEmpty()) << "nobody can put another one there";
  unsetenv("COLLTUNE_TABLE_DIGEST");
  EXPECT_THAT(warnings(), ElementsAre(AllOf(HasSubstr(file.string()), HasSubstr("every user"),
                                            HasSubstr("chmod o-w"))));
}

TEST_F(DecisionsTest, TheTableInUseIsToldAndLogged) {
  const std::string digest = publish(
      {rule_of(Function::reduce, 0, 9, {}), rule_of(Function::reduce, 10, 19, {Algorithm::tree})});
  const TunedCommunicator communicator(tuner, 8, 1, capture);
  EXPECT_EQ(newest().table_state, colltune_nccl_table_in_use);
  EXPECT_EQ(newest().table_generation, 7U);
  EXPECT_EQ(newest().table_rules, 2U);
  EXPECT_THAT(log_lines(), ElementsAre(AllOf(HasSubstr("INFO"), HasSubstr(digest),
                                             HasSubstr(file.string()), HasSubstr("2 rules"))));
  const TunedCommunicator elsewhere(tuner, 4, 1, capture);
  EXPECT_EQ(newest().table_rules, 0U);
}

TEST_F(DecisionsTest, EveryChangedByteMakesATableUnusable) {
  const std::string whole =
      nccl_table({rule_of(Function::all_reduce, 0, 100, {}), rule_of(Function::reduce, 0, 9, {})});
  table_file::Header header{};
  std::memcpy(&header, whole.data(), sizeof header);
  // What follows is the evidence, of which no rule is made.
  const std::size_t size = whole.size() - header.evidence_bytes;
  for (std::size_t at = 0; at < size; ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    publish_bytes(damaged);
    EXPECT_TRUE(ask({Function::all_reduce, 50}).is_untouched()) << at;
  }
  const std::vector<std::string> lines = log_lines();
  EXPECT_EQ(lines.size(), size);
  EXPECT_THAT(lines, Each(AllOf(HasSubstr("WARN"), HasSubstr(file.string()),
                                HasSubstr("NCCL's own choices stay"))));
}

TEST_F(DecisionsTest, EveryTruncationMakesATableUnusable) {
  const std::string whole = nccl_table({rule_of(Function::all_reduce, 0, 100, {})});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    publish_bytes(std::string_view(whole).substr(0, size));
    EXPECT_TRUE(ask({Function::all_reduce, 50}).is_untouched()) << size;
  }
  publish_bytes(whole + '\0');
  EXPECT_TRUE(ask({Function::all_reduce, 50}).is_untouched());
  EXPECT_EQ(log_lines().size(), whole.size() + 1);
  publish_bytes(whole);
  EXPECT_FALSE(ask({Function::all_reduce, 50}).is_untouched());
}

TEST_F(DecisionsTest, AnotherVersionIsNotRead) {
  std::string bytes = nccl_table({rule_of(Function::all_reduce, 0, 100, {})});
  bytes[offsetof(table_file::Header, version)] = 4;
  publish_bytes(bytes);
  EXPECT_TRUE(ask({Function::all_reduce, 50}).is_untouched());
  EXPECT_THAT(log_lines(),
              ElementsAre(HasSubstr("it is of version 4, and versions 1 to 3 are read")));
}

TEST_F(DecisionsTest, WhatIsNoFileLeavesNcclAlone) {
  const auto refused = [&](const std::filesystem::path& path, const std::string& why) {
    setenv("COLLTUNE_TABLE", path.c_str(), 1);
    EXPECT_TRUE(ask({Function::all_reduce, 50}).is_untouched());
    EXPECT_THAT(log_lines().back(), HasSubstr(why)) << path;
  };
  refused(folder / "missing", "there is no such file");
  refused(folder.path(), "it is no regular file");
  const std::filesystem::path pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  refused(pipe, "it is no regular file");
  const std::filesystem::path empty = folder / "empty";
  std::ofstream(empty).close();
  refused(empty, "the file is empty");
  setenv("COLLTUNE_TABLE", "", 1);
  const std::size_t lines = log_lines().size();
  EXPECT_TRUE(ask({Function::all_reduce, 50}).is_untouched());
  EXPECT_EQ(log_lines().size(), lines) << "none is named";
}

TEST_F(DecisionsTest, ARankWithoutTheDemandedTableIsRefusedAtInit) {
  const std::vector<NcclRule> rules{rule_of(Function::all_reduce, 0, 100, {})};
  const std::string digest = publish(rules);
  setenv("COLLTUNE_TABLE_DIGEST", digest.c_str(), 1);
  EXPECT_EQ(TunedCommunicator(tuner, 8, 1, capture).result(), nccl::result_success);
  const auto refused = [&](const std::string& why) {
    const TunedCommunicator communicator(tuner, 8, 1, capture);
    EXPECT_EQ(communicator.result(), nccl::result_invalid_usage);
    EXPECT_EQ(communicator.context(), nullptr);
    EXPECT_EQ(control.list(nullptr, 0), 0U);
    EXPECT_THAT(log_lines().back(),
                AllOf(HasSubstr("WARN"), HasSubstr("communicator refused"), HasSubstr(why)));
  };
  std::vector<NcclRule> others = rules;
  others[0].choice.channels = 3;
  publish(others);
  refused(digest);
  publish_bytes({});
  refused("the file is empty");
  std::filesystem::remove(file);
  refused("there is no such file");
  unsetenv("COLLTUNE_TABLE");
  refused(digest);
  publish(rules);
  setenv("COLLTUNE_TABLE_DIGEST", "no digest", 1);
  refused("no digest");
}

/// The rules in the plainest words.
const NcclRule* find_plainly(const std::vector<NcclRule>& rules, const Asked& call) {
  for (const NcclRule& rule : rules)
    if (rule.function == call.function && rule.ranks == 8 && rule.nodes == 1 &&
        rule.min_message.value <= call.bytes && call.bytes <= rule.max_message.value &&
        rule.registered == (call.registered != 0))
      return &rule;
  return nullptr;
}

/// Whether some call is of both rules, in the plainest words.
bool share_a_call(const NcclRule& one, const NcclRule& other) {
  return one.function == other.function && one.ranks == other.ranks && one.nodes == other.nodes &&
         one.min_message.value <= other.max_message.value &&
         other.min_message.value <= one.max_message.value && one.registered == other.registered;
}

TEST_F(DecisionsTest, RandomRulesAreFoundAsAPlainSearchFindsThem) {
  std::mt19937_64 random(20);
  const auto below = [&](int end) { return static_cast<int>(random() % end); };
  std::size_t found = 0;
  for (int round = 0; round < 40; ++round) {
    std::vector<NcclRule> rules;
    for (int attempt = 0; attempt < 60; ++attempt) {
      const std::uint64_t least = random() % 1000;
      NcclRule rule = rule_of(static_cast<Function>(below(2)), least, least + random() % 40,
                              {static_cast<Algorithm>(4 + below(3)), Protocol::simple, below(65)});
      if (below(4) == 0) rule.ranks = 4;
      rule.registered = below(2) == 0;
      if (std::ranges::none_of(rules, [&](const NcclRule& one) { return share_a_call(one, rule); }))
        rules.push_back(rule);
    }
    publish(rules);
    const TunedCommunicator communicator(tuner, 8, 1);
    for (int call = 0; call < 500; ++call) {
      const Asked asked{static_cast<Function>(below(3)), random() % 1100, 1 + below(4), below(2)};
      const NcclRule* const rule = find_plainly(rules, asked);
      found += rule == nullptr ? 0 : 1;
      const Answer answer = ask(communicator, asked);
      ASSERT_TRUE(rule == nullptr ? answer.is_untouched() : answer.is(rule->choice));
    }
  }
  EXPECT_GT(found, 1000U);
}

}  // namespace
}  // namespace colltune::test
