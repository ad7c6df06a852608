// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// What the program colltune accepts as names, writes to files, and fits into 80 columns.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "cli_fixture.h"
#include "colltune/json/json.h"
#include "colltune/vocabulary/series_launch.h"

namespace colltune {
namespace {

using testing::Cli;
using testing::decisions_of;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::read_file;
using testing::Result;
using testing::sweep;
using testing::test_environment;
using testing::test_key;
using testing::test_topology;

class CliFiles : public Cli {
 protected:
  [[nodiscard]] Result export_to(const std::string& path) const {
    return colltune({"export", "json", "--db", database, "-o", path});
  }
  [[nodiscard]] std::string document() const {
    return colltune({"export", "json", "--db", database}).out;
  }
};

TEST_F(CliFiles, ADashIsStandardOutput) {
  fill();
  const Result result = export_to("-");
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_EQ(result.out, document());
  EXPECT_FALSE(std::filesystem::exists("-"));
}

TEST_F(CliFiles, DevicesAreWrittenThrough) {
  fill();
  EXPECT_EQ(export_to("/dev/null").code, 0);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  // A device that is full says so and stays.
  expect_failure(export_to("/dev/full"), 2, "/dev/full cannot be written: No space left");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST_F(CliFiles, FifosAreWrittenThrough) {
  fill();
  const std::string fifo = folder.file("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  std::string read;
  std::jthread reader([&] { read = read_file(fifo); });
  const Result result = export_to(fifo);
  reader.join();
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_EQ(read, document());
  EXPECT_TRUE(std::filesystem::is_fifo(fifo));
}

TEST_F(CliFiles, SocketsAreWrittenThrough) {
  fill();
  const std::string path = folder.file("socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof address.sun_path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  std::string read;
  std::jthread reader([&] {
    const int peer = ::accept(listener, nullptr, nullptr);
    char part[4096];
    for (ssize_t got = 0; (got = ::read(peer, part, sizeof part)) > 0;)
      read.append(part, static_cast<std::size_t>(got));
    ::close(peer);
  });
  const Result result = export_to(path);
  if (result.code != 0) ::shutdown(listener, SHUT_RDWR);
  reader.join();
  ::close(listener);
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_EQ(read, document());
  EXPECT_TRUE(std::filesystem::is_socket(path));
}

TEST_F(CliFiles, SymbolicLinksStayAndTheirTargetIsReplaced) {
  fill();
  std::filesystem::create_directory(folder.file("sub"));
  const std::string target = write("sub/target.json", "old");
  std::filesystem::create_symlink("sub/target.json", folder.file("first"));
  std::filesystem::create_symlink("first", folder.file("link"));
  EXPECT_EQ(export_to(folder.file("link")).code, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link")));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("first")));
  EXPECT_EQ(read_file(target), document());
  // A link to what is not there yet makes it.
  std::filesystem::create_symlink("sub/new.json", folder.file("dangling"));
  EXPECT_EQ(export_to(folder.file("dangling")).code, 0);
  EXPECT_EQ(read_file(folder.file("sub/new.json")), document());
  std::filesystem::create_symlink("circle", folder.file("circle"));
  expect_failure(export_to(folder.file("circle")), 2, "cannot be written");
}

TEST_F(CliFiles, ModesStay) {
  fill();
  const std::string file = write("out.json", "old");
  ASSERT_EQ(::chmod(file.c_str(), 0640), 0);
  EXPECT_EQ(export_to(file).code, 0);
  EXPECT_EQ(std::filesystem::status(file).permissions(), std::filesystem::perms(0640));
  EXPECT_EQ(read_file(file), document());
  expect_failure(export_to(folder.file(".")), 2, "is a folder");
}

TEST_F(Cli, ShortDigestsNameEnvironmentsAndUnknownOnesAreNoOther) {
  fill();
  const std::string digest = digest_of(test_environment());
  const auto ask = [&](const std::string& environment, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"--bytes", "1K", "--db", database, "--environment", environment});
    return lookup(more);
  };
  EXPECT_EQ(ask(digest).code, 0);
  EXPECT_THAT(ask(digest.substr(0, 8)).out, HasSubstr("match exact"));
  expect_failure(ask("deadbeef"), 3, "no decision was measured in an environment 'deadbeef'");
  expect_failure(ask("deadbeef"), 3, digest.substr(0, 8));
  const std::string other(32, '0');
  expect_failure(ask(other), 3, "no decision was measured in an environment");
  // Who asks for the nearest gets it.
  EXPECT_THAT(ask(other, {"--match", "any_environment"}).out, HasSubstr("match any_environment"));
}

TEST_F(Cli, NamesOfLaunchEnvironmentsNameTheirDigest) {
  fill();
  Environment grown = test_environment();
  grown.variables = "NCCL_BUFFSIZE=8388608";
  const std::string digest = digest_of(grown);
  {
    Store store(database);
    store.put_environment(grown);
    SweepRecord record = sweep("sweep-2", "2026-02-01T00:00:00Z");
    record.environment_digest = digest;
    store.begin_sweep(record);
    const nlohmann::json summary{
        {std::string(series_launch_name),
         to_json_value(SeriesLaunch{.series = "s", .command = "c", .environment = "large"})}};
    store.finish_sweep("sweep-2", SweepState::complete, "2026-02-01T00:01:00Z", summary.dump());
    auto decisions = decisions_of("sweep-2", "cpu.two_shot");
    for (Decision& decision : decisions) decision.key.environment_digest = digest;
    store.publish(decisions, "2026-02-01T00:01:00Z");
  }
  const Result named = lookup({"--bytes", "1K", "--db", database, "--environment", "large"});
  EXPECT_EQ(named.code, 0) << named.errors;
  EXPECT_THAT(named.out, HasSubstr("winner       cpu.two_shot\n"));
  EXPECT_THAT(named.out, HasSubstr(digest));
  expect_failure(lookup({"--bytes", "1K", "--db", database, "--environment", "small"}), 3,
                 digest.substr(0, 8) + " (large)");
}

TEST_F(Cli, SweepsAreNamedByTheBeginningOfTheirUuid) {
  fill();
  {
    Store store(database);
    store.begin_sweep(sweep("sweet-2", "2026-02-01T00:00:00Z"));
  }
  EXPECT_EQ(colltune({"show", "measurements", "--db", database, "--sweep", "sweep"}).code, 0);
  expect_failure(colltune({"show", "measurements", "--db", database, "--sweep", "swee"}), 2,
                 "begins the names of 2 sweeps");
  EXPECT_EQ(colltune({"report", "sweep", "--db", database, "--sweep", "sweep-"}).code, 0);
}

TEST_F(Cli, ASizeBelowOneElementIsRefused) {
  fill();
  expect_failure(lookup({"--bytes", "3", "--db", database}), 2,
                 "--bytes: 3 is less than one f32 element, which takes 4");
}

TEST_F(Cli, DecisionsAreOfAllFamiliesTogetherAndFiltered) {
  fill();
  {
    Store store(database);
    auto more = decisions_of("sweep-1", "cpu.one_shot{n=2}");
    for (Decision& each : more) each.family = "colltune";
    auto others = decisions_of("sweep-1", "cpu.one_shot{n=2}");
    for (Decision& each : others) each.key.topology = test_topology("x86_64-avx512");
    more.insert(more.end(), others.begin(), others.end());
    store.publish(more, "2026-01-01T00:02:00Z");
  }
  const auto count = [&](std::vector<std::string> filters) {
    filters.insert(filters.begin(), {"show", "decisions", "--json", "--db", database});
    const Result result = colltune(filters);
    EXPECT_EQ(result.code, 0) << result.errors;
    return nlohmann::json::parse(result.out).size();
  };
  EXPECT_EQ(count({}), 4u);
  EXPECT_EQ(count({"--family", "all"}), 6u);
  EXPECT_EQ(count({"--family", "colltune"}), 2u);
  EXPECT_EQ(count({"--world", "avx512"}), 2u);
  EXPECT_EQ(count({"--collective", "all_reduce"}), 4u);
  const auto fails = [&](std::vector<std::string> filters, int code, const std::string& part) {
    filters.insert(filters.begin(), {"show", "decisions", "--db", database});
    expect_failure(colltune(filters), code, part);
  };
  fails({"--collective", "broadcast"}, 3, "no decision is of family 'any', of broadcast");
  fails({"--collective", "braodcast"}, 2, "braodcast");
  fails({"--family", "nccl"}, 3, "'nccl'");
}

TEST_F(Cli, TablesTakeEightyColumns) {
  fill();
  {
    Store store(database);
    auto longer = decisions_of(
        "sweep-1", "cpu.two_shot{chunk=65536,fan_out=2,stores=adaptive,staging=slots,slots=16}");
    store.publish(longer, "2026-01-01T00:02:00Z");
  }
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"show", "decisions"},
                                             {"show", "sweeps"},
                                             {"show", "measurements"},
                                             {"show", "generations"},
                                             {"diff"}}) {
    auto arguments = command;
    arguments.insert(arguments.end(), {"--db", database});
    const Result result = colltune(arguments);
    ASSERT_EQ(result.code, 0) << result.errors;
    if (command.front() == "diff") continue;  // sentences, no table
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  }
  const auto wide = colltune({"show", "decisions", "--wide", "--db", database}).out;
  EXPECT_THAT(wide, HasSubstr("busbw(GB/s)"));
}

TEST_F(Cli, GenerationsAreListedComparedAndTakenBack) {
  fill();
  {
    Store store(database);
    auto worse = decisions_of("sweep-2", "mpi.ring");
    worse[1].status = DecisionStatus::confirmed;
    worse[1].confirmation = {.launches = 5};
    auto added = decisions_of("sweep-2", "cpu.one_shot{n=2}");
    added[0].key.topology = test_topology("x86_64-avx512");
    worse.push_back(added[0]);
    store.publish(worse, "2026-02-01T00:00:00Z");
  }
  const auto list =
      nlohmann::json::parse(colltune({"show", "generations", "--json", "--db", database}).out);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[1]["decisions"], 3);
  const Result diff = colltune({"diff", "--db", database});
  EXPECT_EQ(diff.code, 0) << diff.errors;
  EXPECT_THAT(diff.out, HasSubstr("generation 2 of 2026-02-01T00:00:00Z beside 1 of "
                                  "2026-01-01T00:01:00Z: 3 decision(s) differ\n"));
  EXPECT_THAT(diff.out, HasSubstr("  - cpu.one_shot{n=2} ("));
  EXPECT_THAT(diff.out, HasSubstr("  + mpi.ring ("));
  EXPECT_THAT(diff.out, HasSubstr("  - no decision\n"));
  EXPECT_THAT(diff.out, HasSubstr("confirmed by 5 launches"));
  const auto json = nlohmann::json::parse(
      colltune({"diff", "--from", "2", "--to", "1", "--json", "--db", database}).out);
  EXPECT_EQ(json.size(), 3u);

