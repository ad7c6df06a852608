// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Which later calls mesh reductions and collectives by groups take, on ranks that are threads.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "colltune/kernels/composition/composed.h"
#include "colltune/kernels/composition/mesh_reduce.h"
#include "colltune/vocabulary/canonical.h"
#include "colltune/vocabulary/error.h"
#include "grouped_checks.h"
#include "mesh_checks.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::size_t largest = 256 << 10;

/// One rank's memory for calls of up to `largest` bytes on each side, and what is made on it.
class Bench {
 public:
  Bench(int rank, int ranks) : rank_(rank), ranks_(ranks), send_(largest), receive_(largest) {}

  [[nodiscard]] Call call_of(const Problem& problem, int root = 0) {
    const bool is_root = rank_ == root;
    return {.problem = problem,
            .root = root,
            .buffers = {std::span(send_).first(send_size(problem, ranks_, is_root).value),
                        std::span(receive_).first(receive_size(problem, ranks_, is_root).value)}};
  }
  /// Makes a call of what was bound to it; empty if its result is right.
  [[nodiscard]] std::string run(Operation& operation, const Call& call, std::uint64_t seed) {
    const VerifiedCall verified{call.problem, ranks_, call.root, DataPattern::exact, seed};
    fill_send(verified, rank_, std::span(send_).first(call.buffers.send.size()));
    operation.start();
    operation.wait(soon_enough());
    const auto wrong = find_mismatch(verified, rank_, Rounding::each_step, call.buffers.receive);
    return wrong ? "element " + std::to_string(wrong->element) + " is " + wrong->got + ", not " +
                       wrong->expected
                 : std::string();
  }

 private:
  int rank_;
  int ranks_;
  std::vector<std::byte> send_;
  std::vector<std::byte> receive_;
};

/// "code: text" of what refuses the call.
std::string refusal_of(Operation& operation, const Call& call) {
  try {
    operation.rebind(call);
    return {};
  } catch (const Error& error) {
    return std::to_string(static_cast<int>(error.code())) + ": " + error.what();
  }
}

Variant low_latency(std::string_view collective) {
  return parse_variant("cpu." + std::string(collective) +
                       "_low_latency{format=line,slots=4,stores=cached,taken_back=one_line}");
}

TEST(MeshRebind, TakesNoOtherMeshAndNothingThatAPartDoesNotTake) {
  const Implementations catalogue = make_catalogue();
  run_ranks(4, [&](Communicator& communicator) {
    Subgroups ranks(communicator);
    Bench bench(communicator.rank(), 4);
    const MeshReduction mesh = parse_mesh("2x2", "0:sum,1:avg");
    const auto problem_of_size = [&](std::size_t bytes, DataType type = DataType::f32) {
      return mesh_problem(mesh, type, bytes / size_of(type));
    };
    Composition form = outline_of(mesh, CompositionMode::merged, 0);
    form.parts.front().variant = low_latency("all_reduce");
    Call first = bench.call_of(problem_of_size(64));
    const auto kept = prepare_mesh_reduce(ranks, first, form, {}, catalogue, soon_enough());
    EXPECT_THAT(refusal_of(*kept, first),
                AllOf(StartsWith("9: "), HasSubstr("no capacity was given")));
    EXPECT_EQ(bench.run(*kept, first, 1), "");
    first.capacity = {largest / 2};
    const auto operation = prepare_mesh_reduce(ranks, first, form, {}, catalogue, soon_enough());
    EXPECT_EQ(bench.run(*operation, first, 2), "");
    EXPECT_THAT(refusal_of(*operation, bench.call_of(problem_of_size(largest))),
                AllOf(StartsWith("3: "), HasSubstr("messages of up to 128KiB")));
    EXPECT_THAT(refusal_of(*operation, bench.call_of(problem_of_size(largest / 2))),
                AllOf(StartsWith("3: "), HasSubstr("cpu.all_reduce_low_latency"),
                      HasSubstr("takes at most 64KiB")));
    EXPECT_THAT(
        refusal_of(*operation,
                   bench.call_of(mesh_problem(parse_mesh("2x2", "1:avg,0:sum"), DataType::f32, 4))),
        AllOf(StartsWith("3: "), HasSubstr("it was prepared for mesh_reduce 2x2 0:sum,1:avg")));
    EXPECT_THAT(refusal_of(*operation, bench.call_of(problem_of_size(64, DataType::i32))),
                AllOf(StartsWith("3: "), HasSubstr("truncates")));
    Problem plain = problem_of(Collective::all_reduce, 64);
    EXPECT_THAT(refusal_of(*operation, bench.call_of(plain)),
                HasSubstr("the call was prepared for mesh_reduce"));
    // What was refused has changed nothing.
    EXPECT_EQ(bench.run(*operation, first, 3), "");
    for (const auto& [bytes, type] : {std::pair(4096, DataType::f64), std::pair(2, DataType::bf16),
                                      std::pair(0, DataType::f32), std::pair(60, DataType::f32)}) {
      const Call next = bench.call_of(problem_of_size(static_cast<std::size_t>(bytes), type));
      EXPECT_EQ(refusal_of(*operation, next), "");
      EXPECT_EQ(bench.run(*operation, next, 4), "") << describe(next.problem);
    }
    communicator.barrier(soon_enough());
  });
}

