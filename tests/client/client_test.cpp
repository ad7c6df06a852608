// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The client library against a real colltuned over a real database.

#include "colltune/client/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <chrono>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "ask_in_c.h"
#include "colltune/db/store.h"
#include "daemon.h"
#include "literal_decisions.h"
#include "process.h"

namespace colltune {
namespace {

using testing::decision;
using ::testing::HasSubstr;
using testing::ranked;
using testing::test_environment;
using testing::test_key;
using testing::test_topology;

/// One all_reduce in the place of two steps.
Composition merged_form() {
  return {.mode = CompositionMode::merged,
          .parts = {{PartRole::whole, {}, parse_variant("cpu.one_shot{n=2}"), {}}}};
}

TuningKey mesh_key() {
  TuningKey key = test_key(1024);
  key.problem.kind = ProblemKind::mesh_reduce;
  key.problem.reduce_op = ReduceOp::none;
  key.problem.mesh = parse_mesh("1x2", "1:sum,0:sum");
  return key;
}

/// What Open MPI runs, and what colltune alone runs.
Decision gather() {
  TuningKey key = test_key(1024);
  key.problem.collective = Collective::gather;
  key.problem.reduce_op = ReduceOp::none;
  Decision made =
      decision(key, {ranked("cpu.gather_direct", 500, 2.0),
                     ranked("mpi.gather_tuned{algorithm=linear_sync,segment_size=0}", 800, 1.2)});
  made.ranked[1].family = "mpi";
  return made;
}

/// A colltuned that serves one generation on a socket; ends with the test.
class Daemon {
 public:
  Daemon() {
    Store store(database);
    store.put_environment(test_environment());
    store.begin_sweep({.uuid = "sweep-1",
                       .started_at = "2026-01-01T00:00:00Z",
                       .configuration = "{}",
                       .environment_digest = digest_of(test_environment())});
    const std::vector<Decision> decisions{
        decision(test_key(1024),
                 {ranked("cpu.one_shot{n=2}", 1000, 2.0), ranked("mpi.default", 2000, 1.0)}),
        gather(), decision(test_key(4096), {ranked("mpi.default", 9000, 1.0)}),
        decision(test_key(1024, test_topology("sm_90")), {ranked("mpi.default", 3000, 1.0)}),
        decision(mesh_key(),
                 {ranked(to_string(name_composition("mesh_reduce", merged_form())), 700, 1.0)})};
    store.note_compositions(std::array{merged_form()});
    generation = store.publish(decisions, "2026-01-01T00:01:00Z");
    process_.emplace(folder, database);
  }

  void wait_until_ready() const { process_->wait_until_ready(); }
  [[nodiscard]] const std::string& address() const { return process_->address; }

  testing::TemporaryFolder folder;
  std::string database = folder.file("tuning.db");
  Generation generation;

 private:
  std::optional<testing::DaemonProcess> process_;
};

LookupQuery query(std::uint64_t bytes) {
  return {.problem = test_key(bytes).problem,
          .nodes = 1,
          .ranks_per_node = 2,
          .architecture = "x86_64-avx2"};
}

template <class Call>
void expect_error(Call&& call, StatusCode code, const std::string& part) {
  try {
    call();
    FAIL() << "no error; expected: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(part));
  }
}

class ClientOfDaemon : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    daemon = std::make_unique<Daemon>();
    daemon->wait_until_ready();
  }
  static void TearDownTestSuite() { daemon.reset(); }

  // A loaded machine may take longer than the library's default.
  Client client{daemon->address(), std::chrono::seconds(60)};
  inline static std::unique_ptr<Daemon> daemon;
};

