// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Files of decisions that have fits: between and beyond measured sizes they answer as the daemon.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "colltune/model/fitted/variant_fits.h"
#include "colltune/table_file/table_file.h"
#include "proto/table_file/random_decisions.h"

namespace colltune::testing {
namespace {

DecisionSet with_fits(DecisionSet set) {
  set.fits = fits_of(set.decisions);
  return set;
}

/// What the answers of a comparison were.
struct Seen {
  int answers = 0;
  int predictions = 0;     ///< with an interval
  int chosen_by_fits = 0;  ///< other variants than a table without fits names
  int by_ratio = 0;        ///< times of variants without a fit of their own, by the baseline's
};

/// Compares the fast lookup with the table's answer at one size.
void expect_same(const DecisionTable& table, const TableFile& file, const TuningKey& key,
                 const std::string& family, Seen& seen) {
  SCOPED_TRACE(describe(key.problem) + " " + family);
  std::optional<LookupAnswer> said;
  try {
    said = table.find(query_for(key, family));
  } catch (const Error& error) {
    ASSERT_EQ(error.code(), StatusCode::not_found) << error.what();
  }
  const auto group = resolve(file.view(), key, family);
  const auto found = group ? file.view().find(*group, key.problem.message_size) : std::nullopt;
  ASSERT_EQ(found.has_value(), said.has_value());
  if (!said) return;
  ++seen.answers;
  const Decision& decision = said->decision;
  const RankedVariant& winner = decision.ranked.front();
  ASSERT_EQ(file.view().variant(found->variant).text, to_string(winner.variant)) << decision.reason;
  EXPECT_EQ(found->is_baseline, winner.is_baseline);
  EXPECT_EQ(found->source, said->source);
  EXPECT_EQ(found->verdict, decision.verdict);
  EXPECT_EQ(found->status, decision.status) << decision.reason;
  const auto count = [](std::chrono::nanoseconds time) {
    return static_cast<double>(time.count());
  };
  // Times of a variant without a fit are rounded once more.
  EXPECT_NEAR(count(found->time()), count(winner.median), 2) << decision.reason;
  const auto baseline = std::ranges::find_if(decision.ranked, &RankedVariant::is_baseline);
  ASSERT_EQ(found->baseline != table_file::none, baseline != decision.ranked.end());
  if (baseline != decision.ranked.end()) {
    EXPECT_EQ(file.view().variant(found->baseline).text, to_string(baseline->variant));
    EXPECT_NEAR(count(found->baseline_time()), count(baseline->median), 2) << decision.reason;
  }
  const auto interval = found->interval();
  ASSERT_EQ(interval.has_value(), said->prediction.has_value());
  if (interval) {
    ++seen.predictions;
    EXPECT_EQ(interval->low, said->prediction->low);
    EXPECT_EQ(interval->high, said->prediction->high);
    EXPECT_EQ(file.view().string(interval->model), said->prediction->model);
  }
  if (found->fit_choice() != FitChoice::none) ++seen.chosen_by_fits;
  if (found->prediction != nullptr && found->prediction->has_line != 0 && !interval)
    ++seen.by_ratio;
}

/// At each quarter of each power of two from 1 B on, and just above: all numeric classes.
void expect_same_at_all_sizes(const DecisionSet& set, Seen& seen) {
  const DecisionTable table(set);
  const TableFile file(encode_table(content_of(set)), "memory");
  // What is read from it as a whole says the same in every word.
  const DecisionTable read(file.read_decisions());
  std::set<std::pair<std::string, std::string>> known;
  for (const Decision& decision : set.decisions) {
    TuningKey key = decision.key;
    key.problem.message_size = {};
    if (!known.emplace(canonical_text(key), decision.family).second) continue;
    for (const auto& demanded : enum_names(NumericClass{})) {
      if (demanded.value < decision.key.problem.numeric_class) continue;
      key.problem.numeric_class = demanded.value;
      for (unsigned log2 = 0; log2 < 32; ++log2)
        for (std::uint64_t quarter = 0; quarter < 4; ++quarter)
          for (const std::uint64_t above : {0U, 16U}) {
            key.problem.message_size = {(4 + quarter) * (std::uint64_t{1} << log2) / 4 + above};
            expect_same(table, file, key, decision.family, seen);
            if (::testing::Test::HasFailure()) return;
            if (quarter == 3 && above == 0) {
              const LookupQuery query = query_for(key, decision.family);
              const auto answer_of =
                  [&](const DecisionTable& asked) -> std::optional<LookupAnswer> {
                try {
                  return asked.find(query);
                } catch (const Error&) {
                  return std::nullopt;
                }
              };
              EXPECT_EQ(answer_of(read), answer_of(table));
            }
          }
    }
  }
}

TEST(FittedFile, AnswersAsTheDaemonFromDecisionsOfAllKinds) {
  Seen seen;
  for (unsigned seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    DecisionSet set = with_fits(RandomDecisions(seed).make(30));
    // Some variants have none, as those of a single size; also baselines.
    if (seed % 2 == 1) {
      std::size_t i = 0;
      std::erase_if(set.fits, [&](const VariantFit&) { return i++ % 3 == seed % 3; });
    }
    expect_same_at_all_sizes(set, seen);
    if (HasFailure()) return;
  }
  EXPECT_GT(seen.answers, 20000);
  EXPECT_GT(seen.predictions, 10000);
  EXPECT_GT(seen.chosen_by_fits, 500);
  EXPECT_GT(seen.by_ratio, 4);
}

/// A variant takes alpha + beta * size, and each time a bit more or less.
struct PlantedVariant {
  const char* text;
  double alpha;  ///< in ns
  double beta;   ///< in ns per byte
};

/// Decisions as a sweep makes them: what is clearly faster than the baseline is proven, if the size
/// had enough samples; some sizes prove nothing.
DecisionSet planted(unsigned seed, std::uint64_t factor) {
  constexpr std::array<PlantedVariant, 6> variants{
      PlantedVariant{"mpi.default", 9000, 0.5},
      {"cpu.one_shot{chunk=4096}", 2000, 1.2},
      {"cpu.one_shot{chunk=65536}", 3000, 0.9},
      {"cpu.ring{n=1}", 20000, 0.2},
      {"cpu.ring{n=2}", 15000, 0.3},
      {"cpu.tree", 6000, 0.6},
  };
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, 0.08);
  DecisionSet set{.generation = {"store", 7, "content"},
                  .environments = {{digest_of(test_environment()), test_environment()}}};
  for (const Collective collective : {Collective::all_reduce, Collective::all_gather})
    for (std::uint64_t size = 64; size <= 16U << 20U; size *= factor) {
      TuningKey key = test_key(size);
      key.problem.collective = collective;
      if (collective == Collective::all_gather) key.problem.reduce_op = ReduceOp::none;
      std::vector<RankedVariant> all;
      for (const PlantedVariant& one : variants) {
        const double time =
            (one.alpha + one.beta * static_cast<double>(size)) * std::exp(noise(random));
        all.push_back(ranked(one.text, static_cast<int>(time), 1));
        all.back().low = std::chrono::nanoseconds(std::llround(time * 0.95));
        all.back().high = std::chrono::nanoseconds(std::llround(time * 1.05));
        if (std::string_view(one.text) == "cpu.one_shot{chunk=4096}")
          all.back().limits.max_message = {1U << 16U};
      }
      std::erase_if(all, [&](const RankedVariant& one) {
        return one.limits.max_message.value != 0 && size > one.limits.max_message.value;
      });
      const bool is_proving = random() % 3 != 0;
      const RankedVariant base = all.front();
      for (RankedVariant& one : all)
        one.speedup_over_baseline =
            static_cast<double>(base.median.count()) / static_cast<double>(one.median.count());
      const auto group_of = [&](const RankedVariant& one) {
        if (one.is_baseline) return 1;
        return is_proving && one.high < base.low ? 0 : 2;
      };
      std::ranges::sort(
          all, {}, [&](const RankedVariant& one) { return std::pair(group_of(one), one.median); });
      set.decisions.push_back(decision(key, all));
      set.decisions.back().verdict = !all.front().is_baseline ? Verdict::displaced
                                     : is_proving             ? Verdict::kept
                                                              : Verdict::undecided;
    }
  return with_fits(std::move(set));
}

TEST(FittedFile, AnswersAsTheDaemonFromWhatASweepDecided) {
  Seen seen;
  for (unsigned seed = 0; seed < 10; ++seed)
    for (const std::uint64_t factor : {4U, 16U}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + " factor " + std::to_string(factor));
      expect_same_at_all_sizes(planted(seed, factor), seen);
      if (HasFailure()) return;
    }
  EXPECT_GT(seen.predictions, 5000);
  EXPECT_GT(seen.chosen_by_fits, 1000);
}

