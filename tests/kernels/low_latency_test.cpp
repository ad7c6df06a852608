// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Short messages on the processor beyond what the conformance test asks of every implementation:
// enough calls that every way to store has had its turn, and what a sweep tries.

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "colltune/kernels/copy.h"
#include "conformance.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

constexpr std::string_view algorithm = "_low_latency";

Problem problem_of(Collective collective, std::uint64_t size) {
  return {
      .collective = collective,
      .data_type = DataType::f32,
      .reduce_op = shape_of(collective).reduces ? ReduceOp::sum : ReduceOp::none,
      .message_size = {size},
  };
}

TEST(LowLatency, IsRightCallAfterCallInEveryFormat) {
  // Past the end of a line, of what is taken back ahead, and where stores adapt.
  constexpr int ranks = 3;
  for (const auto& implementation : make_catalogue()) {
    if (!implementation->name().starts_with("cpu.") || !implementation->name().ends_with(algorithm))
      continue;
    for (const std::uint64_t block : {60U, 500U, 4096U})
      for (const char* const setting : {"format=line,stores=cached", "format=line,stores=adaptive",
                                        "format=lines,stores=cached", "format=word,stores=cached",
                                        "format=poison,stores=cached"}) {
        const Variant variant =
            parse_variant(std::string(implementation->name()) + "{" + setting + "}");
        const bool has_blocks = shape_of(implementation->collective()).has_block_per_rank();
        ConformanceCase test{
            .problem = problem_of(implementation->collective(), block * (has_blocks ? ranks : 1)),
            .root = 1,
            .calls = 40};
        run_ranks(ranks, [&](Communicator& communicator) {
          EXPECT_EQ(find_fault(communicator, *implementation, variant, test), "")
              << to_string(variant) << " " << block;
        });
      }
  }
}

TEST(LowLatency, SaysWhichSettingsThereAre) {
  const Implementations catalogue = make_catalogue();
  const Implementation* mail = find_implementation(catalogue, "cpu.all_gather_low_latency");
  const Topology topology{.nodes = 1, .ranks_per_node = 2, .ranks = 2};
  const auto reason = [&](const std::string& settings) {
    return mail
        ->supports(problem_of(Collective::all_gather, 4096), topology, {},
                   parse_variant("cpu.all_gather_low_latency" + settings))
        .reason();
  };
  EXPECT_EQ(reason("{format=line,stores=adaptive}"), "");
  EXPECT_EQ(reason("{format=line}"), "its parameters are format, stores");
  EXPECT_EQ(reason("{format=letter,stores=cached}"), "format must be line, lines, word or poison");
  EXPECT_EQ(reason("{format=line,stores=streaming}"), "stores must be adaptive or cached");
  EXPECT_EQ(reason("{format=word,stores=adaptive}"), "with format word stores must be cached");
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
         mail->variants(problem_of(collective, size), topology, capability))
      names.insert(word(variant, "format") + " " + word(variant, "stores"));
    return names;
  };
  using Names = std::set<std::string>;
  EXPECT_EQ(tried(Collective::all_gather, 128),
            (Names{"lines cached", "word cached", "poison cached"}));
  EXPECT_EQ(tried(Collective::all_gather, 256),
            (Names{"line cached", "lines cached", "word cached", "poison cached"}));
  EXPECT_EQ(tried(Collective::all_gather, 1 << 10), Names{"line cached"});
  EXPECT_EQ(tried(Collective::all_gather, 16 << 10), (Names{"line adaptive", "line cached"}));
  EXPECT_EQ(tried(Collective::reduce, 128), (Names{"line cached", "word cached", "poison cached"}));
  EXPECT_EQ(tried(Collective::reduce, 512), Names{"line cached"});
  capability.features.clear();  // nothing can be stored past the caches
  EXPECT_EQ(tried(Collective::all_gather, 16 << 10), Names{"line cached"});
}

TEST(LowLatency, AdaptsWhereMessagesAreLongEnough) {
  const Implementations catalogue = make_catalogue();
  const Implementation* mail = find_implementation(catalogue, "cpu.all_gather_low_latency");
  const Topology topology{.nodes = 1, .ranks_per_node = 2, .ranks = 2};

  const auto variant = [](const std::string& settings) {
    return parse_variant("cpu.all_gather_low_latency{" + settings + "}");
  };
  const Variant adaptive = variant("format=line,stores=adaptive");
  const Variant cached = variant("format=line,stores=cached");
  EXPECT_TRUE(mail->covers(adaptive, cached));
  EXPECT_FALSE(mail->covers(cached, adaptive));
  EXPECT_FALSE(mail->covers(adaptive, adaptive));
  EXPECT_FALSE(mail->covers(adaptive, variant("format=lines,stores=cached")));
  const Problem problem = problem_of(Collective::all_gather, 16 << 10);
  EXPECT_GT(mail->settling_calls(problem, topology, adaptive), 0);
  EXPECT_EQ(mail->settling_calls(problem, topology, cached), 0);
  EXPECT_EQ(mail->protocol(problem, adaptive), mail->protocol(problem, cached));
}

}  // namespace
}  // namespace colltune::test
