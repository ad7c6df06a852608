// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/serve/lookup_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "literals.h"

namespace colltune {
namespace {

using namespace literals;
using ::testing::HasSubstr;

class Service : public ::testing::Test {
 protected:
  void publish(std::uint64_t number) {
    const std::string name = "v" + std::to_string(number);
    source_.replace(std::make_shared<const DecisionTable>(
        DecisionSet{.generation = generation(number),
                    .decisions = {decide(all_reduce(8), {{name, 10}}),
                                  decide(all_reduce(8), {{name, 10}}, world(2, 2, "sm_90"), "e2")},
                    .environments = {{"e1", {}}, {"e2", {}}}}));
  }
  static LookupQuery ask(int nodes = 1) { return {.problem = all_reduce(8), .nodes = nodes}; }
  static LookupQuery ask_pinned(std::uint64_t number) {
    LookupQuery query = ask();
    query.generation = number;
    return query;
  }

  TableSource source_;
  LookupService service_{source_};
};

TEST_F(Service, GivesTheEnvironmentOfTheAnswerToWhoAsksForIt) {
  source_.replace(std::make_shared<const DecisionTable>(
      DecisionSet{.generation = generation(1),
                  .decisions = {decide(all_reduce(8), {{"a", 10}})},
                  .environments = {{"e2", {.cpu_model = "other"}}, {"e1", {.cpu_model = "one"}}}}));
  EXPECT_FALSE(service_.lookup(ask()).environment);
  const FoundAnswer found = service_.lookup(ask(), {}, true);
  ASSERT_TRUE(found.environment);
  EXPECT_EQ(found.environment->cpu_model, "one");
}

TEST_F(Service, LooksUpInTheNewestOrThePinnedGeneration) {
  publish(1);
  publish(2);
  EXPECT_EQ(winner(service_.lookup(ask()).answer), "v2");
  EXPECT_EQ(winner(service_.lookup(ask_pinned(1)).answer), "v1");
  EXPECT_THAT(error_of_action(StatusCode::not_found, [&] { (void)service_.lookup(ask_pinned(3)); }),
              HasSubstr("generation 3"));
}

TEST_F(Service, UnavailableWithoutAGeneration) {
  EXPECT_THAT(error_of_action(StatusCode::unavailable, [&] { (void)service_.lookup(ask()); }),
              HasSubstr("no published generation"));
  const auto batch = [&] { (void)service_.pin({}); };
  EXPECT_THAT(error_of_action(StatusCode::unavailable, batch), HasSubstr("no published"));
}

TEST_F(Service, BatchAnswersEachItemOrSaysWhyNot) {
  publish(1);
  publish(2);
  const std::vector queries{ask(), ask(7), ask(2), ask_pinned(2), ask_pinned(1)};
  const TableSource::Table table = service_.pin({});
  EXPECT_EQ(table->generation().number, 2U);
  std::vector<BatchItem> items;
  for (const LookupQuery& query : queries) items.push_back(LookupService::lookup_in(*table, query));
  EXPECT_EQ(winner(std::get<LookupAnswer>(items[0])), "v2");
  EXPECT_EQ(std::get<Error>(items[1]).code(), StatusCode::not_found);
  EXPECT_EQ(winner(std::get<LookupAnswer>(items[2])), "v2");
  EXPECT_EQ(winner(std::get<LookupAnswer>(items[3])), "v2");
  EXPECT_EQ(std::get<Error>(items[4]).code(), StatusCode::invalid_argument);
}

TEST_F(Service, BatchIsAnsweredFromThePinnedGeneration) {
  publish(1);
  publish(2);
  const TableSource::Table table = service_.pin(Pin(1));
  EXPECT_EQ(table->generation().number, 1U);
  for (const LookupQuery& query : {ask(), ask(2)})
    EXPECT_EQ(winner(std::get<LookupAnswer>(LookupService::lookup_in(*table, query))), "v1");
}

TEST_F(Service, BatchHasALimit) {
  EXPECT_NO_THROW(check_batch_size(LookupService::largest_batch));
  EXPECT_THAT(error_of_action(StatusCode::invalid_argument,
                              [] { check_batch_size(LookupService::largest_batch + 1); }),
              HasSubstr("1001 questions; at most 1000"));
}

TEST_F(Service, SliceFilters) {
  publish(1);
  EXPECT_EQ(service_.slice({}, {}).decisions.size(), 2U);
  EXPECT_EQ(service_.slice({}, {}).environments.size(), 2U);
  const TableSlice one = service_.slice({.nodes = 2}, {});
  ASSERT_EQ(one.decisions.size(), 1U);
  ASSERT_EQ(one.environments.size(), 1U);
  EXPECT_EQ(one.environments.front()->first, "e2");
  EXPECT_EQ(service_.slice({.architecture = "sm_90"}, {}).decisions.size(), 1U);
  EXPECT_EQ(service_.slice({.environment_digest = "e1"}, {}).decisions.size(), 1U);
  EXPECT_EQ(service_.slice({.ranks_per_node = 3}, {}).decisions.size(), 0U);
  EXPECT_THAT(error_of_action(StatusCode::not_found, [&] { (void)service_.slice({}, 5); }),
              HasSubstr("generation 5"));
}

}  // namespace
}  // namespace colltune