// What the daemon serves, in a file: ordinary answers, and a mesh's with its composition.
TEST_F(ClientOfDaemon, ATableFileOfItAnswersAsItDoes) {
  const testing::TemporaryFolder folder;
  const std::string file = folder.file("cluster.ctt");
  const testing::Result written = testing::run_process(
      folder, {COLLTUNE_PROGRAM, "export", "table", "--server", daemon->address(), "-o", file});
  ASSERT_EQ(written.code, 0) << written.errors;
  const LocalTable table = LocalTable::open(file);
  EXPECT_EQ(table.generation(), daemon->generation);
  for (const std::uint64_t bytes : {512U, 1024U, 2000U, 4096U, 1U << 20U})
    EXPECT_EQ(table.find(query(bytes)), client.lookup_once(query(bytes)).answer);
  LookupQuery mesh{.problem = mesh_key().problem, .nodes = 1, .ranks_per_node = 2};
  EXPECT_EQ(table.find(mesh), client.lookup_once(mesh).answer);
  EXPECT_EQ(table.find(mesh).compositions, std::vector{merged_form()});
}

TEST_F(ClientOfDaemon, AnswersWithTheStoredDecision) {
  const LookupAnswer answer = client.lookup_once(query(1024)).answer;
  EXPECT_EQ(to_string(answer.decision.ranked.front().variant), "cpu.one_shot{n=2}");
  EXPECT_EQ(answer.decision.ranked.size(), 2u);
  EXPECT_EQ(answer.source, Source::measured);
  EXPECT_EQ(answer.match, MatchLevel::exact);
  EXPECT_EQ(answer.generation, daemon->generation);
  EXPECT_EQ(client.newest_generation(), daemon->generation);
}

TEST_F(ClientOfDaemon, ErrorsKeepTheirCodes) {
  LookupQuery ambiguous = query(1024);
  ambiguous.architecture.reset();
  expect_error([&] { (void)client.lookup_once(ambiguous).answer; }, StatusCode::invalid_argument,
               "sm_90");
  LookupQuery absent = query(1024);
  absent.problem.in_place = true;
  expect_error([&] { (void)client.lookup_once(absent).answer; }, StatusCode::not_found,
               "nothing is stored");
  LookupQuery pinned = query(1024);
  pinned.generation = 99;
  expect_error([&] { (void)client.lookup_once(pinned).answer; }, StatusCode::not_found, "99");
  expect_error([&] { (void)client.fetch_table({}, 99); }, StatusCode::not_found, "99");
}

TEST_F(ClientOfDaemon, ABatchHasAnAnswerOrAnErrorPerQuery) {
  LookupQuery absent = query(1024);
  absent.problem.in_place = true;
  const std::vector<LookupQuery> queries{query(4096), absent, query(1024)};
  const BatchAnswer batch = client.lookup_batch(queries);
  EXPECT_EQ(batch.generation, daemon->generation);
  ASSERT_EQ(batch.items.size(), 3u);
  EXPECT_EQ(std::get<LookupAnswer>(batch.items[0]), client.lookup_once(query(4096)).answer);
  EXPECT_EQ(std::get<Error>(batch.items[1]).code(), StatusCode::not_found);
  EXPECT_EQ(std::get<LookupAnswer>(batch.items[2]), client.lookup_once(query(1024)).answer);
}

TEST_F(ClientOfDaemon, ALocalTableAnswersAsTheDaemonDoes) {
  const LocalTable table = client.fetch_table();
  EXPECT_EQ(table.generation(), daemon->generation);
  EXPECT_EQ(table.set().decisions.size(), 5u);
  ASSERT_EQ(table.set().environments.size(), 1u);
  EXPECT_EQ(table.set().environments[0].second, test_environment());
  for (const std::uint64_t bytes : {64u, 1024u, 2000u, 4096u, 1u << 20})
    EXPECT_EQ(table.find(query(bytes)), client.lookup_once(query(bytes)).answer) << bytes;
  const LookupQuery mesh{.problem = mesh_key().problem};
  EXPECT_EQ(table.find(mesh), client.lookup_once(mesh).answer);
  EXPECT_EQ(client.lookup_once(mesh).answer.compositions, std::vector{merged_form()});
  LookupQuery absent = query(1024);
  absent.problem.in_place = true;
  expect_error([&] { (void)table.find(absent); }, StatusCode::not_found, "nothing is stored");
}

