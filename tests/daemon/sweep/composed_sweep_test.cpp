// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// Whole sweeps with this project's own kernels on ranks that cannot all run the same.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>

#include "colltune/decide/decide.h"
#include "colltune/kernels/arithmetic/copy.h"
#include "colltune/kernels/composition/composed.h"
#include "colltune/vocabulary/canonical.h"
#include "kernels/conformance.h"
#include "kernels/stub_implementation.h"
#include "support/full_run.h"
#include "support/run_ranks.h"
#include "support/sanitizer.h"
#include "sweep_run.h"

namespace colltune {
namespace {

using ::testing::HasSubstr;

constexpr std::array all_collectives{Collective::all_reduce,     Collective::all_gather,
                                     Collective::reduce_scatter, Collective::broadcast,
                                     Collective::reduce,         Collective::all_to_all,
                                     Collective::gather,         Collective::scatter};

SweepSpec spec_of(std::vector<Collective> collectives, std::string_view sizes) {
  return {
      .collectives = std::move(collectives),
      .sizes = parse_sizes(sizes),
      .include = {"cpu.*_flat", "cpu.all_reduce_one_shot", "cpu.reduce_tree", "cpu.*_low_latency"},
      .passes = 1,
      .precision = 0.5,
      .soak = {.runs = 0, .time = {}},
      .null_test = false};
}

/// What this processor does where it has no stores past the caches is right all the same.
const std::map<std::string, std::string, std::less<>> may_stream{
    {std::string(streaming_feature), ""}};

/// Ranks 2 and 3 lack the short messages, and may not store past the caches.
void mask_upper_half(int rank, Capability& capability) {
  capability.features.insert(may_stream.begin(), may_stream.end());
  if (rank < 2) return;
  capability.features["without.cpu.*_low_latency"] = "";
  capability.features["without.cpu.*{*stores=adaptive*}"] = "";
}

std::string_view mode_of(const Measurement& one) {
  if (parts_named_by(one.variant).empty()) return "single";
  return std::string_view(one.variant.implementation)
      .substr(0, one.variant.implementation.find('.'));
}

TEST(ComposedSweep, EveryCollectiveInEveryModeOnUnlikeRanks) {
  fakes::SweepRun run;
  run.differ = mask_upper_half;
  SweepSpec spec = spec_of({all_collectives.begin(), all_collectives.end()},
                           test::has_thread_sanitizer ? "16KiB" : "64,16KiB");
  spec.partial_worlds = true;
  fakes::sweep(run, 4, make_catalogue(), spec);
  for (const auto& error : run.errors) EXPECT_EQ(error, "");
  EXPECT_THAT(run.ends, ::testing::Each(SweepEnd::complete));
  std::map<Collective, std::set<std::string_view>> modes;
  for (const Measurement& one : run.outcome.measurements) {
    EXPECT_EQ(one.outcome, Outcome::ok) << to_string(one.variant) << ": " << one.detail;
    EXPECT_EQ(one.ranks_ran, one.key.topology.ranks);
    EXPECT_GT(one.verified_calls, 0u);
    EXPECT_FALSE(one.samples.empty());
    modes[one.key.problem.collective].insert(one.key.topology.ranks == 4 ? mode_of(one)
                                                                         : "partial");
  }
  for (const Collective collective : all_collectives)
    EXPECT_THAT(modes[collective],
                ::testing::UnorderedElementsAre("single", "substituted", "grouped", "partial"))
        << name_of(collective);
  // Whatever is ranked, all ranks can run: what only two of them have is in compositions alone.
  for (const Decision& decision : decide(run.outcome.measurements, {}, "s")) {
    if (decision.key.topology.ranks != 4) continue;
    for (const RankedVariant& ranked : decision.ranked)
      EXPECT_THAT(
          ranked.variant.implementation,
          ::testing::AnyOf(::testing::StartsWith("substituted."), ::testing::StartsWith("grouped."),
                           ::testing::Not(::testing::EndsWith("_low_latency"))));
  }
}

TEST(ComposedSweep, GroupsThatWereTunedAloneUseTheirWinnersInside) {
  std::vector<Capability> ranks(4, Capability{.architecture = "x", .features = may_stream});
  ranks[3].features["without.cpu.*{*stores=adaptive*}"] = "";
  ranks[2] = ranks[3];
  const Availability availability = merge_capabilities(ranks, std::vector{0, 0, 0, 0});
  const Implementations catalogue = make_catalogue();
  const SweepSpec spec = spec_of({Collective::all_reduce}, "16KiB");
  const auto insides = [&](std::span<const Decision> known) {
    std::set<std::string> variants;
    const SweepPlan plan = make_plan(spec, availability, catalogue, "e", {.decisions = known});
    for (const PlannedVariant& planned : plan.cells.at(0).variants)
      if (planned.composition && planned.composition->mode == CompositionMode::grouped)
        for (const Part& part : planned.composition->parts)
          if (part.role == PartRole::before) variants.insert(to_string(part.variant));
    return variants;
  };
  const std::string winner =
      "cpu.reduce_low_latency{format=line,slots=4,stores=cached,taken_back=one_line}";
  EXPECT_FALSE(insides({}).contains(winner));
  Decision decision{.key = {.problem = {.collective = Collective::reduce,
                                        .data_type = DataType::f32,
                                        .reduce_op = ReduceOp::sum,
                                        .message_size = {32 << 10}},
                            .topology = topology_of(availability, std::vector{2, 3}),
                            .environment_digest = "e",
                            .calling = default_calling,
                            .input = default_input},
                    .ranked = {{.variant = parse_variant(winner)}}};
  EXPECT_TRUE(insides({&decision, 1}).contains(winner));
  // Not what was found out in another environment or regime, for other ranks, or for a size far
  // away.
  Decision other = decision;
  other.key.environment_digest = "f";
  EXPECT_FALSE(insides({&other, 1}).contains(winner));
  other = decision;
  other.key.input = InputMode::hot;
  EXPECT_FALSE(insides({&other, 1}).contains(winner));
  other = decision;
  other.key.problem.message_size = {1 << 20};
  EXPECT_FALSE(insides({&other, 1}).contains(winner));
  // Nor what cannot run there.
  other = decision;
  other.ranked[0].variant =
      parse_variant("cpu.reduce_tree{access=staged,chunk=16384,fanout=8,slots=4,stores=cached}");
  EXPECT_EQ(insides({&other, 1}), insides({}));
}

/// Half of the ranks of each of two nodes, or of one, cannot do short messages.
Availability half_lacks(const std::function<void(Capability&)>& lack, int nodes) {
  std::vector<Capability> ranks(4 * static_cast<std::size_t>(nodes),
                                Capability{.architecture = "x", .features = {}});
  std::vector<int> node_of_rank;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (rank % 4 >= 2) lack(ranks[rank]);
    node_of_rank.push_back(static_cast<int>(rank / 4));
  }
  return merge_capabilities(ranks, node_of_rank);
}

/// Every group's stages are asked for in a world that the plan made of its ranks, under that
/// world's key: what won there, whatever the cost lines say, is what the group runs inside.
void expect_each_class_finds_its_own(const Availability& availability,
                                     const Implementations& catalogue) {
  SweepSpec spec =
      spec_of({Collective::reduce, Collective::broadcast, Collective::all_reduce}, "16KiB");
  spec.include.clear();
  spec.partial_worlds = true;
  const SweepPlan first = make_plan(spec, availability, catalogue, "e");
  // In every world another variant wins: the last that is not the library's, without a number that
  // a cost line would prefer.
  std::vector<Decision> decisions;
  std::map<std::vector<int>, std::map<Collective, std::set<Variant>>> winners;
  for (const Cell& cell : first.cells) {
    const PlannedWorld& world = first.worlds[static_cast<std::size_t>(cell.world)];
    if (world.ranks.size() != 2) continue;
    const PlannedVariant& last = cell.variants.back();
    ASSERT_FALSE(last.composition);
    decisions.push_back({.key = cell.key, .ranked = {{.variant = last.variant}}});
    std::vector<int> kinds;
    for (const int rank : world.ranks)
      kinds.push_back(availability.kind_of_rank[static_cast<std::size_t>(rank)]);
    winners[kinds][cell.key.problem.collective].insert(last.variant);
  }
  ASSERT_EQ(winners.size(), 2u);
  const SweepPlan plan = make_plan(spec, availability, catalogue, "e", {.decisions = decisions});
  std::map<std::string, std::vector<int>> kinds_of_digest;
  for (int kind = 0; kind < static_cast<int>(availability.kinds.size()); ++kind)
    kinds_of_digest[digest_of_value(
        member_kind(availability.kinds[static_cast<std::size_t>(kind)]))] = {kind, kind};
  std::map<std::vector<int>, std::set<Variant>> inside;
  for (const Cell& cell : plan.cells) {
    if (cell.world != 0 || cell.key.problem.collective != Collective::all_reduce) continue;
    for (const PlannedVariant& planned : cell.variants)
      if (planned.composition && planned.composition->mode == CompositionMode::grouped)
        for (const Part& part : planned.composition->parts)
          if (part.role != PartRole::bridge)
            inside[kinds_of_digest.at(part.kinds.at(0))].insert(part.variant);
  }
  for (const auto& [kinds, by_collective] : winners)
    for (const Collective step : {Collective::reduce, Collective::broadcast})
      for (const Variant& winner : by_collective.at(step))
        EXPECT_TRUE(inside[kinds].contains(winner)) << to_string(winner);
}

TEST(ComposedSweep, RanksThatLackSomethingAreMeasuredAloneAsWell) {
  // What the two halves have of each step, the one that their cost lines prefer first.
  std::vector<fakes::Behaviour> behaviours;
  for (const Collective collective :
       {Collective::reduce, Collective::broadcast, Collective::all_reduce}) {
    const std::string name(name_of(collective));
    const auto needs = [](bool wants) {
      return
          [wants](const Problem&, const Topology&, const Capability& capability, const Variant&) {
            const bool lacks = capability.has("old") || capability.has("without.short");
            return wants != lacks ? Support::yes() : Support::no("lacks it");
          };
    };
    behaviours.push_back(
        {.name = "library." + name, .collective = collective, .is_baseline = true});
    behaviours.push_back({.name = "any." + name, .collective = collective, .family = "own"});
    behaviours.push_back({.name = "new." + name,
                          .collective = collective,
                          .family = "own",
                          .supports = needs(true)});
    behaviours.push_back({.name = "old." + name,
                          .collective = collective,
                          .family = "own",
                          .supports = needs(false)});
  }
  const Implementations catalogue = fakes::make(std::move(behaviours));
  for (const int nodes : {1, 2}) {
    // A mask is seen in the layout; a library is not, and the second world has a key of its own.
    expect_each_class_finds_its_own(
        half_lacks([](Capability& own) { own.features["without.short"] = ""; }, nodes), catalogue);
    expect_each_class_finds_its_own(
        half_lacks([](Capability& own) { own.features["old"] = ""; }, nodes), catalogue);
  }
}

TEST(ComposedSweep, WhatIsGivenIsTriedWhereItFits) {
  std::vector<Capability> ranks(4, Capability{.architecture = "x", .features = {}});
  for (int rank = 0; rank < 4; ++rank) mask_upper_half(rank, ranks[static_cast<std::size_t>(rank)]);
  const Availability availability = merge_capabilities(ranks, std::vector{0, 0, 0, 0});
  const Implementations catalogue = make_catalogue();
  SweepSpec spec = spec_of({Collective::all_reduce, Collective::all_gather}, "16KiB");
  const SweepPlan all = make_plan(spec, availability, catalogue, "e");
  std::vector<Composition> given;
  std::set<Variant> expected;
  for (const Cell& cell : all.cells)
    for (const PlannedVariant& planned : cell.variants)
      if (planned.composition) {
        given.push_back(*planned.composition);
        expected.insert(planned.variant);
      }
  ASSERT_GT(given.size(), 4u);
  spec.compositions.clear();
  const SweepPlan again = make_plan(spec, availability, catalogue, "e", {.compositions = given});
  std::set<Variant> found;
  for (const Cell& cell : again.cells)
    for (const PlannedVariant& planned : cell.variants)
      if (planned.composition) found.insert(planned.variant);
  EXPECT_EQ(found, expected);
  // Among ranks that are alike nothing fits.
  const Availability alike = merge_capabilities(std::vector(4, ranks[0]), std::vector{0, 0, 0, 0});
  const SweepPlan none = make_plan(spec, alike, catalogue, "e", {.compositions = given});
  for (const Cell& cell : none.cells)
    for (const PlannedVariant& planned : cell.variants) EXPECT_FALSE(planned.composition);
}

TEST(ComposedSweep, WhatSomeRankCannotRunIsSkippedWithTheReason) {
  std::vector<Capability> ranks(4, Capability{.architecture = "x", .features = {}});
  for (int rank = 0; rank < 4; ++rank) mask_upper_half(rank, ranks[static_cast<std::size_t>(rank)]);
  const Availability availability = merge_capabilities(ranks, std::vector{0, 0, 0, 0});
  SweepSpec spec = spec_of({Collective::all_reduce}, "16KiB");
  spec.compositions.clear();
  const Members members = members_of(availability, std::vector{0, 1, 2, 3});
  std::vector<std::string> kinds;
  for (const MemberKind& kind : members.kinds) kinds.push_back(digest_of_value(kind));
  const auto reason = [&](const Composition& composition) {
    const SweepPlan plan =
        make_plan(spec, availability, make_catalogue(), "e", {.compositions = {&composition, 1}});
    const std::string name =
        to_string(name_composition(name_of(Collective::all_reduce), composition));
    for (const Skipped& skipped : plan.skipped)
      if (skipped.variant == name) return skipped.reason;
    return std::string();
  };
  const Variant word = parse_variant(
      "cpu.all_reduce_low_latency{format=line,slots=4,stores=cached,taken_back=one_line}");
  const Variant staged =
      parse_variant("cpu.all_reduce_one_shot{access=staged,chunk=16384,slots=4,stores=cached}");
  const auto substituted = [](std::vector<Part> parts) {
    return Composition{CompositionMode::substituted, std::move(parts)};
  };
  EXPECT_THAT(reason(substituted({{PartRole::whole, kinds, word}})), HasSubstr("masked by impl="));
  EXPECT_THAT(reason(substituted({{PartRole::whole, {kinds[0]}, staged}})),
              HasSubstr("it says nothing about ranks like"));
  // Whichever of the two kinds is the one that has all.
  for (const int whole : {0, 1}) {
    const auto own = static_cast<std::size_t>(whole);
    const std::string why = reason(substituted(
        {{PartRole::whole, {kinds[own]}, word}, {PartRole::whole, {kinds[1 - own]}, staged}}));
    EXPECT_THAT(why, ::testing::AnyOf(HasSubstr("masked by"), HasSubstr("different protocols")));
  }
  const Variant reduce =
      parse_variant("cpu.reduce_flat{access=staged,chunk=16384,slots=4,stores=cached}");
  const Variant broadcast = parse_variant(
      "cpu.broadcast_flat{access=staged,chunk=16384,flow=pull,slots=4,stores=cached}");
  EXPECT_THAT(reason({CompositionMode::grouped,
                      {{PartRole::before, {kinds[0]}, reduce}, {PartRole::bridge, {}, staged}}}),
              HasSubstr("its parts are not those of all_reduce"));
  EXPECT_THAT(reason({CompositionMode::grouped,
                      {{PartRole::before, {kinds[0]}, broadcast},
                       {PartRole::after, {kinds[0]}, broadcast},
                       {PartRole::bridge, {}, staged}}}),
              HasSubstr("its parts are not those of all_reduce"));
  EXPECT_THAT(reason({CompositionMode::grouped,
                      {{PartRole::before, {kinds[0]}, reduce},
                       {PartRole::after, {kinds[0]}, broadcast},
                       {PartRole::bridge, {}, word}}}),
              HasSubstr("masked by impl="));
  EXPECT_EQ(reason({CompositionMode::grouped,
                    {{PartRole::before, {kinds[0]}, reduce},
                     {PartRole::after, {kinds[0]}, broadcast},
                     {PartRole::bridge, {}, staged}}}),
            "");
  EXPECT_THAT(reason(substituted({{PartRole::whole, kinds, parse_variant("user.gone{a=1}")}})),
              HasSubstr("there is no implementation user.gone here"));
}

TEST(ComposedSweep, LimitsOfAnAveragesPartsAreAboutSums) {
  std::vector<fakes::Behaviour> behaviours;
  for (const Collective collective :
       {Collective::all_reduce, Collective::reduce, Collective::broadcast}) {
    Limits limits;
    if (shape_of(collective).reduces) limits.reduce_ops = {ReduceOp::sum};
    behaviours.push_back({.name = "sums." + std::string(name_of(collective)),
                          .collective = collective,
                          .limits = limits,
                          .supports = [](const Problem& problem, const Topology&, const Capability&,
                                         const Variant&) {
                            return problem.reduce_op == ReduceOp::avg ? Support::no("it only adds")
                                                                      : Support::yes();
                          }});
  }
  std::vector<Capability> ranks(4, Capability{.architecture = "x", .features = {}});
  ranks[3].architecture = ranks[2].architecture = "y";
  SweepSpec spec = spec_of({Collective::all_reduce}, "16KiB");
  spec.include.clear();
  spec.reduce_ops = {ReduceOp::avg};
  const SweepPlan plan = make_plan(spec, merge_capabilities(ranks, std::vector{0, 0, 0, 0}),
                                   fakes::make(std::move(behaviours)), "e");
  // Alone it adds only; what is made of it averages, and says so to who looks it up.
  ASSERT_EQ(plan.cells.size(), 1u);
  ASSERT_EQ(plan.cells[0].variants.size(), 1u);
  const PlannedVariant& grouped = plan.cells[0].variants[0];
  ASSERT_TRUE(grouped.composition);
  EXPECT_EQ(why_outside(grouped.limits, plan.cells[0].key.problem, 4), "");
}

TEST(ComposedSweep, UnlikeBuildsMeetInCallsOfALibraryAlone) {
  std::vector<fakes::Behaviour> behaviours;
  for (const Collective collective :
       {Collective::all_reduce, Collective::reduce, Collective::broadcast}) {
    const std::string name(name_of(collective));
    behaviours.push_back({.name = "library." + name,
                          .collective = collective,
                          .is_baseline = true,
                          .meets_other_builds = true});
    behaviours.push_back({.name = "own." + name, .collective = collective, .family = "own"});
  }
  const Implementations catalogue = fakes::make(std::move(behaviours));
  std::vector<Capability> ranks(4, Capability{.architecture = "x", .features = {}});
  for (const std::size_t rank : {0, 1}) ranks[rank].features[std::string(build_feature)] = "one";
  for (const std::size_t rank : {2, 3}) ranks[rank].features[std::string(build_feature)] = "two";
  SweepSpec spec = spec_of({Collective::all_reduce}, "16KiB");
  spec.include.clear();
  const SweepPlan plan =
      make_plan(spec, merge_capabilities(ranks, std::vector{0, 0, 0, 0}), catalogue, "e");
  ASSERT_EQ(plan.cells.size(), 1u);
  EXPECT_NE(plan.worlds.at(0).topology.layout_digest, "uniform");
  std::set<std::string> single;
  std::set<std::string> inside;
  for (const PlannedVariant& planned : plan.cells[0].variants) {
    if (!planned.composition) single.insert(planned.variant.implementation);
    if (!planned.composition) continue;
    for (const Part& part : planned.composition->parts) {
      if (part.role == PartRole::bridge) {
        EXPECT_EQ(part.variant.implementation, "library.all_reduce");
      } else {
        EXPECT_EQ(part.kinds.size(), 1u);
        inside.insert(part.variant.implementation);
      }
    }
  }
  EXPECT_THAT(single, ::testing::ElementsAre("library.all_reduce"));
  EXPECT_THAT(inside, ::testing::IsSupersetOf({"own.reduce", "own.broadcast"}));
  EXPECT_THAT(plan.skipped.at(0).reason, HasSubstr("unlike builds do not meet in its calls: "));
  // A launch of one build, which says nothing of it, is as ever.
  for (Capability& rank : ranks) rank.features.clear();
  const SweepPlan alike =
      make_plan(spec, merge_capabilities(ranks, std::vector{0, 0, 0, 0}), catalogue, "e");
  EXPECT_EQ(alike.worlds.at(0).topology.layout_digest, "uniform");
  EXPECT_EQ(alike.cells.at(0).variants.size(), 2u);
}

/// A planned variant as if it were one implementation, for the conformance checks.
class Planned final : public test::StubImplementation {
 public:
  Planned(const PlannedVariant& planned, const SweepPlan& plan, const Implementations& catalogue)
      : StubImplementation(plan.cells.at(0).key.problem.collective),
        planned_(planned),
        members_(plan.worlds.at(0).members),
        catalogue_(catalogue) {}

