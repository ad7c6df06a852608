// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// What NCCL takes of the tables that the tuner library hands back, by the rules of its versions:
// up to 2.30 the least of what is not negative, since 2.31 the least of all that it could choose
// before it asked.

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "tuner_fixture.h"

namespace colltune::test {
namespace {

using nccl::Algorithm;
using nccl::Function;
using nccl::Protocol;

constexpr std::size_t entry_count = nccl::algorithm_count * nccl::protocol_count;

/// NCCL's choice by its table before and after it has asked; nothing: it has none.
using Rule = std::optional<std::size_t> (*)(const Costs& before, const Costs& after);

std::optional<std::size_t> choose_up_to_2_30(const Costs& /*before*/, const Costs& after) {
  constexpr float longest_us = 3600000000.0F;
  std::optional<std::size_t> best;
  float least = longest_us;
  for (std::size_t entry = 0; entry < entry_count; ++entry)
    if (after.entries[entry] >= 0 && after.entries[entry] < least) {
      best = entry;
      least = after.entries[entry];
    }
  return best;
}
std::optional<std::size_t> choose_since_2_31(const Costs& before, const Costs& after) {
  std::optional<std::size_t> best;
  float least = std::numeric_limits<float>::max();
  // It looks at the candidates from the last to the first.
  for (std::size_t entry = entry_count; entry-- > 0;)
    if (before.entries[entry] >= 0 && after.entries[entry] < least) {
      best = entry;
      least = after.entries[entry];
    }
  return best;
}

struct Version {
  int code;
  int interface_version;
  Rule rule;
};
constexpr Version versions[] = {
    {22403, 4, choose_up_to_2_30}, {22809, 5, choose_up_to_2_30}, {23007, 6, choose_up_to_2_30},
    {23102, 6, choose_since_2_31}, {23203, 6, choose_since_2_31}, {23206, 7, choose_since_2_31},
};

/// A table as NCCL makes it for calls of `function`.
struct Shape {
  const char* name;
  Costs (*make)(Function function);
};

bool is_moved_alone(Function function) {
  return function == Function::all_gather || function == Function::reduce_scatter;
}
/// Several nodes of one rank each: rings, trees and, of moves, PAT.
Costs across_nodes(Function function) {
  Costs costs = Costs::of(nccl::cost_ignored);
  for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
    const auto column = static_cast<float>(protocol);
    costs.at(Algorithm::ring, protocol) = 30 + column;
    if (function == Function::all_reduce) costs.at(Algorithm::tree, protocol) = 20 - column;
  }
  if (is_moved_alone(function)) costs.at(Algorithm::pat, Protocol::simple) = 10.5F;
  return costs;
}
constexpr Shape shapes[] = {
    {"across nodes, PAT offered", across_nodes},
    {"across nodes, no PAT",
     [](Function function) {
       Costs costs = across_nodes(function);
       costs.at(Algorithm::pat, Protocol::simple) = nccl::cost_ignored;
       return costs;
     }},
    {"one node with NVLS",
     [](Function function) {
       Costs costs = across_nodes(function);
       costs.at(Algorithm::pat, Protocol::simple) = nccl::cost_ignored;
       if (function == Function::all_reduce || is_moved_alone(function))
         costs.at(Algorithm::nvls, Protocol::simple) = 8;
       return costs;
     }},
    {"everything", [](Function) { return Costs::of(5); }},
    {"rings that cost nothing",
     [](Function) {
       Costs costs = Costs::of(nccl::cost_ignored);
       for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple})
         costs.at(Algorithm::ring, protocol) = 0;
       return costs;
     }},
    {"nothing", [](Function) { return Costs::of(nccl::cost_ignored); }},
};

class SelectionTest : public TunerTest {
 protected:
  SelectionTest() : nccl_(dlopen(COLLTUNE_VERSIONED_NCCL, RTLD_NOW | RTLD_LOCAL)) {
    if (nccl_ == nullptr) throw std::runtime_error(dlerror());
  }
  /// The logger of an NCCL of that version.
  [[nodiscard]] nccl::Logger logger_of(int version) const {
    *static_cast<int*>(dlsym(nccl_, "versioned_nccl_version")) = version;
    return reinterpret_cast<nccl::Logger>(dlsym(nccl_, "versioned_nccl_log"));  // NOLINT
  }
  static std::optional<std::size_t> entry_of(int algorithm, int protocol) {
    if (algorithm < 0) return std::nullopt;
    return static_cast<std::size_t>(algorithm * nccl::protocol_count + protocol);
  }

