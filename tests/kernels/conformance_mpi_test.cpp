// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Every implementation of the catalogue, over MPI, with as many ranks as the launcher starts.

#include <gtest/gtest.h>

#include "colltune/kernels/mpi_library/mpi_communicator.h"
#include "conformance.h"
#include "mpi_library/mpi_arguments.h"
#include "stub_implementation.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

// A pair has all cases. In other worlds only where the ranks are is new, besides what threads show.
Usually usually_in(const Communicator& world) {
  return world.size() == 2 && world.is_one_node() ? Usually::cases : Usually::covering_sample;
}

TEST(ConformanceOverMpi, EveryImplementationIsRight) {
  AbortFlag abort_flag;
  const auto world = make_mpi_world(abort_flag, soon_enough());
  EXPECT_GT(run_conformance(*world, make_catalogue(), usually_in(*world)), 0);
}

TEST(ConformanceOverMpi, EveryImplementationIsRightAcrossNodes) {
  for (const int ranks_per_node : {1, 2}) {
    AbortFlag abort_flag;
    const auto world =
        make_mpi_world(abort_flag, soon_enough(), {.ranks_per_node = ranks_per_node});
    if (world->is_one_node()) continue;
    EXPECT_GT(run_conformance(*world, make_catalogue(), usually_in(*world)), 0);
  }
}

// A message whose bytes were stored past the caches, and not ordered before it was announced, is
// read by the receiver as what was there before: in one run of many, so here are many.
TEST(ConformanceOverMpi, WhatIsStoredPastTheCachesArrivesByMessage) {
  AbortFlag abort_flag;
  const auto world = make_mpi_world(abort_flag, soon_enough(), {.ranks_per_node = 1});
  if (world->is_one_node()) GTEST_SKIP() << "needs two ranks";
  const Implementations catalogue = make_catalogue();
  for (const char* const stores : {"adaptive", "streaming_staging", "streaming_both"}) {
    const Variant variant{
        "cpu.reduce_two_shot",
        {{"access", "staged"}, {"chunk", 16 << 10}, {"slots", 4}, {"stores", stores}}};
    ConformanceCase test{.calls = 60};
    test.problem.collective = Collective::reduce;
    test.problem.message_size = {512 << 10};
    EXPECT_EQ(
        find_fault(*world, *find_implementation(catalogue, variant.implementation), variant, test),
        "")
        << stores;
  }
}

/// The MPI library's persistent collectives as if they were an implementation.
class PersistentForm final : public StubImplementation {
 public:
  PersistentForm(const Implementation& ordinary, bool chooses)
      : StubImplementation(ordinary.collective()), ordinary_(ordinary), chooses_(chooses) {}
  [[nodiscard]] Numerics numerics(const Problem& problem, const Variant& variant) const override {
    return ordinary_.numerics(problem, variant);
  }
  [[nodiscard]] std::unique_ptr<Operation> prepare(Communicator& communicator, const Call& call,
                                                   const Variant& variant,
                                                   Deadline deadline) const override {
    if (!chooses_)
      return make_persistent_mpi_operation(communicator, call, ReduceScatterCall::block);
    Call persistent = call;
    persistent.is_persistent = true;
    auto operation = ordinary_.prepare(communicator, persistent, variant, deadline);
    const auto executed = operation->executed();
    EXPECT_TRUE(executed &&
                (executed->choice == "form=persistent" || executed->choice == "form=ordinary"));
    return operation;
  }

 private:
  const Implementation& ordinary_;
  bool chooses_;
};

TEST(ConformanceOverMpi, PersistentFormsAreRight) {
  if (persistent_form_of(Collective::all_reduce, ReduceScatterCall::block) == nullptr)
    GTEST_SKIP() << "this MPI library has no persistent collectives";
  AbortFlag abort_flag;
  const auto world = make_mpi_world(abort_flag, soon_enough());
  const Implementations catalogue = make_catalogue();
  const Capability capability = detect_capability(catalogue, *world);
  for (const auto& ordinary : catalogue) {
    if (ordinary->family() != "mpi" || !ordinary->is_baseline()) continue;
    const Variant variant{ordinary->name(), {}};
    for (const bool chooses : {false, true}) {
      const PersistentForm form(*ordinary, chooses);
      for (const ConformanceCase& test : conformance_cases(*ordinary, world->size())) {
        // Calls of unequal counts have the ordinary form alone.
        if (test.problem.message_size == Bytes{} || test.problem.counts != Counts::equal ||
            !ordinary->supports(test.problem, topology_of(*world, capability), capability, variant))
          continue;
        EXPECT_EQ(find_fault(*world, form, variant, test), "") << describe(test.problem);
      }
    }
  }
}

TEST(ConformanceOverMpi, TreesOverTheMachineAreRightOverDomains) {
  Implementations leaders = make_catalogue();
  std::erase_if(leaders, [](const auto& one) { return !one->name().ends_with("_leaders"); });
  AbortFlag abort_flag;
  const auto world = make_mpi_world(abort_flag, soon_enough(), {.ranks_per_domain = 2});
  if (world->size() < 3) GTEST_SKIP() << "needs a domain with several ranks and another one";
  EXPECT_GT(run_conformance(*world, leaders, usually_in(*world)), 0);
}

}  // namespace
}  // namespace colltune::test
