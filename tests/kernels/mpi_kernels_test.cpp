// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// What is particular to MPI: communicators, and Open MPI's forced algorithms.

#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "colltune/kernels/mpi_library/mpi_communicator.h"
#include "conformance.h"
#include "mpi_library/control_variable.h"
#include "mpi_library/launch_check.h"
#include "operation_checks.h"
#include "peer_checks.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

class OverMpi : public testing::Test {
 protected:
  const Implementation& implementation(std::string_view name) const {
    return *find_implementation(catalogue_, name);
  }
  Problem gather_problem() const {
    return {.collective = Collective::all_gather,
            .data_type = DataType::i32,
            .reduce_op = ReduceOp::none,
            .message_size = {static_cast<unsigned>(world_->size()) * 68U}};
  }

  AbortFlag abort_flag_;
  std::unique_ptr<Communicator> world_ = make_mpi_world(abort_flag_, soon_enough());
  Implementations catalogue_ = make_catalogue();
};

TEST_F(OverMpi, CommunicatorsSplitDuplicateAndShareMemory) {
  EXPECT_NE(world_->native_mpi(), nullptr);
  EXPECT_TRUE(world_->is_one_node());
  const int rank = world_->rank();
  const auto half = world_->split(rank % 2, -rank, soon_enough());
  ASSERT_NE(half, nullptr);
  EXPECT_EQ(half->size(), (world_->size() + 1 - rank % 2) / 2);
  EXPECT_EQ(half->rank(), half->size() - 1 - rank / 2);
  const auto none = world_->split(rank == 0 ? 0 : -1, 0, soon_enough());
  EXPECT_EQ(none != nullptr, rank == 0);

  const auto memory = half->allocate({5000}, soon_enough());
  for (int r = 0; r < half->size(); ++r)
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->part(r).data()) % (2U << 20), 0U);
  memory->part(half->rank())[4999] = static_cast<std::byte>(half->rank() + 1);
  half->barrier(soon_enough());
  for (int r = 0; r < half->size(); ++r)
    EXPECT_EQ(memory->part(r)[4999], static_cast<std::byte>(r + 1));
  half->barrier(soon_enough());
}

TEST_F(OverMpi, PartsShareCoresAsTheWholeDoesUnlessTheOthersSleep) {
  const int rank = world_->rank();
  const auto one = world_->split(rank, 0, soon_enough());
  EXPECT_EQ(one->is_oversubscribed(), world_->is_oversubscribed());
  EXPECT_EQ(one->duplicate(soon_enough())->is_oversubscribed(), world_->is_oversubscribed());
  const auto alone = world_->split(rank == 0 ? 0 : -1, 0, OtherRanks::sleeping, soon_enough());
  ASSERT_EQ(alone != nullptr, rank == 0);
  if (alone == nullptr) return;
  EXPECT_FALSE(alone->is_oversubscribed());
  EXPECT_FALSE(alone->duplicate(soon_enough())->is_oversubscribed());
}

/// Notes the buffers of its calls.
class NotingBuffers final : public Operation {
 public:
  explicit NotingBuffers(std::vector<CallBuffers>& notes) : notes_(notes) {}
  void bind(const CallBuffers& buffers) override { bound_ = buffers; }
  void start() override {
    if (fails_) throw Error(StatusCode::aborted, "a kernel failed");
    notes_.push_back(bound_);
  }
  void wait(Deadline /*deadline*/) override {}
  void give_up() noexcept override { fails_ = true; }  // told through what calls it

 private:
  std::vector<CallBuffers>& notes_;
  CallBuffers bound_;
  bool fails_ = false;
};

