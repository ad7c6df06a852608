// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/collectives/choices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "colltune/collectives/program_settings.h"
#include "colltune/kernels/arithmetic/copy.h"
#include "colltune/kernels/catalogue.h"
#include "colltune/model/fitted/variant_fits.h"
#include "colltune/table/decision_table.h"
#include "colltune/table_file/table_content.h"
#include "colltune/vocabulary/problem_form.h"

namespace colltune {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Buckets, HoldQuartersOfEachPowerOfTwoAndTheirFirstSizesAlone) {
  for (std::uint64_t size = 0; size < 5000; ++size) {
    const std::size_t bucket = bucket_of(size);
    EXPECT_LE(first_in_bucket(bucket), size);
    EXPECT_GT(first_in_bucket(bucket + 1), size);
  }
  EXPECT_EQ(bucket_of(1025), bucket_of(1024) + 1);
  EXPECT_EQ(bucket_of(1025), bucket_of(1279));
  EXPECT_EQ(bucket_of(1280), bucket_of(1024) + 2);
  EXPECT_EQ(bucket_of(2048), bucket_of(1024) + 8);
  const std::uint64_t huge = std::uint64_t{1} << 62U;
  EXPECT_EQ(first_in_bucket(bucket_of(huge)), huge);
}

const std::string environment(32, 'a');

Topology two_ranks() {
  Topology topology{.nodes = 1, .ranks_per_node = 2, .ranks = 2};
  topology.architectures = {{.architecture = "x86_64", .ranks = 2}};
  topology.layout_digest = "uniform";
  topology.interconnect = "shared-memory";
  return topology;
}

ProgramRanks plain_ranks() {
  Capability capability{.architecture = "x86_64", .features = {}};
  capability.features["cpu.cores"] = "4";
  return {.topology = two_ranks(), .capability = capability};
}

class ChoicesOfATable : public ::testing::Test {
 protected:
  /// One of ours that beats the baseline twice, if it wins.
  Decision& decide(Collective collective, std::uint64_t size, const char* variant,
                   Verdict verdict = Verdict::displaced, DataType type = DataType::f32) {
    const bool reduces = shape_of(collective).reduces;
    Problem problem{.collective = collective,
                    .data_type = type,
                    .reduce_op = reduces ? ReduceOp::sum : ReduceOp::none,
                    .message_size = {size}};
    Decision decision{.key = {.problem = in_its_form(problem),
                              .topology = two_ranks(),
                              .environment_digest = environment}};
    const auto rank = [](Variant one, std::string family, std::chrono::nanoseconds time) {
      return RankedVariant{.variant = std::move(one),
                           .family = std::move(family),
                           .median = time,
                           .low = time,
                           .high = time,
                           .speedup_over_baseline = 2};
    };
    decision.ranked = {rank(parse_variant(variant), "colltune", 1us),
                       rank({"mpi.theirs", {}}, "mpi", 2us)};
    decision.ranked[0].numeric_class = NumericClass::rank_order;
    decision.ranked[1].is_baseline = true;
    decision.ranked[1].speedup_over_baseline = 1;
    if (verdict != Verdict::displaced) std::swap(decision.ranked[0], decision.ranked[1]);
    decision.verdict = verdict;
    set_.decisions.push_back(std::move(decision));
    return set_.decisions.back();
  }

  /// The library's variant `theirs` wins, the kernels `ours` are ranked behind it with these times
  /// against the baseline's 2000 ns; those that take longer behind the baseline.
  void decide_for_theirs(std::uint64_t size,
                         std::vector<std::pair<const char*, std::chrono::nanoseconds>> ours,
                         const char* theirs = "mpi.all_reduce_tuned{algorithm=ring}") {
    Decision& decision = decide(Collective::all_reduce, size, theirs);
    decision.ranked[0].family = "mpi";
    decision.ranked[0].speedup_over_baseline = 4;
    for (const auto& [text, time] : ours) {
      RankedVariant one{.variant = parse_variant(text),
                        .family = "colltune",
                        .median = time,
                        .low = time,
                        .high = time,
                        .speedup_over_baseline = 2000.0 / static_cast<double>(time.count()),
                        .numeric_class = NumericClass::rank_order};
      const auto baseline = std::ranges::find_if(decision.ranked, &RankedVariant::is_baseline);
      decision.ranked.insert(time < 2us ? baseline : decision.ranked.end(), std::move(one));
    }
  }

