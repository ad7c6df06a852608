// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Groups that open table files; no daemon runs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <cstring>
#include <fstream>
#include <thread>

#include "colltune/client/local_table.h"
#include "colltune/guess/environment_guess.h"
#include "colltune/table/decision_table.h"
#include "colltune/table_file/table_content.h"
#include "colltune/table_file/table_file.h"
#include "literal_decisions.h"
#include "process.h"
#include "tables_in_c.h"

namespace colltune::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

DecisionSet decisions(std::uint64_t generation) {
  return {.generation = {"store", generation, "content"},
          .decisions = {decision(test_key(1024), {ranked("cpu.one_shot{n=2}", 1000, 2.0),
                                                  ranked("mpi.default", 2000, 1.0)}),
                        decision(test_key(4096), {ranked("mpi.default", 9000, 1.0)})},
          .environments = {{digest_of(test_environment()), test_environment()}}};
}

std::string encoded(std::uint64_t generation) {
  const DecisionTable table(decisions(generation));
  return encode_table({.set = table.set(),
                       .environment_digest = digest_of(test_environment()),
                       .groups = table.answer_groups()});
}

LookupQuery question(std::uint64_t bytes) {
  return {.problem = test_key(bytes).problem, .nodes = 1, .ranks_per_node = 2};
}

/// Runs `body` on each rank, a thread; what it threw, empty where it did not.
std::vector<std::string> run_group(int size, const std::function<void(const GroupCalls&)>& body) {
  std::barrier meeting(size);
  std::vector<std::vector<char>> said(static_cast<std::size_t>(size));
  std::vector<std::string> errors(said.size());
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < size; ++rank)
      threads.emplace_back([&, rank] {
        const auto say = [&](const void* data, std::size_t bytes) {
          const auto* const begin = static_cast<const char*>(data);
          said[static_cast<std::size_t>(rank)].assign(begin, begin + bytes);
          meeting.arrive_and_wait();
        };
        const GroupCalls group{.rank = rank,
                               .size = size,
                               .broadcast =
                                   [&](void* data, std::size_t bytes) {
                                     say(data, bytes);
                                     std::memcpy(data, said[0].data(), bytes);
                                     meeting.arrive_and_wait();
                                   },
                               .all_gather =
                                   [&](const void* own, void* all, std::size_t bytes) {
                                     say(own, bytes);
                                     for (std::size_t i = 0; i < said.size(); ++i)
                                       std::memcpy(static_cast<char*>(all) + i * bytes,
                                                   said[i].data(), bytes);
                                     meeting.arrive_and_wait();
                                   }};
        try {
          body(group);
        } catch (const Error& error) {
          errors[static_cast<std::size_t>(rank)] = error.what();
        }
      });
  }
  return errors;
}

class FileGroups : public ::testing::Test {
 protected:
  FileGroups() {
    std::ofstream(path, std::ios::binary) << encoded(7);
    std::ofstream(stale, std::ios::binary) << encoded(6);
  }

  /// Opens the file of each rank.
  std::vector<std::string> open(const std::vector<std::string>& paths) {
    return run_group(static_cast<int>(paths.size()), [&](const GroupCalls& group) {
      const LocalTable table = LocalTable::open(paths[static_cast<std::size_t>(group.rank)], group);
      EXPECT_EQ(table.generation().number, 7U);
    });
  }

  TemporaryFolder folder;
  std::string path = folder.file("cluster.ctt");
  std::string stale = folder.file("stale.ctt");
  std::string none = folder.file("none.ctt");
};

TEST_F(FileGroups, OpenOneTable) {
  EXPECT_THAT(open({path, path, path, path}), ::testing::Each(std::string()));
  EXPECT_THAT(open({path}), ::testing::Each(std::string()));
}

TEST_F(FileGroups, AStaleOrMissingFileIsTheSameErrorOnAllRanks) {
  const auto stale_and_none = open({path, stale, path, none});
  EXPECT_THAT(stale_and_none[0], StartsWith("ranks 1, 3 of 4 did not open the table of rank 0"));
  EXPECT_THAT(stale_and_none[0], HasSubstr("rank 1: " + stale + " is generation 6"));
  EXPECT_THAT(stale_and_none, ::testing::Each(stale_and_none[0]));
  const auto first = open({none, path, path});
  EXPECT_THAT(first[0], StartsWith("rank 0 of 3 opened no table: " + none));
  EXPECT_THAT(first, ::testing::Each(first[0]));
}

// An `open` that ignores what rank 0 has.
TEST_F(FileGroups, AnotherTableIsAnErrorWhereItIsOpenedAllTheSame) {
  const auto errors = run_group(3, [&](const GroupCalls& group) {
    (void)open_in_group(group, [&](const std::optional<TableIdentity>&) {
      return LocalTable::open(group.rank == 2 ? stale : path);
    });
  });
  EXPECT_THAT(errors[1], StartsWith("rank 2 of 3 did not open"));
  EXPECT_THAT(errors[1], HasSubstr("rank 2: its table has digest "));
  EXPECT_THAT(errors, ::testing::Each(errors[1]));
}

