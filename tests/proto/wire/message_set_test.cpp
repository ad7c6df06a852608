// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Messages without generated code are those of the generated code.

#include "colltune/wire/message_set.h"

#include <gmock/gmock.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include "colltune/v1/tuning_service.pb.h"
#include "colltune/wire/calls.h"
#include "colltune/wire/convert.h"
#include "colltune/wire/fields.h"

namespace colltune {
namespace {

Variant some_variant() { return parse_variant("ring{fan_out=4,order=in-turn}"); }

LookupAnswer some_answer() {
  LookupAnswer answer;
  answer.decision.family = "colltune";
  answer.decision.key.topology = {.nodes = 1,
                                  .ranks_per_node = 2,
                                  .ranks = 2,
                                  .architectures = {{"x86_64-avx2", 2}},
                                  .layout_digest = "uniform",
                                  .interconnect = "shared-memory"};
  answer.decision.ranked = {{.variant = some_variant(), .median = std::chrono::nanoseconds(1000)}};
  answer.measured_sizes = {Bytes{1024}, Bytes{4096}};
  answer.compositions = {
      {.mode = CompositionMode::merged, .parts = {{PartRole::whole, {}, some_variant(), {}}}}};
  return answer;
}

/// What `message` becomes where there is no generated code.
template <class Response>
Response read_elsewhere(const google::protobuf::Message& message, const std::string& type) {
  const MessageSet set;
  const auto received = set.make(type);
  EXPECT_TRUE(received->ParseFromString(message.SerializeAsString()));
  return read_fields<Response>(*received, "");
}

TEST(MessageSet, RequestsAreThoseOfTheGeneratedCode) {
  const MessageSet set;
  calls::LookupRequest request;
  request.query.nodes = 3;
  request.query.generation = 7;
  request.generation_digest = "content";
  request.with_environment = true;
  const auto message = set.make("LookupRequest");
  write_fields(request, *message);
  v1::LookupRequest expected;
  write_message(request.query, *expected.mutable_query());
  expected.set_generation_digest("content");
  expected.set_with_environment(true);
  v1::LookupRequest received;
  ASSERT_TRUE(received.ParseFromString(message->SerializeAsString()));
  EXPECT_EQ(received.DebugString(), expected.DebugString());

  calls::GetTableRequest table;
  table.filter.worlds = {.nodes = 2, .architecture = "sm_90"};
  const auto of_table = set.make("GetTableRequest");
  write_fields(table, *of_table);
  v1::GetTableRequest received_table;
  ASSERT_TRUE(received_table.ParseFromString(of_table->SerializeAsString()));
  EXPECT_EQ(received_table.filter().nodes(), 2);
  EXPECT_EQ(received_table.filter().architecture(), "sm_90");
  EXPECT_FALSE(received_table.filter().has_ranks_per_node());
  EXPECT_FALSE(received_table.has_generation());

  write_fields(calls::BatchLookupRequest(), *set.make("BatchLookupRequest"));
  write_fields(calls::GetGenerationRequest(), *set.make("GetGenerationRequest"));
}

TEST(MessageSet, ResponsesAreThoseOfTheGeneratedCode) {
  v1::BatchLookupResponse batch;
  write_message(Generation{"store", 7, "content"}, *batch.mutable_generation());
  write_message(some_answer(), *batch.add_items()->mutable_answer());
  auto& failure = *batch.add_items()->mutable_failure();
  failure.set_code(5);
  failure.set_message("nothing fits");
  (void)batch.add_items();
  const auto read = read_elsewhere<calls::BatchLookupResponse>(batch, "BatchLookupResponse");
  EXPECT_EQ(read.generation, (Generation{"store", 7, "content"}));
  ASSERT_EQ(read.items.size(), 3U);
  EXPECT_EQ(read.items[0].answer, some_answer());
  ASSERT_TRUE(read.items[1].failure);
  EXPECT_EQ(read.items[1].failure->code, 5);
  EXPECT_EQ(read.items[1].failure->message, "nothing fits");
  EXPECT_FALSE(read.items[1].answer);
  EXPECT_FALSE(read.items[2].answer || read.items[2].failure);

  v1::GetTableResponse chunk;
  chunk.add_environments()->set_digest("digest");
  write_message(Environment{.kernel = "6.1"},
                *chunk.mutable_environments(0)->mutable_environment());
  write_message(some_answer().decision, *chunk.add_decisions());
  const VariantFit fit{.key = some_answer().decision.key,
                       .variant = some_variant(),
                       .model = "alpha_beta",
                       .segments = {{{0}, 1000, 0.25}, {{64}, 900.0 / 7, -1e-3}}};
  write_message(fit, *chunk.add_fits());
  const auto table = read_elsewhere<calls::GetTableResponse>(chunk, "GetTableResponse");
  EXPECT_FALSE(table.generation);
  ASSERT_EQ(table.environments.size(), 1U);
  EXPECT_EQ(table.environments[0].environment.kernel, "6.1");
  EXPECT_EQ(table.decisions, std::vector{some_answer().decision});
  EXPECT_EQ(table.fits, std::vector{fit});

  v1::GetGenerationResponse generations;
  write_message(Generation{"store", 7, "content"}, *generations.mutable_newest());
  generations.add_pinnable(7);
  generations.add_pinnable(6);
  const auto list =
      read_elsewhere<calls::GetGenerationResponse>(generations, "GetGenerationResponse");
  EXPECT_EQ(list.newest.number, 7U);
  EXPECT_EQ(list.pinnable, (std::vector<std::uint64_t>{7, 6}));
}

TEST(MessageSet, MalformedResponsesNameTheirField) {
  v1::LookupResponse response;
  write_message(some_answer(), *response.mutable_answer());
  response.mutable_answer()->mutable_decision()->clear_ranked();
  const auto error_of = [&] {
    try {
      (void)read_elsewhere<calls::LookupResponse>(response, "LookupResponse");
      return std::string();
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_THAT(error_of(), ::testing::StartsWith("answer.decision.ranked: is empty"));
  response.clear_answer();
  EXPECT_EQ(error_of(), "answer: is missing");
}

TEST(MessageSet, HasNoOtherMessages) {
  EXPECT_THROW((void)MessageSet().make("Poem"), Error);
  EXPECT_NO_THROW((void)MessageSet().make("Decision"));
}

}  // namespace
}  // namespace colltune
