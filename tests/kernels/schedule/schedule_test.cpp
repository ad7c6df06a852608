// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// What schedules say of who does what and who waits for whom, and how messages are cut.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "colltune/kernels/catalogue.h"
#include "colltune/vocabulary/error.h"
#include "schedule/schedule_writer.h"
#include "schedule/scheduled_implementation.h"
#include "schedule/waves.h"
#include "support/sanitizer.h"

namespace colltune {

void PrintTo(const Await& await, std::ostream* out) {
  *out << "{rank " << await.rank << ", phase " << static_cast<int>(await.phase) << ", position "
       << await.position << ", lag " << static_cast<int>(await.lag) << "}";
}
void PrintTo(const Block& block, std::ostream* out) {
  *out << "{rank " << block.rank << ", space " << static_cast<int>(block.space) << ", "
       << block.index << "}";
}

namespace test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const ScheduledCall staged{.collective = Collective::all_reduce, .ranks = 2};

ScheduledCall direct(bool in_place = false) {
  ScheduledCall shape = staged;
  shape.access = Access::direct;
  shape.in_place = in_place;
  return shape;
}

/// Both ranks combine both inputs.
Schedule one_shot(const ScheduledCall& shape) {
  ScheduleWriter writer(shape);
  const Block a = writer.publish(writer.input(0));
  const Block b = writer.publish(writer.input(1));
  writer.combine(writer.output(0), {writer.input(0), b}, true);
  writer.combine(writer.output(1), {a, writer.input(1)}, true);
  return writer.schedule();
}

const std::vector<Step>& steps(const Schedule& schedule, int rank, WavePhase phase) {
  return schedule.ranks[static_cast<std::size_t>(rank)].phases[static_cast<std::size_t>(phase)];
}

Await same_wave(int rank, WavePhase phase, int position) {
  return {rank, phase, position, Lag::same_wave};
}

TEST(Schedule, WhatIsStagedIsAwaitedByWhoReadsIt) {
  const Schedule schedule = one_shot(staged);
  for (const int rank : {0, 1}) {
    const int peer = 1 - rank;
    ASSERT_EQ(steps(schedule, rank, WavePhase::before_waits).size(), 1U);
    const Step& staging = steps(schedule, rank, WavePhase::before_waits)[0];
    EXPECT_EQ(staging.kind, StepKind::copy);
    EXPECT_EQ(staging.to, (Block{rank, Space::scratch, 0}));
    EXPECT_THAT(staging.from, ElementsAre(Block{rank, Space::send, 0}));
    EXPECT_TRUE(staging.is_awaited);
    // With four slots the peer has read the one before: this rank has awaited later early steps of
    // its.
    EXPECT_THAT(staging.awaits, IsEmpty());
    EXPECT_FALSE(steps(schedule, rank, WavePhase::rest)[0].is_awaited);

    ASSERT_EQ(steps(schedule, rank, WavePhase::rest).size(), 1U);
    const Step& combining = steps(schedule, rank, WavePhase::rest)[0];
    EXPECT_EQ(combining.kind, StepKind::combine_last);
    EXPECT_THAT(combining.awaits, ElementsAre(same_wave(peer, WavePhase::before_waits, 1)));
    EXPECT_THAT(schedule.ranks[static_cast<std::size_t>(rank)].at_end, IsEmpty());
    EXPECT_FALSE(schedule.ranks[static_cast<std::size_t>(rank)].is_start_awaited);
  }
  EXPECT_EQ(schedule.scratch_blocks, 1);
  EXPECT_EQ(schedule.depth, 1);
}

TEST(Schedule, WithFewSlotsReadersAreAwaited) {
  ScheduledCall shape = staged;
  shape.slots = 3;
  const Schedule schedule = one_shot(shape);
  EXPECT_THAT(steps(schedule, 0, WavePhase::before_waits)[0].awaits,
              ElementsAre(Await{1, WavePhase::rest, 1, Lag::slot_before}));
  EXPECT_TRUE(steps(schedule, 1, WavePhase::rest)[0].is_awaited);
}

TEST(Schedule, WhatIsReadDirectlyIsAwaitedFromItsStartToItsEnd) {
  const Schedule schedule = one_shot(direct());
  for (const int rank : {0, 1}) {
    const auto& own = schedule.ranks[static_cast<std::size_t>(rank)];
    EXPECT_THAT(steps(schedule, rank, WavePhase::before_waits), IsEmpty());
    ASSERT_EQ(steps(schedule, rank, WavePhase::rest).size(), 1U);
    EXPECT_THAT(steps(schedule, rank, WavePhase::rest)[0].awaits,
                ElementsAre(Await{1 - rank, WavePhase::before_waits, 0, Lag::start_of_call}));
    EXPECT_TRUE(own.is_start_awaited);
    EXPECT_THAT(own.at_end, ElementsAre(same_wave(1 - rank, WavePhase::rest, 1)));
  }
  EXPECT_EQ(schedule.scratch_blocks, 0);
}

TEST(Schedule, ARootThatReadsNothingWaitsForTheReadersOfTheSlotBefore) {
  ScheduledCall shape = staged;
  shape.collective = Collective::broadcast;
  ScheduleWriter writer(shape);
  writer.copy(writer.output(1), writer.publish(writer.input(0)));
  const Schedule schedule = writer.schedule();
  ASSERT_EQ(steps(schedule, 0, WavePhase::before_waits).size(), 1U);
  EXPECT_THAT(steps(schedule, 0, WavePhase::before_waits)[0].awaits,
              ElementsAre(Await{1, WavePhase::rest, 1, Lag::slot_before}));
  EXPECT_TRUE(steps(schedule, 1, WavePhase::rest)[0].is_awaited);
}

TEST(Schedule, WhoWritesIntoAPeersBufferAwaitsItsReaders) {
  // In place: rank 1 reads what rank 0 is about to overwrite.
  ScheduleWriter writer(direct(true));
  EXPECT_EQ(writer.input(0), writer.output(0));
  const Block kept = writer.temporary(1);
  writer.copy(kept, writer.input(0));
  writer.combine(writer.output(0), {writer.input(0), writer.input(1)}, true);
  writer.combine(writer.output(1), {kept, writer.input(1)}, true);
  const Schedule schedule = writer.schedule();
  EXPECT_THAT(steps(schedule, 0, WavePhase::rest)[0].awaits,
              ElementsAre(same_wave(1, WavePhase::rest, 1)));
  EXPECT_THAT(steps(schedule, 1, WavePhase::rest)[1].awaits,
              ElementsAre(same_wave(0, WavePhase::rest, 1)));
  EXPECT_EQ(schedule.depth, 3);
}

TEST(Schedule, AResultThatIsSharedIsStoredTwiceAtOnce) {
  ScheduleWriter writer({.collective = Collective::all_reduce, .ranks = 2, .shares = 2});
  std::vector<Block> results{writer.output(0, 0), writer.output(1, 1)};
  combine_each(writer, results);
  writer.move(writer.output(0, 1), writer.output(1, 1));
  writer.move(writer.output(1, 0), writer.output(0, 0));
  const Schedule schedule = writer.schedule();
  const auto& rest = steps(schedule, 0, WavePhase::rest);
  ASSERT_EQ(rest.size(), 2U);
  EXPECT_EQ(rest[0].also_to, (Block{0, Space::scratch, 1}));
  EXPECT_EQ(rest[0].share, 0);
  EXPECT_EQ(rest[1].from.front(), (Block{1, Space::scratch, 1}));
  EXPECT_EQ(rest[1].share, 1);
  EXPECT_EQ(schedule.depth, 2);
}

TEST(Schedule, WhatIsSharedTwiceIsCopiedOnceUntilItChanges) {
  ScheduleWriter writer(staged);
  const Block first = writer.publish(writer.input(0));
  EXPECT_EQ(writer.publish(writer.input(0)), first);
  EXPECT_EQ(writer.publish(first), first);
  writer.copy(writer.input(0), writer.temporary(0));
  EXPECT_NE(writer.publish(writer.input(0)), first);
}

TEST(Schedule, TheCmaBringsInWhatIsToBeCombined) {
  ScheduledCall shape = staged;
  shape.access = Access::cma;
  const Schedule schedule = one_shot(shape);
  const auto& rest = steps(schedule, 0, WavePhase::rest);
  ASSERT_EQ(rest.size(), 2U);
  EXPECT_EQ(rest[0].kind, StepKind::copy);
  EXPECT_EQ(rest[0].from.front(), (Block{1, Space::send, 0}));
  EXPECT_THAT(rest[1].from, ElementsAre(Block{0, Space::send, 0}, Block{0, Space::scratch, 0}));
}

ScheduledCall on_nodes(std::vector<int> nodes) {
  ScheduledCall shape = staged;
  shape.ranks = static_cast<int>(nodes.size());
  shape.nodes = std::move(nodes);
  return shape;
}

TEST(Schedule, AcrossNodesMessagesBringWhatIsReadAndNobodyIsAwaited) {
  const Schedule schedule = one_shot(on_nodes({0, 1}));
  for (const int rank : {0, 1}) {
    const int peer = 1 - rank;
    const auto& own = schedule.ranks[static_cast<std::size_t>(rank)];
    // The copy for ranks of the same node would have no reader; the message leaves first of all.
    ASSERT_EQ(steps(schedule, rank, WavePhase::before_waits).size(), 1U);
    const Step& send = steps(schedule, rank, WavePhase::before_waits)[0];
    EXPECT_EQ(send.kind, StepKind::send);
    EXPECT_THAT(send.from, ElementsAre(Block{rank, Space::send, 0}));
    EXPECT_EQ(send.to.rank, peer);
    EXPECT_FALSE(send.is_awaited);
    const auto& rest = steps(schedule, rank, WavePhase::rest);
    ASSERT_EQ(rest.size(), 2U);
    EXPECT_EQ(rest[0].kind, StepKind::receive);
    EXPECT_EQ(rest[0].from.front().rank, peer);
    EXPECT_TRUE(rest[0].is_free_before);
    EXPECT_EQ(rest[1].kind, StepKind::combine_last);
    for (const Step& step : rest) EXPECT_THAT(step.awaits, IsEmpty());
    EXPECT_EQ(own.messages, 2);
    EXPECT_FALSE(own.is_start_awaited);
    EXPECT_THAT(own.at_end, IsEmpty());
  }
  EXPECT_EQ(schedule.tags, 1);
  EXPECT_EQ(schedule.depth, 1);
}

TEST(Schedule, WhatIsOverwrittenHasLeftBefore) {
  // Rank 0 sends what it then combines into; in the same wave rank 1 sends twice.
  ScheduleWriter writer(on_nodes({0, 1}));
  writer.copy(writer.output(1), writer.input(0));
  const Block first = writer.temporary(0);
  const Block second = writer.temporary(0);
  writer.copy(first, writer.input(1));
  writer.copy(second, writer.input(1));
  writer.combine(writer.input(0), {first, second}, true);
  const Schedule schedule = writer.schedule();
  const auto& rest = steps(schedule, 0, WavePhase::rest);
  ASSERT_EQ(rest.size(), 3U);
  EXPECT_EQ(rest[1].tag, 1);
  EXPECT_THAT(rest[2].overtakes, ElementsAre(0));
  EXPECT_EQ(schedule.tags, 2);
}

TEST(Schedule, WhatAnotherRankOverwritesHasLeftBeforeItIsTold) {
  // Rank 0 sends from scratch memory that rank 1, of its node, writes.
  ScheduleWriter writer(on_nodes({0, 0, 1}));
  const Block mailed = writer.temporary(0);
  writer.push(mailed, writer.input(1));
  writer.copy(writer.output(2), mailed);
  const Schedule schedule = writer.schedule();
  const auto& rest = steps(schedule, 0, WavePhase::rest);
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].kind, StepKind::send);
  EXPECT_THAT(rest[0].awaits, ElementsAre(same_wave(1, WavePhase::before_waits, 1)));
  EXPECT_TRUE(rest[0].is_awaited);
  EXPECT_THAT(steps(schedule, 1, WavePhase::before_waits)[0].awaits,
              ElementsAre(Await{0, WavePhase::rest, 1, Lag::slot_before}));
}

