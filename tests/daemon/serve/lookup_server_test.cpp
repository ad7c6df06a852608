// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/serve/lookup_server.h"
#include "colltune/apply/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <thread>

#include "colltune/serve/lookup_service.h"
#include "server_fixture.h"

namespace colltune {
namespace {

using namespace literals;
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(Server, AnswersOnEachAddress) {
  ASSERT_EQ(server_->addresses().size(), 2U);
  EXPECT_NE(server_->addresses()[1].port, 0);
  for (std::size_t address = 0; address < 2; ++address) {
    grpc::ClientContext context;
    set_deadline(context);
    v1::LookupRequest request;
    *request.mutable_query() = query_for(3);
    v1::LookupResponse response;
    ASSERT_TRUE(stub(address)->Lookup(&context, request, &response).ok());
    const auto answer = read_message<LookupAnswer>(response.answer(), "answer");
    EXPECT_EQ(winner(answer), "v1");
    EXPECT_EQ(answer, source_.get()->find({.problem = all_reduce(8), .nodes = 3}));
  }
}

TEST_F(Server, SocketIsForOwnerAndGroup) {
  struct stat facts {};
  ASSERT_EQ(::stat((folder_ / "a.sock").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0660U);
}

TEST_F(Server, LookupErrorsHaveTheirCodeAndMessage) {
  v1::LookupRequest request;
  v1::LookupResponse response;
  grpc::Status status = lookup(request, response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "query: is missing");

  *request.mutable_query() = query_for(3);
  request.mutable_query()->mutable_problem()->set_data_type(static_cast<v1::DataType>(99));
  status = lookup(request, response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("query.problem.data_type: unknown data type 99"));

  *request.mutable_query() = query_for(worlds + 1);
  EXPECT_EQ(lookup(request, response).error_code(), grpc::StatusCode::NOT_FOUND);

  request.mutable_query()->clear_nodes();
  status = lookup(request, response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("nodes (--nodes)"));

  *request.mutable_query() = query_for(3);
  request.set_max_ranked(0);
  EXPECT_EQ(lookup(request, response).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(Server, PinnedGenerationAnswersAndAnUnknownOneIsNotFound) {
  source_.replace(make_table(2));
  v1::LookupRequest request;
  v1::LookupResponse response;
  *request.mutable_query() = query_for(3);
  ASSERT_TRUE(lookup(request, response).ok());
  EXPECT_EQ(response.answer().generation().number(), 2U);
  request.mutable_query()->set_generation(1);
  ASSERT_TRUE(lookup(request, response).ok());
  EXPECT_EQ(response.answer().decision().ranked(0).variant().implementation(), "v1");
  request.mutable_query()->set_generation(77);
  EXPECT_EQ(lookup(request, response).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(Server, RankingIsCutWhereAsked) {
  v1::LookupRequest request;
  v1::LookupResponse response;
  *request.mutable_query() = query_for(3);
  ASSERT_TRUE(lookup(request, response).ok());
  EXPECT_EQ(response.answer().decision().ranked_size(), 2);
  request.set_max_ranked(1);
  ASSERT_TRUE(lookup(request, response).ok());
  EXPECT_EQ(response.answer().decision().ranked_size(), 1);
}

TEST_F(Server, SaysHowToApplyTheRankedVariantsWhereAsked) {
  v1::LookupRequest request;
  v1::LookupResponse response;
  *request.mutable_query() = query_for(3);
  ASSERT_TRUE(lookup(request, response).ok());
  EXPECT_EQ(response.apply_size(), 0);
  request.set_with_apply(true);
  ASSERT_TRUE(lookup(request, response).ok());
  ASSERT_EQ(response.apply_size(), response.answer().decision().ranked_size());
  EXPECT_FALSE(response.has_environment());  // that was not asked for
  const Decision decision = source_.get()->find({.problem = all_reduce(8), .nodes = 3}).decision;
  const auto expected = settings_to_apply(decision, nullptr);
  for (int i = 0; i < response.apply_size(); ++i)
    EXPECT_EQ(read_message<ApplySettings>(response.apply(i), "apply"),
              expected[static_cast<std::size_t>(i)]);
  request.set_max_ranked(1);
  ASSERT_TRUE(lookup(request, response).ok());
  EXPECT_EQ(response.apply_size(), 1);

  v1::BatchLookupRequest many;
  *many.add_queries() = query_for(1);
  *many.add_queries() = query_for(worlds + 1);
  many.set_max_ranked(1);
  v1::BatchLookupResponse answers;
  ASSERT_TRUE(batch(many, answers).ok());
  EXPECT_EQ(answers.items(0).apply_size(), 0);
  many.set_with_apply(true);
  ASSERT_TRUE(batch(many, answers).ok());
  EXPECT_EQ(answers.items(0).apply_size(), 1);
  EXPECT_EQ(answers.items(1).apply_size(), 0);
}

TEST_F(Server, BatchAnswersEachItem) {
  v1::BatchLookupRequest request;
  *request.add_queries() = query_for(1);
  *request.add_queries() = query_for(worlds + 1);
  request.add_queries();
  v1::BatchLookupResponse response;
  ASSERT_TRUE(batch(request, response).ok());
  EXPECT_EQ(response.generation().number(), 1U);
  ASSERT_EQ(response.items_size(), 3);
  EXPECT_EQ(response.items(0).answer().decision().ranked(0).variant().implementation(), "v1");
  EXPECT_EQ(response.items(1).failure().code(), static_cast<int>(StatusCode::not_found));
  EXPECT_EQ(response.items(2).failure().code(), static_cast<int>(StatusCode::invalid_argument));
  EXPECT_EQ(response.items(2).failure().message(), "queries[2].problem: is missing");
}

TEST_F(Server, LargestBatchFitsAndOneMoreIsRefused) {
  v1::BatchLookupRequest request;
  for (std::size_t i = 0; i < LookupService::largest_batch; ++i)
    *request.add_queries() = query_for(static_cast<int>(i) % worlds + 1);
  v1::BatchLookupResponse response;
  const grpc::Status status = batch(request, response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.items_size(), 1000);
  *request.add_queries() = query_for(1);
  EXPECT_EQ(batch(request, response).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(Server, TooLargeRequestAndResponseAreRefused) {
  v1::LookupRequest request;
  v1::LookupResponse response;
  *request.mutable_query() = query_for(1);
  request.mutable_query()->set_family(std::string(5 << 20, 'x'));
  EXPECT_EQ(lookup(request, response).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);

  Decision heavy = decide(all_reduce(8), {{"a", 10}});
  while (heavy.ranked.size() < 200) {
    RankedVariant next = heavy.ranked.front();
    next.variant.implementation = "variant-with-a-long-name-" + std::to_string(heavy.ranked.size());
    heavy.ranked.push_back(next);
  }
  source_.replace(std::make_shared<const DecisionTable>(
      DecisionSet{.generation = generation(2), .decisions = {heavy}}));
  v1::BatchLookupRequest many;
  for (int i = 0; i < 1000; ++i) *many.add_queries() = query_for(1);
  v1::BatchLookupResponse answers;
  const grpc::Status status = batch(many, answers);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("max_ranked"));
  many.set_max_ranked(3);
  EXPECT_TRUE(batch(many, answers).ok());
}

TEST_F(Server, TableComesInPartsWithItsEnvironments) {
  std::vector<v1::GetTableResponse> messages;
  ASSERT_TRUE(table({}, messages).ok());
  ASSERT_GE(messages.size(), 3U);
  EXPECT_EQ(messages[0].generation().number(), 1U);
  ASSERT_EQ(messages[0].environments_size(), 1);
  EXPECT_EQ(messages[0].environments(0).digest(), "e1");
  EXPECT_EQ(messages[0].environments(0).environment().cpu_model(), "one");
  std::vector<Decision> decisions;
  for (const auto& message : messages)
    for (const auto& decision : message.decisions())
      decisions.push_back(read_message<Decision>(decision, "decision"));
  EXPECT_TRUE(std::ranges::equal(decisions, source_.get()->set().decisions));
}

TEST_F(Server, TableOfOneWorldAndItsErrors) {
  v1::GetTableRequest request;
  request.mutable_filter()->set_nodes(7);
  std::vector<v1::GetTableResponse> messages;
  ASSERT_TRUE(table(request, messages).ok());
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[1].decisions_size(), 1);
  request.mutable_filter()->set_nodes(-7);
  const grpc::Status status = table(request, messages);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("filter.nodes: -7"));
  request.clear_filter();
  request.set_generation(9);
  EXPECT_EQ(table(request, messages).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(Server, CallerThatLeavesATableEndsTheCall) {
  grpc::ClientContext context;
  set_deadline(context);
  const auto client = stub();
  const auto reader = client->GetTable(&context, {});
  v1::GetTableResponse message;
  ASSERT_TRUE(reader->Read(&message));
  context.TryCancel();
  while (reader->Read(&message)) {
  }
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  server_->shutdown(20s);  // returns only when every call is over
}

TEST_F(Server, GenerationAndServerInfo) {
  source_.replace(make_table(2));
  const auto client = stub();
  grpc::ClientContext first;
  set_deadline(first);
  v1::GetGenerationResponse numbers;
  ASSERT_TRUE(client->GetGeneration(&first, {}, &numbers).ok());
  EXPECT_EQ(numbers.newest().number(), 2U);
  EXPECT_THAT(numbers.pinnable(), ElementsAre(2, 1));
  grpc::ClientContext second;
  set_deadline(second);
  v1::GetServerInfoResponse facts;
  ASSERT_TRUE(client->GetServerInfo(&second, {}, &facts).ok());
  EXPECT_EQ(facts.decisions(), static_cast<std::uint64_t>(worlds));
  EXPECT_FALSE(facts.colltune_version().empty());
}

TEST_F(Server, HealthFollowsTheState) {
  const std::string service = v1::TuningService::service_full_name();
  EXPECT_EQ(service, "colltune.v1.TuningService");
  EXPECT_EQ(health(""), 1);
  EXPECT_EQ(health(service), 1);
  server_->set_serving(false);
  EXPECT_EQ(health(""), 2);
  EXPECT_EQ(health(service), 2);
}

TEST_F(Server, ReflectionListsTheService) {
  // ServerReflectionRequest{list_services: ""} is field 7; the reply names every service.
  EXPECT_THAT(generic_call("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                           std::string("\x3a\x00", 2)),
              HasSubstr("colltune.v1.TuningService"));
}

TEST_F(Server, WithoutATableCallsAreUnavailable) {
  const TableSource empty;
  LookupServer server(
      empty, {.listen = {parse_listen_address("unix:" + (folder_ / "empty.sock").string())}});
  const auto client = v1::TuningService::NewStub(
      grpc::CreateChannel(to_string(server.addresses()[0]), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  set_deadline(context);
  v1::LookupRequest request;
  *request.mutable_query() = query_for(1);
  v1::LookupResponse response;
  const grpc::Status status = client->Lookup(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("no published generation"));
  grpc::ClientContext second;
  set_deadline(second);
  v1::GetServerInfoResponse facts;
  ASSERT_TRUE(client->GetServerInfo(&second, {}, &facts).ok());
  EXPECT_FALSE(facts.has_newest());
}

TEST_F(Server, AnswersAreNeverMixedWhileTheTableIsReplaced) {
  std::atomic<bool> done = false;
  std::vector<std::jthread> clients;
  std::atomic<int> answered = 0;
  for (int client = 0; client < 4; ++client) {
    clients.emplace_back([&, client] {
      const auto own = stub(static_cast<std::size_t>(client) % 2);
      while (!done || answered < 200) {
        v1::BatchLookupRequest request;
        for (int nodes = 1; nodes <= 20; ++nodes) *request.add_queries() = query_for(nodes);
        v1::BatchLookupResponse response;
        grpc::ClientContext context;
        set_deadline(context);
        const grpc::Status status = own->BatchLookup(&context, request, &response);
        ASSERT_TRUE(status.ok()) << status.error_message();
        const std::uint64_t number = response.generation().number();
        for (const auto& item : response.items()) {
          ASSERT_EQ(item.answer().generation().number(), number);
          ASSERT_EQ(item.answer().decision().ranked(0).variant().implementation(),
                    "v" + std::to_string(number));
        }
        ++answered;
      }
    });
  }
  for (std::uint64_t number = 2; number < 60; ++number) source_.replace(make_table(number));
  done = true;
}

TEST_F(Server, TakenAddressesAreRefusedAndStayWithTheirOwner) {
  for (const ListenAddress& address : server_->addresses()) {
    const auto message = error_of_action(StatusCode::already_exists,
                                         [&] { LookupServer second(source_, {{address}}); });
    EXPECT_THAT(message, HasSubstr("cannot listen on " + to_string(address)));
  }
  v1::LookupRequest request;
  v1::LookupResponse response;
  *request.mutable_query() = query_for(3);
  EXPECT_TRUE(lookup(request, response).ok());
}

TEST_F(Server, OtherHostsOnlyWithPermission) {
  const auto open = parse_listen_address("0.0.0.0:0");
  EXPECT_THAT(error_of_action(StatusCode::invalid_argument,
                              [&] { LookupServer second(source_, {{open}}); }),
              HasSubstr("--allow-insecure-network"));
  const LookupServer allowed(source_, {.listen = {open}, .allow_insecure_network = true});
  EXPECT_NE(allowed.addresses()[0].port, 0);
  EXPECT_THAT(
      error_of_action(StatusCode::invalid_argument, [&] { LookupServer second(source_, {}); }),
      HasSubstr("no address"));
}

TEST_F(Server, ShutdownFreesItsAddresses) {
  const auto addresses = server_->addresses();
  server_->shutdown(1s);
  start(addresses);
  v1::LookupRequest request;
  v1::LookupResponse response;
  *request.mutable_query() = query_for(3);
  EXPECT_TRUE(lookup(request, response).ok());
}

}  // namespace
}  // namespace colltune