TEST_F(ClientOfDaemon, ATableOfOneWorldHoldsThatWorld) {
  const LocalTable table = client.fetch_table({.architecture = "sm_90"});
  ASSERT_EQ(table.set().decisions.size(), 1u);
  EXPECT_EQ(architecture_name(table.set().decisions[0].key.topology), "sm_90");
}

TEST_F(ClientOfDaemon, TheProgramAnswersFromTheServerAsFromTheFile) {
  const auto run = [&](std::vector<std::string> command) {
    command.insert(command.begin(), COLLTUNE_PROGRAM);
    return testing::run_process(daemon->folder, command);
  };
  const std::vector<std::string> question{
      "lookup", "all_reduce",       "--bytes", "1KiB",   "--dtype",     "f32",   "--nodes",
      "1",      "--ranks-per-node", "2",       "--arch", "x86_64-avx2", "--json"};
  auto remotely = question;
  remotely.insert(remotely.end(), {"--server", daemon->address()});
  auto locally = question;
  locally.insert(locally.end(), {"--db", daemon->database});
  const auto answer = run(remotely);
  EXPECT_EQ(answer.code, 0) << answer.errors;
  EXPECT_EQ(answer.out, run(locally).out);
  EXPECT_EQ(nlohmann::json::parse(answer.out)["environment"]["cpu_model"], "Test CPU");
  EXPECT_EQ(run({"export", "json", "--server", daemon->address()}).out,
            run({"export", "json", "--db", daemon->database}).out);
}

TEST_F(ClientOfDaemon, TheCInterfaceAnswers) {
  char text[256] = "";
  EXPECT_EQ(ask_in_c(daemon->address().c_str(), "x86_64-avx2", text, sizeof text), 0) << text;
  EXPECT_STREQ(text, "cpu.one_shot{n=2} measured exact 1 2 1000 2.0 mpi.default openmpi");
  EXPECT_EQ(ask_in_c(daemon->address().c_str(), nullptr, text, sizeof text), 3);
  EXPECT_THAT(text, HasSubstr("several worlds"));
}

TEST_F(ClientOfDaemon, SaysHowToApplyAnAnswer) {
  char text[1024] = "";
  EXPECT_EQ(ask_how_to_apply_in_c(daemon->address().c_str(), 0, text, sizeof text), 0) << text;
  EXPECT_THAT(text, ::testing::StartsWith("component 0 programs run it unchanged"));
  EXPECT_EQ(ask_how_to_apply_in_c(daemon->address().c_str(), 1, text, sizeof text), 0) << text;
  EXPECT_THAT(text,
              ::testing::StartsWith("environment 3 OMPI_MCA_coll_tuned_use_dynamic_rules=1 "
                                    "OMPI_MCA_coll_tuned_gather_algorithm=3 "
                                    "OMPI_MCA_coll_tuned_gather_algorithm_segmentsize=0 in the"));
  LookupQuery asked = query(1024);
  asked.problem = gather().key.problem;
  const auto all = apply_settings_of(client.lookup_once(asked));
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].variables.size(), 3U);
}

TEST_F(ClientOfDaemon, TheCInterfaceAnswersAboutMeshes) {
  const auto ask = [&](const char* steps, const char* form) {
    char text[1024] = "";
    const int status =
        ask_about_mesh_in_c(daemon->address().c_str(), "1x2", steps, form, text, sizeof text);
    return std::pair(status, std::string(text));
  };
  const std::string winner = to_string(name_composition("mesh_reduce", merged_form()));
  EXPECT_EQ(ask("1:sum,0:sum", nullptr),
            std::pair(0, winner + R"( {"mode":"merged","parts":[{"kinds":[],"role":"whole",)"
                                  R"("variant":"cpu.one_shot{n=2}"}]})"));
  EXPECT_EQ(ask("1:sum,0:sum", "merged").first, 0);
  EXPECT_EQ(ask("1:sum,0:sum", "sequential").first, 5);
  EXPECT_THAT(ask("1:max,1:sum", "merged").second, HasSubstr("unlike operators"));
}

