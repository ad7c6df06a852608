// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// What a call itself selects, from NCCL 2.31 on, over a library that stands for it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include "colltune/nccl/selection.h"
#include "kernels/conformance.h"
#include "nccl_fixture.h"
#include "support/fake_nccl/selection.h"

namespace colltune::test {
namespace {

using nccl::Algorithm;
using nccl::Protocol;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

std::string selected(const std::string& algorithm, const std::string& protocol, int ctas,
                     const std::string& collective = "all_reduce") {
  return "nccl." + collective + "_selected{algorithm=" + algorithm +
         ",ctas=" + std::to_string(ctas) + ",protocol=" + protocol + "}";
}

class NcclSelected : public testing::Test {
 protected:
  NcclSelected() {
    ::setenv("NCCL_PROFILER_PLUGIN", COLLTUNE_NCCL_TUNER, 1);
    places_ = nccl_.places();
    places_.profiler = COLLTUNE_NCCL_TUNER;
    configure(23102);
  }
  ~NcclSelected() override { ::unsetenv("NCCL_PROFILER_PLUGIN"); }

  void configure(int version) {
    settings_.version = version;
    settings_.tuner_interface = version >= 23206 ? 7 : 6;
    settings_.profiler_interface = 6;
    nccl_.configure(settings_);
  }
  /// Why a rank cannot run the variant; empty where it can.
  [[nodiscard]] std::string why_not(const std::string& variant, std::uint64_t bytes = 1 << 20,
                                    bool is_registered = false) const {
    const Implementations entries = FakeNccl::entries(places_);
    const Variant parsed = parse_variant(variant);
    const Implementation& entry = *find_implementation(entries, parsed.implementation);
    const bool reduces = shape_of(entry.collective()).reduces;
    const PretendedGpus gpus(1);
    std::string why;
    gpus.run([&](Communicator& communicator) {
      why = entry
                .supports({.collective = entry.collective(),
                           .data_type = DataType::f32,
                           .reduce_op = reduces ? ReduceOp::sum : ReduceOp::none,
                           .message_size = {bytes},
                           .registered = is_registered},
                          {.ranks_per_node = 2, .ranks = 2},
                          detect_capability(entries, communicator), parsed)
                .reason();
    });
    return why;
  }

