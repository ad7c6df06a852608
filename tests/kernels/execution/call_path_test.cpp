// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/execution/call_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "colltune/kernels/execution/called_as_in_programs.h"

namespace colltune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Writes down what is done with it.
class Noting final : public Operation {
 public:
  explicit Noting(std::vector<std::string>& notes) : notes_(notes) {}
  void bind(const CallBuffers& buffers) override {
    notes_.push_back("bind " + std::to_string(buffers.send.size()));
  }
  void rebind(const Call& call) override {
    notes_.push_back("rebind " + std::to_string(call.problem.message_size.value) + " root " +
                     std::to_string(call.root));
  }
  void start() override { notes_.emplace_back("start"); }
  void wait(Deadline deadline) override {
    notes_.emplace_back(deadline == Deadline::max() ? "wait" : "wait until then");
  }
  [[nodiscard]] std::optional<Executed> executed() const override { return Executed{"noted"}; }
  [[nodiscard]] bool is_lost() const override { return true; }
  void give_up() noexcept override { notes_.emplace_back("give up"); }

 private:
  std::vector<std::string>& notes_;
};

constexpr ProgramCall gather_of(std::uint64_t bytes, int root = 0) {
  return {.collective = Collective::gather, .root = root, .message_size = {bytes}};
}

/// One choice, which runs everything from 8 bytes on.
class CallPathTest : public ::testing::Test {
 protected:
  /// Returns whether the call ran.
  bool make(const ProgramCall& call) {
    const auto find = [&](const ProgramCall& other) {
      ++found;
      CallPath::Found one{.call = other, .entry = CallLog::entry_of(other)};
      if (other.message_size >= Bytes{8} && !path.is_withdrawn(1)) one.choice = 1;
      one.saving = std::chrono::nanoseconds(5);
      return one;
    };
    const std::uint16_t choice = path.begin(call, find);
    const auto prepare = [&](std::uint16_t, const Call& first) -> std::unique_ptr<Operation> {
      notes.push_back("prepare " + std::to_string(first.problem.message_size.value));
      if (can_prepare) return std::make_unique<Noting>(notes);
      path.withdraw(1);
      return nullptr;
    };
    const bool ran =
        choice != CallPath::library &&
        path.start(choice, call, false, {.send = std::span(memory).first(3)}, blocks, prepare);
    if (ran) path.wait(Deadline::max());
    path.finish();
    return ran;
  }

  std::array<std::byte, 8> memory{};
  std::vector<std::size_t> blocks;
  std::vector<std::string> notes;
  int found = 0;
  bool can_prepare = true;
  CallPath path{CallLog(), 1, nullptr};
};

TEST_F(CallPathTest, BindsACallLikeTheOneBeforeAndRebindsAnyOther) {
  EXPECT_TRUE(make(gather_of(16)));
  EXPECT_THAT(notes, ElementsAre("prepare 16", "start", "wait"));
  notes.clear();
  EXPECT_TRUE(make(gather_of(16)));
  EXPECT_THAT(notes, ElementsAre("bind 3", "start", "wait"));
  EXPECT_EQ(found, 1) << "a call like the one before is not looked up";
  notes.clear();
  EXPECT_TRUE(make(gather_of(16, 1)));
  EXPECT_THAT(notes, ElementsAre("rebind 16 root 1", "start", "wait"));
  EXPECT_EQ(found, 2);
  EXPECT_EQ(path.tallies().front().made.calls, 3U);
  EXPECT_EQ(path.tallies().front().saved, std::chrono::nanoseconds(15));
}

TEST_F(CallPathTest, RebindsAnOperationToOtherBlocks) {
  const ProgramCall call{
      .collective = Collective::all_gather, .message_size = {16}, .counts = Counts::one_large};
  blocks = {12, 4};
  EXPECT_TRUE(make(call));
  EXPECT_TRUE(make(call));
  blocks = {4, 12};
  EXPECT_TRUE(make(call));
  EXPECT_TRUE(make(call));
  EXPECT_TRUE(make(gather_of(16)));
  EXPECT_TRUE(make(call));
  EXPECT_THAT(
      notes, ElementsAre("prepare 16", "start", "wait", "bind 3", "start", "wait",
                         "rebind 16 root 0", "start", "wait", "bind 3", "start", "wait",
                         "rebind 16 root 0", "start", "wait", "rebind 16 root 0", "start", "wait"));
}

TEST_F(CallPathTest, CountsWhatIsLeftToTheLibrary) {
  EXPECT_FALSE(make(gather_of(4)));
  EXPECT_THAT(notes, IsEmpty());
  EXPECT_EQ(path.left()[static_cast<std::size_t>(Collective::gather)].calls, 1U);
  EXPECT_EQ(path.tallies().front().made.calls, 0U);
  ASSERT_NE(path.left_for_good(), nullptr);
  EXPECT_EQ(*path.left_for_good(), CallLog::entry_of(gather_of(4)));
  EXPECT_TRUE(make(gather_of(16)));
  EXPECT_EQ(path.left_for_good(), nullptr);
}