TEST(Schedule, APartHasRanksAndBuffersOfItsOwn) {
  ScheduledCall shape = staged;
  shape.ranks = 4;
  ScheduleWriter writer(shape);
  const ScheduleWriter::SubCall sub_call{
      .ranks = {1, 3},
      .shape = {.collective = Collective::reduce_scatter, .ranks = 2},
      .inputs = {{writer.input(1, 0), writer.input(1, 1)},
                 {writer.input(3, 0), writer.input(3, 1)}},
      .outputs = {{writer.output(1)}, {writer.output(3)}}};
  writer.write_sub_call(sub_call, [](ScheduleWriter& inner) {
    EXPECT_EQ(inner.ranks(), 2);
    EXPECT_EQ(inner.temporary(1).rank, 3);
    EXPECT_TRUE(inner.maps(0, inner.input(0)));
    combine_each(inner, part_of_each(inner));
    EXPECT_THROW(inner.write_sub_call({}, [](ScheduleWriter&) {}), Error);
    EXPECT_THROW((void)inner.input(2), Error);
  });
  EXPECT_EQ(writer.ranks(), 4);
  const Schedule schedule = writer.schedule();
  EXPECT_THAT(steps(schedule, 0, WavePhase::before_waits), IsEmpty());
  const auto& rest = steps(schedule, 3, WavePhase::rest);
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].kind, StepKind::combine);  // of the part alone: avg does not divide yet
  EXPECT_EQ(rest[0].to, (Block{3, Space::receive, 0}));
}

