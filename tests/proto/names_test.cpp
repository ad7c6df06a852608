// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <set>

#include "colltune/vocabulary/lookup.h"
#include "colltune/vocabulary/measurement.h"

namespace colltune::test {
namespace {

template <class Enum>
class Names : public testing::Test {};
using Enums = testing::Types<Collective, DataType, ReduceOp, ProblemKind, NumericClass, Placement,
                             Rounding, Outcome, Calling, InputMode, Synchronization, Source, MatchLevel>;
TYPED_TEST_SUITE(Names, Enums);

TYPED_TEST(Names, RoundTripAndAreUnlike) {
  std::set<std::string_view> names;
  int number = 0;
  for (const auto& named : enum_names(TypeParam{})) {
    EXPECT_EQ(parse_name<TypeParam>(named.name), named.value);
    EXPECT_EQ(name_of(named.value), named.name);
    EXPECT_TRUE(names.insert(named.name).second) << named.name;
    EXPECT_EQ(static_cast<int>(named.value), number++);  // the numbers never change
  }
}

TYPED_TEST(Names, AnErrorListsAllThatAreAllowed) {
  for (const char* bad : {"", "no_such_name", "ALL_REDUCE"}) {
    try {
      (void)parse_name<TypeParam>(bad);
      ADD_FAILURE() << bad;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::invalid_argument);
      const std::string message = error.what();
      EXPECT_NE(message.find("'" + std::string(bad) + "'"), std::string::npos) << message;
      EXPECT_NE(message.find(enum_title(TypeParam{})), std::string::npos) << message;
      for (const auto& named : enum_names(TypeParam{}))
        EXPECT_NE(message.find(named.name), std::string::npos) << message;
    }
  }
}

TEST(NamesOfTheContract, AreThese) {
  EXPECT_EQ(
      allowed_names<Collective>(),
      "all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, gather, scatter");
  EXPECT_EQ(allowed_names<DataType>(),
            "i8, u8, i32, u32, i64, u64, f16, bf16, f32, f64, f8e4m3, f8e5m2");
  EXPECT_EQ(allowed_names<ReduceOp>(), "none, sum, prod, min, max, avg");
}

TEST(ExitCodes, AreDocumentedOnes) {
  EXPECT_EQ(exit_code_of(StatusCode::invalid_argument), 2);
  EXPECT_EQ(exit_code_of(StatusCode::out_of_range), 2);
  EXPECT_EQ(exit_code_of(StatusCode::failed_precondition), 2);
  EXPECT_EQ(exit_code_of(StatusCode::already_exists), 2);
  EXPECT_EQ(exit_code_of(StatusCode::permission_denied), 2);
  EXPECT_EQ(exit_code_of(StatusCode::not_found), 3);
  EXPECT_EQ(exit_code_of(StatusCode::unavailable), 4);
  EXPECT_EQ(exit_code_of(StatusCode::deadline_exceeded), 4);
  EXPECT_EQ(exit_code_of(StatusCode::resource_exhausted), 4);
  EXPECT_EQ(exit_code_of(StatusCode::data_loss), 5);
  EXPECT_EQ(exit_code_of(StatusCode::aborted), 1);
  EXPECT_EQ(exit_code_of(StatusCode::unimplemented), 1);
  EXPECT_EQ(exit_code_of(StatusCode::internal), 1);
}

}  // namespace
}  // namespace colltune::test