// What MPI's arguments of a call are translated into are its buffers, on each rank.
TEST_F(OverMpi, ACallThroughTheLibraryComesToAKernelWithItsBuffersAndWaitsForNobody) {
  const int ranks = world_->size();
  std::vector<std::byte> memory(static_cast<std::size_t>(4 * ranks) * 64);
  Call call;
  for (const auto& [collective, name] : enum_names(Collective{})) {
    const bool reduces = shape_of(collective).reduces;
    for (const bool in_place : {false, true})
      for (const Counts counts : {Counts::equal, Counts::one_large})
        for (int root = 0; root < ranks; ++root) {
          call.problem = {.collective = collective,
                          .reduce_op = reduces ? ReduceOp::sum : ReduceOp::none,
                          .message_size = {static_cast<std::uint64_t>(ranks) * 64},
                          .in_place = in_place,
                          .counts = counts};
          if (counts != Counts::equal && (ranks < 2 || !may_have_unequal_counts(call.problem)))
            continue;
          const std::vector<std::size_t> blocks = typical_blocks(call.problem, ranks);
          call.blocks = blocks;
          call.root = root;
          const std::size_t sent =
              send_size(call.problem, ranks, blocks, world_->rank(), root).value;
          const std::size_t received =
              receive_size(call.problem, ranks, blocks, world_->rank(), root).value;
          const std::size_t half = memory.size() / 2;
          std::vector<CallBuffers> expected;
          for (const std::size_t at : {std::size_t{0}, std::size_t{64}}) {
            const std::size_t larger = std::max(sent, received);
            const std::size_t smaller = std::min(sent, received);
            std::size_t inner =
                sent == received ? 0 : smaller * static_cast<std::size_t>(world_->rank());
            if (!blocks.empty())
              inner =
                  std::accumulate(blocks.begin(), blocks.begin() + world_->rank(), std::size_t{0});
            const std::span<std::byte> whole = std::span(memory).subspan(at, larger);
            const std::span<std::byte> part =
                smaller == 0 ? std::span<std::byte>() : whole.subspan(inner, smaller);
            const std::span<std::byte> other = std::span(memory).subspan(half + at, received);
            if (!in_place)
              expected.push_back({.send = std::span(memory).subspan(at, sent), .receive = other});
            else
              expected.push_back({.send = sent >= received ? whole : part,
                                  .receive = sent >= received ? part : whole});
          }
          call.buffers = expected.front();
          std::vector<CallBuffers> calls;
          std::unique_ptr<Operation> prepared = std::make_unique<NotingBuffers>(calls);
          const auto through = world_->call_through_library(prepared, call);
          const bool is_call_of_mpi = collective == Collective::broadcast        ? in_place
                                      : collective == Collective::reduce_scatter ? !in_place
                                                                                 : true;
          ASSERT_EQ(through != nullptr, is_call_of_mpi) << name;
          ASSERT_EQ(prepared == nullptr, is_call_of_mpi) << name;
          if (through == nullptr) continue;
          through->call_each(expected, soon_enough());
          through->bind(expected.front());
          through->start();
          through->wait(soon_enough());
          expected.push_back(expected.front());
          ASSERT_EQ(calls.size(), expected.size()) << name;
          for (std::size_t i = 0; i < calls.size(); ++i) {
            const bool sends = sent > 0;
            const bool receives = received > 0;
            EXPECT_EQ(calls[i].send.size(), sent) << name << (in_place ? " in place" : "");
            EXPECT_EQ(calls[i].receive.size(), received) << name << (in_place ? " in place" : "");
            if (sends) {
              EXPECT_EQ(calls[i].send.data(), expected[i].send.data()) << name << in_place;
            }
            if (receives) {
              EXPECT_EQ(calls[i].receive.data(), expected[i].receive.data()) << name << in_place;
            }
          }
          through->give_up();
          try {
            through->call_each(std::span(expected).first(1), soon_enough());
            ADD_FAILURE() << name << ": the kernel's error is lost";
          } catch (const Error& error) {
            EXPECT_STREQ(error.what(), "a kernel failed");
          }
        }
  }
  call.problem = {.collective = Collective::all_reduce,
                  .data_type = DataType::bf16,  // which MPI cannot reduce
                  .reduce_op = ReduceOp::sum,
                  .message_size = {64}};
  call.blocks = {};
  std::vector<CallBuffers> calls;
  std::unique_ptr<Operation> prepared = std::make_unique<NotingBuffers>(calls);
  EXPECT_EQ(world_->call_through_library(prepared, call), nullptr);
  if (ranks > 1) {  // too few elements for a block on each rank: a program's call is empty
    call.problem = {
        .collective = Collective::all_gather, .reduce_op = ReduceOp::none, .message_size = {4}};
    EXPECT_EQ(world_->call_through_library(prepared, call), nullptr);
  }
  EXPECT_NE(prepared, nullptr);
}

