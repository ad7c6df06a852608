// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Averages as sums of shares. (That all of them are right the conformance test in forced_test.cpp
// shows.)

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "nccl_fixture.h"

namespace colltune::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

const std::string name = "nccl.all_reduce_premultiplied";

class NcclPremultiplied : public testing::Test {
 protected:
  [[nodiscard]] std::string why_not(DataType type, ReduceOp op, int ranks = 2) const {
    const PretendedGpus gpus(1);
    std::string why;
    gpus.run([&](Communicator& communicator) {
      why = find_implementation(entries_, name)
                ->supports({.collective = Collective::all_reduce,
                            .data_type = type,
                            .reduce_op = op,
                            .message_size = {64}},
                           {.ranks_per_node = ranks, .ranks = ranks},
                           detect_capability(entries_, communicator), {name, {}})
                .reason();
    });
    return why;
  }
  FakeNccl nccl_;
  Implementations entries_ = nccl_.entries();
};

TEST_F(NcclPremultiplied, EachInputIsDividedBeforeItIsAdded) {
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    DeviceMemory send(*communicator.device(), {4});
    DeviceMemory receive(*communicator.device(), {4});
    // The largest number twice: their sum is none any more.
    const float most = 3.402823466e38F;
    communicator.device()->write(send.bytes().data(), std::as_bytes(std::span(&most, 1)));
    const Call call{.problem = {.collective = Collective::all_reduce,
                                .data_type = DataType::f32,
                                .reduce_op = ReduceOp::avg,
                                .message_size = {4}},
                    .buffers = {send.bytes(), receive.bytes()}};
    {
      const auto operation = find_implementation(entries_, name)
                                 ->prepare(communicator, call, {name, {}}, soon_enough());
      operation->start();
      operation->wait(soon_enough());
      EXPECT_GT(nccl_.counts().operators, 0);
      communicator.barrier(soon_enough());
    }
    float got = 0;
    communicator.device()->read(std::as_writable_bytes(std::span(&got, 1)), receive.bytes().data());
    EXPECT_EQ(got, most);
  });
  EXPECT_EQ(nccl_.counts().operators, 0) << "each was destroyed";
}

TEST_F(NcclPremultiplied, ItIsForAveragesThatHaveShares) {
  EXPECT_THAT(why_not(DataType::f16, ReduceOp::avg), IsEmpty());
  EXPECT_THAT(why_not(DataType::f32, ReduceOp::sum), HasSubstr("it averages"));
  EXPECT_THAT(why_not(DataType::i32, ReduceOp::avg), HasSubstr("integers have no shares"));
  EXPECT_THAT(why_not(DataType::f8e4m3, ReduceOp::avg), HasSubstr("too few digits"));
  EXPECT_THAT(why_not(DataType::f32, ReduceOp::avg, 1), HasSubstr("single rank"));
}

}  // namespace
}  // namespace colltune::test