TEST_F(ClientOfDaemon, AnotherRegimeIsNeverPassedOff) {
  const Calling other = default_calling == Calling::each ? Calling::persistent : Calling::each;
  LookupQuery asked = query(1024);
  asked.calling = other;
  expect_error([&] { (void)client.lookup_once(asked).answer; }, StatusCode::not_found,
               "decided only for " + describe(Regime{}));
  expect_error([&] { (void)client.fetch_table().find(asked); }, StatusCode::not_found,
               "decided only for " + describe(Regime{}));
  asked.calling = default_calling;
  asked.input = default_input;
  const LookupAnswer answer = client.lookup_once(asked).answer;
  EXPECT_EQ(regime_of(answer.decision.key), Regime{});
  EXPECT_EQ(answer, client.lookup_once(query(1024)).answer);
}

TEST_F(ClientOfDaemon, TheCInterfaceAsksForARegime) {
  const auto ask = [&](std::size_t struct_size, const char* calling, const char* input) {
    char text[1024] = "";
    const int status = ask_in_regime_in_c(daemon->address().c_str(), struct_size, calling, input,
                                          text, sizeof text);
    return std::pair(status, std::string(text));
  };
  const std::pair answered(0, std::string("cpu.one_shot{n=2}"));
  const std::string calling(name_of(default_calling));
  EXPECT_EQ(ask(query_with_regime(), calling.c_str(), "rewritten"), answered);
  EXPECT_EQ(ask(query_with_regime(), nullptr, nullptr), answered);
  EXPECT_EQ(ask(query_with_regime(), nullptr, "hot").first, 5);
  EXPECT_THAT(ask(query_with_regime(), nullptr, "hot").second, HasSubstr("decided only for"));
  EXPECT_EQ(ask(query_with_regime(), "often", nullptr).first, 3);
  EXPECT_THAT(ask(query_with_regime(), "often", nullptr).second,
              HasSubstr("allowed are each, persistent"));
  // A caller that was built before there were regimes gets the default's answer.
  EXPECT_EQ(ask(query_without_regime(), "not read", "not read"), answered);
}

TEST(Client, RefusesWhatIsNoAddress) {
  for (const char* address : {"", "unix:", "somewhere", "host:", "host:0", "host:65536", "host:1x",
                              ":50061", "::1:5", "[]:5", "http://host:5"})
    expect_error([&] { const Client client(address); }, StatusCode::invalid_argument,
                 "write unix:/path/to/socket or host:port");
  for (const char* address : {"unix:/run/x", "host:50061", "127.0.0.1:1", "[::1]:50061"})
    EXPECT_NO_THROW(const Client client(address)) << address;
}

TEST(Client, NamesTheAddressWhereNobodyListens) {
  const testing::TemporaryFolder folder;
  const std::string address = "unix:" + folder.file("nobody");
  const Client client(address);
  const auto expect_unavailable = [&](auto&& call) {
    expect_error(call, StatusCode::unavailable, "no colltuned answers at " + address);
  };
  expect_unavailable([&] { (void)client.lookup_once(query(8)).answer; });
  expect_unavailable([&] { (void)client.lookup_batch({}); });
  expect_unavailable([&] { (void)client.newest_generation(); });
  expect_unavailable([&] { (void)client.fetch_table(); });
}

TEST(Client, EndsWithinItsDeadlineWhereAServerIsSilent) {
  const testing::TemporaryFolder folder;
  const testing::SilentListener silent(folder.file("silent"));
  const Client client("unix:" + folder.file("silent"), std::chrono::milliseconds(200));
  expect_error([&] { (void)client.lookup_once(query(8)).answer; }, StatusCode::deadline_exceeded,
               folder.file("silent") + " did not answer within 200 ms");
}

