// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The conformance test can fail: each planted fault of an implementation is found.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "colltune/kernels/arithmetic/copy.h"
#include "colltune/kernels/communication/bounded_wait.h"
#include "conformance.h"
#include "stub_implementation.h"
#include "support/run_ranks.h"
#include "support/sanitizer.h"

namespace colltune::test {
namespace {

enum class Fault {
  none,
  wrong_element,
  writes_before,
  writes_behind,
  writes_input,
  rounds_on_one_rank,
  rounds_otherwise
};

/// Wraps a right implementation and spoils what it did after each wait.
class Spoiled final : public Implementation {
 public:
  Spoiled(const Implementation& right, Fault fault)
      : Implementation(right.facts()), right_(right), fault_(fault) {}
  std::vector<Variant> variants(const Problem& problem, const Topology& topology,
                                const Capability& capability) const override {
    return right_.variants(problem, topology, capability);
  }
  Support can_run(const Problem&, const Topology&, const Capability&,
                  const Variant&) const override {
    return Support::yes();
  }
  Limits limits(const Variant&) const override { return {}; }
  std::string protocol(const Problem&, const Variant&) const override { return "planted"; }
  Cost cost(const Problem&, const Topology&, const Variant&) const override { return {}; }
  Numerics numerics(const Problem& problem, const Variant& variant) const override {
    return right_.numerics(problem, variant);
  }
  std::unique_ptr<Operation> prepare(Communicator& communicator, const Call& call,
                                     const Variant& variant, Deadline deadline) const override {
    return std::make_unique<SpoiledOperation>(right_.prepare(communicator, call, variant, deadline),
                                              call, fault_, communicator.rank());
  }

 private:
  class SpoiledOperation final : public Operation {
   public:
    SpoiledOperation(std::unique_ptr<Operation> right, const Call& call, Fault fault, int rank)
        : right_(std::move(right)), call_(call), fault_(fault), rank_(rank) {}
    void start() override { right_->start(); }
    void wait(Deadline deadline) override {
      right_->wait(deadline);
      const auto receive = call_.buffers.receive;
      switch (fault_) {
        case Fault::none:
          break;
        case Fault::wrong_element:
          receive.back() ^= std::byte{0x10};
          break;
        case Fault::writes_before:
          *(receive.data() - 1) = std::byte{};
          break;
        case Fault::writes_behind:
          *(receive.data() + receive.size()) = std::byte{};
          break;
        case Fault::writes_input:
          const_cast<std::byte&>(call_.buffers.send.front()) ^= std::byte{1};
          break;
        case Fault::rounds_on_one_rank:
          if (rank_ == 1) receive.front() ^= std::byte{1};  // the last bit of a number
          break;
        case Fault::rounds_otherwise:
          receive.front() ^= std::byte{1};
          break;
      }
    }

   private:
    std::unique_ptr<Operation> right_;
    Call call_;
    Fault fault_;
    int rank_;
  };

