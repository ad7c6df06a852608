// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Communicators of NCCL's with settings of their own, over a library that stands for it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "nccl_calls/nccl_rank.h"
#include "nccl_fixture.h"

namespace colltune::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string configured(int ctas, const std::string& policy = "default") {
  return "nccl.all_reduce_configured{ctas=" + std::to_string(ctas) + ",policy=" + policy + "}";
}

class NcclConfigured : public testing::Test {
 protected:
  FakeNccl nccl_;
  Implementations entries_ = nccl_.entries();
};

TEST_F(NcclConfigured, EachSettingHasACommunicatorOfItsOwn) {
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    SumCall own(communicator, entries_, "nccl.all_reduce");
    SumCall few(communicator, entries_, configured(4));
    SumCall again(communicator, entries_, configured(4), 64 << 10);
    SumCall many(communicator, entries_, configured(64));
    for (SumCall* const call : {&own, &few, &again, &many, &own}) call->run();
    EXPECT_EQ(many.operation().executed()->choice, "algorithm=tree,protocol=ll");
    EXPECT_TRUE(many.operation().executed()->is_what_was_named);
    const auto made = nccl_.made(communicator.rank());
    ASSERT_THAT(made, SizeIs(3)) << "equal settings share one";
    EXPECT_EQ(made[0].most_ctas, 0);
    EXPECT_EQ(made[1].fewest_ctas, 4);
    EXPECT_EQ(made[1].most_ctas, 4);
    EXPECT_EQ(made[2].most_ctas, 64);
  });
  EXPECT_EQ(nccl_.counts().destroyed, 6);
}

TEST_F(NcclConfigured, ForcedVariantsStayOnTheDefaultCommunicator) {
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    SumCall few(communicator, entries_, configured(4));
    SumCall ring(communicator, entries_, forced("ring", "simple", 2));
    for (int turn = 0; turn < 2; ++turn) {
      ring.run();
      EXPECT_EQ(nccl_.last(communicator.rank()).entry,
                entry_number(nccl::Algorithm::ring, nccl::Protocol::simple));
      few.run();
      EXPECT_EQ(nccl_.last(communicator.rank()).entry,
                entry_number(nccl::Algorithm::tree, nccl::Protocol::ll))
          << "nothing is forced on the other";
    }
  });
}

TEST_F(NcclConfigured, TheOldestIdleOneMakesRoom) {
  const PretendedGpus gpus(2);
  const int most = static_cast<int>(nccl::most_members);
  gpus.run([&](Communicator& communicator) {
    SumCall first(communicator, entries_, configured(1));
    for (int ctas = 2; ctas <= most + 2; ++ctas)
      SumCall(communicator, entries_, configured(ctas)).run();
    first.run();  // was never the one to go
  });
  EXPECT_EQ(nccl_.counts().joined, 2 * (most + 2));
  EXPECT_EQ(nccl_.counts().destroyed, nccl_.counts().joined);
  EXPECT_EQ(nccl_.counts().aborted, 0);
}

TEST_F(NcclConfigured, WhereAllAreUsedNoFurtherOneIsMade) {
  const PretendedGpus gpus(2);
  const int most = static_cast<int>(nccl::most_members);
  std::mutex mutex;
  std::vector<std::string> errors;
  gpus.run([&](Communicator& communicator) {
    std::vector<std::unique_ptr<SumCall>> calls;
    for (int ctas = 1; ctas <= most; ++ctas)
      calls.push_back(std::make_unique<SumCall>(communicator, entries_, configured(ctas)));
    try {
      const SumCall one_more(communicator, entries_, configured(most + 1));
    } catch (const Error& error) {
      const std::lock_guard lock(mutex);
      EXPECT_EQ(error.code(), StatusCode::resource_exhausted);
      errors.emplace_back(error.what());
    }
    for (const auto& call : calls) call->run();
  });
  EXPECT_THAT(errors, SizeIs(2));
  EXPECT_THAT(errors, testing::Each(HasSubstr("use 8 communicators of NCCL's already")));
}

