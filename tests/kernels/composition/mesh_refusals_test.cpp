// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Reductions over a process mesh, on ranks that are threads: what is refused, and who is missing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "colltune/kernels/communication/bounded_wait.h"
#include "colltune/vocabulary/error.h"
#include "mesh_checks.h"
#include "support/pretended_device.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

using testing::HasSubstr;

constexpr std::size_t bytes = 64;

Problem some_problem(std::string_view shape = "2x2", std::string_view steps = "0:sum,1:sum") {
  return mesh_problem(parse_mesh(shape, steps), DataType::i32, bytes / sizeof(std::int32_t));
}

/// A form with short messages.
Composition form_of(const Problem& problem, CompositionMode mode) {
  Composition made = outline_of(*problem.mesh, mode, 1);
  for (Part& part : made.parts)
    part.variant = parse_variant(
        part.role == PartRole::before ? "cpu.reduce_scatter_low_latency{format=line,slots=4,stores="
                                        "cached,taken_back=one_line}"
        : part.role == PartRole::after
            ? "cpu.all_gather_low_latency{format=line,slots=4,stores=cached,taken_back=one_line}"
            : "cpu.all_reduce_low_latency{format=line,slots=4,stores=cached,taken_back=one_line}");
  return made;
}
constexpr std::array forms{CompositionMode::sequential, CompositionMode::merged,
                           CompositionMode::hierarchical};

/// What a rank is told that is alone: whatever waited for another would never return.
std::string refusal(const Problem& problem, const Composition& composition, int ranks = 4) {
  const Implementations catalogue = make_catalogue();
  AbortFlag abort_flag;
  const auto world = make_thread_world(ranks, abort_flag);
  Subgroups groups(*world.front());
  std::vector<std::byte> memory(2 * bytes);
  try {
    (void)prepare_mesh_reduce(
        groups, {problem, 0, {std::span(memory).first(bytes), std::span(memory).last(bytes)}},
        composition, {}, catalogue, soon_enough());
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::invalid_argument);
    return error.what();
  }
  return "";
}

TEST(MeshReduceRefusals, WhatNoRanksCouldDo) {
  const Problem problem = some_problem();
  const auto told = [&](CompositionMode mode, auto change) {
    Composition wrong = form_of(problem, mode);
    change(wrong);
    return refusal(problem, wrong);
  };
  EXPECT_EQ(refusal(problem, form_of(problem, CompositionMode::merged), 6),
            "mesh reduction: the mesh 2x2 has 4 ranks, the communicator 6");
  Problem plain = problem;
  plain.mesh.reset();
  plain.kind = ProblemKind::collective;
  plain.reduce_op = ReduceOp::sum;
  EXPECT_EQ(refusal(plain, form_of(problem, CompositionMode::merged)),
            "mesh reduction: all_reduce i32 sum 64 is none");
  // Parts.
  EXPECT_THAT(told(CompositionMode::sequential, [](Composition& one) { one.parts.pop_back(); }),
              HasSubstr("mesh_reduce 2x2 0:sum,1:sum i32 64 is unavailable: it has 1 parts for 2 "
                        "steps"));
  EXPECT_THAT(told(CompositionMode::sequential,
                   [](Composition& one) { std::swap(one.parts[0], one.parts[1]); }),
              HasSubstr("its parts are not those of the steps in their order"));
  EXPECT_THAT(
      told(CompositionMode::merged, [](Composition& one) { one.parts.push_back(one.parts[0]); }),
      HasSubstr("a merged composition has one part, a whole one"));
  for (const auto& step : {std::optional<int>{}, std::optional(0), std::optional(2)})
    EXPECT_THAT(
        told(CompositionMode::hierarchical, [&](Composition& one) { one.parts[0].step = step; }),
        HasSubstr("its parts before and after the bridge are not of one of the steps"));
  for (const int step : {-1, 2})
    EXPECT_THAT(told(CompositionMode::hierarchical,
                     [&](Composition& one) { one.parts[0].step = one.parts[2].step = step; }),
                HasSubstr("its parts before and after the bridge are not of one of the steps"));
  // What does them.
  for (const CompositionMode mode : forms) {
    EXPECT_EQ(told(mode,
                   [](Composition& one) {
                     one.parts.back().variant = {"cpu.no", {}};
                   }),
              "mesh reduction: this build has no implementation cpu.no");
    EXPECT_EQ(told(mode,
                   [](Composition& one) {
                     one.parts.back().variant = parse_variant("cpu.broadcast_flat{chunk=0}");
                   }),
              std::string("mesh reduction: cpu.broadcast_flat{chunk=0} is none of ") +
                  (mode == CompositionMode::hierarchical ? "all_gather" : "all_reduce"));
  }
}