TEST_F(OverMpi, HanSaysWhyItCannot) {
  const Implementation& reduced = implementation("mpi.all_reduce_han");
  const Problem problem{.collective = Collective::all_reduce,
                        .data_type = DataType::f32,
                        .reduce_op = ReduceOp::sum,
                        .message_size = {4096}};
  const Topology hosts{.nodes = 2, .ranks_per_node = 2, .ranks = 4};
  Capability capability;
  const auto why_not = [&](const Implementation& one, const Problem& asked, const Topology& where,
                           const std::string& settings = {}) {
    return one.supports(asked, where, capability, parse_variant(one.name() + settings)).reason();
  };
  const auto starts = [](const std::string& text, std::string_view begin) {
    EXPECT_TRUE(text.starts_with(begin)) << text;
  };
  capability.features["mpi.library"] = "Open MPI v4.1.4";
  starts(why_not(reduced, problem, hosts), "this MPI library has no coll/han");
  capability.features["mpi.han"] = "";
  EXPECT_EQ(why_not(reduced, problem, hosts), "");
  starts(why_not(reduced, problem, hosts, "{segment=1}"), "it takes no parameter");
  const std::string one_host = "coll/han does not serve ranks that all are on one host";
  EXPECT_EQ(why_not(reduced, problem, {.nodes = 1, .ranks_per_node = 4, .ranks = 4}), one_host);
  const Topology unlike{.nodes = 2, .ranks_per_node = 2, .ranks = 3};
  EXPECT_EQ(why_not(reduced, problem, unlike), "");
  Problem gathered = gather_problem();
  gathered.message_size = {12U * 64};
  starts(why_not(implementation("mpi.all_gather_han"), gathered, unlike), "coll/han steps aside");
  capability.features["mpi.han"] = "the user's file";
  starts(why_not(reduced, problem, hosts), "the user's file");

  // These ranks are on one host, and both who asks and who prepares is told.
  const Capability own = detect_capability(catalogue_, *world_);
  if (own.value("mpi.library").starts_with("Open MPI")) {
    EXPECT_EQ(own.value("mpi.han"), one_host);
  }
  std::vector<std::byte> send(4096);
  std::vector<std::byte> receive(4096);
  EXPECT_THROW((void)reduced.prepare(*world_, {problem, 0, {send, receive}},
                                     parse_variant("mpi.all_reduce_han"), soon_enough()),
               UnavailableHere);
}

TEST_F(OverMpi, FindsWherePeersKeepTheirRegisteredBuffers) { check_places(*world_); }

TEST_F(OverMpi, OperationsGiveBackWhatTheyHold) {
  check_operations_give_back_what_they_hold(*world_, catalogue_);
}

TEST_F(OverMpi, LiveOperationsTakeTurns) { check_live_operations_take_turns(*world_, catalogue_); }

TEST_F(OverMpi, MessagesArriveByTagAndInOrder) { check_messages(*world_); }

TEST_F(OverMpi, MessagesAreGivenUp) {
  check_messages_given_up(*world_);
  // Nobody takes it, and a send cannot be cancelled: its bytes have to stay.
  static std::vector<std::byte> sent(4 << 20);
  const auto messages = world_->open_messages(1, soon_enough());
  messages->send(0, world_->rank(), 1, sent);
  if (messages->is_done(0)) GTEST_SKIP() << "this MPI library copies even 4 MiB aside";
  EXPECT_FALSE(messages->give_up(std::chrono::steady_clock::now()));
}

TEST(OverPretendedNodes, MemoryIsSharedWithinEachNodeAlone) {
  for (const int ranks_per_node : {1, 2}) {
    AbortFlag abort_flag;
    const auto world =
        make_mpi_world(abort_flag, soon_enough(), {.ranks_per_node = ranks_per_node});
    EXPECT_EQ(world->nodes().back(), (world->size() - 1) / ranks_per_node);
    check_memory_of_nodes(*world);
    const auto half = world->split(world->rank() % 2, 0, soon_enough());
    check_memory_of_nodes(*half);
  }
}