// So an operation that is given another root needs no other memory (RootPlans).
TEST(Schedule, NeedsTheSameMemoryForEveryRootOnOneNode) {
  if (has_thread_sanitizer) GTEST_SKIP() << "it has one thread";
  int compared = 0;
  const Implementations catalogue = make_catalogue();
  for (const auto& implementation : catalogue) {
    const ScheduledAlgorithm* const algorithm = scheduled_algorithm_of(*implementation);
    if (algorithm == nullptr || algorithm->groups_by || !shape_of(algorithm->collective).has_root)
      continue;
    for (const int ranks :
         has_sanitizer ? std::vector{3, 8} : std::vector{2, 3, 4, 5, 7, 8, 9, 13, 16}) {
      if (!why_not_among(*algorithm, ranks).empty()) continue;
      Topology topology;
      topology.ranks = topology.ranks_per_node = ranks;
      const Problem problem{.collective = algorithm->collective, .message_size = {1 << 20}};
      for (const Variant& variant : implementation->variants(problem, topology, {}))
        for (const Access access : {Access::staged, Access::direct, Access::cma}) {
          const auto blocks = [&](int root) {
            ScheduledCall call{.collective = algorithm->collective,
                               .ranks = ranks,
                               .root = root,
                               .access = access};
            if (algorithm->shares) call.shares = algorithm->shares(call, variant);
            ScheduleWriter writer(call);
            algorithm->write_wave(writer, variant);
            return writer.schedule().scratch_blocks;
          };
          const int first = blocks(0);
          for (const int root : {1, ranks / 2, ranks - 1}) {
            ++compared;
            EXPECT_EQ(blocks(root), first) << to_string(variant) << ", root " << root;
          }
        }
    }
  }
  EXPECT_GT(compared, 0);
}