  const Result back = colltune({"rollback", "--db", database});
  EXPECT_EQ(back.code, 0) << back.errors;
  EXPECT_THAT(back.out, HasSubstr("published generation 3 with the decisions of generation 1"));
  const StoreReader reader(database);
  EXPECT_EQ(reader.published().decisions, reader.published(1).decisions);
  EXPECT_EQ(reader.published(2).decisions.size(), 3u) << "what was published stays readable";
  EXPECT_THAT(lookup({"--bytes", "1K", "--db", database}).out, HasSubstr("cpu.one_shot{n=2}\n"));
  expect_failure(colltune({"rollback", "--to", "3", "--db", database}), 2, "is what is served");
  expect_failure(colltune({"rollback", "--to", "9", "--db", database}), 3, "no generation 9");
  expect_failure(colltune({"diff", "--to", "1", "--db", database}), 3, "no generation before 1");
  expect_failure(colltune({"rollback", "--db", folder.file("none.db")}), 2, "no such file");
  EXPECT_FALSE(std::filesystem::exists(folder.file("none.db")));
}

TEST_F(Cli, AMissingFileHasOneExitCode) {
  const std::string none = folder.file("none");
  fill();
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"show", "sweeps", "--db", none},
           {"export", "json", "--db", none},
           {"import", none, "--db", database},
           {"diff", "--db", none},
           {"quarantine", "release", "--variant", "a", "--db", none},
           {"report", "sweep", "--db", none}})
    EXPECT_EQ(colltune(command).code, 2) << command.front();
  EXPECT_EQ(lookup({"--bytes", "1K", "--db", none}).code, 2);
  EXPECT_EQ(lookup({"--bytes", "1K", "--db", database, "--members", none}).code, 2);
  try {
    const StoreReader reader(none);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(exit_code_of(error.code()), 2);
  }
}

}  // namespace
}  // namespace colltune