TEST(OverPretendedDomains, PlacesAreTheSameOnAllRanksAndKeptWhenSplit) {
  AbortFlag abort_flag;
  const auto world = make_mpi_world(abort_flag, soon_enough(), {.ranks_per_domain = 2});
  for (const Locality level : {Locality::numa, Locality::cache})
    for (int rank = 0; rank < world->size(); ++rank)
      EXPECT_EQ(world->places().on(level)[static_cast<std::size_t>(rank)], rank / 2);
  const auto half = world->split(world->rank() % 2, 0, soon_enough());  // one of each domain
  for (int rank = 0; rank < half->size(); ++rank)
    EXPECT_EQ(half->places().numa[static_cast<std::size_t>(rank)], rank);
}

TEST_F(OverMpi, TheLargestValueIsKnownToAll) {
  EXPECT_EQ(world_->all_reduce_max(-10 - world_->rank(), soon_enough()), -10);
  EXPECT_EQ(world_->all_reduce_max(std::int64_t{1} << (40 + world_->rank()), soon_enough()),
            std::int64_t{1} << (39 + world_->size()));
}

TEST_F(OverMpi, WordsGoToAndFroAndOneThatDoesNotComeIsMissed) {
  for (int other = 1; other < world_->size(); ++other)
    for (std::int64_t round = 0; round < 20; ++round) {
      if (world_->rank() == 0) {
        world_->send_word(other, 100 * round + other, soon_enough());
        EXPECT_EQ(world_->receive_word(other, soon_enough()), round - other);
      } else if (world_->rank() == other) {
        EXPECT_EQ(world_->receive_word(0, soon_enough()), 100 * round + other);
        world_->send_word(0, round - other, soon_enough());
      }
    }
  if (world_->rank() == world_->size() - 1 && world_->size() > 1) {
    EXPECT_THROW((void)world_->receive_word(
                     0, std::chrono::steady_clock::now() + std::chrono::milliseconds(20)),
                 RankMissing);
  }
  world_->barrier(soon_enough());
}

TEST_F(OverMpi, AllocateFailsOnAllRanksAlike) {
  EXPECT_THROW((void)world_->allocate({1ULL << 60}, soon_enough()), Error);
  if (world_->size() > 1) {
    EXPECT_THROW((void)world_->allocate({world_->rank() == 0 ? 64U : 128U}, soon_enough()), Error);
  }
  EXPECT_NE(world_->allocate({64}, soon_enough()), nullptr);
}

TEST_F(OverMpi, AMissingRankIsNamed) {
  if (world_->size() == 1) GTEST_SKIP() << "needs 2 ranks";
  const auto copy = world_->duplicate(soon_enough());
  const int missing = world_->size() - 1;
  if (world_->rank() != missing) {
    try {
      (void)copy->duplicate(std::chrono::steady_clock::now() + std::chrono::milliseconds(100));
      ADD_FAILURE() << "rank " << missing << " never came";
    } catch (const RankMissing& error) {
      EXPECT_EQ(error.rank(), missing);
    }
  }
  world_->barrier(soon_enough());
}

TEST_F(OverMpi, AlgorithmsAreDiscovered) {
  const Capability capability = detect_capability(catalogue_, *world_);
  ASSERT_TRUE(capability.has("mpi.library"));
  EXPECT_FALSE(capability.architecture.empty());
  EXPECT_NE(capability.value("cpu.cores"), "0");
  EXPECT_TRUE(capability.has("machine.cores"));
  EXPECT_TRUE(capability.has("numa.domains"));
  EXPECT_TRUE(capability.has("cache.domains"));
  if (!capability.value("mpi.library").starts_with("Open MPI")) GTEST_SKIP() << "not Open MPI";
  EXPECT_TRUE(capability.has("mpi.tuned.use_dynamic_rules"));
  for (const auto& named : enum_names(Collective{})) {
    const std::string prefix = "mpi.tuned." + std::string(name_of(named.value)) + ".";
    const auto first = capability.features.lower_bound(prefix);
    ASSERT_NE(first, capability.features.end());
    EXPECT_TRUE(first->first.starts_with(prefix)) << "no algorithm for " << prefix;
  }
}

