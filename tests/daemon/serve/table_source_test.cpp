// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/serve/table_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "literals.h"

namespace colltune {
namespace {

using namespace literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TableSource::Table numbered(std::uint64_t number, std::string store = "store-1") {
  return std::make_shared<const DecisionTable>(
      DecisionSet{.generation = generation(number, std::move(store)),
                  .decisions = {decide(all_reduce(8), {{"a", 10}})}});
}

TEST(TableSource, IsUnavailableWhileEmpty) {
  const TableSource source;
  EXPECT_EQ(source.newest(), nullptr);
  EXPECT_THAT(error_of_action(StatusCode::unavailable, [&] { (void)source.get(); }),
              HasSubstr("no published generation"));
}

TEST(TableSource, NewestReplacesAndOlderOnesStayPinnable) {
  TableSource source(2);
  source.replace(numbered(1));
  source.replace(numbered(2));
  EXPECT_EQ(source.get()->generation().number, 2U);
  EXPECT_EQ(source.get(1)->generation().number, 1U);
  source.replace(numbered(3));
  EXPECT_THAT(source.generations(), ElementsAre(3, 2));
  EXPECT_THAT(error_of_action(StatusCode::not_found, [&] { (void)source.get(1); }),
              AllOf(HasSubstr("generation 1"), HasSubstr("served are 3, 2")));
}

TEST(TableSource, SameGenerationReplacesItself) {
  TableSource source;
  source.replace(numbered(1));
  source.replace(numbered(1));
  EXPECT_THAT(source.generations(), ElementsAre(1));
}

TEST(TableSource, AnotherStoreDropsTheOlderOnes) {
  TableSource source;
  source.replace(numbered(1));
  source.replace(numbered(9, "store-2"));
  EXPECT_THAT(source.generations(), ElementsAre(9));
}

/// Generation `number` with another content than numbered() has.
TableSource::Table restored(std::uint64_t number) {
  Generation other = generation(number);
  other.content_digest = "restored";
  return std::make_shared<const DecisionTable>(
      DecisionSet{.generation = other, .decisions = {decide(all_reduce(8), {{"b", 10}})}});
}

TEST(TableSource, APinNeverGetsAnotherContent) {
  TableSource source;
  source.replace(numbered(1));
  source.replace(numbered(2));
  EXPECT_EQ(source.get(Pin(2, "digest-2"))->generation().number, 2U);
  EXPECT_THAT(
      error_of_action(StatusCode::failed_precondition, [&] { (void)source.get(Pin(2, "other")); }),
      AllOf(HasSubstr("generation 2"), HasSubstr("digest-2"), HasSubstr("not other")));

  source.replace(restored(2));
  EXPECT_EQ(winner(source.get()->find({.problem = all_reduce(8)})), "b");
  EXPECT_EQ(source.get(Pin(2, "digest-2"))->generation().content_digest, "digest-2");
  EXPECT_EQ(source.get(Pin(2, "restored"))->generation().content_digest, "restored");
  // Who pinned the number alone may mean either.
  EXPECT_THAT(error_of_action(StatusCode::failed_precondition, [&] { (void)source.get(2); }),
              HasSubstr("two unlike contents"));
  EXPECT_EQ(source.get(1)->generation().number, 1U);
}

TEST(TableSource, ANumberStaysAmbiguousWhenTheOlderContentIsHeldNoLonger) {
  TableSource source(1);
  source.replace(numbered(1));
  source.replace(restored(1));
  EXPECT_THAT(error_of_action(StatusCode::failed_precondition, [&] { (void)source.get(1); }),
              HasSubstr("pin its digest"));
  EXPECT_THAT(
      error_of_action(StatusCode::failed_precondition, [&] { (void)source.get(Pin(1, "digest-1")); }),
      HasSubstr("has the content restored here"));
}

TEST(TableSource, WhoHoldsATableKeepsIt) {
  TableSource source(1);
  source.replace(numbered(1));
  const auto held = source.get();
  source.replace(numbered(2));
  EXPECT_EQ(held->find({.problem = all_reduce(8)}).generation.number, 1U);
}

TEST(TableSource, ReplacedWhileRead) {
  TableSource source(2);
  source.replace(numbered(1));
  std::atomic<bool> done = false;
  std::jthread writer([&] {
    for (std::uint64_t number = 2; number < 500; ++number) source.replace(numbered(number));
    done = true;
  });
  std::uint64_t last = 0;
  while (!done) {
    const std::uint64_t number = source.get()->find({.problem = all_reduce(8)}).generation.number;
    ASSERT_GE(number, last);
    last = number;
  }
}

}  // namespace
}  // namespace colltune