  [[nodiscard]] Choices choose(const ProgramRanks& ranks = plain_ranks(),
                               ProgramNumerics numerics = ProgramNumerics::same_bits,
                               const ProgramCalling& calling = {}) {
    set_.generation.number = 7;
    set_.environments = {{environment, Environment{}}};
    const DecisionTable table(set_);
    const TableFile file(encode_table({.set = table.set(),
                                       .environment_digest = environment,
                                       .groups = table.answer_groups()}),
                         "table");
    return choose_from(file, ranks, numerics, catalogue_, calling);
  }

  /// None where the library's own runs.
  static Variant variant_of(const Choices& choices, const Choices::Row& row, std::uint64_t size) {
    const std::uint16_t choice = at(row, size);
    return choice == Choices::library ? Variant{} : choices.entries[choice - 1U].variant;
  }

  static std::uint16_t at(const Choices::Row& row, std::uint64_t size) {
    return row.choices[bucket_of(size)];
  }

  static constexpr const char* one_shot =
      "cpu.all_reduce_one_shot{access=staged,chunk=16384,slots=4,stores=cached}";
  static constexpr const char* two_shot =
      "cpu.all_reduce_two_shot{access=staged,chunk=16384,flow=pull,slots=4,stores=cached}";

  Implementations catalogue_ = make_host_catalogue();
  DecisionSet set_;
};

TEST_F(ChoicesOfATable, AreTheWinnersWhereTheyAreProven) {
  for (const std::uint64_t size : {1024, 4096}) decide(Collective::all_reduce, size, one_shot);
  for (const std::uint64_t size : {16384, 65536}) decide(Collective::all_reduce, size, two_shot);
  const Choices choices = choose();
  EXPECT_THAT(choices.source, HasSubstr("generation 7"));
  EXPECT_THAT(choices.left_out, IsEmpty());
  ASSERT_EQ(choices.rows.size(), 1U);
  const Choices::Row& row = choices.rows.front();
  EXPECT_EQ(row.smallest, Bytes{1024});
  EXPECT_EQ(row.largest, Bytes{65536});
  ASSERT_EQ(choices.entries.size(), 2U);
  EXPECT_EQ(choices.entries[0].variant, parse_variant(one_shot));
  EXPECT_EQ(choices.entries[1].variant, parse_variant(two_shot));
  EXPECT_EQ(choices.entries[1].capacity, Bytes{65536});
  EXPECT_EQ(at(row, 1024), 1);
  EXPECT_EQ(at(row, 3000), 1);
  EXPECT_EQ(at(row, 40000), 2);
  EXPECT_EQ(at(row, 65536), 2);
  // Between 4 KiB and 16 KiB nothing of ours was measured at both ends.
  EXPECT_EQ(at(row, 9000), Choices::library);
  EXPECT_EQ(row.savings[bucket_of(1024)], 1us);
}

TEST_F(ChoicesOfATable, LeaveTheLibraryWhatItKeeps) {
  decide(Collective::all_reduce, 1024, one_shot);
  decide(Collective::all_reduce, 4096, one_shot, Verdict::kept);
  decide(Collective::all_reduce, 16384, one_shot, Verdict::undecided);
  decide(Collective::all_reduce, 65536, one_shot);
  const Choices choices = choose();
  ASSERT_EQ(choices.rows.size(), 1U);
  const Choices::Row& row = choices.rows.front();
  EXPECT_EQ(at(row, 65536), 1);
  EXPECT_EQ(at(row, 1024), 1) << "alone in its bucket";
  for (const std::uint64_t size : {1025, 2000, 4096, 9000, 16384, 40000})
    EXPECT_EQ(at(row, size), Choices::library) << size;
}

TEST_F(ChoicesOfATable, AreTheNextBestWhereALibrarysVariantWins) {
  for (const std::uint64_t size : {1024, 4096})
    decide_for_theirs(size, {{two_shot, 800ns}, {one_shot, 1600ns}});
  const Choices choices = choose();
  EXPECT_THAT(choices.left_out, IsEmpty());
  ASSERT_EQ(choices.rows.size(), 1U);
  ASSERT_EQ(choices.entries.size(), 1U);
  EXPECT_EQ(choices.entries[0].variant, parse_variant(two_shot));
  const Choices::Row& row = choices.rows.front();
  for (const std::uint64_t size : {1024, 3000, 4096}) {
    EXPECT_EQ(at(row, size), 1) << size;
    EXPECT_NEAR(row.savings[bucket_of(size)].count(), 1200, 1);
  }
}

