// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// What becomes of what a plug-in returns, and of what it does against the rules.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <string>

#include "colltune/kernels/catalogue.h"
#include "colltune/plugin/load_plugin.h"
#include "flaw.h"
#include "kernels/conformance.h"
#include "plugin_files.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const Variant idle{"flawed.idle", {}};

// ---- Support

struct Asked {
  Problem problem{.message_size = {64}};
  Topology topology{.ranks_per_node = 2, .ranks = 2};
  Variant variant = idle;
};

/// Why the plug-in's first implementation does not support what is asked; empty where it does.
std::string why_not(const Asked& asked, const char* plugin = flawed_plugin) {
  const Implementations made = load_plugin(plugin);
  std::string reason;
  run_ranks(1, [&](Communicator& communicator) {
    const Capability capability = detect_capability(made, communicator);
    reason =
        made.front()->supports(asked.problem, asked.topology, capability, asked.variant).reason();
  });
  return reason;
}

TEST(PluginSupport, IsYesWithinTheLimits) { EXPECT_EQ(why_not({}), ""); }

TEST(PluginSupport, NeedsThePluginOnThatRank) {
  const Implementations made = load_plugin(flawed_plugin);
  const auto reason = [&](const Capability& capability) {
    const Asked asked;
    return made.front()->supports(asked.problem, asked.topology, capability, idle).reason();
  };
  EXPECT_EQ(reason({}), "the plug-in is not loaded there");
  EXPECT_EQ(reason({.features = {{"plugin.flawed.idle", "of another day"}}}),
            "another version of the plug-in is loaded there");
}

TEST(PluginSupport, ChecksCollectiveGraphAndNumericClass) {
  EXPECT_EQ(why_not({.problem = {.collective = Collective::reduce}}), "it is for all_reduce");
  EXPECT_EQ(why_not({.problem = {.graph_capture = true}}),
            "no device graph can hold a plug-in's call");
  EXPECT_EQ(why_not({.problem = {.numeric_class = NumericClass::rank_order}}),
            "its numeric class is any, not rank_order");
}

TEST(PluginSupport, ChecksTheLimitsFirst) {
  const Flaw flaw("unsupported without a reason");
  const Setting setting("COLLTUNE_TEST_DESCRIPTION",
                        R"({"implementations":[{"name":"idle","collective":"all_reduce",)"
                        R"("description":"does nothing","rounding":"exact","numeric_class":"any",)"
                        R"("limits":{"max_ranks":1}}]})");
  EXPECT_EQ(why_not({}), "takes at most 1 ranks");
  EXPECT_EQ(why_not({.topology = {.ranks = 1}}), "the plug-in gives no reason");
}

TEST(PluginSupport, SurvivesAReasonWithoutAnEnd) {
  const Flaw flaw("reason without an end");
  EXPECT_EQ(why_not({}), std::string(511, 'x'));
}

TEST(PluginSupport, RefusesVariantsOfAnotherShape) {
  const auto reason = [](const char* variant) {
    return why_not({.problem = {.collective = Collective::broadcast, .reduce_op = ReduceOp::none},
                    .variant = parse_variant(variant)},
                   example_plugin);
  };
  EXPECT_EQ(reason("example.broadcast_staged{chunk=4096}"), "");
  for (const char* foreign :
       {"example.broadcast_staged", "example.broadcast_staged{chunk=big}",
        "example.broadcast_staged{piece=4096}", "example.broadcast_staged{chunk=4096,way=up}",
        "example.other{chunk=4096}"})
    EXPECT_EQ(reason(foreign),
              std::string(foreign) +
                  " is none of its variants; one is example.broadcast_staged{chunk=16384}");
  EXPECT_EQ(reason("example.broadcast_staged{chunk=1}"),
            "chunk must lie between 64 and 1073741824 bytes");
}

// ---- Operations

/// Prepares, starts and waits on `ranks` ranks that are threads; throws what they throw.
void make_call(int ranks = 1) {
  const Implementations made = load_plugin(flawed_plugin);
  run_ranks(ranks, [&](Communicator& communicator) {
    const auto operation = made.front()->prepare(communicator, {}, idle, soon_enough());
    operation->start();
    operation->wait(soon_enough());
  });
}