  const Implementation& right_;
  Fault fault_;
};

std::string fault_found(const Implementation& implementation, const ConformanceCase& test) {
  std::mutex mutex;
  std::string found;
  run_ranks(2, [&](Communicator& communicator) {
    const Variant variant{std::string(implementation.name()),
                          {{"access", "staged"},
                           {"chunk", std::int64_t{64}},
                           {"slots", std::int64_t{4}},
                           {"stores", "cached"}}};
    const std::string fault = find_fault(communicator, implementation, variant, test);
    const std::lock_guard lock(mutex);
    if (!fault.empty()) found = fault;
  });
  return found;
}

ConformanceCase sum_of_17_floats() {
  ConformanceCase test;
  test.problem.message_size = {17 * sizeof(float)};
  return test;
}

std::string fault_found(Fault fault, const ConformanceCase& test = sum_of_17_floats()) {
  const Implementations catalogue = make_catalogue();
  const Implementation* right = find_implementation(catalogue, "cpu.all_reduce_one_shot");
  return fault_found(Spoiled(*right, fault), test);
}

TEST(Conformance, PassesTheRightOne) { EXPECT_EQ(fault_found(Fault::none), ""); }

TEST(Conformance, CatchesAWrongElement) {
  EXPECT_EQ(fault_found(Fault::wrong_element).substr(0, 14), "element 16 is ");
}

TEST(Conformance, CatchesAWriteBesideABuffer) {
  EXPECT_EQ(fault_found(Fault::writes_before), "bytes beside a buffer were written");
  EXPECT_EQ(fault_found(Fault::writes_behind), "bytes beside a buffer were written");
}

TEST(Conformance, CatchesAWrittenInput) {
  EXPECT_EQ(fault_found(Fault::writes_input), "the input was written (call 0)");
}

TEST(Conformance, CatchesBitsThatBreakAPromise) {
  ConformanceCase test = sum_of_17_floats();
  test.has_random_values = true;
  EXPECT_EQ(fault_found(Fault::none, test), "");
  EXPECT_EQ(fault_found(Fault::rounds_on_one_rank, test), "the ranks hold unlike bits (call 0)");
  EXPECT_EQ(fault_found(Fault::rounds_otherwise, test),
            "element 0 is not what rank order gives (call 0)");
}

/// What the ranks of LateReader share.
struct Meeting {
  const std::byte* input = nullptr;
  std::atomic<std::uint64_t> started{0};  ///< the root's calls
  std::atomic<std::uint64_t> read{0};     ///< the reader's calls
};

/// A broadcast from rank 0 to rank 1 whose reader, in its first call, comes only when the root has
/// begun its second: the root's wait returned too early. Ordered by atomics throughout, so that the
/// fault shows every time and no sanitizer objects.
class LateReaderOperation final : public Operation {
 public:
  LateReaderOperation(Meeting& meeting, const Call& call, int rank, const AbortFlag& abort_flag)
      : meeting_(meeting), call_(call), is_root_(rank == 0), abort_flag_(abort_flag) {}
  void start() override {
    ++epoch_;
    if (!is_root_) return;
    meeting_.input = call_.buffers.send.data();
    ++meeting_.started;
  }
  void wait(Deadline deadline) override {
    BoundedWait wait(deadline, abort_flag_, true);
    if (is_root_) {
      while (epoch_ > 1 && meeting_.read < epoch_) wait.step(1, "the read");
      std::ranges::copy(call_.buffers.send, call_.buffers.receive.begin());
      return;
    }
    const std::uint64_t awaited = epoch_ == 1 ? 2 : epoch_;
    while (meeting_.started < awaited) wait.step(0, "the start");
    std::memcpy(call_.buffers.receive.data(), meeting_.input, call_.buffers.receive.size());
    ++meeting_.read;
  }

 private:
  Meeting& meeting_;
  Call call_;
  bool is_root_;
  const AbortFlag& abort_flag_;
  std::uint64_t epoch_ = 0;
};

class LateReader final : public StubImplementation {
 public:
  LateReader() : StubImplementation(Collective::broadcast) {}
  std::unique_ptr<Operation> prepare(Communicator& communicator, const Call& call, const Variant&,
                                     Deadline) const override {
    return std::make_unique<LateReaderOperation>(*meeting_, call, communicator.rank(),
                                                 communicator.abort_flag());
  }