TEST_F(ChoicesOfATable, LeaveALibrarysVariantToItsRules) {
  for (const std::uint64_t size : {1024, 4096}) decide_for_theirs(size, {{two_shot, 800ns}});
  const Choices choices = choose(plain_ranks(), ProgramNumerics::same_bits,
                                 ProgramCalling{.library_follows_rules = true});
  EXPECT_THAT(choices.rows, IsEmpty());
  EXPECT_THAT(choices.left_out,
              Contains(HasSubstr("mpi.all_reduce_tuned{algorithm=ring} of all_reduce f32: no "
                                 "kernel of ours")));
}

TEST_F(ChoicesOfATable, DoNotComeBehindALibrarysVariantInItsRules) {
  // The winner is one of ours that cannot run; the library's rules have the next one.
  decide_for_theirs(1024, {{"mpi.all_reduce_tuned{algorithm=linear}", 700ns}, {two_shot, 800ns}},
                    "cpu.all_reduce_one_shot{access=cma,chunk=0,slots=4,stores=cached}");
  EXPECT_THAT(choose(plain_ranks(), ProgramNumerics::same_bits,
                     ProgramCalling{.library_follows_rules = true})
                  .rows,
              IsEmpty());
  EXPECT_EQ(choose().rows.size(), 1U);
}

TEST_F(ChoicesOfATable, AreNextBestOnlyWhereProvenAtAllSizesAround) {
  decide_for_theirs(1024, {{one_shot, 1000ns}, {two_shot, 1500ns}});
  decide_for_theirs(4096, {{two_shot, 1500ns}, {one_shot, 2500ns}});
  decide_for_theirs(16384, {{one_shot, 2500ns}, {two_shot, 3000ns}});
  const Choices choices = choose();
  ASSERT_EQ(choices.rows.size(), 1U);
  const Choices::Row& row = choices.rows.front();
  const auto variant_at = [&](std::uint64_t size) { return variant_of(choices, row, size); };
  EXPECT_EQ(variant_at(1024), parse_variant(one_shot));
  EXPECT_EQ(variant_at(3000), parse_variant(two_shot)) << "the faster one is not proven at 4 KiB";
  EXPECT_EQ(variant_at(4096), parse_variant(two_shot));
  EXPECT_EQ(variant_at(9000), Variant{});
  EXPECT_EQ(variant_at(16384), Variant{}) << "behind the baseline";
}

/// What `variant` takes at a size, against the baseline's 2000 ns, and whether that is proven.
struct Taken {
  const char* variant;
  std::chrono::nanoseconds time;
  bool is_proven = false;
};

/// A decision that ranks these. Without a proof its verdict is `undecided`.
void rank(Decision& decision, const std::vector<Taken>& all) {
  const RankedVariant like = decision.ranked.front();
  std::erase_if(decision.ranked, [](const RankedVariant& one) { return !one.is_baseline; });
  decision.ranked.front().low = decision.ranked.front().high = decision.ranked.front().median;
  for (const Taken& taken : all) {
    RankedVariant one = like;
    one.is_baseline = false;
    one.variant = parse_variant(taken.variant);
    one.median = one.low = one.high = taken.time;
    one.speedup_over_baseline = 2000.0 / static_cast<double>(taken.time.count());
    const auto baseline = std::ranges::find_if(decision.ranked, &RankedVariant::is_baseline);
    decision.ranked.insert(taken.is_proven ? baseline : decision.ranked.end(), std::move(one));
  }
  decision.verdict = decision.ranked.front().is_baseline ? Verdict::undecided : Verdict::displaced;
}

TEST_F(ChoicesOfATable, OfFitsAreProvenAtOneSizeAndClearAtTheOther) {
  rank(decide(Collective::all_reduce, 1024, one_shot), {{one_shot, 1000ns, true}});
  rank(decide(Collective::all_reduce, 4096, one_shot), {{one_shot, 1200ns}});
  EXPECT_EQ(at(choose().rows.front(), 2000), Choices::library) << "without fits";
  set_.fits = fits_of(set_.decisions);
  const Choices choices = choose();
  ASSERT_EQ(choices.rows.size(), 1U);
  const Choices::Row& row = choices.rows.front();
  for (const std::uint64_t size : {1024, 1025, 2000, 4095}) EXPECT_EQ(at(row, size), 1) << size;
  EXPECT_EQ(at(row, 4096), Choices::library) << "measured, and not proven";
  EXPECT_GT(row.savings[bucket_of(2000)], 700ns);
  EXPECT_THAT(choices.left_out, IsEmpty());
}