 private:
  void* nccl_;
};

TEST_F(SelectionTest, TheVersionThatAsksIsKnown) {
  for (const Version& version : versions) {
    const LoadedTuner one(COLLTUNE_NCCL_TUNER, version.interface_version);
    const TunedCommunicator communicator(one, 8, 1, logger_of(version.code));
    EXPECT_EQ(newest().nccl_version, version.code);
    EXPECT_EQ(newest().interface_version, version.interface_version);
  }
  const TunedCommunicator without(tuner, 8, 1);
  EXPECT_EQ(newest().nccl_version, 0) << "nobody tells";
}

TEST_F(SelectionTest, EachVersionTakesWhatIsForcedAndWhatIsReportedIsWhatItTakes) {
  for (const Version& version : versions) {
    const LoadedTuner one(COLLTUNE_NCCL_TUNER, version.interface_version);
    const TunedCommunicator communicator(one, 8, 8, logger_of(version.code));
    const std::uint64_t number = newest().number;
    ASSERT_EQ(control.observe(number, 1), 0);
    for (const Shape& shape : shapes)
      for (const Function function : all_functions)
        for (std::size_t entry = 0; entry < entry_count; ++entry) {
          SCOPED_TRACE(testing::Message() << version.code << ", " << shape.name << ", function "
                                          << static_cast<int>(function) << ", entry " << entry);
          const Costs before = shape.make(function);
          const colltune_nccl_force force =
              force_of({static_cast<Algorithm>(entry / nccl::protocol_count),
                        static_cast<Protocol>(entry % nccl::protocol_count)},
                       12.5F);
          ASSERT_EQ(control.force(number, &force), 0);
          Costs after = before;
          int channels = 0;
          communicator.ask({.function = function, .bytes = 4096}, after, channels);
          const auto taken = version.rule(before, after);
          const auto own = version.rule(before, before);
          colltune_nccl_call seen{};
          ASSERT_EQ(control.last_call(number, &seen), 0);
          EXPECT_EQ(entry_of(seen.own_algorithm, seen.own_protocol), own);
          EXPECT_EQ(entry_of(seen.algorithm, seen.protocol), taken);
          if (before.entries[entry] < 0) {
            EXPECT_EQ(after, before);
            EXPECT_EQ(seen.outcome, colltune_nccl_force_unavailable);
            EXPECT_EQ(taken, own);
            continue;
          }
          EXPECT_EQ(taken, entry);
          EXPECT_EQ(seen.outcome, colltune_nccl_forced);
          for (std::size_t other = 0; other < entry_count; ++other)
            EXPECT_EQ(after.entries[other] < 0, before.entries[other] < 0) << other;
        }
  }
}

TEST_F(SelectionTest, RulesOfATableAreTakenToo) {
  publish({{.function = Function::all_gather,
            .ranks = 8,
            .nodes = 8,
            .min_message = {0},
            .max_message = {1 << 20},
            .choice = {Algorithm::ring, Protocol::ll128, 2},
            .time_us = 40}});
  for (const Version& version : versions) {
    const LoadedTuner one(COLLTUNE_NCCL_TUNER, version.interface_version);
    const TunedCommunicator communicator(one, 8, 8, logger_of(version.code));
    const Costs before = across_nodes(Function::all_gather);
    Costs after = before;
    int channels = 0;
    communicator.ask({.function = Function::all_gather, .bytes = 4096}, after, channels);
    EXPECT_EQ(version.rule(before, after), entry_of(1, 1)) << version.code;
    EXPECT_EQ(channels, 2);
  }
}