TEST_F(OverMpi, SupportsSaysWhyNot) {
  const Capability here = detect_capability(catalogue_, *world_);
  if (!here.value("mpi.library").starts_with("Open MPI")) GTEST_SKIP() << "not Open MPI";
  const Implementation& tuned = implementation("mpi.all_gather_tuned");
  Topology topology = topology_of(*world_, here);
  topology.ranks = 4;
  const auto reason = [&](const Capability& capability, const std::string& parameters) {
    return tuned
        .supports(gather_problem(), topology, capability,
                  parse_variant("mpi.all_gather_tuned{" + parameters + "}"))
        .reason();
  };
  EXPECT_EQ(reason(here, "algorithm=ring"), "");
  EXPECT_EQ(reason(here, "algorithm=two_proc"), "takes at most 2 ranks");
  EXPECT_EQ(reason(here, "algorithm=ring,segment_size=4096"),
            "algorithm 'ring' does not take segment_size=4096");
  EXPECT_EQ(reason(here, "algorithm=nonsense"),
            "this Open MPI cannot force algorithm 'nonsense' for allgather");
  Capability other = here;
  other.features["mpi.library"] = "MPICH Version: 4.0.2";
  EXPECT_EQ(reason(other, "algorithm=ring"), "not Open MPI, but MPICH Version: 4.0.2");
  other = here;
  other.features.erase("mpi.tuned.use_dynamic_rules");
  EXPECT_EQ(reason(other, "algorithm=ring"),
            "launched without OMPI_MCA_coll_tuned_use_dynamic_rules=1");
  EXPECT_EQ(reason({}, "algorithm=ring"), "these ranks do not run under MPI");
  Problem huge = gather_problem();
  huge.message_size = {1ULL << 40};
  EXPECT_EQ(implementation("mpi.all_gather")
                .supports(huge, topology, here, {"mpi.all_gather", {}})
                .reason(),
            "MPI's counts end at 2147483647 elements");
  topology.ranks = 3;
  EXPECT_EQ(reason(here, "algorithm=neighbor"), "needs a multiple of 2 ranks");
}

TEST_F(OverMpi, NothingButMpisOwnCallIsTheBaseline) {
  const Capability here = detect_capability(catalogue_, *world_);
  const Topology topology = topology_of(*world_, here);
  const auto reason = [&](Collective collective, bool in_place) {
    const Problem problem{
        .collective = collective,
        .reduce_op = shape_of(collective).reduces ? ReduceOp::sum : ReduceOp::none,
        .message_size = {1024},
        .in_place = in_place};
    const std::string name = "mpi." + std::string(name_of(collective));
    return implementation(name).supports(problem, topology, here, {name, {}}).reason();
  };
  EXPECT_EQ(reason(Collective::broadcast, true), "");
  EXPECT_EQ(reason(Collective::broadcast, false), "MPI_Bcast has one buffer: it is in place");
  EXPECT_EQ(reason(Collective::reduce_scatter, false), "");
  EXPECT_NE(reason(Collective::reduce_scatter, true).find("leaves the result in block 0"),
            std::string::npos);
}

TEST_F(OverMpi, AlgorithmsThatAreInertInTheUsersJobsAreNoneOfTheWorlds) {
  const MpiToolSession session;
  const std::string name = "coll_tuned_allgather_algorithm";
  const auto variable = ControlVariable::find(name);
  if (!variable || !variable->is_writable()) GTEST_SKIP() << "no such variable here";
  constexpr int two_proc = 6;
  const auto fault_in = [&](Communicator& world) {
    return find_fault(world, implementation("mpi.all_gather"), {"mpi.all_gather", {}},
                      {.problem = gather_problem()});
  };
  TemporarySettings settings;
  settings.set(name, two_proc);
  const auto cleared =
      make_mpi_world(abort_flag_, soon_enough(), {}, nullptr, NamedAlgorithms::cleared);
  EXPECT_EQ(variable->read(), 0);
  EXPECT_EQ(fault_in(*cleared), "");
  settings.set(name, two_proc);
  const auto make_with_kept = [&] {
    return make_mpi_world(abort_flag_, soon_enough(), {}, nullptr, NamedAlgorithms::kept);
  };
  // Open MPI's two_proc refuses other sizes when it is called, as the making of the world does.
  if (world_->size() > 2)
    EXPECT_THROW((void)make_with_kept(), Error) << "the algorithm was not in force";
  else
    (void)make_with_kept();
  EXPECT_EQ(variable->read(), two_proc);
}