TEST_F(ChoicesOfATable, AreNotWhatFitsMerelyExpect) {
  // Slower than the baseline at the larger size, and a third faster in the middle.
  rank(decide(Collective::all_reduce, 1024, one_shot), {{one_shot, 500ns, true}});
  rank(decide(Collective::all_reduce, 4096, one_shot), {{one_shot, 2100ns}});
  // Clearly faster at two sizes, proven at neither.
  rank(decide(Collective::all_reduce, 65536, two_shot), {{two_shot, 500ns}});
  rank(decide(Collective::all_reduce, 262144, two_shot), {{two_shot, 500ns}});
  set_.fits = fits_of(set_.decisions);
  const DecisionTable table(set_);
  for (const std::uint64_t size : {1500, 100000}) {
    Problem asked = set_.decisions.front().key.problem;
    asked.message_size = {size};
    const LookupAnswer answer = table.find({.problem = asked});
    EXPECT_FALSE(answer.decision.ranked.front().is_baseline) << size << answer.decision.reason;
  }
  const Choices choices = choose();
  ASSERT_EQ(choices.rows.size(), 1U);
  const Choices::Row& row = choices.rows.front();
  EXPECT_EQ(at(row, 1024), 1);
  for (const std::uint64_t size : {1025, 1500, 4096, 100000, 200000})
    EXPECT_EQ(at(row, size), Choices::library) << size;
  EXPECT_THAT(choices.left_out, Contains(HasSubstr("not shown to be at the measured sizes")));
}

TEST_F(ChoicesOfATable, OfFitsLeaveWhatIsProvenAtBothSizes) {
  // `two_shot` is expected to be the fastest, but shown at one size alone; between 4 and 16 KiB
  // nothing is expected to gain a tenth.
  rank(decide(Collective::all_reduce, 1024, one_shot),
       {{two_shot, 300ns, true}, {one_shot, 1000ns, true}});
  rank(decide(Collective::all_reduce, 4096, one_shot),
       {{one_shot, 1850ns, true}, {two_shot, 2100ns}});
  rank(decide(Collective::all_reduce, 16384, one_shot), {{one_shot, 1850ns, true}});
  set_.fits = fits_of(set_.decisions);
  const Choices choices = choose();
  ASSERT_EQ(choices.rows.size(), 1U);
  const Choices::Row& row = choices.rows.front();
  const auto variant_at = [&](std::uint64_t size) { return variant_of(choices, row, size); };
  EXPECT_EQ(variant_at(1024), parse_variant(two_shot));
  for (const std::uint64_t size : {1500, 3000, 4096, 9000, 16384})
    EXPECT_EQ(variant_at(size), parse_variant(one_shot)) << size;
  EXPECT_NEAR(row.savings[bucket_of(9000)].count(), 150, 2);
}

TEST_F(ChoicesOfATable, AreTheNextBestThatTheRanksCanRun) {
  decide_for_theirs(1024,
                    {{"cpu.all_reduce_one_shot{access=cma,chunk=0,slots=4,stores=cached}", 500ns},
                     {"cuda.all_reduce_chain", 600ns},
                     {one_shot, 900ns}});
  const Choices choices = choose();
  ASSERT_EQ(choices.entries.size(), 1U);
  EXPECT_EQ(choices.entries[0].variant, parse_variant(one_shot));
}

TEST(ProgramSettings, SeeWhetherTheLibraryFollowsRules) {
  const auto follows = [](const std::string& name, const char* value) {
    return read_program_settings([&](const char* asked) { return asked == name ? value : nullptr; })
        .library_follows_rules;
  };
  EXPECT_FALSE(follows("COLLTUNE_TABLE", "table"));
  for (const char* const file :
       {"OMPI_MCA_coll_tuned_dynamic_rules_filename", "OMPI_MCA_coll_han_dynamic_rules_filename"}) {
    EXPECT_TRUE(follows(file, "rules.conf"));
    EXPECT_FALSE(follows(file, ""));
  }
  for (const char* const rules :
       {"OMPI_MCA_coll_tuned_use_dynamic_rules", "OMPI_MCA_coll_han_use_dynamic_file_rules"}) {
    EXPECT_TRUE(follows(rules, "1"));
    EXPECT_TRUE(follows(rules, "true"));
    EXPECT_FALSE(follows(rules, "0"));
    EXPECT_FALSE(follows(rules, "false"));
  }
}

TEST_F(ChoicesOfATable, OfCollectivesThatMoveDataAreForBytes) {
  for (const std::uint64_t size : {1024, 4096})
    decide(Collective::all_gather, size,
           "cpu.all_gather_flat{access=staged,chunk=16384,flow=pull,slots=4,stores=cached}");
  const Choices choices = choose();
  ASSERT_EQ(choices.rows.size(), 1U);
  EXPECT_EQ(choices.rows[0].data_type, DataType::u8);
  EXPECT_EQ(choices.rows[0].reduce_op, ReduceOp::none);
}

