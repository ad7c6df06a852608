// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "colltune/table/decision_table.h"
#include "literals.h"

namespace colltune {
namespace {

using namespace literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Decision decided(const std::string& winner, Calling calling, InputMode input,
                 std::uint64_t bytes = 4 * KiB) {
  Decision decision = decide(all_reduce(bytes), {{winner, 1000}, {"base", 2000, true}});
  decision.key.calling = calling;
  decision.key.input = input;
  return decision;
}

LookupQuery ask(std::optional<Calling> calling, std::optional<InputMode> input = {},
                std::uint64_t bytes = 4 * KiB) {
  return {.problem = all_reduce(bytes), .calling = calling, .input = input};
}

TEST(FindByRegime, EachRegimeHasItsOwnAnswer) {
  std::vector<Decision> all;
  for (const auto& calling : enum_names(Calling{}))
    for (const auto& input : enum_names(InputMode{}))
      all.push_back(decided(std::string(calling.name) + "_" + std::string(input.name),
                            calling.value, input.value));
  const DecisionTable found = table(all);
  for (const auto& calling : enum_names(Calling{}))
    for (const auto& input : enum_names(InputMode{})) {
      const LookupAnswer answer = found.find(ask(calling.value, input.value));
      EXPECT_EQ(winner(answer), std::string(calling.name) + "_" + std::string(input.name));
      EXPECT_EQ(regime_of(answer.decision.key), (Regime{calling.value, input.value}));
      EXPECT_EQ(answer.source, Source::measured);
    }
  const Regime otherwise = regime_of(found.find(ask({})).decision.key);
  EXPECT_EQ(otherwise, (Regime{default_calling, default_input}));
}

TEST(FindByRegime, SizesOfAnotherRegimeAreNotInterpolatedBetween) {
  const DecisionTable found =
      table({decided("a", Calling::persistent, InputMode::hot, 1 * KiB),
             decided("b", Calling::persistent, InputMode::rewritten, 4 * KiB),
             decided("a", Calling::persistent, InputMode::hot, 16 * KiB)});
  const LookupAnswer answer = found.find(ask(Calling::persistent, InputMode::hot));
  EXPECT_EQ(winner(answer), "a");
  EXPECT_EQ(answer.source, Source::interpolated);
  EXPECT_EQ(regime_of(answer.decision.key), (Regime{Calling::persistent, InputMode::hot}));
}

TEST(FindByRegime, AnotherRegimeIsNamedAndNeverPassedOff) {
  const DecisionTable hot = table({decided("a", Calling::persistent, InputMode::hot)});
  EXPECT_THAT(not_found(hot, ask(Calling::each)),
              AllOf(HasSubstr("calling=each, input=rewritten; decided only for "
                              "calling=persistent, input=hot: ask for that with --calling "
                              "persistent --input hot"),
                    Not(HasSubstr("the closest"))));
  const DecisionTable two = table({decided("a", Calling::persistent, InputMode::hot),
                                   decided("a", Calling::each, InputMode::rotating)});
  EXPECT_THAT(not_found(two, ask(Calling::each, InputMode::hot)),
              HasSubstr("decided only for calling=each, input=rotating; calling=persistent, "
                        "input=hot: ask for that with --calling each --input rotating, or with "
                        "--calling persistent --input hot"));
  // Nobody is sent to a regime that has no answer either.
  LookupQuery elsewhere = ask(Calling::each);
  elsewhere.nodes = 7;
  EXPECT_THAT(not_found(two, elsewhere),
              AllOf(HasSubstr("the closest differs in"), Not(HasSubstr("decided only"))));
}

TEST(FindByRegime, ACapturedCallIsPersistentWhateverIsAsked) {
  Problem captured = all_reduce(4 * KiB);
  captured.graph_capture = true;
  const DecisionTable found = table({decide(captured, {{"a", 1000}, {"base", 2000, true}})});
  for (const Calling calling : {Calling::each, Calling::persistent}) {
    const LookupAnswer answer = found.find({.problem = captured, .calling = calling});
    EXPECT_EQ(answer.decision.key.calling, Calling::persistent);
  }
}

}  // namespace
}  // namespace colltune