  FakeNccl nccl_;
  FakeNcclSettings settings_;
  nccl::Places places_;
};

TEST_F(NcclSelected, EachFieldOfTheConfigurationArrives) {
  for (const int version : {23102, 23206}) {
    configure(version);
    const Implementations entries = FakeNccl::entries(places_);
    const PretendedGpus gpus(2);
    gpus.run([&](Communicator& communicator) {
      SumCall ring(communicator, entries, selected("ring", "ll", 16));
      ring.run();
      FakeNcclCallConfiguration seen = nccl_.configured(communicator.rank());
      EXPECT_EQ(seen.calls, 1U);
      EXPECT_EQ(seen.size, 64U);
      EXPECT_EQ(seen.magic, 0xcafebeefU);
      EXPECT_EQ(seen.version, 23102U);
      EXPECT_FALSE(seen.has_extension);
      EXPECT_EQ(seen.fewest_ctas, 16);
      EXPECT_EQ(seen.most_ctas, 16);
      EXPECT_EQ(seen.nvls_ctas, INT_MIN) << "the communicator's";
      EXPECT_EQ(seen.cga_cluster_size, INT_MIN);
      EXPECT_STREQ(seen.selection, "RING_LL+^RING_LL128");
      EXPECT_EQ(seen.forces_selection, 1);
      EXPECT_EQ(seen.cta_policy, INT_MIN);
      EXPECT_EQ(seen.profiler_tag, 0U);
      ring.run();
      EXPECT_EQ(nccl_.configured(communicator.rank()).calls, 2U) << "each call brings it";
      SumCall nvls(communicator, entries, selected("nvls", "simple", 8));
      nvls.run();
      seen = nccl_.configured(communicator.rank());
      EXPECT_STREQ(seen.selection, "NVLS_SIMPLE");
      EXPECT_EQ(seen.nvls_ctas, 8);
      SumCall plain(communicator, entries, "nccl.all_reduce");
      plain.run();
      EXPECT_EQ(nccl_.configured(communicator.rank()).calls, 3U) << "plain calls bring none";
    });
    EXPECT_EQ(nccl_.counts().joined, 2) << "one communicator for all of them";
  }
}

TEST_F(NcclSelected, EveryVariantIsRightInEveryCollective) {
  Implementations all = FakeNccl::entries(places_);
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  // The others are the same as with the NCCL of forced_test.cpp.
  std::erase_if(all, [](const auto& one) {
    return !one->name().ends_with("_selected") && !one->name().ends_with("_symmetric");
  });
#endif
  const PretendedGpus gpus(2);
  std::atomic<int> run = 0;
  ChosenVariants chosen;
  gpus.run([&](Communicator& communicator) {
    run += run_conformance(communicator, all, chosen, UnderSanitizer::each_variant,
                           Usually::covering_sample);
  });
  EXPECT_GT(run, 0);
  EXPECT_GT(nccl_.configured(0).calls, 5U);
  EXPECT_EQ(nccl_.counts().aborted, 0);
}

// A tuner only lowers what NCCL takes by itself.
TEST_F(NcclSelected, MoreChannelsThanNcclTakesByItselfAreTaken) {
  settings_.own_channels = 4;
  configure(23102);
  const Implementations entries = FakeNccl::entries(places_);
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    SumCall more(communicator, entries, selected("ring", "ll128", 16));
    more.run();
    EXPECT_EQ(more.operation().executed()->choice,
              "algorithm=ring,channels=16,protocol=ll128,told_by=profiler");
    EXPECT_TRUE(more.operation().executed()->is_what_was_named);
    SumCall forced_too(communicator, entries, forced("ring", "ll128", 16));
    forced_too.run();
    EXPECT_FALSE(forced_too.operation().executed()->is_what_was_named);
  });
}

TEST_F(NcclSelected, WhatRanInsteadIsNotCredited) {
  settings_.channels = 2;
  configure(23102);
  const Implementations entries = FakeNccl::entries(places_);
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    SumCall call(communicator, entries, selected("ring", "ll128", 16));
    call.run();
    EXPECT_EQ(call.operation().executed()->choice,
              "algorithm=ring,channels=2,protocol=ll128,told_by=profiler");
    EXPECT_FALSE(call.operation().executed()->is_what_was_named);
  });
}

TEST_F(NcclSelected, WithoutAProfilerTheNumberIsNotKnown) {
  ::unsetenv("NCCL_PROFILER_PLUGIN");
  const Implementations entries = nccl_.entries();
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    SumCall call(communicator, entries, selected("ring", "ll128", 16));
    call.run();
    EXPECT_EQ(call.operation().executed()->choice, "algorithm=ring,protocol=ll128");
    EXPECT_FALSE(call.operation().executed()->is_what_was_named);
  });
}

TEST_F(NcclSelected, WhatNcclRefusesIsUnavailableAndLeavesTheCommunicator) {
  settings_.unavailable[0] = settings_.unavailable[1] =
      entry_bit(Algorithm::nvls, Protocol::simple);
  configure(23102);
  const Implementations entries = FakeNccl::entries(places_);
  const PretendedGpus gpus(2);
  std::mutex mutex;
  std::vector<std::string> errors;
  gpus.run([&](Communicator& communicator) {
    for (const bool is_captured : {false, true}) {
      try {
        SumCall call(communicator, entries, selected("nvls", "simple", 8), 1 << 20, soon_enough(),
                     is_captured);
        call.run();
        ADD_FAILURE() << "it ran something";
      } catch (const UnavailableHere& error) {
        const std::lock_guard lock(mutex);
        errors.emplace_back(error.what());
      }
      SumCall next(communicator, entries, selected("ring", "simple", 8));
      next.run();
    }
  });
  EXPECT_THAT(errors, testing::SizeIs(4));
  EXPECT_THAT(errors, testing::Each(HasSubstr("NCCL refuses such calls with "
                                              "algSelection=NVLS_SIMPLE")));
  EXPECT_EQ(nccl_.counts().aborted, 0);
  EXPECT_EQ(nccl_.counts().joined, 2);
}