  [[nodiscard]] Numerics numerics(const Problem&, const Variant&) const override {
    return {.rounding = planned_.rounding, .numeric_class = planned_.numeric_class};
  }
  [[nodiscard]] std::unique_ptr<Operation> prepare(Communicator& communicator, const Call& call,
                                                   const Variant& variant,
                                                   Deadline deadline) const override {
    if (planned_.composition)
      return prepare_composed(communicator, call, *planned_.composition, members_, catalogue_,
                              deadline);
    return find_implementation(catalogue_, variant.implementation)
        ->prepare(communicator, call, variant, deadline);
  }

 private:
  const PlannedVariant& planned_;
  const Members& members_;
  const Implementations& catalogue_;
};

/// So many ranks, of up to four kinds, each of which is to do without some of what there is.
Availability random_availability(std::mt19937& random) {
  constexpr std::array masks{"without.cpu.*_low_latency", "without.cpu.*{*stores=adaptive*}",
                             "without.cpu.*_one_shot", "without.cpu.*{*flow=push*}"};
  const auto ranks = std::uniform_int_distribution<std::size_t>(2, 8)(random);
  std::vector<Capability> kinds(std::uniform_int_distribution<std::size_t>(1, 4)(random),
                                Capability{.architecture = "x", .features = may_stream});
  for (Capability& kind : kinds)
    for (const char* const mask : masks)
      if (random() % 3 == 0) kind.features[mask] = "";
  std::vector<Capability> all;
  for (std::size_t rank = 0; rank < ranks; ++rank) all.push_back(kinds[random() % kinds.size()]);
  return merge_capabilities(all, std::vector<int>(ranks, 0));
}

int number_of_launches() {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  return 60;
#else
  return test::is_full_run() ? 1000 : 250;
#endif
}

TEST(ComposedSweep, WhateverRandomLaunchesAreToRunIsRight) {
  const int launches = number_of_launches();
  const Implementations catalogue = make_catalogue();
  std::mt19937 random(9);
  std::map<std::string_view, int> runs;
  int grouped_averages = 0;
  for (int launch = 0; launch < launches; ++launch) {
    const Availability availability = random_availability(random);
    const Collective collective = all_collectives[random() % all_collectives.size()];
    SweepSpec spec = spec_of({collective}, launch % 2 == 0 ? "512" : "4KiB");
    spec.registered = {.off = launch % 3 != 0, .on = launch % 3 == 0};
    spec.reduce_ops = {launch % 4 < 2 ? ReduceOp::sum : ReduceOp::avg};
    spec.data_types = {launch % 5 == 0   ? DataType::bf16
                       : launch % 5 == 1 ? DataType::i8
                                         : DataType::f32};
    const SweepPlan plan = make_plan(spec, availability, catalogue, "e");
    if (plan.cells.empty()) continue;  // each variant is masked on some rank, with all others
    const Cell& cell = plan.cells[0];
    // One of each mode.
    std::map<std::string_view, std::vector<const PlannedVariant*>> by_mode;
    for (const PlannedVariant& planned : cell.variants)
      by_mode[planned.composition ? name_of(planned.composition->mode) : "single"].push_back(
          &planned);
    for (const auto& [mode, variants] : by_mode) {
      const PlannedVariant& planned = *variants[random() % variants.size()];
      const Planned implementation(planned, plan, catalogue);
      const test::ConformanceCase check{
          .problem = cell.key.problem,
          .root = shape_of(collective).has_root
                      ? static_cast<int>(random() % static_cast<unsigned>(availability.ranks()))
                      : 0,
          .calls = 1};
      test::run_ranks(availability.ranks(), [&](Communicator& communicator) {
        EXPECT_EQ(test::find_fault(communicator, implementation, planned.variant, check), "")
            << to_string(planned.variant) << " on " << availability.ranks() << " ranks";
      });
      ++runs[mode];
      if (cell.key.problem.reduce_op == ReduceOp::avg && mode == "grouped") ++grouped_averages;
    }
  }
  EXPECT_GT(runs["single"], launches / 2);
  EXPECT_GT(runs["substituted"], launches / 10);
  EXPECT_GT(runs["grouped"], launches / 10);
  EXPECT_GT(grouped_averages, launches / 50);
}

}  // namespace
}  // namespace colltune
