// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/collectives/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>

#include "colltune/collectives/report.h"
#include "colltune/kernels/catalogue.h"
#include "colltune/kernels/communication/thread_communicator.h"

namespace colltune {
namespace {

using ::testing::HasSubstr;

Choices choices_of(Collective collective, DataType type, ReduceOp op,
                   std::vector<std::pair<std::string, std::uint64_t>> variants) {
  Choices choices;
  Choices::Row row{
      .collective = collective, .data_type = type, .reduce_op = op, .smallest = {1}, .largest = {}};
  for (const auto& [text, largest] : variants) {
    choices.entries.push_back({.variant = parse_variant(text),
                               .capacity = {first_in_bucket(bucket_of(largest) + 1) - 1}});
    while (row.choices.size() <= bucket_of(largest)) {
      row.choices.push_back(static_cast<std::uint16_t>(choices.entries.size()));
      row.savings.push_back(std::chrono::nanoseconds(10));
    }
    row.largest = {largest};
  }
  choices.rows.push_back(std::move(row));
  return choices;
}

/// Each rank's thread with an executor of its own. Returns what the ranks threw, by rank.
std::vector<std::string> on_ranks(int ranks, const Choices& choices,
                                  const std::function<void(Executor&)>& body,
                                  std::chrono::nanoseconds preparing = {}) {
  static const Implementations catalogue = make_host_catalogue();
  std::vector<std::string> errors(static_cast<std::size_t>(ranks));
  AbortFlag abort;
  auto world = make_thread_world(ranks, abort);
  std::vector<std::jthread> threads;
  for (std::size_t rank = 0; rank < world.size(); ++rank)
    threads.emplace_back([&, rank] {
      try {
        Executor executor(std::move(world[rank]), catalogue, choices, nullptr, preparing);
        body(executor);
      } catch (const Error& error) {
        errors[rank] = error.what();
        abort.raise();
      }
    });
  threads.clear();
  return errors;
}

constexpr const char* low_latency =
    "cpu.all_reduce_low_latency{format=line,slots=4,stores=cached,taken_back=cleared}";
constexpr const char* one_shot =
    "cpu.all_reduce_one_shot{access=staged,chunk=16384,slots=4,stores=cached}";

bool sum(Executor& executor, std::size_t count, float own, float expected, bool in_place = false) {
  const ProgramCall call{.collective = Collective::all_reduce,
                         .data_type = DataType::f32,
                         .reduce_op = ReduceOp::sum,
                         .message_size = {count * sizeof(float)}};
  const std::uint16_t choice = executor.begin(call);
  if (choice == Choices::library) {
    executor.finish();
    return false;
  }
  std::vector<float> send(count, own);
  std::vector<float> receive(count);
  std::vector<float>& from = in_place ? receive : send;
  if (in_place) receive = send;
  if (!executor.run(choice, call, in_place,
                    {.send = std::as_bytes(std::span(from)),
                     .receive = std::as_writable_bytes(std::span(receive))}))
    return false;
  executor.finish();
  for (const float got : receive) EXPECT_EQ(got, expected);
  return true;
}

TEST(Executor, RunsEachSizeByItsVariant) {
  const Choices choices = choices_of(Collective::all_reduce, DataType::f32, ReduceOp::sum,
                                     {{low_latency, 256}, {one_shot, 65536}});
  for (const int ranks : {2, 3})
    EXPECT_THAT(on_ranks(ranks, choices,
                         [&](Executor& executor) {
                           const auto own = static_cast<float>(executor.rank() + 1);
                           const auto all = static_cast<float>(ranks * (ranks + 1) / 2);
                           for (const std::size_t count : {1, 64, 128, 16384, 3, 5000})
                             for (const bool in_place : {false, true})
                               EXPECT_TRUE(sum(executor, count, own, all, in_place)) << count;
                           EXPECT_FALSE(sum(executor, 16385, own, all))
                               << "beyond what was measured";
                           EXPECT_EQ(executor.tallies()[0].made.calls, 6U);
                           EXPECT_EQ(executor.tallies()[1].made.calls, 6U);
                           EXPECT_EQ(executor.tallies()[0].saved.count(), 60);
                           EXPECT_EQ(executor.left()[0].calls, 1U);
                         }),
                ::testing::Each(""));
}

TEST(Executor, TakesAnyRoot) {
  const Choices choices = choices_of(
      Collective::broadcast, DataType::u8, ReduceOp::none,
      {{"cpu.broadcast_flat{access=staged,chunk=16384,flow=pull,slots=4,stores=cached}", 4096}});
  EXPECT_THAT(on_ranks(3, choices,
                       [](Executor& executor) {
                         for (int i = 0; i < 60; ++i) {
                           const int root = i * 7 % 3;
                           const bool is_root = executor.rank() == root;
                           std::vector<std::byte> buffer(static_cast<std::size_t>(1 + i * 60),
                                                         std::byte(is_root ? i : 255));
                           const ProgramCall call{.collective = Collective::broadcast,
                                                  .root = root,
                                                  .message_size = {buffer.size()}};
                           const CallBuffers buffers{
                               .send = is_root ? std::span<const std::byte>(buffer)
                                               : std::span<const std::byte>(),
                               .receive = buffer};
                           ASSERT_TRUE(executor.run(executor.begin(call), call, true, buffers));
                           EXPECT_EQ(buffer.back(), std::byte(i));
                         }
                       }),
              ::testing::Each(""));
}

TEST(Executor, LeavesToTheLibraryWhatItCannotPrepare) {
  Choices choices =
      choices_of(Collective::all_reduce, DataType::f32, ReduceOp::sum,
                 {{"cpu.all_reduce_one_shot{access=staged,chunk=0,slots=64,stores=cached}", 64}});
  choices.entries[0].capacity = {std::uint64_t{1} << 40U};  // more memory than any machine has
  EXPECT_THAT(on_ranks(2, choices,
                       [](Executor& executor) {
                         EXPECT_FALSE(sum(executor, 4, 1, 2));
                         EXPECT_FALSE(sum(executor, 4, 1, 2)) << "and does not try again";
                         EXPECT_EQ(executor.failures().size(), 1U);
                         EXPECT_EQ(executor.left()[0].calls, 2U);
                         EXPECT_EQ(executor.tallies()[0].made.calls, 0U);
                       }),
              ::testing::Each(""));
}

TEST(Executor, PreparesWhatPaysForThat) {
  // Each call would save 10 ns.
  const Choices choices = choices_of(Collective::all_reduce, DataType::f32, ReduceOp::sum,
                                     {{low_latency, 256}, {one_shot, 65536}});
  std::array<std::string, 3> texts;
  EXPECT_THAT(on_ranks(
                  3, choices,
                  [&](Executor& executor) {
                    for (int call = 1; call <= 8; ++call)
                      EXPECT_EQ(sum(executor, 4, 1, 3), call >= 5) << call;
                    EXPECT_EQ(executor.tallies()[0].waited, 4U);
                    EXPECT_EQ(executor.tallies()[0].missed.count(), 40);
                    EXPECT_EQ(executor.tallies()[0].made.calls, 4U);
                    EXPECT_EQ(executor.left()[0].calls, 4U);
                    // By now it is known what preparing takes: more than ten or a hundred such
                    // calls save.
                    for (int call = 1; call <= 10; ++call) EXPECT_FALSE(sum(executor, 1024, 1, 3));
                    EXPECT_TRUE(sum(executor, 4, 1, 3)) << "what is prepared runs";
                    Report report;
                    report.add(executor);
                    texts[static_cast<std::size_t>(executor.rank())] = report.text();
                  },
                  std::chrono::nanoseconds(45)),
              ::testing::Each(""));
  EXPECT_THAT(texts, ::testing::Each(HasSubstr(
                         "4 of these while it did not pay to prepare what saves 0.000 ms in them: "
                         "cpu.all_reduce_low_latency")));
  EXPECT_THAT(texts, ::testing::Each(HasSubstr("10 of these while it did not pay")));
}

TEST(AgreedTime, IsThatOfTheRankWhichWaitedForNobody) {
  EXPECT_THAT(
      on_ranks(
          3, {},
          [](Executor& executor) {
            const auto agree = [&](int own) {
              return agreed_time(executor.communicator(), std::chrono::nanoseconds(own)).count();
            };
            EXPECT_EQ(agree(500 + 100 * executor.rank()), 500);
            EXPECT_EQ(agree(executor.rank()), 1) << "never 0";
          }),
      ::testing::Each(""));
}

TEST(CallLog, NamesBothSidesOfCallsThatDiffer) {
  AbortFlag abort;
  auto world = make_thread_world(2, abort);
  std::vector<std::unique_ptr<CallLog>> logs(2);
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < 2; ++rank)
      threads.emplace_back([&, rank] {
        logs[rank] = std::make_unique<CallLog>(
            *world[rank], std::chrono::steady_clock::now() + std::chrono::minutes(1));
      });
  }
  const ProgramCall sum{.collective = Collective::reduce,
                        .data_type = DataType::f32,
                        .reduce_op = ReduceOp::sum,
                        .root = 1,
                        .message_size = {64}};
  for (int i = 0; i < 40; ++i) {
    // One is written as by who does that without the log.
    logs[0]->write(sum);
    colltune_write_call(&logs[1]->own_lines(), CallLog::entry_of(sum));
    EXPECT_NO_THROW(logs[0]->compare());
  }
  logs[0]->write(sum);
  EXPECT_NO_THROW(logs[0]->compare()) << "the other rank is not there yet";
  ProgramCall other = sum;
  other.root = 0;
  logs[1]->write(other);
  try {
    logs[1]->compare();
    ADD_FAILURE() << "the calls differ";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("rank 0 reduce f32 sum of 64 bytes, root 1"));
    EXPECT_THAT(error.what(), HasSubstr("rank 1 reduce f32 sum of 64 bytes, root 0"));
  }
  // A rank that is ahead, as a broadcast's root may be, does not differ.
  logs[0]->write(sum);
  logs[0]->write(sum);
  logs[1]->write(sum);
  EXPECT_NO_THROW(logs[1]->compare());
}