struct Failure {
  const char* flaw;
  StatusCode code;
  const char* text;
};
class PluginOperationFailure : public testing::TestWithParam<Failure> {};

TEST_P(PluginOperationFailure, BecomesAnError) {
  const Flaw flaw(GetParam().flaw);
  const Thrown thrown = thrown_by([] { make_call(); });
  EXPECT_EQ(thrown.code, static_cast<int>(GetParam().code));
  EXPECT_THAT(thrown.text, AllOf(HasSubstr("plug-in flawed.idle: "), HasSubstr(GetParam().text)));
}

INSTANTIATE_TEST_SUITE_P(
    Flaws, PluginOperationFailure,
    testing::Values(
        Failure{"no operation", StatusCode::internal,
                "prepare misused the host: returned no operation"},
        Failure{"prepare fails", StatusCode::failed_precondition,
                "prepare failed with status 9: not today"},
        Failure{"negative signals", StatusCode::invalid_argument, "-1 signals were asked for"},
        Failure{"absurd size", StatusCode::resource_exhausted, "bytes per rank were asked for"},
        Failure{"allocates in start", StatusCode::failed_precondition,
                "start failed with status 9: memory is allocated in prepare alone"},
        Failure{"sets a signal that is none", StatusCode::internal,
                "start misused the host: signal_set: signal 1 of rank 0; there are 1 of each of 1 "
                "ranks"},
        Failure{"waits for a signal that is none", StatusCode::invalid_argument,
                "signal_wait: signal 1 of rank 0"},
        Failure{"waits for a rank that is none", StatusCode::invalid_argument,
                "signal_wait: signal 0 of rank 99"},
        Failure{"throws", StatusCode::internal,
                "start threw an exception, which no plug-in may do: out of luck"},
        Failure{"unknown status", StatusCode::internal,
                "start returned status 99; allowed are 0 and gRPC's codes from 3 to 15"},
        Failure{"no reason", StatusCode::unavailable,
                "start failed with status 14 and gave no reason"},
        Failure{"a reason", StatusCode::unavailable,
                "start failed with status 14: the cable is loose"},
        Failure{"an old reason", StatusCode::internal,
                "wait failed with status 13 and gave no reason"}));

TEST(PluginOperation, DoesWhatAHealthyOneDoes) { make_call(3); }

TEST(PluginOperation, TakesOtherBuffersWhereThePluginHasBind) {
  const auto bind = [](std::size_t bytes) {
    const Implementations made = load_plugin(flawed_plugin);
    EXPECT_EQ(made.front()->traits({}, {}, idle).why_not_bound, "");
    std::vector<std::byte> first(8);
    std::vector<std::byte> second(bytes);
    run_ranks(1, [&](Communicator& communicator) {
      const auto operation = made.front()->prepare(
          communicator, {.buffers = {.send = first, .receive = first}}, idle, soon_enough());
      operation->bind({.send = second, .receive = second});
    });
  };
  bind(8);
  EXPECT_THAT(thrown_by([&] { bind(4); }).text, HasSubstr("prepared for 8 bytes to send"));
  const Flaw flaw("bind fails");
  EXPECT_THAT(thrown_by([&] { bind(8); }).text,
              HasSubstr("bind failed with status 3: no more of them"));
}

TEST(PluginOperation, KeepsItsBuffersWhereThePluginHasNoBind) {
  for (const char* without : {"first revision", "null bind"}) {
    const Flaw flaw(without);
    const Implementations made = load_plugin(flawed_plugin);
    EXPECT_THAT(made.front()->traits({}, {}, idle).why_not_bound, HasSubstr("has no bind"));
    run_ranks(1, [&](Communicator& communicator) {
      const auto operation = made.front()->prepare(communicator, {}, idle, soon_enough());
      EXPECT_THAT(thrown_by([&] { operation->bind({}); }).text, HasSubstr("keeps the buffers"));
      operation->start();
      operation->wait(soon_enough());
    });
  }
}

