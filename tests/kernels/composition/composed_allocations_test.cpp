// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Later calls of mesh reductions and of collectives by groups take no memory.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "grouped_checks.h"
#include "mesh_checks.h"
#include "support/run_ranks.h"

namespace {

thread_local std::uint64_t allocations = 0;

void* allocate(std::size_t size, std::size_t alignment) {
  ++allocations;
  void* const memory =
      std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory == nullptr && size > 0) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace colltune::test {
namespace {

constexpr std::size_t largest = 48 << 10;
constexpr int ranks_here = 4;

/// One rank's calls on its own memory.
class CountedCalls {
 public:
  explicit CountedCalls(int rank) : rank_(rank), send_(largest), receive_(largest) {}

  [[nodiscard]] Call call_of(const Problem& problem, int root = 0) {
    const bool is_root = rank_ == root;
    Call call{
        .problem = problem,
        .root = root,
        .buffers = {std::span(send_).first(send_size(problem, ranks_here, is_root).value),
                    std::span(receive_).first(receive_size(problem, ranks_here, is_root).value)}};
    if (problem.in_place && !call.buffers.send.empty()) call.buffers.send = call.buffers.receive;
    return call;
  }
  /// How often the call took memory.
  [[nodiscard]] static std::uint64_t count(Operation& operation, const Call& call) {
    const Deadline deadline = soon_enough();
    const std::uint64_t before = allocations;
    operation.rebind(call);
    operation.start();
    operation.wait(deadline);
    operation.bind(call.buffers);
    operation.start();
    operation.wait(deadline);
    return allocations - before;
  }

 private:
  int rank_;
  std::vector<std::byte> send_;
  std::vector<std::byte> receive_;
};

Variant of_text(std::string_view text) { return parse_variant(std::string(text)); }

TEST(ComposedAllocations, ALaterMeshReductionTakesNone) {
  const Implementations catalogue = make_catalogue();
  const MeshReduction mesh = parse_mesh("2x2", "0:sum,1:avg");
  run_ranks(ranks_here, [&](Communicator& communicator) {
    Subgroups ranks(communicator);
    CountedCalls calls(communicator.rank());
    for (const CompositionMode mode :
         {CompositionMode::sequential, CompositionMode::merged, CompositionMode::hierarchical}) {
      Composition form = outline_of(mesh, mode, 1);
      for (Part& part : form.parts)
        part.variant = of_text(
            part.role == PartRole::before
                ? "cpu.reduce_scatter_flat{access=staged,chunk=16384,slots=4,stores=cached}"
            : part.role == PartRole::after
                ? "cpu.all_gather_low_latency{format=line,slots=4,stores=cached,taken_back=one_"
                  "line}"
                : "cpu.all_reduce_two_shot{access=cma,chunk=16384,flow=pull,slots=4,stores="
                  "cached}");
      Call first = calls.call_of(mesh_problem(mesh, DataType::f32, 12));
      first.capacity = {largest};
      const auto operation = prepare_mesh_reduce(ranks, first, form, {}, catalogue, soon_enough());
      for (int turn = 0; turn < 2; ++turn)
        for (const std::size_t elements : {12U, 1U, 0U, 4096U, 33U})
          for (const DataType type : {DataType::f32, DataType::f64})
            for (const bool in_place : {false, true}) {
              Problem problem = mesh_problem(mesh, type, elements);
              problem.in_place = in_place;
              const std::uint64_t taken = CountedCalls::count(*operation, calls.call_of(problem));
              // What is drawn at the first use is kept.
              if (turn > 0) {
                EXPECT_EQ(taken, 0U) << name_of(mode) << " " << describe(problem);
              }
            }
    }
    communicator.barrier(soon_enough());
  });
}

TEST(ComposedAllocations, ALaterCallByGroupsTakesNone) {
  const Implementations catalogue = make_catalogue();
  run_ranks(ranks_here, [&](Communicator& communicator) {
    CountedCalls calls(communicator.rank());
    for (const auto& named : enum_names(Collective{})) {
      const bool in_place = named.value == Collective::broadcast;
      const auto problem_of_size = [&](std::size_t bytes) {
        Problem problem = problem_of(named.value, bytes);
        problem.in_place = in_place;
        return problem;
      };
      Call first = calls.call_of(problem_of_size(64));
      first.capacity = {8192};
      const auto operation = prepare_grouped(communicator, first, crossed_grouping(first.problem),
                                             catalogue, soon_enough());
      EXPECT_GT(allocations, 0U) << "they are counted";
      for (int turn = 0; turn < 2; ++turn)
        for (const std::size_t bytes : {64U, 0U, 4096U, 160U})
          for (int root = 0; root < (shape_of(named.value).has_root ? ranks_here : 1); ++root) {
            const std::uint64_t taken =
                CountedCalls::count(*operation, calls.call_of(problem_of_size(bytes), root));
            if (turn > 0) {
              EXPECT_EQ(taken, 0U) << named.name << " of " << bytes << " bytes, root " << root;
            }
          }
    }
    communicator.barrier(soon_enough());
  });
}

}  // namespace
}  // namespace colltune::test