// Where only the root knows whether it is in place, it writes an output only when nobody reads the
// input that may be the same memory.
TEST(Schedule, RootsMayBeInPlaceWhereOnlyTheyKnow) {
  const auto waits_of_root = [](Collective collective, int input, int output) {
    ScheduleWriter writer(
        {.collective = collective, .ranks = 2, .root = 1, .access = Access::direct});
    writer.copy(writer.output(0), writer.input(1, input));
    const Block other = writer.temporary(1);
    writer.copy(other, writer.input(1, 1 - input));
    writer.copy(writer.output(1, output), other);
    const Schedule schedule = writer.schedule();
    std::size_t waits = 0;
    for (const auto& steps : schedule.ranks[1].phases)
      for (const Step& step : steps)
        if (step.to.space == Space::receive) waits += step.awaits.size();
    return waits;
  };
  EXPECT_EQ(waits_of_root(Collective::reduce, 0, 0), 1U);
  EXPECT_EQ(waits_of_root(Collective::reduce, 0, 1), 0U);
  EXPECT_EQ(waits_of_root(Collective::gather, 0, 1), 1U);
  EXPECT_EQ(waits_of_root(Collective::gather, 0, 0), 0U);
  EXPECT_EQ(waits_of_root(Collective::scatter, 1, 0), 1U);
  EXPECT_EQ(waits_of_root(Collective::scatter, 0, 0), 0U);
  EXPECT_EQ(waits_of_root(Collective::all_reduce, 0, 0), 0U);
}