TEST_F(NcclSelected, ARankThatAloneIsRefusedEndsTheOthersAtTheirDeadline) {
  settings_.rank_without_selection = 1;
  configure(23102);
  const Implementations entries = FakeNccl::entries(places_);
  const PretendedGpus gpus(2);
  std::mutex mutex;
  std::vector<std::string> errors(2);
  gpus.run([&](Communicator& communicator) {
    SumCall call(communicator, entries, selected("ring", "simple", 8));
    try {
      call.run(std::chrono::steady_clock::now() + std::chrono::milliseconds(300));
    } catch (const Error& error) {
      const std::lock_guard lock(mutex);
      errors[static_cast<std::size_t>(communicator.rank())] = error.what();
    }
  });
  EXPECT_THAT(errors[0], HasSubstr("did not end in time"));
  EXPECT_THAT(errors[1], HasSubstr("NCCL refuses such calls with algSelection=RING_SIMPLE"));
}

TEST_F(NcclSelected, ItNeedsNccl2_31AndAnEnvironmentThatLeavesIt) {
  EXPECT_THAT(why_not(selected("ring", "ll", 16)), IsEmpty());
  EXPECT_THAT(why_not(selected("tree", "ll", 16, "reduce")), HasSubstr("no such algorithm"));
  EXPECT_THAT(why_not(selected("pat", "simple", 16, "all_gather")), HasSubstr("across nodes"));
  EXPECT_THAT(why_not(selected("ring", "ll", 16), 4096), HasSubstr("2 CTA(s) at most"));
  EXPECT_THAT(why_not(selected("ring", "ll", 0)), HasSubstr("its parameters are"));
  EXPECT_THAT(why_not(selected("star", "ll", 4)), HasSubstr("its parameters are"));
  EXPECT_THAT(why_not("nccl.all_reduce_selected{ctas=4}"), HasSubstr("its parameters are"));
  const auto refused_by = [&](const std::string& environment) {
    places_.environment = environment;
    return why_not(selected("ring", "ll", 16));
  };
  EXPECT_THAT(refused_by("NCCL_ALGO=tree"), HasSubstr("NCCL_ALGO in the environment"));
  EXPECT_THAT(refused_by("NCCL_PROTO=^ll"), HasSubstr("NCCL_PROTO in the environment"));
  EXPECT_THAT(refused_by("NCCL_MAX_CTAS=8"), HasSubstr("NCCL_MAX_CTAS in the environment"));
  EXPECT_THAT(refused_by("NCCL_ENQUEUE_REARCH_ENABLE=1"), HasSubstr("NCCL_ENQUEUE_REARCH_ENABLE"));
  EXPECT_THAT(refused_by(""), IsEmpty());
  places_.profiler = "none";
  EXPECT_THAT(why_not(selected("ring", "ll", 16)), HasSubstr("nobody tells how many ran"));
  places_.profiler = COLLTUNE_NCCL_TUNER;
  configure(23007);
  EXPECT_THAT(why_not(selected("ring", "ll", 16)),
              AllOf(HasSubstr("NCCL 2.30.7"), HasSubstr("they came with 2.31")));
}

