// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/vocabulary/variant.h"

#include <gtest/gtest.h>

#include "colltune/vocabulary/problem.h"

namespace colltune::test {
namespace {

TEST(Variant, RoundTripsSortedByName) {
  for (const char* text : {"mpi.baseline", "cpu.one_shot{chunk=4096}", "a-b_c.D{a=-1,b=ring,c=0}"})
    EXPECT_EQ(to_string(parse_variant(text)), text);
  const Variant variant = parse_variant("x{b=ring,a=12}");
  EXPECT_EQ(to_string(variant), "x{a=12,b=ring}");
  EXPECT_EQ(number(variant, "a"), 12);
  EXPECT_EQ(word(variant, "b"), "ring");
  EXPECT_EQ(parse_variant("x{}"), parse_variant("x"));
  // What is no whole number in its only form stays a word, so that nothing is lost.
  for (const char* text :
       {"x{a=007}", "x{a=-0}", "x{a=1.5}", "x{a=99999999999999999999}", "x{a=-}"})
    EXPECT_EQ(to_string(parse_variant(text)), text);
}

TEST(Variant, RefusesAllElse) {
  for (const char* bad : {"", "{a=1}", "x{", "x}", "x{a=1", "x{a}", "x{=1}", "x{a=}", "x{a=1,}",
                          "x{,a=1}", "x{a=1,a=2}", "x y", "x{a=1}y", "x{a=1}}", "x{a=b c}", "ü"}) {
    try {
      (void)parse_variant(bad);
      ADD_FAILURE() << "'" << bad << "' was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::invalid_argument);
      EXPECT_NE(std::string(error.what()).find("'" + std::string(bad) + "'"), std::string::npos);
    }
  }
}

TEST(Variant, AWrongParameterIsAnInternalError) {
  const Variant variant = parse_variant("x{a=12,b=ring}");
  const auto code_of = [](auto&& act) {
    try {
      act();
    } catch (const Error& error) {
      return error.code();
    }
    return StatusCode::invalid_argument;
  };
  EXPECT_EQ(code_of([&] { (void)number(variant, "c"); }), StatusCode::internal);
  EXPECT_EQ(code_of([&] { (void)number(variant, "b"); }), StatusCode::internal);
  EXPECT_EQ(code_of([&] { (void)word(variant, "a"); }), StatusCode::internal);
}

TEST(WhyOutside, NamesTheLimit) {
  const Limits limits{.min_ranks = 2,
                      .max_ranks = 8,
                      .ranks_multiple_of = 2,
                      .min_message = {16},
                      .max_message = {1024},
                      .data_types = {DataType::f32},
                      .reduce_ops = {ReduceOp::sum},
                      .alignment = {64}};
  const Problem inside{.message_size = {64}};
  EXPECT_EQ(why_outside(limits, inside, 4), "");
  EXPECT_EQ(why_outside(limits, inside, 2), "");
  EXPECT_EQ(why_outside(limits, inside, 8), "");
  EXPECT_EQ(why_outside(limits, inside, 1), "needs at least 2 ranks");
  EXPECT_EQ(why_outside(limits, inside, 10), "takes at most 8 ranks");
  EXPECT_EQ(why_outside(limits, inside, 3), "needs a multiple of 2 ranks");
  EXPECT_EQ(why_outside(limits, {.message_size = {15}}, 4), "needs at least 16");
  EXPECT_EQ(why_outside(limits, {.message_size = {16}}, 4), "");
  EXPECT_EQ(why_outside(limits, {.message_size = {1024}}, 4), "");
  EXPECT_EQ(why_outside(limits, {.message_size = {1025}}, 4), "takes at most 1KiB");
  EXPECT_EQ(why_outside(limits, {.data_type = DataType::f64, .message_size = {64}}, 4),
            "does not take f64");
  EXPECT_EQ(why_outside(limits, {.reduce_op = ReduceOp::prod, .message_size = {64}}, 4),
            "does not take prod");
  EXPECT_EQ(
      why_outside(
          limits,
          {.collective = Collective::gather, .reduce_op = ReduceOp::none, .message_size = {64}}, 4),
      "");
  EXPECT_EQ(why_outside(Limits{}, {.data_type = DataType::f8e4m3, .message_size = {}}, 4096), "");
}

}  // namespace
}  // namespace colltune::test