TEST_F(ClientOfDaemon, AForkedProcessIsRefusedAndItsParentGoesOn) {
  const auto before = client.lookup_once(query(1024)).answer;
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 1;
    try {
      Client inherited = std::move(client);
      (void)inherited.lookup_once(query(1024)).answer;
    } catch (const Error& error) {
      code = error.code() == StatusCode::failed_precondition ? 0 : 2;
    }
    ::_exit(code);
  }
  EXPECT_EQ(testing::wait_for_process(child), 0);
  EXPECT_EQ(client.lookup_once(query(1024)).answer, before);
}

TEST_F(ClientOfDaemon, APinKnowsItsContent) {
  Generation pinned = client.newest_generation();
  EXPECT_EQ(client.fetch_table({}, pinned).generation(), pinned);
  EXPECT_EQ(client.lookup_batch({}, pinned).generation, pinned);
  LookupQuery one = query(1024);
  one.generation = pinned.number;
  EXPECT_EQ(client.lookup_once(one, pinned.content_digest).answer.generation, pinned);
  pinned.content_digest = "another";
  const std::string reason = "has the content";
  expect_error([&] { (void)client.fetch_table({}, pinned); }, StatusCode::failed_precondition,
               reason);
  expect_error([&] { (void)client.lookup_batch({}, pinned); }, StatusCode::failed_precondition,
               reason);
  expect_error([&] { (void)client.lookup_once(one, "another").answer; },
               StatusCode::failed_precondition, reason);
}

TEST_F(ClientOfDaemon, ErrorsOfADaemonThatEndsMeanwhileNameItsAddress) {
  const testing::TemporaryFolder folder;
  auto ending = std::make_unique<testing::DaemonProcess>(folder, daemon->database);
  ending->wait_until_ready();
  const std::string address = ending->address;
  const Client own(address, std::chrono::seconds(60));
  EXPECT_NO_THROW((void)own.lookup_once(query(1024)).answer);
  std::jthread asking([&] {
    expect_error(
        [&] {
          while (true) (void)own.lookup_once(query(1024)).answer;
        },
        StatusCode::unavailable, address);
  });
  ending.reset();
}

// Of two environments in which one world was measured. The client's tables are of one of them.
TEST(Client, GuessesAnEnvironmentForASingleQuestionAlone) {
  const testing::TemporaryFolder folder;
  const std::string database = folder.file("tuning.db");
  Environment other = test_environment();
  other.malloc_settings = "another";
  {
    Store store(database);
    std::vector<Decision> decisions;
    for (const Environment& environment : {test_environment(), other}) {
      const std::string digest = digest_of(environment);
      store.put_environment(environment);
      store.begin_sweep({.uuid = "sweep in " + digest,
                         .started_at = "2026-01-01T00:00:00Z",
                         .configuration = "{}",
                         .environment_digest = digest});
      TuningKey key = test_key(1024);
      key.environment_digest = digest;
      decisions.push_back(decision(key, {ranked("mpi.default", 1000, 1.0)}));
      decisions.back().sweep_uuid = "sweep in " + digest;
    }
    (void)store.publish(decisions, "2026-01-01T00:01:00Z");
  }
  const testing::DaemonProcess process(folder, database);
  process.wait_until_ready();
  const Client client(process.address, std::chrono::seconds(60));
  const OnceAnswer guessed = client.lookup_once(query(1024));
  EXPECT_THAT(guessed.guess, HasSubstr("environment " + digest_of(other) + " of 2 was chosen"));
  EXPECT_EQ(guessed.answer.decision.key.environment_digest, digest_of(other));
  LookupQuery named = query(1024);
  named.environment_digest = digest_of(test_environment());
  EXPECT_EQ(client.lookup_once(named).guess, "");
  expect_error([&] { (void)client.fetch_table(); }, StatusCode::invalid_argument,
               "several environments");
  EXPECT_EQ(client.fetch_decisions().decisions.size(), 2U);
  const LocalTable table = client.fetch_table({.environment_digest = digest_of(other)});
  EXPECT_EQ(table.environment_digest(), digest_of(other));
  EXPECT_EQ(client.fetch_table({}, table.identity()).identity(), table.identity());
  TableIdentity wrong = table.identity();
  wrong.digest = std::string(32, '0');
  expect_error([&] { (void)client.fetch_table({}, wrong); }, StatusCode::failed_precondition,
               "demanded is the table with digest 000");

  // The program, by the same rule from the file as from the server.
  const auto look_up = [&](std::vector<std::string> more) {
    more.insert(more.begin(),
                {COLLTUNE_PROGRAM, "lookup", "all_reduce", "--bytes", "1KiB", "--json"});
    return testing::run_process(folder, more);
  };
  const testing::Result of_file = look_up({"--db", database});
  EXPECT_EQ(of_file.code, 0);
  EXPECT_EQ(of_file.errors, "colltune: " + guessed.guess + " (--environment names another)\n");
  const testing::Result of_server = look_up({"--server", process.address});
  EXPECT_EQ(of_server.errors, of_file.errors);
  EXPECT_EQ(of_server.out, of_file.out);
  EXPECT_EQ(look_up({"--db", database, "--environment", digest_of(other)}).errors, "");
}

