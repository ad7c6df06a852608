// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The conformance test can fail: each planted fault of an implementation is found.

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <mutex>

#include "colltune/kernels/bounded_wait.h"
#include "conformance.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

enum class Fault { none, wrong_element, writes_before, writes_behind, writes_input };

/// Wraps a right implementation and spoils what it did after each wait.
class Spoiled final : public Implementation {
 public:
  Spoiled(const Implementation& right, Fault fault) : right_(right), fault_(fault) {}
  std::string_view name() const override { return right_.name(); }
  std::string_view description() const override { return "planted fault"; }
  Collective collective() const override { return right_.collective(); }
  std::string_view family() const override { return right_.family(); }
  std::vector<Variant> variants(const Problem& problem, const Topology& topology,
                                const Capability& capability) const override {
    return right_.variants(problem, topology, capability);
  }
  Support supports(const Problem&, const Topology&, const Capability&,
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
                                              call, fault_);
  }

 private:
  class SpoiledOperation final : public Operation {
   public:
    SpoiledOperation(std::unique_ptr<Operation> right, const Call& call, Fault fault)
        : right_(std::move(right)), call_(call), fault_(fault) {}
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
      }
    }

   private:
    std::unique_ptr<Operation> right_;
    Call call_;
    Fault fault_;
  };

  const Implementation& right_;
  Fault fault_;
};

std::string fault_found(const Implementation& implementation, const ConformanceCase& test) {
  std::mutex mutex;
  std::string found;
  run_ranks(2, [&](Communicator& communicator) {
    const Variant variant{std::string(implementation.name()), {{"chunk", std::int64_t{64}}}};
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

std::string fault_found(Fault fault) {
  const Implementations catalogue = make_catalogue();
  const Implementation* right = find_implementation(catalogue, "cpu.all_reduce_one_shot");
  return fault_found(Spoiled(*right, fault), sum_of_17_floats());
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

class LateReader final : public Implementation {
 public:
  std::string_view name() const override { return "test.late_reader"; }
  std::string_view description() const override { return "planted fault"; }
  Collective collective() const override { return Collective::broadcast; }
  std::string_view family() const override { return "test"; }
  std::vector<Variant> variants(const Problem&, const Topology&, const Capability&) const override {
    return {};
  }
  Support supports(const Problem&, const Topology&, const Capability&,
                   const Variant&) const override {
    return Support::yes();
  }
  Limits limits(const Variant&) const override { return {}; }
  std::string protocol(const Problem&, const Variant&) const override { return "planted"; }
  Cost cost(const Problem&, const Topology&, const Variant&) const override { return {}; }
  Numerics numerics(const Problem&, const Variant&) const override { return {}; }
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

TEST(Conformance, ReportsAnExceptionAsAFault) {
  const Implementations catalogue = make_catalogue();
  ConformanceCase test = sum_of_17_floats();
  std::string fault;
  run_ranks(2,
            [&](Communicator& communicator) {
              const auto* one_shot = find_implementation(catalogue, "cpu.all_reduce_one_shot");
              const Variant variant{std::string(one_shot->name()), {{"chunk", std::int64_t{64}}}};
              const std::string found = find_fault(communicator, *one_shot, variant, test);
              if (communicator.rank() == 0) fault = found;
            },
            {0, 1});
  EXPECT_EQ(fault, "threw: symmetric memory needs all ranks on one node; these are on several");
}

TEST(StagedAllReduce, ManyTinyChunksAreRight) {
  const Implementations catalogue = make_catalogue();
  for (const char* name : {"cpu.all_reduce_one_shot", "cpu.all_reduce_two_shot"})
    run_ranks(3, [&](Communicator& communicator) {
      const Implementation* implementation = find_implementation(catalogue, name);
      ConformanceCase test;
      test.problem.data_type = DataType::bf16;
      test.problem.message_size = {1003 * 2};
      const Variant variant{name, {{"chunk", std::int64_t{8}}}};
      EXPECT_EQ(find_fault(communicator, *implementation, variant, test), "");
    });
}

TEST(StagedAllReduce, SaysWhyItCannot) {
  const Implementations catalogue = make_catalogue();
  const Implementation* one_shot = find_implementation(catalogue, "cpu.all_reduce_one_shot");
  ASSERT_NE(one_shot, nullptr);
  EXPECT_EQ(find_implementation(catalogue, "cpu.nothing"), nullptr);
  Topology topology{.nodes = 2, .ranks_per_node = 1, .ranks = 2};
  const auto reason = [&](const Problem& problem, std::int64_t chunk) {
    return one_shot
        ->supports(problem, topology, {}, {std::string(one_shot->name()), {{"chunk", chunk}}})
        .reason();
  };
  EXPECT_EQ(reason({}, 64), "it works in shared memory; the ranks are on 2 nodes");
  topology.nodes = 1;
  EXPECT_EQ(reason({}, 64), "");
  EXPECT_EQ(reason({}, 12), "chunk must be a multiple of 8 bytes up to 1GiB, not 12");
  Problem captured;
  captured.graph_capture = true;
  EXPECT_EQ(reason(captured, 64), "it runs on the processor; no device graph can hold it");
}

TEST(StagedAllReduce, NamesTheRankThatDoesNotStart) {
  const Implementations catalogue = make_catalogue();
  for (const char* name : {"cpu.all_reduce_one_shot", "cpu.all_reduce_two_shot"})
    run_ranks(3, [&](Communicator& communicator) {
      std::vector<std::byte> send(64);
      std::vector<std::byte> receive(64);
      Call call{.buffers = {send, receive}};
      call.problem.message_size = {64};
      const auto operation =
          find_implementation(catalogue, name)
              ->prepare(communicator, call, {name, {{"chunk", std::int64_t{64}}}}, soon_enough());
      if (communicator.rank() != 1) {
        operation->start();
        try {
          operation->wait(std::chrono::steady_clock::now() + std::chrono::milliseconds(50));
          ADD_FAILURE() << "rank 1 never started";
        } catch (const RankMissing& missing) {
          // Rank 0 may pass rank 2's share before it finds rank 1 missing, never the other way.
          EXPECT_EQ(missing.rank(), 1);
        }
      }
      communicator.barrier(soon_enough());
    });
}

}  // namespace
}  // namespace colltune::test