// C's callbacks, with the C++ group as their context; a rank without a path gives NULL.
TEST_F(FileGroups, OpenOneTableInC) {
  const auto open_in_c = [&](const std::vector<std::string>& paths, bool all_gather_fails) {
    struct Context {
      const GroupCalls* group;
      bool all_gather_fails;
    };
    return run_group(static_cast<int>(paths.size()), [&](const GroupCalls& group) {
      Context context{&group, all_gather_fails};
      const std::string& own = paths[static_cast<std::size_t>(group.rank)];
      char text[1024] = "";
      const int status = open_in_group_in_c(
          own.empty() ? nullptr : own.c_str(), group.rank, group.size, &context,
          [](void* given, void* data, std::size_t bytes) {
            static_cast<const Context*>(given)->group->broadcast(data, bytes);
            return 0;
          },
          [](void* given, const void* said, void* all, std::size_t bytes) {
            const auto& of_rank = *static_cast<const Context*>(given);
            of_rank.group->all_gather(said, all, bytes);
            return of_rank.all_gather_fails ? 7 : 0;
          },
          text, sizeof text);
      throw Error(StatusCode::internal, std::to_string(status) + " " + text);
    });
  };
  const std::string opened = "0 " + LocalTable::open(path).digest();
  EXPECT_THAT(open_in_c({path, path, path}, false), ::testing::Each(opened));
  const auto without_path = open_in_c({path, "", path}, false);
  EXPECT_THAT(without_path[2], StartsWith("3 rank 1 of 3 did not open the table of rank 0"));
  EXPECT_THAT(without_path, ::testing::Each(without_path[0]));
  EXPECT_THAT(open_in_c({path, path}, true),
              ::testing::Each(std::string("10 the group's all_gather returned 7")));
}

TEST_F(FileGroups, NeedTheirFunctions) {
  EXPECT_THROW((void)LocalTable::open(path, GroupCalls{}), Error);
  EXPECT_THROW((void)LocalTable::open(
                   path, GroupCalls{.rank = 1,
                                    .size = 1,
                                    .broadcast = [](void*, std::size_t) {},
                                    .all_gather = [](const void*, void*, std::size_t) {}}),
               Error);
}

TEST_F(FileGroups, ADigestIsOfContentGenerationAndEnvironment) {
  const LocalTable file = LocalTable::open(path);
  EXPECT_EQ(file.digest(), TableFile(std::filesystem::path(path)).digest());
  EXPECT_EQ(LocalTable::of(decisions(7)).identity(), file.identity());
  EXPECT_NE(LocalTable::of(decisions(8)).digest(), file.digest());
  DecisionSet elsewhere = decisions(7);
  for (Decision& one : elsewhere.decisions) one.key.environment_digest = "another";
  EXPECT_NE(LocalTable::of(elsewhere).digest(), file.digest());
  elsewhere.decisions.push_back(decisions(7).decisions[0]);
  EXPECT_THROW((void)LocalTable::of(elsewhere), Error);  // of two environments
  EXPECT_THROW((void)LocalTable::of({}), Error);
}

TEST_F(FileGroups, ShortAnswersAreThoseOfTheWholeLookup) {
  for (const LocalTable& table : {LocalTable::open(path), LocalTable::of(decisions(7))}) {
    const LocalTable::Group group = table.resolve(question(1));
    for (const std::uint64_t bytes : {0U, 4U, 1000U, 1024U, 2000U, 4096U, 1U << 20U}) {
      const LookupAnswer whole = table.find(question(bytes));
      const auto found = table.find(group, Bytes{bytes});
      ASSERT_TRUE(found) << bytes;
      const RankedVariant& winner = whole.decision.ranked.front();
      EXPECT_EQ(table.variant(found->variant), to_string(winner.variant));
      EXPECT_EQ(found->time, winner.median);
      EXPECT_EQ(found->source, whole.source);
      EXPECT_EQ(found->is_baseline, winner.is_baseline);
    }
    EXPECT_FALSE(table.find(group + 1000, Bytes{8}));
    EXPECT_EQ(table.variant(TableFound::no_variant), "");
    LookupQuery absent = question(8);
    absent.problem.in_place = true;
    EXPECT_THROW((void)table.resolve(absent), Error);
    absent = question(8);
    absent.environment_digest = "another";
    EXPECT_THROW((void)table.resolve(absent), Error);
  }
}

TEST_F(FileGroups, CAsksTablesInAllWays) {
  EXPECT_STREQ(ask_tables_in_c(path.c_str(), LocalTable::open(path).digest().c_str()), "");
}

// A question that names no environment; `here` is what can be told of the asking machine.
TEST(EnvironmentGuess, TakesTheMostLikeThenTheLast) {
  DecisionSet set;
  const Environment here{.kernel = "6.1", .cpu_model = "Test CPU"};
  EXPECT_FALSE(guess_environment(set, here));
  set.environments = {{"other kernel", {.kernel = "5.10", .cpu_model = "Test CPU"}},
                      {"alike", {.kernel = "6.1 huge_pages=madvise", .cpu_model = "Test CPU"}},
                      {"other machine", {.kernel = "6.1", .cpu_model = "Another"}}};
  const auto alike = guess_environment(set, here);
  ASSERT_TRUE(alike);
  EXPECT_EQ(alike->digest, "alike");
  EXPECT_THAT(alike->why, HasSubstr("of 3 was chosen, the most like this machine; no fact"));
  set.environments.erase(set.environments.begin() + 1);
  const auto last = guess_environment(set, here);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->digest, "other machine");
  EXPECT_THAT(last->why, HasSubstr("the last of those"));
  EXPECT_THAT(last->why, HasSubstr("cpu_model is 'Another', here 'Test CPU'"));
  EXPECT_FALSE(this_machine().kernel.empty());
}

TEST_F(FileGroups, EightThreadsGetTheSame) {
  const LocalTable table = LocalTable::open(path);
  const LocalTable::Group group = table.resolve(question(1));
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        for (std::uint64_t bytes = 0; bytes < 20000; ++bytes) {
          const auto found = table.find(group, Bytes{bytes});
          if (!found || (bytes == 1024 && found->time.count() != 1000)) ++wrong;
        }
      });
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace colltune::testing