TEST_F(OverMpi, AFileOfRulesThatIsInForceGoesBeforeWhatIsForced) {
  Capability here = detect_capability(catalogue_, *world_);
  if (!here.has("mpi.tuned.use_dynamic_rules")) GTEST_SKIP() << "no Open MPI";
  here.features["mpi.tuned.rules_file"] = "";
  const Topology topology = topology_of(*world_, here);
  EXPECT_NE(implementation("mpi.all_gather_tuned")
                .supports(gather_problem(), topology, here,
                          parse_variant("mpi.all_gather_tuned{algorithm=ring}"))
                .reason()
                .find("file of rules is in force"),
            std::string::npos);
}

TEST_F(OverMpi, AForcedAlgorithmIsTheOneThatRuns) {
  const Capability capability = detect_capability(catalogue_, *world_);
  if (!capability.has("mpi.tuned.all_gather.two_proc")) GTEST_SKIP() << "no two_proc here";
  if (world_->size() < 3) GTEST_SKIP() << "needs 3 ranks: two_proc is right on 2";
  // Open MPI's two_proc refuses other sizes when it is called: an Error, if and only if it is used.
  const Implementation& tuned = implementation("mpi.all_gather_tuned");
  const auto fault = [&](const std::string& algorithm) {
    return find_fault(*world_, tuned,
                      parse_variant("mpi.all_gather_tuned{algorithm=" + algorithm + "}"),
                      {.problem = gather_problem()});
  };
  EXPECT_TRUE(fault("two_proc").starts_with("threw: MPI_Allgather failed")) << fault("two_proc");
  EXPECT_EQ(fault("ring"), "");
  EXPECT_EQ(find_fault(*world_, implementation("mpi.all_gather"), {"mpi.all_gather", {}},
                       {.problem = gather_problem()}),
            "")
      << "the setting was not put back";
  EXPECT_TRUE(fault("nonsense").starts_with("threw: rank 0: ")) << fault("nonsense");
}

TEST_F(OverMpi, ThreadsHaveNoMpiBehindThem) {
  run_ranks(1, [&](Communicator& communicator) {
    EXPECT_EQ(find_fault(communicator, implementation("mpi.all_gather"), {"mpi.all_gather", {}},
                         {.problem = {.collective = Collective::all_gather,
                                      .data_type = DataType::i32,
                                      .reduce_op = ReduceOp::none}}),
              "threw: this communicator has no MPI behind it");
  });
}

TEST(LaunchCheck, SeparateWorldsAreRefused) {
  const auto why = [](int size, std::vector<std::pair<std::string, const char*>> variables) {
    return why_separate_worlds(size, [&](const char* name) -> const char* {
      for (const auto& [key, value] : variables)
        if (key == name) return value;
      return nullptr;
    });
  };
  EXPECT_EQ(why(1, {}), "");
  EXPECT_EQ(why(4, {{"PMI_SIZE", "4"}}), "");
  EXPECT_EQ(why(1, {{"OMPI_COMM_WORLD_SIZE", "1"}, {"SLURM_STEP_ID", "0"}, {"SLURM_NTASKS", "8"}}),
            "");
  EXPECT_NE(why(1, {{"PMI_SIZE", "4"}}).find("started 4 ranks (PMI_SIZE)"), std::string::npos);
  EXPECT_NE(why(1, {{"SLURM_STEP_ID", "0"}, {"SLURM_NTASKS", "8"}}).find("8 ranks"),
            std::string::npos);
  EXPECT_EQ(why(1, {{"SLURM_NTASKS", "8"}}), "");  // an allocation, but no srun
}

}  // namespace
}  // namespace colltune::test