TEST(Schedule, InPlaceBlocksAreThoseOfMpi) {
  const auto names = [](Collective collective, int rank) {
    const ScheduleWriter writer(
        {.collective = collective, .ranks = 3, .root = 1, .in_place = true});
    return std::pair(writer.input(rank), writer.output(rank, rank));
  };
  EXPECT_EQ(names(Collective::all_gather, 2).first, (Block{2, Space::receive, 2}));
  // Other ranks do not know whether the root's call is in place.
  EXPECT_EQ(names(Collective::gather, 1).first, (Block{1, Space::send, 0}));
  EXPECT_EQ(names(Collective::reduce_scatter, 2).second, (Block{2, Space::send, 2}));
  EXPECT_EQ(names(Collective::scatter, 1).second, (Block{1, Space::receive, 1}));
  EXPECT_EQ(names(Collective::reduce, 1).second, (Block{1, Space::receive, 1}));
  EXPECT_EQ(names(Collective::broadcast, 1).second, (Block{1, Space::send, 1}));
  EXPECT_EQ(names(Collective::broadcast, 2).second, (Block{2, Space::receive, 2}));
  EXPECT_EQ(names(Collective::all_to_all, 2).second, (Block{2, Space::send, 2}));
}

std::string refusal(const std::function<void(ScheduleWriter&)>& write,
                    const ScheduledCall& shape = staged) {
  try {
    ScheduleWriter writer(shape);
    write(writer);
    (void)writer.schedule();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::internal);
    return error.what();
  }
  return "";
}