TEST_F(NcclSelected, ALibraryWithoutSuchCallsIsUsedWithoutThem) {
  const FakeNccl old(COLLTUNE_OLD_FAKE_NCCL);
  FakeNcclSettings settings = settings_;
  settings.tuner_interface = 4;
  old.configure(settings);
  places_ = old.places();
  places_.profiler = COLLTUNE_NCCL_TUNER;
  EXPECT_THAT(why_not(selected("ring", "ll", 16)), HasSubstr("has no calls with a configuration"));
  EXPECT_THAT(why_not(forced("ring", "ll", 16)), IsEmpty());
}

// A name in a selection stands for all that begin so.
TEST(NcclSelection, TakesOneEntryAndOneKernel) {
  for (const auto& algorithm : enum_names(Algorithm{}))
    for (const auto& protocol : enum_names(Protocol{})) {
      const std::string text = nccl::selection_of(algorithm.value, protocol.value);
      EXPECT_EQ(count_entries(text), 1) << text;
      Costs costs = Costs::of(1);
      keep_selected(text, costs);
      EXPECT_EQ(costs.at(algorithm.value, protocol.value), 1) << text;
    }
  int kernels = 0;
  for (const auto& collective : enum_names(Collective{}))
    for (const std::string_view kernel : nccl::symmetric_kernels(collective.value)) {
      const std::string text = nccl::selection_of_kernel(collective.value, kernel);
      EXPECT_EQ(count_symmetric_kernels(text, collective.value), 1) << text;
      EXPECT_EQ(count_entries(text), 0) << text;
      ++kernels;
    }
  EXPECT_EQ(kernels, 15);
  EXPECT_EQ(nccl::selection_of_kernel(Collective::all_gather, "st"), "SYMK_ST+^SYMK_STMC");
}

TEST_F(NcclSelected, SymmetricKernelsAreNamed) {
  const std::string variant = "nccl.all_reduce_symmetric{kernel=rsxld_agxst,policy=default}";
  EXPECT_THAT(why_not(variant, 1 << 10, true), IsEmpty());
  EXPECT_THAT(why_not("nccl.all_reduce_symmetric{kernel=st,policy=default}", 1 << 10, true),
              HasSubstr("no symmetric kernel st for all_reduce"));
  EXPECT_THAT(why_not("nccl.all_gather_symmetric{kernel=st,policy=zero}", 1 << 10, true),
              HasSubstr("a kernel is for policy=default"));
  places_.environment = "NCCL_SYM_KERNEL=RSxLD_AGxST";
  EXPECT_THAT(why_not(variant, 1 << 10, true), HasSubstr("NCCL_SYM_KERNEL in the environment"));
  places_.environment = "";
  const Implementations entries = FakeNccl::entries(places_);
  const Variant parsed = parse_variant(variant);
  const Implementation& entry = *find_implementation(entries, parsed.implementation);
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    const auto memory = entry.facts().buffer_source->allocate(*communicator.device(), {1 << 20});
    communicator.device()->fill(memory->bytes(), 0);
    const Problem problem{.collective = Collective::all_reduce,
                          .data_type = DataType::f32,
                          .reduce_op = ReduceOp::sum,
                          .message_size = {1 << 10},
                          .registered = true};
    const auto operation = entry.prepare(
        communicator, {problem, 0, {memory->bytes().first(1 << 10), memory->bytes().last(1 << 10)}},
        parsed, soon_enough());
    operation->start();
    operation->wait(soon_enough());
    EXPECT_STREQ(nccl_.configured(communicator.rank()).selection, "SYMK_RSXLD_AGXST");
    EXPECT_EQ(nccl_.configured(communicator.rank()).fewest_ctas, INT_MIN);
    EXPECT_EQ(nccl_.last(communicator.rank()).entry, symmetric_kernel_entry);
    EXPECT_EQ(operation->executed()->choice, "kernel=symmetric,told_by=profiler");
    EXPECT_TRUE(operation->executed()->is_what_was_named);
  });
  configure(23007);
  EXPECT_THAT(why_not(variant, 1 << 10, true), HasSubstr("they came with 2.31"));
}

}  // namespace
}  // namespace colltune::test