TEST(MeshReduceRefusals, WhatTheAlgebraForbids) {
  const auto told = [](std::string_view shape, std::string_view steps, CompositionMode mode) {
    const Problem problem = some_problem(shape, steps);
    return refusal(problem, form_of(problem, mode), ranks_of(*problem.mesh));
  };
  for (const auto mode : {CompositionMode::merged, CompositionMode::hierarchical}) {
    EXPECT_THAT(told("2x2", "1:sum,1:sum", mode),
                HasSubstr("the steps count rank 0's input in rank 0's result 2 times"));
    EXPECT_THAT(told("2x2", "0:sum,1:max", mode), HasSubstr("steps of unlike operators"));
    EXPECT_THAT(told("2x2", "0:avg,1:avg", mode), HasSubstr("an average of integers truncates"));
    EXPECT_THAT(told("3", "{0-1}:max,{1-2}:max", mode),
                HasSubstr("the steps leave rank 2's input in rank 0's result out"));
  }
  EXPECT_THAT(told("5", "{0-1|2-4}:sum,{0-1|2-4}:sum", CompositionMode::hierarchical),
              HasSubstr("2 times"));
  EXPECT_THAT(told("5", "{0}:sum,{0-1|2-4}:sum", CompositionMode::hierarchical),
              HasSubstr("the groups of step 1 are not equally large"));
  EXPECT_THAT(told("4x1", "0:sum,1:sum", CompositionMode::hierarchical),
              HasSubstr("the groups of step 1 are single ranks"));
  Problem captured = some_problem();
  captured.graph_capture = true;
  EXPECT_THAT(refusal(captured, form_of(captured, CompositionMode::merged)),
              HasSubstr("no device graph can hold it"));
}

/// One rank's buffers for a call, and its operation.
class Caller {
 public:
  Caller(Subgroups& ranks, const Problem& problem, const Composition& composition,
         const Implementations& catalogue, std::size_t size = bytes)
      : verified_{problem, ranks.all().size(), 0, DataPattern::exact, 1},
        rank_(ranks.all().rank()),
        send_(size),
        receive_(size),
        operation_(prepare_mesh_reduce(ranks, {problem, 0, {send_, receive_}}, composition, {},
                                       catalogue, soon_enough())) {}

  [[nodiscard]] bool is_right() {
    fill_send(verified_, rank_, send_);
    operation_->start();
    operation_->wait(soon_enough());
    return !find_mismatch(verified_, rank_, Rounding::exact, receive_);
  }
  [[nodiscard]] Operation& operation() { return *operation_; }

 private:
  VerifiedCall verified_;
  int rank_;
  std::vector<std::byte> send_;
  std::vector<std::byte> receive_;
  std::unique_ptr<Operation> operation_;
};

TEST(MeshReduceRefusals, NoRankPreparesWhereOneHasWrongBuffers) {
  const Implementations catalogue = make_catalogue();
  const Problem problem = some_problem();
  run_ranks(4, [&](Communicator& communicator) {
    Subgroups ranks(communicator);
    for (const CompositionMode mode : forms) {
      const Composition form = form_of(problem, mode);
      const bool is_wrong = communicator.rank() == 2;
      try {
        const Caller caller(ranks, problem, form, catalogue, is_wrong ? 60 : bytes);
        ADD_FAILURE() << "a buffer was too short";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), StatusCode::invalid_argument);
        EXPECT_EQ(error.what(),
                  std::string(is_wrong ? "mesh reduction: rank 2 gives 60 to send, not 64"
                                       : "rank 2 could not prepare its part of a mesh reduction"));
      }
      // Nobody was left behind in it.
      EXPECT_TRUE(Caller(ranks, problem, form, catalogue).is_right());
    }
  });
}