TEST(Schedule, RefusesWhatNoRankCouldDo) {
  EXPECT_EQ(refusal([](ScheduleWriter& w) { w.copy(w.output(0), w.input(1)); }),
            "a schedule lets rank 0 read block 0 of rank 1's send memory, which it cannot reach");
  EXPECT_EQ(
      refusal([](ScheduleWriter& w) { w.push(w.output(1), w.input(0)); }),
      "a schedule lets rank 0 write block 0 of rank 1's receive memory, which it cannot reach");
  EXPECT_EQ(
      refusal([](ScheduleWriter& w) { w.combine_by(0, w.output(1), {w.input(0)}, false); }),
      "a schedule lets rank 0 combine into block 0 of rank 1's receive memory, which it cannot "
      "reach");
  EXPECT_EQ(refusal([](ScheduleWriter& w) { w.copy(w.output(0), w.temporary(1)); }),
            "a schedule reads block 0 of rank 1's scratch memory, which nobody has written");
  EXPECT_EQ(refusal([](ScheduleWriter& w) { w.combine(w.output(0), {}, true); }),
            "a schedule combines nothing");
  EXPECT_EQ(refusal([](ScheduleWriter& w) { (void)w.input(2); }),
            "a schedule for 2 rank(s) names rank 2");
  ScheduledCall narrow = staged;
  narrow.slots = 1;
  EXPECT_THAT(refusal([](ScheduleWriter&) {}, narrow), HasSubstr("2 slots"));
  ScheduledCall ill = staged;
  ill.nodes = {0};
  EXPECT_EQ(refusal([](ScheduleWriter&) {}, ill), "a schedule for 2 rank(s) has the nodes of 1");
}

// --- waves ---

struct Cut {
  Collective collective;
  std::size_t message;
  int ranks;
  int shares;
  std::size_t chunk;
};

class EveryCut : public testing::TestWithParam<Cut> {};

TEST_P(EveryCut, CoversEachByteOnce) {
  const Cut& cut = GetParam();
  const Problem problem{
      .collective = cut.collective,
      .data_type = DataType::f32,
      .reduce_op = shape_of(cut.collective).reduces ? ReduceOp::sum : ReduceOp::none,
      .message_size = {cut.message}};
  const Waves waves(
      problem, {.collective = cut.collective, .ranks = cut.ranks, .shares = cut.shares}, cut.chunk);
  const BlockLayout shape = shape_of(cut.collective);
  const bool has_blocks = shape.has_block_per_rank();
  for (const Space space : {Space::send, Space::receive}) {
    const Bytes size =
        space == Space::send ? send_size(problem, cut.ranks) : receive_size(problem, cut.ranks);
    const bool is_split =
        space == Space::send ? shape.sends_block_per_rank : shape.receives_block_per_rank;
    std::vector<int> covered(size.value);
    for (std::size_t w = 0; w < waves.count(); ++w) {
      const Waves::Wave wave = waves.wave(w);
      for (int i = 0; i < (is_split ? cut.ranks : has_blocks ? 1 : cut.shares); ++i) {
        const std::size_t bytes = waves.size(wave, has_blocks ? 0 : i);
        EXPECT_LE(bytes, waves.largest_block());
        EXPECT_EQ(bytes % 4, 0U);
        for (std::size_t b = 0; b < bytes; ++b) ++covered.at(waves.offset(wave, space, i) + b);
      }
    }
    EXPECT_THAT(covered, testing::Each(1));
  }
}

INSTANTIATE_TEST_SUITE_P(Messages, EveryCut,
                         testing::Values(Cut{Collective::all_reduce, 0, 2, 1, 64},
                                         Cut{Collective::all_reduce, 4, 4, 4, 8},
                                         Cut{Collective::all_reduce, 4012, 3, 3, 1024},
                                         Cut{Collective::all_reduce, 4012, 3, 1, 0},
                                         Cut{Collective::broadcast, 100000, 5, 5, 4096},
                                         Cut{Collective::reduce, 100000, 2, 2, 0},
                                         Cut{Collective::all_gather, 5 * 68, 5, 1, 16},
                                         Cut{Collective::reduce_scatter, 3 * 4012, 3, 1, 1000},
                                         Cut{Collective::all_to_all, 4 * 44, 4, 1, 0},
                                         Cut{Collective::scatter, 7 * 4, 7, 1, 8},
                                         Cut{Collective::gather, 2 * 65536, 2, 1, 16384}));

}  // namespace
}  // namespace test
}  // namespace colltune
