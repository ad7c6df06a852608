// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Short messages on the processor beyond what the conformance test asks of every implementation:
// enough calls that every way to store has had its turn, and what a sweep tries.

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>

#include "colltune/kernels/arithmetic/copy.h"
#include "conformance.h"
#include "support/run_ranks.h"
#include "support/sanitizer.h"

namespace colltune::test {
namespace {

constexpr std::string_view algorithm = "_low_latency";

TEST(LowLatency, IsRightCallAfterCallInEveryFormat) {
  constexpr int ranks = 3;
  // Past the end of a line, of what is taken back ahead, and where stores adapt.
  constexpr std::array<std::uint64_t, 3> blocks{60, 500, 4096};
  // More than there are slots, twice.
  constexpr int calls = has_thread_sanitizer ? 20 : 40;
  std::size_t turn = 0;
  for (const auto& implementation : make_catalogue()) {
    if (implementation->name() !=
        "cpu." + std::string(name_of(implementation->collective())) + std::string(algorithm))
      continue;
    for (const char* const setting : {"format=line,slots=4,stores=cached,taken_back=cleared",
                                      "format=line,slots=4,stores=cached,taken_back=one_line",
                                      "format=header,slots=4,stores=cached,taken_back=fetched",
                                      "format=header,slots=4,stores=adaptive,taken_back=one_line",
                                      "format=header,slots=4,stores=adaptive,taken_back=cleared",
                                      "format=lines,slots=4,stores=cached,taken_back=cleared",
                                      "format=lines,slots=4,stores=cached,taken_back=fetched",
                                      "format=word,slots=4,stores=cached,taken_back=cleared",
                                      "format=word,slots=4,stores=cached,taken_back=one_line",
                                      "format=poison,slots=4,stores=cached,taken_back=cleared",
                                      "format=header,slots=8,stores=adaptive,taken_back=one_line",
                                      "format=line,slots=16,stores=cached,taken_back=cleared",
                                      "format=poison,slots=8,stores=cached,taken_back=cleared"}) {
      const Variant variant =
          parse_variant(std::string(implementation->name()) + "{" + setting + "}");
      const bool has_blocks = shape_of(implementation->collective()).has_block_per_rank();
      ++turn;
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        // Under a sanitizer the sizes take turns.
        if (has_sanitizer && i != turn % blocks.size()) continue;
        ConformanceCase test{.problem = f32_problem(implementation->collective(),
                                                    blocks.at(i) * (has_blocks ? ranks : 1)),
                             .root = 1,
                             .calls = calls};
        run_ranks(ranks, [&](Communicator& communicator) {
          EXPECT_EQ(find_fault(communicator, *implementation, variant, test), "")
              << to_string(variant) << " " << blocks.at(i);
        });
      }
    }
  }
}

TEST(LowLatency, SaysWhichSettingsThereAre) {
  const Implementations catalogue = make_catalogue();
  const Implementation* mail = find_implementation(catalogue, "cpu.all_gather_low_latency");
  const Topology topology{.nodes = 1, .ranks_per_node = 2, .ranks = 2};
  const auto reason = [&](const std::string& settings) {
    return mail
        ->supports(f32_problem(Collective::all_gather, 4096), topology, {},
                   parse_variant("cpu.all_gather_low_latency" + settings))
        .reason();
  };
  EXPECT_EQ(reason("{format=header,slots=4,stores=adaptive,taken_back=cleared}"), "");
  EXPECT_EQ(reason("{format=line,slots=4,stores=cached}"),
            "its parameters are format, slots, stores, taken_back");
  for (const char* const slots : {"2", "6", "128", "many"})
    EXPECT_EQ(reason("{format=header,slots=" + std::string(slots) +
                     ",stores=adaptive,taken_back=cleared}"),
              "slots must be a power of two from 4 to 64")
        << slots;
  EXPECT_EQ(reason("{format=letter,slots=4,stores=cached,taken_back=cleared}"),
            "format must be line, header, lines, word or poison");
  EXPECT_EQ(reason("{format=header,slots=4,stores=streaming,taken_back=cleared}"),
            "stores must be adaptive or cached");
  EXPECT_EQ(reason("{format=word,slots=4,stores=adaptive,taken_back=cleared}"),
            "with format word stores must be cached");
  EXPECT_EQ(reason("{format=line,slots=4,stores=cached,taken_back=asked}"),
            "taken_back must be one of cleared, fetched, one_line");
  EXPECT_EQ(reason("{format=poison,slots=4,stores=cached,taken_back=fetched}"),
            "with format poison taken_back must be cleared");
}

TEST(LowLatency, TriesEachFormatWhereItCanWin) {
  const Implementations catalogue = make_catalogue();
  const Topology topology{.nodes = 1, .ranks_per_node = 2, .ranks = 2};
  Capability capability{.features = {{std::string(streaming_feature), ""}}};
  const auto tried = [&](Collective collective, std::uint64_t size) {
    const Implementation* mail =
        find_implementation(catalogue, "cpu." + std::string(name_of(collective)) + "_low_latency");
    std::set<std::string> names;
    for (const Variant& variant :
         mail->variants(f32_problem(collective, size), topology, capability))
      names.insert(word(variant, "format") + " " + word(variant, "stores") + " " +
                   word(variant, "taken_back"));
    return names;
  };
  using Names = std::set<std::string>;
  EXPECT_EQ(tried(Collective::all_gather, 128),
            (Names{"lines cached cleared", "word cached cleared", "poison cached cleared"}));
  EXPECT_EQ(tried(Collective::all_gather, 256),
            (Names{"line cached cleared", "lines cached cleared", "word cached cleared",
                   "poison cached cleared"}));
  // By the bytes for one reader, of which there are two.
  EXPECT_EQ(tried(Collective::all_gather, 1 << 10),
            (Names{"line cached cleared", "header cached cleared"}));
  const Names plain{"line cached cleared", "line cached one_line", "header cached cleared",
                    "header cached one_line"};
  Names also_adaptive = plain;
  also_adaptive.insert({"header adaptive cleared", "header adaptive one_line"});
  EXPECT_EQ(tried(Collective::all_gather, 16 << 10), also_adaptive);
  EXPECT_EQ(tried(Collective::reduce, 128),
            (Names{"line cached fetched", "word cached fetched", "poison cached cleared"}));
  EXPECT_EQ(tried(Collective::reduce, 512),
            (Names{"line cached fetched", "header cached fetched"}));
  EXPECT_EQ(tried(Collective::reduce, 1 << 10),
            (Names{"line cached fetched", "line cached one_line", "header cached fetched",
                   "header cached one_line"}));
  capability.features.clear();  // nothing can be stored past the caches
  EXPECT_EQ(tried(Collective::all_gather, 16 << 10), plain);
}

TEST(LowLatency, TriesAsManySlotsAsFillACacheAndManyShortOnesWithARoot) {
  const Implementations catalogue = make_catalogue();
  const Topology topology{.nodes = 1, .ranks_per_node = 2, .ranks = 2};
  const auto tried = [&](std::uint64_t size, Collective collective = Collective::reduce) {
    const std::string name = "cpu." + std::string(name_of(collective)) + "_low_latency";
    std::set<std::int64_t> slots;
    for (const Variant& variant : find_implementation(catalogue, name)
                                      ->variants(f32_problem(collective, size), topology, {}))
      slots.insert(number(variant, "slots"));
    return slots;
  };
  using Numbers = std::set<std::int64_t>;
  EXPECT_EQ(tried(1 << 10), Numbers{64});
  EXPECT_EQ(tried(252, Collective::all_reduce), Numbers{4});
  EXPECT_EQ(tried(256, Collective::all_reduce), (Numbers{4, 64}));
  EXPECT_EQ(tried(1032), (Numbers{4, 64}));
  EXPECT_EQ(tried(4 << 10), (Numbers{4, 64}));
  EXPECT_EQ(tried(20000), (Numbers{4, 32}));
  EXPECT_EQ(tried(64 << 10), (Numbers{4, 16}));
}

TEST(LowLatency, AdaptsWhereMessagesAreLongEnough) {
  const Implementations catalogue = make_catalogue();
  const Implementation* mail = find_implementation(catalogue, "cpu.all_gather_low_latency");
  const Topology topology{.nodes = 1, .ranks_per_node = 2, .ranks = 2};

  const auto variant = [](const std::string& settings) {
    return parse_variant("cpu.all_gather_low_latency{" + settings + "}");
  };
  const Variant adaptive = variant("format=header,slots=4,stores=adaptive,taken_back=one_line");
  const Variant cached = variant("format=header,slots=4,stores=cached,taken_back=one_line");
  EXPECT_TRUE(mail->covers(adaptive, cached));
  EXPECT_FALSE(mail->covers(cached, adaptive));
  EXPECT_FALSE(mail->covers(adaptive, adaptive));
  EXPECT_FALSE(
      mail->covers(adaptive, variant("format=lines,slots=4,stores=cached,taken_back=one_line")));
  EXPECT_FALSE(
      mail->covers(adaptive, variant("format=header,slots=4,stores=cached,taken_back=cleared")));
  const Problem problem = f32_problem(Collective::all_gather, 16 << 10);
  EXPECT_GT(mail->traits(problem, topology, adaptive).learning_calls, 0);
  EXPECT_EQ(mail->traits(problem, topology, cached).learning_calls, 0);
  EXPECT_EQ(mail->protocol(problem, adaptive), mail->protocol(problem, cached));
  EXPECT_NE(
      mail->protocol(problem, cached),
      mail->protocol(problem, variant("format=header,slots=8,stores=cached,taken_back=one_line")));
}

}  // namespace
}  // namespace colltune::test