TEST(Executor, GoesOnWithOtherWorkWhileItWaits) {
  struct Counting final : WhileWaiting {
    void go_on() override { ++turns; }
    std::atomic<int> turns{0};
  } counting;
  AbortFlag abort(counting);
  auto world = make_thread_world(2, abort);
  static const Implementations catalogue = make_host_catalogue();
  const Choices choices =
      choices_of(Collective::all_reduce, DataType::f32, ReduceOp::sum, {{low_latency, 256}});
  std::vector<std::jthread> threads;
  for (std::size_t rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      Executor executor(std::move(world[rank]), catalogue, choices);
      EXPECT_TRUE(sum(executor, 4, 1, 2));
      const int before = counting.turns;
      // The last rank comes only after the first one, waiting, has had a turn.
      while (rank == 1 && counting.turns == before) std::this_thread::yield();
      EXPECT_TRUE(sum(executor, 4, 1, 2));
    });
}

std::atomic<std::int64_t> fake_time{0};
std::atomic<int> readings{0};  // of the first rank
thread_local bool is_first_rank = false;
std::chrono::nanoseconds fake_now() {
  const std::chrono::nanoseconds now(fake_time.load());
  if (is_first_rank) ++readings;
  return now;
}

TEST(Executor, TimesItsCallsWithTheWaitForALateRank) {
  AbortFlag abort;
  auto world = make_thread_world(2, abort);
  static const Implementations catalogue = make_host_catalogue();
  const Choices choices =
      choices_of(Collective::all_reduce, DataType::f32, ReduceOp::sum, {{low_latency, 256}});
  std::string text;
  std::vector<std::jthread> threads;
  for (std::size_t rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      Executor executor(std::move(world[rank]), catalogue, choices, fake_now);
      executor.communicator().barrier(no_deadline);
      is_first_rank = rank == 0;
      for (int call = 0; call < 5; ++call) {
        // The last rank comes 2 ms after the first one has begun: one reading, another at the end.
        while (rank == 1 && readings < 2 * call + 1) std::this_thread::yield();
        if (rank == 1) fake_time += 2'000'000;
        EXPECT_TRUE(sum(executor, 4, 1, 2));
      }
      if (rank == 1) return;
      EXPECT_FALSE(sum(executor, 1000, 1, 2));
      const CallTimes times = executor.tallies()[0].made.estimate();
      EXPECT_EQ(times.calls, 5U);
      EXPECT_EQ(times.timed, 5U);
      EXPECT_EQ(times.of_first, std::chrono::milliseconds(2));
      EXPECT_EQ(times.all, std::chrono::milliseconds(10));
      EXPECT_EQ(executor.left()[0].estimate().timed, 1U);
      Report report;
      report.add(executor);
      report.add_set_up(std::chrono::milliseconds(3));
      text = report.text();
    });
  threads.clear();
  EXPECT_THAT(text, HasSubstr("10.000 ms in ours, 0.000 ms in the library's; of it 2.000 ms in "
                              "first calls"));
  EXPECT_THAT(text, HasSubstr("Estimated from 6 calls"));
  EXPECT_THAT(text, HasSubstr("Setting up communicators took 3.000 ms"));
  EXPECT_THAT(text, HasSubstr("5 calls,     10.000 ms, 2000.000 us each,"));
  EXPECT_THAT(text, HasSubstr("1 calls left to the library: all_reduce,"));
}

}  // namespace
}  // namespace colltune
