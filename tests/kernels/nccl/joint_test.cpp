// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// NCCL's calls as parts of a collective by groups.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "colltune/kernels/composition/grouped.h"
#include "nccl_fixture.h"

namespace colltune::test {
namespace {

using nccl::Algorithm;
using nccl::Protocol;

/// A group of two and a rank alone; across them NCCL is asked for `bridge`.
class JointCall {
 public:
  JointCall(Communicator& communicator, const Implementations& entries, const std::string& bridge)
      : send_(*communicator.device(), {bytes}), receive_(*communicator.device(), {bytes}) {
    const Problem problem{.collective = Collective::all_reduce,
                          .data_type = DataType::f32,
                          .reduce_op = ReduceOp::sum,
                          .message_size = {bytes}};
    const GroupVariants inside{
        .before = parse_variant("nccl.reduce_forced{algorithm=ring,channels=2,protocol=simple}"),
        .after = parse_variant("nccl.broadcast")};
    communicator.device()->fill(send_.bytes(), 0);
    operation = prepare_grouped(
        communicator, {problem, 0, {send_.bytes(), receive_.bytes()}},
        {.group_of_rank = {0, 0, 1}, .inside = {inside, {}}, .bridge = parse_variant(bridge)},
        entries, soon_enough());
  }
  void run() const {
    operation->start();
    operation->wait(soon_enough());
  }

 private:
  static constexpr std::uint64_t bytes = 64 << 10;
  DeviceMemory send_;
  DeviceMemory receive_;

 public:
  std::unique_ptr<Operation> operation{};
};

class NcclJoint : public testing::Test {
 protected:
  FakeNccl nccl_;
  Implementations entries_ = nccl_.entries();
  PretendedGpus gpus_{3};
};

TEST_F(NcclJoint, SaysWhatEachStepOfARankRan) {
  gpus_.run([&](Communicator& communicator) {
    const JointCall call(communicator, entries_, forced("tree", "simple", 4));
    EXPECT_FALSE(call.operation->executed());
    call.run();
    const auto executed = call.operation->executed();
    ASSERT_TRUE(executed);
    EXPECT_TRUE(executed->is_what_was_named);
    const std::string before = "algorithm=ring,channels=2,protocol=simple";
    const std::string bridge = "algorithm=tree,channels=4,protocol=simple";
    const std::string after = "algorithm=ring,protocol=ll";
    const std::array<std::string, 3> of_rank{before + "; " + bridge + "; " + after,
                                             before + "; " + after, bridge};
    EXPECT_EQ(executed->choice, of_rank[static_cast<std::size_t>(communicator.rank())]);
  });
}

TEST_F(NcclJoint, IsLostWithAnyStep) {
  gpus_.run([&](Communicator& communicator) {
    const JointCall call(communicator, entries_, forced("tree", "simple", 4));
    EXPECT_FALSE(call.operation->is_lost());
    call.operation->give_up();
    EXPECT_TRUE(call.operation->is_lost());
    EXPECT_THROW(call.operation->start(), OperationLost);
  });
}

TEST_F(NcclJoint, IsUnavailableOnAllWhereAPartIs) {
  FakeNcclSettings settings;
  settings.unavailable[1] = entry_bit(Algorithm::nvls, Protocol::simple);
  nccl_.configure(settings);
  gpus_.run([&](Communicator& communicator) {
    EXPECT_THROW(JointCall(communicator, entries_, forced("nvls", "simple", 0)), UnavailableHere);
    // All ranks are in step.
    const JointCall call(communicator, entries_, forced("tree", "simple", 4));
    call.run();
  });
}

}  // namespace
}  // namespace colltune::test
