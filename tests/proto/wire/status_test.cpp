// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/wire/status.h"

#include <gtest/gtest.h>

namespace colltune {
namespace {

TEST(Status, EveryCodeSurvivesTheRoundTrip) {
  for (int code = static_cast<int>(StatusCode::invalid_argument);
       code <= static_cast<int>(StatusCode::data_loss); ++code) {
    const Error error(static_cast<StatusCode>(code), "what, where, what is allowed");
    const grpc::Status status = status_of(error);
    EXPECT_EQ(static_cast<int>(status.error_code()), code);
    EXPECT_EQ(error_of(status).code(), error.code());
    EXPECT_STREQ(error_of(status).what(), error.what());
  }
}

TEST(Status, OtherExceptionsAreInternal) {
  const grpc::Status status = status_of(std::runtime_error("out of luck"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_EQ(status.error_message(), "out of luck");
}

TEST(Status, CodesThatTheVocabularyLacksBecomeTheNearest) {
  EXPECT_EQ(error_of({grpc::StatusCode::CANCELLED, ""}).code(), StatusCode::aborted);
  EXPECT_EQ(error_of({grpc::StatusCode::UNAUTHENTICATED, ""}).code(),
            StatusCode::permission_denied);
  EXPECT_EQ(error_of({grpc::StatusCode::UNKNOWN, ""}).code(), StatusCode::internal);
}

TEST(Status, LongMessagesFitIntoAHeaderAndStayText) {
  std::string message;
  while (message.size() < 10'000) message += "ä";
  const std::string cut = status_of(Error(StatusCode::not_found, message)).error_message();
  EXPECT_LT(cut.size() * 3, 8192U);  // each byte outside ASCII is sent as three
  EXPECT_EQ(cut.substr(cut.size() - 4), " ...");
  EXPECT_EQ((cut.size() - 4) % 2, 0U);  // no half character
}

}  // namespace
}  // namespace colltune