/// The choice that fits make is worth the bytes: the planted times say which variant is the best.
TEST(FittedFile, AnswersBetweenSizesBetterThanOneWithoutFits) {
  std::array<int, 2> near_the_best{};
  int asked = 0;
  for (unsigned seed = 0; seed < 10; ++seed) {
    DecisionSet set = planted(seed, 16);
    const auto file_of = [](const DecisionSet& from) {
      return TableFile(encode_table(content_of(from)), "memory");
    };
    const TableFile fitted = file_of(set);
    set.fits.clear();
    const TableFile plain = file_of(set);
    for (std::uint64_t size = 256; size < 4U << 20U; size *= 4) {
      const auto time_of = [&](std::string_view variant) {
        if (variant == "mpi.default") return 9000 + 0.5 * static_cast<double>(size);
        if (variant == "cpu.one_shot{chunk=4096}") return 2000 + 1.2 * static_cast<double>(size);
        if (variant == "cpu.one_shot{chunk=65536}") return 3000 + 0.9 * static_cast<double>(size);
        if (variant == "cpu.ring{n=1}") return 20000 + 0.2 * static_cast<double>(size);
        if (variant == "cpu.ring{n=2}") return 15000 + 0.3 * static_cast<double>(size);
        return 6000 + 0.6 * static_cast<double>(size);
      };
      double best = time_of("mpi.default");
      for (const char* const one :
           {"cpu.one_shot{chunk=65536}", "cpu.ring{n=1}", "cpu.ring{n=2}", "cpu.tree"})
        best = std::min(best, time_of(one));
      if (size <= 1U << 16U) best = std::min(best, time_of("cpu.one_shot{chunk=4096}"));
      ++asked;
      for (std::size_t i = 0; i < 2; ++i) {
        const TableView& view = i == 0 ? plain.view() : fitted.view();
        const auto group =
            resolve(i == 0 ? plain.view() : fitted.view(), test_key(size), any_family);
        const auto answer = view.find(*group, {size});
        ASSERT_TRUE(answer);
        if (time_of(view.variant(answer->variant).text) <= 1.1 * best) ++near_the_best.at(i);
      }
    }
  }
  RecordProperty("without fits", near_the_best[0]);
  RecordProperty("with fits", near_the_best[1]);
  EXPECT_GT(near_the_best[1], near_the_best[0]) << "of " << asked;
}

