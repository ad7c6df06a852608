// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#include "program_runner.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "colltune/vocabulary/error.h"
#include "refused_calls.h"
#include "support/run_ranks.h"

namespace colltune {
namespace {

using testing::HasSubstr;

constexpr const char* kernel =
    "cpu.all_reduce_one_shot{access=staged,chunk=16384,slots=4,stores=adaptive}";
constexpr std::size_t count = 1000;

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
int world_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

std::string call(std::string_view collective, std::size_t bytes, int root = 0) {
  return fmt::format(
      R"({{"collective":"{}","data_type":"f32","reduce_op":"sum","message_size":{},"root":{}}})",
      collective, bytes, root);
}

CallBuffers buffers_of(const std::vector<float>& send, std::vector<float>& receive) {
  return {.send = std::as_bytes(std::span(send)),
          .receive = std::as_writable_bytes(std::span(receive))};
}

template <class Act>
Error error_of(Act act) {
  try {
    act();
  } catch (const Error& error) {
    return error;
  }
  return {StatusCode::unimplemented, "nothing was thrown"};
}

void expect_sums(ProgramRunner& runner) {
  const float sum = static_cast<float>(world_size() * (world_size() + 1)) / 2;
  for (int turn = 0; turn < 3; ++turn) {  // other buffers each time
    std::vector<float> send(count, static_cast<float>(world_rank() + 1));
    std::vector<float> receive(count, -1);
    runner.run(buffers_of(send, receive));
    EXPECT_THAT(receive, testing::Each(sum));
    for (float& value : send) value *= 2;
    runner.repeat();
    EXPECT_THAT(receive, testing::Each(2 * sum));
  }
}

TEST(ProgramRunner, RunsOneVariantAfterAnother) {
  ProgramRunner runner(MPI_COMM_WORLD, call("all_reduce", count * sizeof(float)));
  for (const char* const variant : {kernel, "mpi.all_reduce", kernel}) {
    ASSERT_EQ(runner.why_not(variant), "") << variant;
    runner.prepare(variant);
    expect_sums(runner);
  }
}

TEST(ProgramRunner, RanksLetGoAtDifferentTimes) {
  const std::string asked = call("all_reduce", count * sizeof(float));
  auto first = std::make_unique<ProgramRunner>(MPI_COMM_WORLD, asked);
  auto second = std::make_unique<ProgramRunner>(MPI_COMM_WORLD, asked);
  first->prepare(kernel);
  second->prepare(kernel);
  expect_sums(*first);
  expect_sums(*second);
  (world_rank() % 2 == 0 ? first : second).reset();
  MPI_Barrier(MPI_COMM_WORLD);
  first.reset();
  second.reset();
  ProgramRunner third(MPI_COMM_WORLD, asked);
  third.prepare(kernel);
  expect_sums(third);
}

TEST(ProgramRunner, RefusesWhatItCannotRun) {
  ProgramRunner runner(MPI_COMM_WORLD, call("all_reduce", count * sizeof(float)));
  EXPECT_THAT(runner.why_not("cpu.all_reduce_by_wishes"), HasSubstr("cpu.all_reduce_by_wishes"));
  EXPECT_THAT(runner.why_not("mpi.all_gather"), HasSubstr("all_gather"));
  EXPECT_NE(runner.why_not("cpu.all_reduce_one_shot{slots=many}"), "");
  EXPECT_NE(runner.why_not("no variant {"), "");
  const Error refused = error_of([&] { runner.prepare("cpu.all_reduce_by_wishes"); });
  EXPECT_EQ(refused.code(), StatusCode::not_found) << refused.what();
  std::vector<float> send(count, 1);
  std::vector<float> receive(count);
  EXPECT_EQ(error_of([&] { runner.run(buffers_of(send, receive)); }).code(),
            StatusCode::failed_precondition);
  runner.prepare(kernel);
  EXPECT_EQ(error_of([&] { runner.repeat(); }).code(), StatusCode::failed_precondition);
  std::vector<float> shorter(count - 1);
  EXPECT_THAT(error_of([&] { runner.run(buffers_of(shorter, receive)); }).what(),
              HasSubstr("needs 4000 bytes to send, not 3996"));
  EXPECT_THAT(error_of([&] { runner.run(buffers_of(send, shorter)); }).what(),
              HasSubstr("needs 4000 bytes to receive, not 3996"));
  EXPECT_THAT(error_of([&] { runner.run(buffers_of(receive, receive)); }).what(),
              HasSubstr("overlap"));
  expect_sums(runner);  // a refused call changes nothing
}

// Else the others would wait for minutes.
TEST(ProgramRunner, ACallThatOneRankRefusesFailsOnAllRanks) {
  const bool is_last = world_rank() == world_size() - 1;
  ProgramRunner runner(MPI_COMM_WORLD, call("all_reduce", count * sizeof(float)));
  std::vector<float> send(count, 1);
  std::vector<float> receive(count);
  std::vector<float> shorter(count - 1);
  for (int turn = 0; turn < 2; ++turn) {
    runner.prepare(kernel);
    expect_sums(runner);
    const Error first =
        error_of([&] { runner.run(buffers_of(is_last ? shorter : send, receive)); });
    const Error next = error_of([&] { runner.run(buffers_of(send, receive)); });
    EXPECT_EQ(first.code(), is_last ? StatusCode::invalid_argument : StatusCode::aborted)
        << first.what();
    EXPECT_EQ(next.code(), is_last ? StatusCode::aborted : StatusCode::failed_precondition)
        << next.what();
    EXPECT_THAT((is_last ? next : first).what(),
                HasSubstr(is_last ? "makes no further calls, since one failed there"
                                  : fmt::format("rank {} did not make call 7", world_size() - 1)));
  }
  runner.prepare("mpi.all_reduce");
  expect_sums(runner);
}

// A root may be through with a call before another rank refuses it.
TEST(ProgramRunner, ARefusedCallIsNotTakenForTheNextOne) {
  const bool is_root = world_rank() == 0;
  ProgramRunner runner(MPI_COMM_WORLD, call("broadcast", count * sizeof(float)));
  runner.prepare("cpu.broadcast_flat{access=staged,chunk=16384,flow=pull,slots=4,stores=cached}");
  std::vector<float> buffer(count, 7);
  CallBuffers right = buffers_of(buffer, buffer);
  if (!is_root) right.send = {};
  runner.run(right);
  if (!is_root) {
    EXPECT_EQ(error_of([&] { runner.refuse(); }).code(), StatusCode::unimplemented);
    std::ranges::fill(buffer, 0.0F);
  }
  Error error{StatusCode::unimplemented, "no call failed"};
  for (int calls = 0; calls < 1000 && error.code() == StatusCode::unimplemented; ++calls)
    error = error_of([&] { runner.run(right); });
  EXPECT_EQ(error.code(), StatusCode::aborted) << error.what();
  EXPECT_THAT(error.what(), HasSubstr(is_root ? "did not make call 2" : "makes no further calls"));
  EXPECT_THAT(buffer, testing::Each(is_root ? 7.0F : 0.0F));
}

TEST(RefusedCalls, RanksThatRefuseTheSameGoOn) {
  test::run_ranks(3, [](Communicator& ranks) {
    RefusedCalls calls(ranks, test::soon_enough());
    for (int turn = 0; turn < 50; ++turn) {
      for (int made = turn % 3; made > 0; --made) calls.begin();
      calls.refuse();
      while (!calls.agrees()) std::this_thread::yield();
      calls.look();
    }
    ranks.barrier(test::soon_enough());
    if (ranks.rank() == 2)
      calls.refuse();
    else
      calls.begin();
    const Error error = error_of([&] {
      const Deadline end = test::soon_enough();
      while (std::chrono::steady_clock::now() < end) {
        EXPECT_FALSE(calls.is_open() && calls.agrees());
        calls.look();
        std::this_thread::yield();
      }
    });
    EXPECT_EQ(error.code(), StatusCode::aborted) << error.what();
    if (ranks.rank() != 2) {
      EXPECT_THAT(error.what(), HasSubstr("rank 2 did not make call"));
    }
    calls.end();
    ranks.barrier(test::soon_enough());  // nobody's memory goes before
  });
}

TEST(ProgramRunner, UnlikeCallsAreRefusedOnAllRanks) {
  const bool is_last = world_rank() == world_size() - 1;
  const auto code_of = [&](const std::string& asked) {
    return error_of([&] { ProgramRunner runner(MPI_COMM_WORLD, asked); });
  };
  EXPECT_THAT(code_of(call("all_reduce", is_last ? 64 : 32)).what(),
              HasSubstr(fmt::format("rank {}", world_size() - 1)));
  EXPECT_THAT(code_of(call("broadcast", 64, is_last ? 1 : 0)).what(), HasSubstr("root 1"));
  const Error broken = code_of(is_last ? "none" : call("all_reduce", 64));
  EXPECT_EQ(broken.code(), StatusCode::invalid_argument);
  EXPECT_THAT(broken.what(), HasSubstr(fmt::format("rank {}: ", world_size() - 1)));
  EXPECT_THAT(code_of(call("all_reduce", 63)).what(), HasSubstr("has 60"));
  EXPECT_THAT(code_of(call("gather", 64, world_size())).what(), HasSubstr("allowed are 0 to"));
}

TEST(ProgramRunner, EachRankIsARoot) {
  for (int root = 0; root < world_size(); ++root) {
    ProgramRunner runner(MPI_COMM_WORLD, call("broadcast", count * sizeof(float), root));
    runner.prepare("mpi.broadcast");
    std::vector<float> buffer(count, world_rank() == root ? 7.0F : 0.0F);
    CallBuffers own = buffers_of(buffer, buffer);
    if (world_rank() != root) own.send = {};
    runner.run(own);
    EXPECT_THAT(buffer, testing::Each(7.0F));
  }
}

}  // namespace
}  // namespace colltune