TEST(MeshReduceRefusals, NoRankPreparesWhereOneHasItsBuffersOnADevice) {
  const Implementations catalogue = make_catalogue();
  const Problem problem = some_problem();
  PretendedDevice device;
  const std::vector<Device*> devices{nullptr, nullptr, &device, nullptr};
  run_ranks(
      4,
      [&](Communicator& communicator) {
        Subgroups ranks(communicator);
        for (const CompositionMode mode : forms) {
          try {
            const Caller caller(ranks, problem, form_of(problem, mode), catalogue);
            ADD_FAILURE() << "rank 2 has a device";
          } catch (const RankMissing& missing) {
            ADD_FAILURE() << missing.what();
          } catch (const Error& error) {
            EXPECT_EQ(error.code(), StatusCode::invalid_argument);
            if (communicator.rank() == 2) {
              EXPECT_THAT(error.what(), HasSubstr("rank 2 has its buffers on a device"));
            }
          }
        }
      },
      {}, devices);
}

void wait_until(const std::atomic<int>& counter, int value, const AbortFlag& abort_flag) {
  BoundedWait wait(soon_enough(), abort_flag, true);
  while (counter < value) wait.step(0, "the others");
}

TEST(MeshReduceRefusals, TheRankThatDoesNotPrepareIsNamed) {
  const Implementations catalogue = make_catalogue();
  const Problem problem = some_problem();
  for (const CompositionMode mode : forms) {
    std::atomic<int> ready = 0;
    std::atomic<int> done = 0;
    run_ranks(4, [&](Communicator& communicator) {
      if (communicator.rank() == 3) return wait_until(done, 3, communicator.abort_flag());
      Subgroups ranks(communicator);
      std::vector<std::byte> memory(2 * bytes);
      ++ready;
      wait_until(ready, 3, communicator.abort_flag());
      try {
        (void)prepare_mesh_reduce(
            ranks, {problem, 0, {std::span(memory).first(bytes), std::span(memory).last(bytes)}},
            form_of(problem, mode), {}, catalogue,
            std::chrono::steady_clock::now() + std::chrono::milliseconds(200));
        ADD_FAILURE() << "rank 3 never came";
      } catch (const RankMissing& missing) {
        EXPECT_EQ(missing.rank(), 3);
      }
      ++done;
    });
  }
}

TEST(MeshReduceRefusals, TheRankThatDoesNotStartIsNamedAsTheOneThatItIsAmongAll) {
  const Implementations catalogue = make_catalogue();
  // Rank 3 goes with rank 1 first, as the second of two.
  const Problem problem = some_problem("2x2", "0:sum,1:sum");
  std::atomic<int> started = 0;
  run_ranks(4, [&](Communicator& communicator) {
    Subgroups ranks(communicator);
    Caller caller(ranks, problem, form_of(problem, CompositionMode::sequential), catalogue);
    if (communicator.rank() != 3) {
      caller.operation().start();
      ++started;
      wait_until(started, 3, communicator.abort_flag());
      try {
        caller.operation().wait(std::chrono::steady_clock::now() + std::chrono::milliseconds(50));
        ADD_FAILURE() << "rank 3 never started";
      } catch (const RankMissing& missing) {
        EXPECT_EQ(missing.code(), StatusCode::deadline_exceeded);
        // Ranks 0 and 2 are done with each other; rank 2 waits for rank 3, and rank 0 for rank 1.
        EXPECT_EQ(missing.rank(), communicator.rank() == 0 ? 1 : 3);
        EXPECT_THAT(missing.what(), HasSubstr("a step of a mesh reduction"));
      }
      try {
        caller.operation().start();
        ADD_FAILURE() << "it started again after a call that failed";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), StatusCode::failed_precondition);
      }
    }
    communicator.barrier(soon_enough());
  });
}

TEST(MeshReduceRefusals, AFormIsRunAgainAndAgain) {
  const Implementations catalogue = make_catalogue();
  const Problem problem = some_problem();
  run_ranks(4, [&](Communicator& communicator) {
    Subgroups ranks(communicator);
    for (const CompositionMode mode : forms) {
      Caller caller(ranks, problem, form_of(problem, mode), catalogue);
      for (int call = 0; call < 3; ++call) EXPECT_TRUE(caller.is_right());
    }
  });
}

}  // namespace
}  // namespace colltune::test