TEST_F(SelectionTest, ChannelsMeasuredWhereNcclTookThemAreNoRuleWhereItMayTakeFewer) {
  std::vector<NcclRule> rules(2, {.function = Function::all_gather,
                                  .ranks = 8,
                                  .nodes = 8,
                                  .min_message = {0},
                                  .max_message = {4095},
                                  .choice = {Algorithm::ring, Protocol::ll128, 16},
                                  .time_us = 40});
  rules[1].min_message = {4096};
  rules[1].max_message = {1 << 20};
  rules[1].choice.channels = 0;
  for (const char* const measured : {"2.28.9", "2.31.2"}) {
    publish(rules, measured);
    const bool is_measured_with_limits = measured == std::string("2.31.2");
    for (const Version& version : versions) {
      SCOPED_TRACE(testing::Message() << version.code << ", measured with " << measured);
      const LoadedTuner one(COLLTUNE_NCCL_TUNER, version.interface_version);
      const TunedCommunicator communicator(one, 8, 8, logger_of(version.code));
      const bool is_kept = version.code < nccl::first_channels_as_limit || is_measured_with_limits;
      EXPECT_EQ(newest().table_rules, is_kept ? 2U : 1U);
      const Costs before = across_nodes(Function::all_gather);
      for (const std::size_t bytes : {1024, 8192}) {
        Costs after = before;
        int channels = 0;
        communicator.ask({.function = Function::all_gather, .bytes = bytes}, after, channels);
        const bool has_channels = bytes == 1024;
        EXPECT_EQ(after == before, has_channels && !is_kept);
        EXPECT_EQ(channels, has_channels && is_kept ? 16 : 0);
      }
    }
  }
  publish(rules, "2.28.9");
  const TunedCommunicator unknown(tuner, 8, 8, capture);
  EXPECT_EQ(newest().table_rules, 1U) << "nobody tells which NCCL it is";
  EXPECT_THAT(log_lines(), testing::Contains(testing::AllOf(
                               testing::HasSubstr("INFO"), testing::HasSubstr("asks for channels"),
                               testing::HasSubstr("measured with NCCL 2.28.9"))));
}

TEST_F(SelectionTest, WhatNcclMakesOfChannelsIsSaidByItsVersion) {
  publish({{.function = Function::reduce,
            .ranks = 8,
            .nodes = 1,
            .min_message = {0},
            .max_message = {1 << 20},
            .choice = {Algorithm::ring, Protocol::ll, 16},
            .time_us = 40}});
  const auto expect = [&](nccl::Logger logger, int interface_version, int asked) {
    const LoadedTuner one(COLLTUNE_NCCL_TUNER, interface_version);
    const TunedCommunicator communicator(one, 8, 1, logger);
    const std::uint64_t number = newest().number;
    ASSERT_EQ(control.observe(number, 1), 0);
    const auto seen_of = [&](Function function) {
      Costs costs = Costs::of(5);
      int channels = 0;
      communicator.ask({.function = function, .bytes = 4096}, costs, channels);
      colltune_nccl_call seen{};
      EXPECT_EQ(control.last_call(number, &seen), 0);
      EXPECT_EQ(seen.channels, channels);
      return seen;
    };
    EXPECT_EQ(seen_of(Function::broadcast).channels_are, colltune_nccl_channels_own) << "left";
    EXPECT_EQ(seen_of(Function::reduce).outcome, colltune_nccl_ruled);
    EXPECT_EQ(seen_of(Function::reduce).channels_are, asked) << "by a rule";
    colltune_nccl_force force = force_of({Algorithm::ring, Protocol::ll, 4});
    ASSERT_EQ(control.force(number, &force), 0);
    EXPECT_EQ(seen_of(Function::all_reduce).channels_are, asked) << "by a force";
    force = force_of({Algorithm::ring, Protocol::ll, 0});
    ASSERT_EQ(control.force(number, &force), 0);
    EXPECT_EQ(seen_of(Function::all_reduce).channels_are, colltune_nccl_channels_own);
  };
  for (const Version& version : versions) {
    SCOPED_TRACE(version.code);
    expect(logger_of(version.code), version.interface_version,
           version.code < 23100 ? colltune_nccl_channels_asked : colltune_nccl_channels_most);
  }
  SCOPED_TRACE("a version that nobody tells");
  expect(nullptr, 6, colltune_nccl_channels_most);
}

TEST_F(SelectionTest, OfEqualCostsTheFirstIsNamedUpTo2_30AndThenTheLast) {
  for (const Version& version : versions) {
    const LoadedTuner one(COLLTUNE_NCCL_TUNER, version.interface_version);
    const TunedCommunicator communicator(one, 8, 1, logger_of(version.code));
    const std::uint64_t number = newest().number;
    ASSERT_EQ(control.observe(number, 1), 0);
    Costs costs = Costs::of(5);
    int channels = 0;
    communicator.ask({.bytes = 4096}, costs, channels);
    colltune_nccl_call seen{};
    ASSERT_EQ(control.last_call(number, &seen), 0);
    EXPECT_EQ(entry_of(seen.own_algorithm, seen.own_protocol),
              version.code < nccl::first_plain_minimum ? 0U : entry_count - 1)
        << version.code;
  }
}