TEST(MeshRebind, UnlikeRanksTakeOtherSizesToo) {
  const Implementations catalogue = make_catalogue();
  const Members members{.kinds = {{"x86_64-avx2", {"a"}}, {"x86_64-avx2", {"b"}}},
                        .kind_of_rank = {0, 1, 0, 1}};
  run_ranks(4, [&](Communicator& communicator) {
    Subgroups ranks(communicator);
    Bench bench(communicator.rank(), 4);
    const MeshReduction mesh = parse_mesh("2x2", "0:sum,1:avg");
    const auto of_kind = [&](std::size_t kind, PartRole role, const Variant& variant) {
      return Part{.role = role,
                  .kinds = {digest_of_value(members.kinds[kind])},
                  .variant = variant,
                  .step = {}};
    };
    Composition grouped{.mode = CompositionMode::grouped, .parts = {}};
    Composition substituted{.mode = CompositionMode::substituted, .parts = {}};
    for (const std::size_t kind : {0U, 1U}) {
      grouped.parts.push_back(of_kind(kind, PartRole::before, low_latency("reduce")));
      grouped.parts.push_back(of_kind(kind, PartRole::after, low_latency("broadcast")));
      substituted.parts.push_back(of_kind(kind, PartRole::whole, low_latency("all_reduce")));
    }
    grouped.parts.push_back(
        {.role = PartRole::bridge, .kinds = {}, .variant = low_latency("all_reduce"), .step = {}});
    for (const Composition& composition : {grouped, substituted}) {
      Call first = bench.call_of(mesh_problem(mesh, DataType::f32, 3));
      first.capacity = {8192};
      const auto operation =
          prepare_mesh_reduce(ranks, first, composition, members, catalogue, soon_enough());
      EXPECT_EQ(bench.run(*operation, first, 1), "");
      std::uint64_t seed = 2;
      for (const std::size_t elements : {2048U, 1U, 0U, 77U}) {
        const Call next = bench.call_of(mesh_problem(mesh, DataType::f32, elements));
        operation->rebind(next);
        EXPECT_EQ(bench.run(*operation, next, seed++), "") << describe(next.problem);
        operation->bind(next.buffers);
        EXPECT_EQ(bench.run(*operation, next, seed++), "") << describe(next.problem);
      }
    }
    communicator.barrier(soon_enough());
  });
}

TEST(GroupedRebind, TakesAnyRootAndNothingThatAStageDoesNotTake) {
  const Implementations catalogue = make_catalogue();
  run_ranks(4, [&](Communicator& communicator) {
    Bench bench(communicator.rank(), 4);
    for (const Collective collective :
         {Collective::broadcast, Collective::reduce, Collective::gather, Collective::scatter}) {
      Call first = bench.call_of(problem_of(collective, 64), 2);
      const Grouping grouping = crossed_grouping(first.problem);
      const auto kept = prepare_grouped(communicator, first, grouping, catalogue, soon_enough());
      EXPECT_THAT(refusal_of(*kept, first), HasSubstr("no capacity was given"));
      first.capacity = {largest};
      const auto operation =
          prepare_grouped(communicator, first, grouping, catalogue, soon_enough());
      EXPECT_EQ(bench.run(*operation, first, 1), "") << describe(first.problem);
      std::uint64_t seed = 2;
      for (const int root : {0, 1, 3, 1, 2, 2, 3, 0}) {
        const Call next = bench.call_of(problem_of(collective, 16 * seed), root);
        operation->rebind(next);
        EXPECT_EQ(bench.run(*operation, next, seed++), "") << describe(next.problem) << root;
      }
      EXPECT_THAT(refusal_of(*operation, bench.call_of(problem_of(collective, largest), 1)),
                  AllOf(StartsWith("3: a collective by groups"), HasSubstr("_low_latency")));
      EXPECT_THAT(refusal_of(*operation, bench.call_of(problem_of(collective, 64), 4)),
                  HasSubstr("the root is rank 4 of 4"));
      const Call last = bench.call_of(problem_of(collective, 160), 3);
      EXPECT_EQ(refusal_of(*operation, last), "");
      EXPECT_EQ(bench.run(*operation, last, seed), "");
    }
    communicator.barrier(soon_enough());
  });
}

}  // namespace
}  // namespace colltune::test