TEST_F(NcclConfigured, EfficiencyNeedsALibraryWithoutATuner) {
  nccl::Places places = nccl_.places();
  places.tuner = "none";
  ::setenv("NCCL_TUNER_PLUGIN", "none", 1);
  const Implementations without = FakeNccl::entries(places);
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    SumCall call(communicator, without, configured(0, "efficiency"));
    call.run();
    EXPECT_FALSE(call.operation().executed()) << "nobody sees what it chose";
    EXPECT_EQ(nccl_.made(communicator.rank()).at(0).policy, 1);
  });
}

/// Why a rank cannot run the variant; empty where it can.
class NcclConfiguredSupport : public NcclConfigured {
 protected:
  [[nodiscard]] static std::string why_not(const nccl::Places& places, const std::string& variant,
                                           std::uint64_t message_size = 1 << 20) {
    const Implementations entries = FakeNccl::entries(places);
    const Variant parsed = parse_variant(variant);
    const Implementation& entry = *find_implementation(entries, parsed.implementation);
    const Problem problem{
        .collective = entry.collective(),
        .data_type = DataType::f32,
        .reduce_op = shape_of(entry.collective()).reduces ? ReduceOp::sum : ReduceOp::none,
        .message_size = {message_size}};
    const PretendedGpus gpus(1);
    std::string why;
    gpus.run([&](Communicator& communicator) {
      why = entry
                .supports(problem, {.ranks_per_node = 2, .ranks = 2},
                          detect_capability(entries, communicator), parsed)
                .reason();
    });
    return why;
  }
};

TEST_F(NcclConfiguredSupport, WrongSettingsAreRefused) {
  const nccl::Places places = nccl_.places();
  EXPECT_THAT(why_not(places, configured(32)), IsEmpty());
  EXPECT_THAT(why_not(places, configured(0)), HasSubstr("NCCL's own choice"));
  EXPECT_THAT(why_not(places, configured(65)), HasSubstr("its parameters are ctas"));
  EXPECT_THAT(why_not(places, configured(8, "zero")), HasSubstr("policy (default, efficiency)"));
  EXPECT_THAT(why_not(places, "nccl.all_reduce_configured{ctas=8}"), HasSubstr("parameters are"));
  EXPECT_THAT(why_not(places, configured(32), 8 << 10), HasSubstr("4 CTAs at most"));
  EXPECT_THAT(why_not(places, configured(1), 4), HasSubstr("too short for more than one CTA"));
  EXPECT_THAT(why_not(places, configured(0, "efficiency")), HasSubstr("NCCL_TUNER_PLUGIN=none"));
  EXPECT_THAT(why_not(places, "nccl.gather_configured{ctas=0,policy=efficiency}"),
              HasSubstr("one way to do it"));
}

TEST_F(NcclConfiguredSupport, TheEnvironmentHasTheLastWord) {
  nccl::Places places = nccl_.places();
  places.environment = "NCCL_MAX_CTAS=8";
  EXPECT_THAT(why_not(places, configured(32)), HasSubstr("NCCL_MAX_CTAS in the environment"));
  places.environment = "NCCL_MIN_NCHANNELS=8";
  EXPECT_THAT(why_not(places, configured(32)), HasSubstr("NCCL_MIN_NCHANNELS"));
  places.environment = "NCCL_CTA_POLICY=0";
  places.tuner = "none";
  EXPECT_THAT(why_not(places, configured(32)), IsEmpty());
  EXPECT_THAT(why_not(places, configured(0, "efficiency")), HasSubstr("NCCL_CTA_POLICY"));
}

TEST_F(NcclConfiguredSupport, PoliciesAreSetFrom228On) {
  FakeNcclSettings settings;
  settings.version = 22707;
  nccl_.configure(settings);
  nccl::Places places = nccl_.places();
  places.tuner = "none";
  EXPECT_THAT(why_not(places, configured(32)), IsEmpty()) << "numbers of CTAs are older";
  EXPECT_THAT(why_not(places, configured(0, "efficiency")), HasSubstr("2.27.7 is too old"));
}

}  // namespace
}  // namespace colltune::test