/// What an operation says of `next`, if it was prepared with `capacity` for 8 bytes of f32.
Thrown thrown_by_rebind(const Call& next, Bytes capacity = {64}) {
  return thrown_by([&] {
    const Implementations made = load_plugin(flawed_plugin);
    std::vector<std::byte> memory(8);
    run_ranks(1, [&](Communicator& communicator) {
      const auto operation = made.front()->prepare(
          communicator,
          {.problem = {.message_size = {8}}, .buffers = {memory, memory}, .capacity = capacity},
          idle, soon_enough());
      operation->rebind(next);
      EXPECT_THAT(thrown_by([&] {
                    operation->bind({memory, memory});
                  }).text,
                  HasSubstr("prepared for " + std::to_string(next.buffers.send.size()) + " bytes"));
      operation->start();
      operation->wait(soon_enough());
    });
  });
}

TEST(PluginOperation, TakesOtherCallsWhereThePluginHasRebind) {
  EXPECT_EQ(load_plugin(flawed_plugin).front()->traits({}, {}, idle).why_not_rebound, "");
  std::vector<std::byte> memory(128);
  const auto call_of = [&](std::size_t bytes, DataType type = DataType::f64,
                           ReduceOp op = ReduceOp::max) {
    return Call{.problem = {.data_type = type, .reduce_op = op, .message_size = {bytes}},
                .buffers = {std::span(memory).first(bytes), std::span(memory).first(bytes)}};
  };
  EXPECT_EQ(thrown_by_rebind(call_of(64)).text, Thrown{}.text);
  EXPECT_EQ(thrown_by_rebind(call_of(0)).text, Thrown{}.text);
  // What the host refuses, the plug-in is not asked about.
  const Flaw flaw("rebind fails");
  EXPECT_THAT(thrown_by_rebind(call_of(72)).text, HasSubstr("messages of up to 64"));
  EXPECT_THAT(thrown_by_rebind(call_of(64), {0}).text, HasSubstr("no capacity was given"));
  EXPECT_THAT(thrown_by_rebind(call_of(8, DataType::f64, ReduceOp::none)).text,
              HasSubstr("it needs an operator"));
  Call other = call_of(32);
  other.buffers.receive = std::span(memory).first(24);
  EXPECT_THAT(thrown_by_rebind(other).text, HasSubstr("it needs 32 bytes to receive, not 24"));
  {
    const Setting limited("COLLTUNE_TEST_DESCRIPTION",
                          R"({"implementations":[{"name":"idle","collective":"all_reduce",)"
                          R"("description":"idle","rounding":"exact","numeric_class":"any",)"
                          R"("limits":{"data_types":["f32"]}}]})");
    EXPECT_THAT(thrown_by_rebind(call_of(32)).text, HasSubstr("does not take f64"));
  }
  const Thrown refused = thrown_by_rebind(call_of(32));
  EXPECT_EQ(refused.code, static_cast<int>(StatusCode::unavailable));
  EXPECT_THAT(refused.text, HasSubstr("plug-in flawed.idle: rebind failed with status 14: f64 max "
                                      "32 bytes, root 0, sends 32, capacity 0"));
}

TEST(PluginOperation, IsToldTheCapacityWhenItIsPrepared) {
  const Flaw flaw("says what it was given");
  EXPECT_THAT(thrown_by_rebind({}, {64}).text, HasSubstr("capacity 64"));
  EXPECT_THAT(thrown_by_rebind({}, {0}).text, HasSubstr("capacity 0"));
}

TEST(PluginOperation, MayNotThrowInRebind) {
  const Flaw flaw("throws in rebind");
  std::vector<std::byte> memory(4);
  EXPECT_THAT(
      thrown_by_rebind({.problem = {.message_size = {4}}, .buffers = {memory, memory}}).text,
      HasSubstr("rebind threw an exception, which no plug-in may do: out of calls"));
}