TEST_F(CallPathTest, LeavesToTheLibraryWhatCannotBePrepared) {
  can_prepare = false;
  EXPECT_FALSE(make(gather_of(16)));
  EXPECT_FALSE(make(gather_of(16))) << "nor the next one";
  EXPECT_FALSE(make(gather_of(64)));
  EXPECT_THAT(notes, ElementsAre("prepare 16"));
  EXPECT_NE(path.left_for_good(), nullptr);
  EXPECT_EQ(path.left()[static_cast<std::size_t>(Collective::gather)].calls, 3U);
  EXPECT_EQ(path.tallies().front().made.calls, 0U);
  EXPECT_EQ(path.tallies().front().saved, std::chrono::nanoseconds());
}

TEST_F(CallPathTest, PreparesInTheCallByWhichItPays) {
  path.set_price(std::chrono::nanoseconds(12));
  EXPECT_FALSE(make(gather_of(16)));
  EXPECT_EQ(path.left_for_good(), nullptr) << "it may pay yet";
  EXPECT_FALSE(make(gather_of(4))) << "no choice's";
  EXPECT_NE(path.left_for_good(), nullptr);
  EXPECT_FALSE(make(gather_of(64)));
  EXPECT_TRUE(make(gather_of(64))) << "15 ns would have been saved";
  EXPECT_TRUE(make(gather_of(16)));
  EXPECT_THAT(notes,
              ElementsAre("prepare 64", "start", "wait", "rebind 16 root 0", "start", "wait"));
  EXPECT_EQ(path.tallies().front().waited, 2U);
  EXPECT_EQ(path.tallies().front().missed, std::chrono::nanoseconds(10));
  EXPECT_EQ(path.tallies().front().made.calls, 2U);
  EXPECT_EQ(path.tallies().front().saved, std::chrono::nanoseconds(10));
  EXPECT_EQ(path.left()[static_cast<std::size_t>(Collective::gather)].calls, 3U);
}

TEST_F(CallPathTest, PreparesAtOnceOnceThatTakesLess) {
  path.set_price(std::chrono::nanoseconds(1000));
  EXPECT_FALSE(make(gather_of(16)));
  path.set_price(std::chrono::nanoseconds(10));
  EXPECT_TRUE(make(gather_of(16)));
}

TEST_F(CallPathTest, LeavesWhatPaysButCannotBePrepared) {
  can_prepare = false;
  path.set_price(std::chrono::nanoseconds(10));
  for (int call = 0; call < 4; ++call) EXPECT_FALSE(make(gather_of(16)));
  EXPECT_THAT(notes, ElementsAre("prepare 16"));
  EXPECT_EQ(path.left()[static_cast<std::size_t>(Collective::gather)].calls, 4U);
}

TEST(CalledAsInPrograms, BindsTheLatestBuffersInEveryCall) {
  std::vector<std::string> notes;
  std::array<std::byte, 8> memory{};
  const auto buffers = [&](std::size_t size) {
    return CallBuffers{.send = std::span(memory).first(size)};
  };
  const Call call{.problem = {.collective = Collective::gather,
                              .reduce_op = ReduceOp::none,
                              .message_size = {8}},
                  .buffers = buffers(1)};
  const auto operation =
      std::make_unique<CalledAsInPrograms>(std::make_unique<Noting>(notes), call);
  operation->start();
  operation->wait(Deadline::max());
  operation->bind(buffers(2));
  EXPECT_THAT(notes, ElementsAre("bind 1", "start", "wait"));
  operation->start();
  operation->wait({});
  EXPECT_THAT(notes, ElementsAre("bind 1", "start", "wait", "bind 2", "start", "wait until then"));
}

TEST(CalledAsInPrograms, MakesACallWithEachOfSomeBuffers) {
  std::vector<std::string> notes;
  std::array<std::byte, 8> memory{};
  CalledAsInPrograms operation(std::make_unique<Noting>(notes), {});
  const std::array bindings{CallBuffers{.send = std::span(memory).first(2)},
                            CallBuffers{.send = std::span(memory).first(5)}};
  operation.call_each(bindings, Deadline::max());
  EXPECT_THAT(notes, ElementsAre("bind 2", "start", "wait", "bind 5", "start", "wait"));
}

TEST(CalledAsInPrograms, IsWhatWasPreparedInAllElse) {
  std::vector<std::string> notes;
  const auto operation =
      std::make_unique<CalledAsInPrograms>(std::make_unique<Noting>(notes), Call{});
  EXPECT_EQ(operation->executed()->choice, "noted");
  EXPECT_TRUE(operation->is_lost());
  operation->give_up();
  EXPECT_THAT(notes, ElementsAre("give up"));
  EXPECT_FALSE(operation->device_time());
  EXPECT_FALSE(operation->communicators_time());
}

}  // namespace
}  // namespace colltune