TEST_F(ChoicesOfATable, AreForTheSameRanksAlone) {
  decide(Collective::all_reduce, 1024, one_shot);
  ProgramRanks crowded = plain_ranks();
  crowded.topology.placement = Placement::oversubscribed;
  const Choices choices = choose(crowded);
  EXPECT_THAT(choices.rows, IsEmpty());
  EXPECT_THAT(
      choices.left_out,
      ElementsAre(HasSubstr("the table has nothing for 1x2 x86_64 oversubscribed; it has: 1 "
                            "node(s) x 2 of x86_64, dedicated")));
}

TEST_F(ChoicesOfATable, AreOfCallsAsProgramsMakeThem) {
  decide(Collective::all_reduce, 1024, one_shot).key.calling = Calling::persistent;
  decide(Collective::all_reduce, 1024, one_shot).key.problem.in_place = true;
  decide(Collective::all_reduce, 1024, one_shot).key.input = InputMode::hot;
  EXPECT_THAT(choose().rows, IsEmpty());
}

TEST_F(ChoicesOfATable, OfUnequalCountsAreApartFromThoseOfEqualOnes) {
  const char* const flat =
      "cpu.all_gather_flat{access=staged,chunk=0,flow=pull,slots=4,stores=cached}";
  decide(Collective::all_gather, 1024, flat).key.problem.counts = Counts::random;
  decide(Collective::all_gather, 1024, flat);
  const Choices choices = choose();
  ASSERT_EQ(choices.rows.size(), 2U);
  EXPECT_EQ(choices.rows[0].counts, Counts::equal);
  EXPECT_EQ(choices.rows[1].counts, Counts::random);
  ASSERT_EQ(choices.entries.size(), 2U) << "one operation does not serve for both";
  EXPECT_NE(choices.entries[0].has_unequal_counts, choices.entries[1].has_unequal_counts);
}

TEST_F(ChoicesOfATable, NeedWhatTheRanksLack) {
  decide(Collective::all_reduce, 1024,
         "cpu.all_reduce_one_shot{access=cma,chunk=0,slots=4,stores=cached}");
  decide(Collective::broadcast, 1024, "cuda.broadcast_chain");
  const Choices choices = choose();
  EXPECT_THAT(choices.rows, IsEmpty());
  EXPECT_THAT(choices.left_out, Contains(HasSubstr("the kernel does not let the ranks read")));
  EXPECT_THAT(choices.left_out,
              Contains(HasSubstr("cuda.broadcast_chain of broadcast u8: no kernel of ours")));
}

TEST_F(ChoicesOfATable, KeepTheNumbersThatAProgramDemands) {
  const auto three_ranks = [&](ProgramNumerics numerics, NumericClass guaranteed, DataType type) {
    set_.decisions.clear();
    Decision& decision = decide(Collective::all_reduce, 1024,
                                "cpu.all_reduce_ring{access=staged,chunk=16384,"
                                "slots=4,stores=cached,ways=one}",
                                Verdict::displaced, type);
    decision.ranked[0].numeric_class = guaranteed;
    ProgramRanks ranks = plain_ranks();
    ranks.topology.ranks = ranks.topology.ranks_per_node = 3;
    ranks.topology.architectures[0].ranks = 3;
    decision.key.topology = ranks.topology;
    return choose(ranks, numerics);
  };
  const NumericClass of_ring = find_implementation(catalogue_, "cpu.all_reduce_ring")
                                   ->numerics({.message_size = {1024}}, {"cpu.all_reduce_ring", {}})
                                   .numeric_class;
  ASSERT_EQ(of_ring, NumericClass::same_bits);
  EXPECT_EQ(three_ranks(ProgramNumerics::same_bits, of_ring, DataType::f32).rows.size(), 1U);
  EXPECT_EQ(three_ranks(ProgramNumerics::any, of_ring, DataType::f32).rows.size(), 1U);
  EXPECT_THAT(three_ranks(ProgramNumerics::rank_order, of_ring, DataType::f32).left_out,
              ElementsAre(HasSubstr("it does not guarantee rank_order")));
  EXPECT_THAT(three_ranks(ProgramNumerics::library, of_ring, DataType::f32).left_out,
              ElementsAre(HasSubstr("COLLTUNE_NUMERICS=library")));
  EXPECT_EQ(three_ranks(ProgramNumerics::library, of_ring, DataType::i32).rows.size(), 1U)
      << "whole numbers have no order";
}

}  // namespace
}  // namespace colltune