TEST(PluginOperation, KeepsItsSizeWhereThePluginHasNoRebind) {
  for (const char* without : {"first revision", "second revision", "null rebind", "null bind"}) {
    const Flaw flaw(without);
    const CallTraits traits = load_plugin(flawed_plugin).front()->traits({}, {}, idle);
    EXPECT_THAT(traits.why_not_rebound, HasSubstr("has no rebind")) << without;
    const bool has_bind =
        std::string(without) == "second revision" || std::string(without) == "null rebind";
    EXPECT_EQ(traits.why_not_bound.empty(), has_bind) << without;
    std::vector<std::byte> memory(8);
    EXPECT_THAT(
        thrown_by_rebind({.problem = {.message_size = {8}}, .buffers = {memory, memory}}).text,
        HasSubstr("keeps the size and the root it was prepared for"))
        << without;
    make_call();
  }
}

TEST(PluginOperation, GetsNothingForWhatIsNone) {
  const Flaw flaw("reads what is none");
  make_call(2);
}

TEST(PluginOperation, NamesTheRankThatAWaitOfItsOwnMissed) {
  const Flaw flaw("misses a rank");
  const Implementations made = load_plugin(flawed_plugin);
  AbortFlag abort_flag;
  const auto world = make_thread_world(1, abort_flag);
  const auto operation = made.front()->prepare(*world.front(), {}, idle, soon_enough());
  try {
    operation->start();
    FAIL() << "nothing was thrown";
  } catch (const RankMissing& missing) {
    EXPECT_EQ(missing.rank(), 0);
    EXPECT_EQ(missing.code(), StatusCode::deadline_exceeded);
    EXPECT_STREQ(missing.what(), "timed out waiting for its turn of rank 0");
  }
  abort_flag.raise();
  try {
    operation->start();
    FAIL() << "nothing was thrown";
  } catch (const RankMissing& missing) {
    EXPECT_EQ(missing.code(), StatusCode::aborted);
  }
}

TEST(PluginOperation, FailsInPrepareWhereRanksSpanNodes) {
  const Implementations made = load_plugin(flawed_plugin);
  const Thrown thrown = thrown_by([&] {
    run_ranks(2,
              [&](Communicator& communicator) {
                (void)made.front()->prepare(communicator, {}, idle, soon_enough());
              },
              {.node = {0, 1}});
  });
  EXPECT_EQ(thrown.code, static_cast<int>(StatusCode::failed_precondition));
  EXPECT_THAT(thrown.text, HasSubstr("symmetric memory needs all ranks on one node"));
}

TEST(PluginOperation, NamesTheRankThatDidNotComeToPrepare) {
  const Implementations made = load_plugin(flawed_plugin);
  AbortFlag abort_flag;
  const auto world = make_thread_world(2, abort_flag);
  try {
    (void)made.front()->prepare(*world.front(), {}, idle,
                                std::chrono::steady_clock::now() + std::chrono::milliseconds(10));
    FAIL() << "nothing was thrown";
  } catch (const RankMissing& missing) {
    EXPECT_EQ(missing.rank(), 1);
  }
}

// ---- Unloading

bool is_mapped(const std::string& file) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.ends_with(file)) return true;
  return false;
}

TEST(PluginUnloading, WaitsForTheLastUserAndThenHappens) {
  AbortFlag abort_flag;
  const auto world = make_thread_world(1, abort_flag);
  std::unique_ptr<Operation> operation;
  {
    std::unique_ptr<const Implementation> taken;
    {
      Implementations made = load_plugin(flawed_plugin);
      taken = std::move(made.front());
    }
    EXPECT_TRUE(is_mapped(flawed_plugin));
    EXPECT_EQ(taken->name(), "flawed.idle");
    operation = taken->prepare(*world.front(), {}, idle, soon_enough());
  }
  EXPECT_TRUE(is_mapped(flawed_plugin));
  operation->start();
  operation->wait(soon_enough());
  operation.reset();
  EXPECT_FALSE(is_mapped(flawed_plugin));
}

}  // namespace
}  // namespace colltune::test