/// A time that is the baseline's times a ratio which grows with the size.
TEST(FittedFile, AnswersAsTheDaemonWithParametersThatOneSizeAloneHas) {
  DecisionSet set{.generation = {"store", 7, "content"},
                  .environments = {{digest_of(test_environment()), test_environment()}}};
  const auto decide = [&](std::uint64_t size, std::vector<RankedVariant> ranked, Verdict verdict) {
    set.decisions.push_back(decision(test_key(size), std::move(ranked)));
    set.decisions.back().verdict = verdict;
  };
  decide(1024, {ranked("cpu.ring{n=1}", 1000, 4), ranked("mpi.default", 4000, 1)},
         Verdict::displaced);
  decide(16384, {ranked("mpi.default", 20000, 1), ranked("cpu.ring{n=2}", 8000, 2.5)},
         Verdict::undecided);
  decide(65536, {ranked("cpu.ring{n=2}", 30000, 2), ranked("mpi.default", 60000, 1)},
         Verdict::displaced);
  set = with_fits(std::move(set));
  Seen seen;
  expect_same_at_all_sizes(set, seen);
  const TableFile file(encode_table(content_of(set)), "memory");
  const auto answer = file.view().find(*resolve(file.view(), test_key(2048), any_family), {2048});
  ASSERT_TRUE(answer);
  EXPECT_EQ(file.view().variant(answer->variant).text, "cpu.ring{n=1}");
  EXPECT_EQ(answer->fit_choice(), FitChoice::expected) << "nobody measured it at 16 KiB";
  ASSERT_NE(answer->prediction, nullptr);
  EXPECT_GT(answer->prediction->growth, 0);
  EXPECT_GT(seen.by_ratio, 4);
}