// For one call NCCL asks about kernels for symmetric windows first, with nothing in its table, and
// then, if it falls back, about the table; or about the table alone.
TEST_F(SelectionTest, WhatIsAskedAboutSymmetricKernelsIsNotRecorded) {
  for (const Version& version : versions) {
    if (version.code < nccl::first_plain_minimum) continue;
    const LoadedTuner one(COLLTUNE_NCCL_TUNER, version.interface_version);
    const TunedCommunicator communicator(one, 8, 1, logger_of(version.code));
    const std::uint64_t number = newest().number;
    ASSERT_EQ(control.observe(number, 1), 0);
    const colltune_nccl_force force = force_of({Algorithm::ring, Protocol::ll, 4});
    ASSERT_EQ(control.force(number, &force), 0);
    colltune_nccl_call seen{};
    std::uint64_t recorded = 0;
    for (const Function function : all_functions) {
      SCOPED_TRACE(testing::Message() << version.code << ", " << static_cast<int>(function));
      for (int question = 0; question < 3; ++question) {
        Costs costs = Costs::of(nccl::cost_ignored);
        int channels = 0;
        communicator.ask({.function = function, .bytes = 4096, .pipe_operations = 0}, costs,
                         channels);
        EXPECT_EQ(costs, Costs::of(nccl::cost_ignored));
        EXPECT_EQ(channels, 0);
        EXPECT_EQ(control.last_call(number, &seen), recorded == 0 ? 9 : 0);
        EXPECT_EQ(seen.count, recorded) << "the question about the table stays the last";
      }
      Costs costs = across_nodes(function);
      int channels = 0;
      communicator.ask({.function = function, .bytes = 4096}, costs, channels);
      ASSERT_EQ(control.last_call(number, &seen), 0);
      EXPECT_EQ(seen.count, ++recorded);
      EXPECT_EQ(seen.function, static_cast<int>(function));
      EXPECT_EQ(seen.outcome, colltune_nccl_forced);
      EXPECT_EQ(channels, 4);
    }
  }
}

TEST_F(SelectionTest, TheNewestInterfaceThatNcclKnowsIsThere) {
  constexpr int newest_in_library = 7;
  for (const int known : {4, 5, 6, 7, 8}) {
    const LoadedTuner one(COLLTUNE_NCCL_TUNER, known);
    const int expected = std::min(known, newest_in_library);
    EXPECT_EQ(one.interface_version(), expected);
    EXPECT_EQ(one.name(), "colltune");
    EXPECT_FALSE(one.has_chunk_size()) << "NCCL's own chunks stay";
    const TunedCommunicator communicator(one, 8, 1, logger_of(23206));
    ASSERT_EQ(communicator.result(), nccl::result_success);
    EXPECT_EQ(newest().interface_version, expected);
    EXPECT_EQ(newest().identity, expected == 4 ? 0U : 1U);
  }
}

/// The bytes of a model's numbers before and after `init` of this tuner, between two guards.
template <class Constants, class Tuner>
void expect_untouched(const LoadedTuner& library, const char* symbol) {
  struct Guarded {
    double before = -7;
    Constants constants{};
    double behind = -9;
  } guarded;
  std::memset(&guarded.constants, 0x5A, sizeof guarded.constants);
  const Guarded expected = guarded;
  auto* const tuner = library.find<Tuner>(symbol);
  ASSERT_NE(tuner, nullptr) << symbol;
  nccl::NvlDomains domains{1, 8, 8};
  void* context = nullptr;
  ASSERT_EQ(tuner->init(&context, 1, 8, 1, nullptr, &domains, &guarded.constants),
            nccl::result_success);
  EXPECT_EQ(std::memcmp(&guarded, &expected, sizeof guarded), 0) << symbol;
  EXPECT_EQ(tuner->finalize(context), nccl::result_success);
}

// They lie elsewhere in version 7, and NCCL takes back whatever a tuner writes.
TEST_F(SelectionTest, TheNumbersOfNcclsModelStay) {
  expect_untouched<nccl::TunerConstants, nccl::TunerV5>(tuner, "ncclTunerPlugin_v5");
  expect_untouched<nccl::TunerConstants, nccl::TunerV6>(tuner, "ncclTunerPlugin_v6");
  expect_untouched<nccl::TunerConstantsV7, nccl::TunerV7>(tuner, "ncclTunerPlugin_v7");
}

}  // namespace
}  // namespace colltune::test