TEST_F(ClientOfDaemon, AFetchedTableHasTheDigestOfItsFile) {
  const testing::TemporaryFolder folder;
  const std::string file = folder.file("cluster.ctt");
  const testing::Result written = testing::run_process(
      folder, {COLLTUNE_PROGRAM, "export", "table", "--server", daemon->address(), "-o", file});
  ASSERT_EQ(written.code, 0) << written.errors;
  EXPECT_EQ(client.fetch_table().identity(), LocalTable::open(file).identity());
}

TEST_F(ClientOfDaemon, ListsAndWaitsForGenerations) {
  EXPECT_EQ(client.generations(), std::vector{daemon->generation.number});
  const auto now = std::chrono::steady_clock::now();
  EXPECT_EQ(client.wait_for_generation(daemon->generation, now), daemon->generation);
  EXPECT_EQ(client.wait_for_generation({}, now + std::chrono::hours(1)), daemon->generation);
}

TEST_F(ClientOfDaemon, AnnotatesCollectives) {
  AnnotatedProgram program{
      .device = {.name = "NVIDIA H100 80GB HBM3", .platform = "cuda", .architecture = "sm_90"},
      .collectives = {{.name = "a", .bytes = Bytes{128 << 10}}, {.name = "b"}}};
  const std::vector<Annotation> answers = client.annotate(program);
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0].strategy, Strategy::one_shot);
  EXPECT_NEAR(answers[0].total.count(), 1 + 7 * 131072.0 / 360000 + 1.5, 1e-6);
  EXPECT_EQ(answers[1].name, "b");
  program.collectives[1].strategy = Strategy::one_shot;
  program.collectives[1].data_type = DataType::f16;
  expect_error([&] { (void)client.annotate(program); }, StatusCode::failed_precondition,
               "program.collectives[1]: collective 'b': one_shot cannot run");
}

TEST_F(ClientOfDaemon, TheCInterfaceAsksInBatches) {
  char text[256] = "";
  const std::string expected = "3 1 cpu.one_shot{n=2} 5 mpi.default";
  const std::string address = daemon->address();
  EXPECT_EQ(ask_batch_in_c(address.c_str(), 0, nullptr, text, sizeof text), 0) << text;
  EXPECT_EQ(text, expected);
  EXPECT_EQ(ask_batch_in_c(address.c_str(), 1, daemon->generation.content_digest.c_str(), text,
                           sizeof text),
            0)
      << text;
  EXPECT_EQ(text, expected);
  EXPECT_EQ(ask_batch_in_c(address.c_str(), 1, "0123", text, sizeof text), 9);
  EXPECT_EQ(ask_batch_in_c(address.c_str(), 2, nullptr, text, sizeof text), 5);
}