DecisionSet small_set() {
  DecisionSet set{.generation = {"store", 7, "content"},
                  .decisions = {decision(test_key(1024), {ranked("cpu.ring{n=1}", 500, 1.5),
                                                          ranked("mpi.default", 750, 1)}),
                                decision(test_key(4096), {ranked("mpi.default", 2000, 1),
                                                          ranked("cpu.ring{n=1}", 1600, 1.25)})},
                  .environments = {{digest_of(test_environment()), test_environment()}}};
  set.decisions.front().verdict = Verdict::displaced;
  set.decisions.back().verdict = Verdict::undecided;
  return set;
}

/// Version 3 never changes. If this fails, the version must be raised.
TEST(FittedFile, BytesOfVersionThreeAreTheSameForever) {
  const std::string bytes = encode_table(content_of(with_fits(small_set())));
  EXPECT_EQ(bytes[8], 3);
  EXPECT_EQ(digest_of_text(bytes), "624495a53823526a85e73a462f80bacb");
}

TEST(FittedFile, WithoutFitsItIsOfAnOlderVersionAndAnswersAsBefore) {
  const std::string bytes = encode_table(content_of(small_set()));
  EXPECT_EQ(bytes[8], 1);
  const TableFile file(bytes, "memory");
  EXPECT_TRUE(file.read_decisions().fits.empty());
  const auto answer = file.view().find(*resolve(file.view(), test_key(2048), any_family), {2048});
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->is_baseline);
  EXPECT_EQ(answer->prediction, nullptr);
  EXPECT_FALSE(answer->interval());
}

TEST(FittedFile, GivesBackItsFits) {
  const DecisionSet set = with_fits(small_set());
  ASSERT_EQ(set.fits.size(), 2U);
  const TableFile file(encode_table(content_of(set)), "memory");
  EXPECT_EQ(file.read_decisions(), set);
  const auto answer = file.view().find(*resolve(file.view(), test_key(2048), any_family), {2048});
  ASSERT_TRUE(answer);
  EXPECT_EQ(file.view().variant(answer->variant).text, "cpu.ring{n=1}");
  EXPECT_EQ(answer->fit_choice(), FitChoice::shown_at_both) << "it is clear at the larger size";
  EXPECT_TRUE(answer->interval());
}

TEST(FittedFile, RefusesFitsOfAnotherEnvironment) {
  DecisionSet set = with_fits(small_set());
  set.fits.back().key.environment_digest = "another";
  try {
    (void)encode_table(content_of(set));
    FAIL() << "it was written";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::invalid_argument);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("a fit for "));
  }
}

/// Digests are sound, but what they are made of is none of ours.
TEST(FittedFile, RefusesFitsThatNoModelMakes) {
  DecisionSet set = with_fits(small_set());
  set.fits.back().segments.back().from = set.fits.back().segments.front().from;
  TableContent content = content_of(small_set());
  content.set.fits = set.fits;
  const TableFile file(encode_table(content), "cluster.ctt");
  try {
    (void)file.read_decisions();
    FAIL() << "it was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::data_loss);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("cluster.ctt: evidence, fit 1.segments[1]: does "
                                                   "not begin behind the one before"));
  }
}

}  // namespace
}  // namespace colltune::testing