 private:
  std::unique_ptr<Meeting> meeting_ = std::make_unique<Meeting>();
};

TEST(Conformance, CatchesAReadAfterWait) {
  ConformanceCase test;
  test.problem = {.collective = Collective::broadcast,
                  .data_type = DataType::i32,
                  .reduce_op = ReduceOp::none,
                  .message_size = {17 * sizeof(std::int32_t)}};
  test.calls = 2;
  EXPECT_EQ(fault_found(LateReader(), test).substr(0, 13), "element 0 is ");
}

/// The first variant that stages, with another chunk size.
Variant with_number(Variant variant, std::string_view name, std::int64_t value) {
  for (Parameter& parameter : variant.parameters)
    if (parameter.name == name) parameter.value = value;
  return variant;
}

Variant staged_variant(const Implementation& implementation, const Problem& problem,
                       const Topology& topology, std::int64_t chunk) {
  return with_number(implementation.variants(problem, topology, {}).front(), "chunk", chunk);
}

TEST(ConformanceSample, ShowsAllThatTheCasesShow) {
  const auto shown_by = [](const std::vector<ConformanceCase>& cases) {
    std::set<std::string> shown;
    for (const ConformanceCase& test : cases) {
      const Problem& problem = test.problem;
      shown.insert("op " + std::string(name_of(problem.reduce_op)));
      shown.insert("type of " + std::to_string(size_of(problem.data_type)) +
                   (is_floating(problem.data_type) ? ", floating" : ", whole"));
      shown.insert(problem.message_size.value == 0 ? "no element" : "elements");
      shown.insert(problem.message_size.value >= (64U << 10) ? "a long one" : "a short one");
      if (problem.in_place) shown.insert("in place");
      if (problem.registered) shown.insert("registered");
      if (problem.graph_capture) shown.insert("captured");
      if (test.has_late_rank) shown.insert("late");
      if (test.has_random_values) shown.insert("random");
      if (test.pattern == DataPattern::rounding) shown.insert("rounding");
      if (test.by_every_variant) shown.insert("every variant");
    }
    return shown;
  };
  for (const auto& implementation : make_catalogue())
    for (const int ranks : {2, 3})
      for (const auto amount :
           {UnderSanitizer::each_variant, UnderSanitizer::each_variant_by_buffers}) {
        const std::vector<ConformanceCase> cases =
            conformance_cases(*implementation, ranks, Usually::covering_sample);
        const std::vector<ConformanceCase> sample = covering_sample(cases, amount);
        EXPECT_EQ(shown_by(sample), shown_by(cases)) << implementation->name();
        std::multiset<bool> made_by_every_variant;  // with registered buffers or not
        for (const ConformanceCase& test : sample)
          if (test.by_every_variant) made_by_every_variant.insert(test.problem.registered);
        if (amount == UnderSanitizer::each_variant)
          EXPECT_EQ(made_by_every_variant.size(), 1U);
        else
          EXPECT_EQ(made_by_every_variant, (std::multiset<bool>{false, true}));
        EXPECT_LT(sample.size(), cases.size()) << implementation->name();
      }
}

TEST(Conformance, ReportsAnExceptionAsAFault) {
  const Implementations catalogue = make_catalogue();
  ConformanceCase test = sum_of_17_floats();
  std::string fault;
  run_ranks(2,
            [&](Communicator& communicator) {
              const auto* mail = find_implementation(catalogue, "cpu.all_reduce_low_latency");
              const Variant variant = mail->variants(test.problem, {}, {}).front();
              const std::string found = find_fault(communicator, *mail, variant, test);
              if (communicator.rank() == 0) fault = found;
            },
            {.node = {0, 1}});
  EXPECT_EQ(fault, "threw: symmetric memory needs all ranks on one node; these are on several");
}

class ManyTinyChunks : public testing::TestWithParam<std::vector<int>> {};

TEST_P(ManyTinyChunks, AreRight) {
  // One element per block and wave, so that each of them goes through all slots many times.
  const Implementations catalogue = make_catalogue();
  const std::vector<int>& nodes = GetParam();
  const auto ranks = static_cast<int>(nodes.size());
  const int node_count = nodes.back() + 1;
  const Topology topology{
      .nodes = node_count, .ranks_per_node = ranks / node_count, .ranks = ranks};
  int run = 0;
  for (const auto& implementation : catalogue) {
    if (implementation->family() != "colltune") continue;
    const bool reduces = shape_of(implementation->collective()).reduces;
    ConformanceCase test;
    test.problem = {.collective = implementation->collective(),
                    .data_type = DataType::f64,
                    .reduce_op = reduces ? ReduceOp::sum : ReduceOp::none,
                    .message_size = {static_cast<unsigned>(ranks) * 31 * 8}};
    const Variant usual = staged_variant(*implementation, test.problem, topology, 8);
    if (!implementation->supports(test.problem, topology, {}, usual)) continue;
    ++run;
    // What ranks need not ask of one another, since there are slots enough, they ask with fewer.
    std::vector<Variant> variants{usual};
    for (const std::int64_t slots :
         has_sanitizer ? std::vector<std::int64_t>{2} : std::vector<std::int64_t>{2, 3, 9}) {
      Variant variant = with_number(usual, "slots", slots);
      if (variant == usual || !implementation->supports(test.problem, topology, {}, variant))
        continue;
      // Who goes round two slots meets the same as with four, more often.
      if (has_thread_sanitizer) variants.clear();
      variants.push_back(std::move(variant));
    }
    for (const Variant& variant : variants) {
      run_ranks(ranks,
                [&](Communicator& communicator) {
                  EXPECT_EQ(find_fault(communicator, *implementation, variant, test), "")
                      << to_string(variant);
                },
                {.node = nodes});
    }
  }
  EXPECT_GT(run, 20);
}

INSTANTIATE_TEST_SUITE_P(Nodes, ManyTinyChunks,
                         testing::Values(std::vector{0, 0, 0, 0}, std::vector{0, 0, 1, 1},
                                         std::vector{0, 1, 2, 3}));

TEST(Catalogue, TriesAsManySlotsAsFillACacheOnOneNode) {
  const Implementations catalogue = make_catalogue();
  const Implementation* two_shot = find_implementation(catalogue, "cpu.all_reduce_two_shot");
  ASSERT_NE(two_shot, nullptr);
  Topology topology{.nodes = 1, .ranks_per_node = 2, .ranks = 2};
  const auto tried = [&](std::uint64_t size) {
    std::set<std::pair<std::int64_t, std::int64_t>> pairs;  // chunk and slots
    for (const Variant& variant : two_shot->variants({.message_size = {size}}, topology, {}))
      if (word(variant, "access") == "staged")
        pairs.insert({number(variant, "chunk"), number(variant, "slots")});
    return pairs;
  };
  using Pairs = std::set<std::pair<std::int64_t, std::int64_t>>;
  constexpr std::int64_t kib = 1024;
  EXPECT_EQ(tried(1 << 10), (Pairs{{16 * kib, 4}}));
  EXPECT_EQ(tried(32 << 10), (Pairs{{16 * kib, 4}, {16 * kib, 64}, {64 * kib, 4}, {64 * kib, 32}}));
  EXPECT_EQ(tried(256 << 10), (Pairs{{16 * kib, 4},
                                     {16 * kib, 64},
                                     {64 * kib, 4},
                                     {64 * kib, 16},
                                     {128 * kib, 4},
                                     {128 * kib, 8},
                                     {256 * kib, 2},
                                     {256 * kib, 4}}));
  topology = {.nodes = 2, .ranks_per_node = 1, .ranks = 2};
  EXPECT_EQ(tried(32 << 10), (Pairs{{16 * kib, 4}, {64 * kib, 4}}));
}

TEST(ScheduledImplementations, SayWhyTheyCannot) {
  const Implementations catalogue = make_catalogue();
  const Implementation* one_shot = find_implementation(catalogue, "cpu.all_reduce_one_shot");
  ASSERT_NE(one_shot, nullptr);
  EXPECT_EQ(find_implementation(catalogue, "cpu.nothing"), nullptr);
  Topology topology{.nodes = 1, .ranks_per_node = 2, .ranks = 2};
  const auto reason = [&](const Problem& problem, const std::string& parameters) {
    return one_shot
        ->supports(problem, topology, {},
                   parse_variant("cpu.all_reduce_one_shot{" + parameters + "}"))
        .reason();
  };
  const std::string good = "access=staged,chunk=64,slots=4,stores=cached";
  EXPECT_EQ(reason({}, good), "");
  EXPECT_EQ(reason({}, "access=staged,chunk=12,slots=4,stores=cached"),
            "chunk must be 0 (all) or a multiple of 8 bytes up to 1GiB");
  EXPECT_EQ(reason({}, "chunk=64"), "access must be one of staged, direct, cma");
  EXPECT_EQ(reason({}, "access=direct,chunk=0,slots=4,stores=cached"),
            "direct access needs registered buffers");
  EXPECT_EQ(reason({}, "access=cma,chunk=0,slots=4,stores=cached"),
            "the kernel does not let the ranks read each other's memory (CMA)");
  EXPECT_EQ(
      reason({}, "access=staged,chunk=64,slots=4,stores=hot"),
      "stores must be adaptive or cached or streaming or streaming_staging or streaming_both");
  EXPECT_EQ(reason({}, good + ",way=up"), "its parameters are access, chunk, slots, stores");
  for (const char* const slots : {"1", "65", "many"})
    EXPECT_EQ(reason({}, "access=staged,chunk=64,slots=" + std::string(slots) + ",stores=cached"),
              "slots must be a number from 2 to 64");
  EXPECT_EQ(reason({}, "access=staged,chunk=64,stores=cached"),
            "slots must be a number from 2 to 64");
  Problem captured;
  captured.graph_capture = true;
  EXPECT_EQ(reason(captured, good), "it runs on the processor; no device graph can hold it");

  const Implementation* tree = find_implementation(catalogue, "cpu.all_reduce_tree");
  ASSERT_NE(tree, nullptr);
  topology.ranks = topology.ranks_per_node = 4;
  const auto of_tree = [&](const std::string& fanout) {
    return tree
        ->supports({}, topology, {}, parse_variant("cpu.all_reduce_tree{" + good + fanout + "}"))
        .reason();
  };
  EXPECT_EQ(of_tree(",fanout=3"), "");
  EXPECT_EQ(of_tree(",fanout=1"), "fanout must be a number from 2 on");
  EXPECT_EQ(of_tree(",fanout=wide"), "fanout must be a number from 2 on");
  EXPECT_EQ(of_tree(""), "fanout must be a number from 2 on");
  const Implementation* doubling =
      find_implementation(catalogue, "cpu.all_gather_recursive_doubling");
  const auto among = [&](int ranks) {
    topology.ranks = topology.ranks_per_node = ranks;
    return doubling
        ->supports({.collective = Collective::all_gather, .reduce_op = ReduceOp::none}, topology,
                   {}, parse_variant("cpu.all_gather_recursive_doubling{" + good + "}"))
        .reason();
  };
  EXPECT_EQ(among(6), "");
  EXPECT_EQ(among(2), "it needs at least 3 ranks, not 2");
}

TEST(ScheduledImplementations, AreTriedPastTheCachesWhereThatMayHelp) {
  const Implementations catalogue = make_catalogue();
  const Topology topology{.nodes = 1, .ranks_per_node = 4, .ranks = 4};
  Capability capability;
  capability.features["memory.cma"] = "";
  capability.features[std::string(streaming_feature)] = "";
  const auto stores = [&](const char* name, std::uint64_t size, bool registered) {
    const Implementation* implementation = find_implementation(catalogue, name);
    const Problem problem{.collective = implementation->collective(),
                          .reduce_op = shape_of(implementation->collective()).reduces
                                           ? ReduceOp::sum
                                           : ReduceOp::none,
                          .message_size = {size},
                          .registered = registered};
    std::map<std::string, std::set<std::string>> by_access;
    for (const Variant& variant : implementation->variants(problem, topology, capability))
      by_access[word(variant, "access")].insert(word(variant, "stores"));
    return by_access;
  };
  using Tried = std::map<std::string, std::set<std::string>>;
  const std::set<std::string> small{"cached"};
  const std::set<std::string> medium{"adaptive", "cached"};
  // What another rank is to read is staged; who reads by the kernel's help, reads it in place.
  EXPECT_EQ(stores("cpu.gather_flat", 1 << 10, false), (Tried{{"staged", small}, {"cma", small}}));
  EXPECT_EQ(stores("cpu.gather_flat", 2 << 10, false), (Tried{{"staged", medium}, {"cma", small}}));
  EXPECT_EQ(stores("cpu.gather_flat", 1 << 20, false), (Tried{{"staged", medium}, {"cma", small}}));
  // Pushed into the root's memory, or pulled from where it is.
  EXPECT_EQ(stores("cpu.gather_flat", 1 << 10, true), (Tried{{"direct", small}}));
  EXPECT_EQ(stores("cpu.gather_flat", 2 << 10, true), (Tried{{"direct", medium}}));
  EXPECT_EQ(stores("cpu.gather_flat", 1 << 20, true),
            (Tried{{"direct", {"adaptive", "cached", "streaming"}}}));
  EXPECT_EQ(stores("cpu.all_gather_ring", 1 << 20, true).at("direct").contains("streaming"), true);
  // A chain of sums hands them on through symmetric memory wherever its input lies.
  EXPECT_EQ(stores("cpu.reduce_chain", 1 << 20, true), (Tried{{"direct", medium}}));

  capability.features.erase(std::string(streaming_feature));
  EXPECT_EQ(stores("cpu.gather_flat", 1 << 20, false), (Tried{{"staged", small}, {"cma", small}}));
  EXPECT_EQ(stores("cpu.gather_flat", 1 << 20, true), (Tried{{"direct", small}}));
  EXPECT_EQ(stores("cpu.reduce_chain", 1 << 20, true), (Tried{{"direct", small}}));
}

TEST(ScheduledImplementations, AreRightWhicheverWayEachRankStages) {
  const Implementations catalogue = make_catalogue();
  for (const char* const text :
       {"cpu.all_reduce_two_shot{access=staged,chunk=16384,flow=push,slots=4,stores=adaptive}",
        "cpu.all_reduce_ring{access=staged,chunk=16384,slots=4,stores=adaptive,ways=both}"}) {
    const Variant variant = parse_variant(text);
    ConformanceCase test = sum_of_17_floats();
    test.problem.message_size = {24 << 10};
    test.calls = has_sanitizer ? 100 : 400;
    run_ranks(3, [&](Communicator& communicator) {
      EXPECT_EQ(find_fault(communicator, *find_implementation(catalogue, variant.implementation),
                           variant, test),
                "")
          << text;
    });
  }
}

TEST(ScheduledImplementations, RefuseBuffersThatAreNotRegisteredAfterAll) {
  const Implementations catalogue = make_catalogue();
  run_ranks(2, [&](Communicator& communicator) {
    std::vector<std::byte> buffers(128);
    Call call{.buffers = {std::span(buffers).first(64), std::span(buffers).last(64)}};
    call.problem.message_size = {64};
    call.problem.registered = true;
    EXPECT_THROW((void)find_implementation(catalogue, "cpu.all_reduce_one_shot")
                     ->prepare(communicator, call,
                               parse_variant("cpu.all_reduce_one_shot{access=direct,chunk=0,"
                                             "stores=cached}"),
                               soon_enough()),
                 Error);
  });
}

class OwnImplementations : public testing::TestWithParam<std::vector<int>> {};

TEST_P(OwnImplementations, NameTheRankThatDoesNotStart) {
  const Implementations catalogue = make_catalogue();
  const int nodes = GetParam().back() + 1;
  const Topology topology{.nodes = nodes, .ranks_per_node = 3 / nodes, .ranks = 3};
  for (const auto& implementation : catalogue) {
    if (implementation->family() != "colltune" ||
        implementation->collective() != Collective::all_reduce)
      continue;
    Problem problem;
    problem.message_size = {64};
    const Variant variant = staged_variant(*implementation, problem, topology, 64);
    if (!implementation->supports(problem, topology, {}, variant)) continue;
    const auto body = [&](Communicator& communicator) {
      std::vector<std::byte> send(64);
      std::vector<std::byte> receive(64);
      const Call call{.problem = problem, .buffers = {send, receive}};
      const auto operation = implementation->prepare(communicator, call, variant, soon_enough());
      if (communicator.rank() != 1) {
        operation->start();
        try {
          operation->wait(std::chrono::steady_clock::now() + std::chrono::milliseconds(50));
          ADD_FAILURE() << "rank 1 never started " << to_string(variant);
        } catch (const RankMissing& missing) {
          // One of the two may wait for the other, which waits for rank 1.
          EXPECT_NE(missing.rank(), communicator.rank());
        }
      }
      communicator.barrier(soon_enough());
    };
    run_ranks(3, body, {.node = GetParam()});
  }
}

INSTANTIATE_TEST_SUITE_P(Nodes, OwnImplementations,
                         testing::Values(std::vector{0, 0, 0}, std::vector{0, 1, 2}));

}  // namespace
}  // namespace colltune::test