TEST_F(ClientOfDaemon, TheCInterfaceFetchesWorlds) {
  char text[256] = "";
  const auto fetch = [&](std::size_t struct_size, int ranks_per_node, const char* architecture) {
    return fetch_worlds_in_c(daemon->address().c_str(), struct_size, ranks_per_node, architecture,
                             text, sizeof text);
  };
  EXPECT_EQ(fetch(fetch_with_worlds(), 2, "sm_90"), 0) << text;
  EXPECT_STREQ(text, "1");
  EXPECT_EQ(fetch(fetch_with_worlds(), 0, nullptr), 0) << text;
  EXPECT_STREQ(text, "5");
  // A caller that was built before there were worlds.
  EXPECT_EQ(fetch(fetch_without_worlds(), 2, "sm_90"), 0) << text;
  EXPECT_STREQ(text, "5");
  EXPECT_EQ(fetch(fetch_with_worlds(), 3, nullptr), 5);
  EXPECT_EQ(fetch(fetch_without_worlds() - 1, 0, nullptr), 3);
}

/// Two ranks, each a thread, that tell each other something in C.
class PairInC {
 public:
  struct Rank {
    PairInC* pair;
    std::size_t number;
  };
  /// What each of them says after its fetch.
  std::array<std::string, 2> fetch(const std::string& address,
                                   std::array<std::uint64_t, 2> generations) {
    std::array<std::string, 2> said;
    {
      std::array<std::jthread, 2> threads;
      for (std::size_t i = 0; i < 2; ++i)
        threads[i] = std::jthread([&, i] {
          Rank rank{this, i};
          char text[1024] = "";
          const int status =
              fetch_in_group_in_c(address.c_str(), static_cast<int>(i), 2, &rank, broadcast,
                                  all_gather, generations[i], text, sizeof text);
          said[i] = std::to_string(status) + " " + text;
        });
    }
    return said;
  }

 private:
  void say(std::size_t number, const void* data, std::size_t bytes) {
    const auto* const begin = static_cast<const char*>(data);
    said_[number].assign(begin, begin + bytes);
    meeting_.arrive_and_wait();
  }
  static int broadcast(void* context, void* data, std::size_t bytes) {
    const auto& rank = *static_cast<const Rank*>(context);
    rank.pair->say(rank.number, data, bytes);
    std::memcpy(data, rank.pair->said_[0].data(), bytes);
    rank.pair->meeting_.arrive_and_wait();
    return 0;
  }
  static int all_gather(void* context, const void* own, void* all, std::size_t bytes) {
    const auto& rank = *static_cast<const Rank*>(context);
    rank.pair->say(rank.number, own, bytes);
    for (std::size_t i = 0; i < 2; ++i)
      std::memcpy(static_cast<char*>(all) + i * bytes, rank.pair->said_[i].data(), bytes);
    rank.pair->meeting_.arrive_and_wait();
    return 0;
  }

  std::barrier<> meeting_{2};
  std::array<std::vector<char>, 2> said_;
};

TEST_F(ClientOfDaemon, TheCInterfaceFetchesInAGroup) {
  PairInC pair;
  const std::string same = "0 " + client.fetch_table().digest();
  EXPECT_EQ(pair.fetch(daemon->address(), {0, 0}), (std::array{same, same}));
  EXPECT_EQ(pair.fetch(daemon->address(), {1, 1}), (std::array{same, same}));
  const auto unlike = pair.fetch(daemon->address(), {1, 2});
  EXPECT_THAT(unlike[0], HasSubstr("rank 1 of 2 did not open the table of rank 0"));
  EXPECT_THAT(unlike[0], HasSubstr("colltune_fetch.generation is 2, rank 0's is 1"));
  EXPECT_EQ(unlike[1], unlike[0]);
}

TEST(CInterface, RefusesWrongUse) { EXPECT_STREQ(misuse_in_c(), ""); }

}  // namespace
}  // namespace colltune
