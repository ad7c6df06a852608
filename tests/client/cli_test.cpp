// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Questions, tables, quarantines and exports of the program `colltune`.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "cli_fixture.h"

namespace colltune {
namespace {

using testing::Cli;
using testing::decisions_of;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Result;
using ::testing::StartsWith;
using testing::sweep;
using testing::test_environment;
using testing::test_key;
using testing::test_topology;

TEST_F(Cli, LookupPrintsTheWinnerFirst) {
  fill();
  const Result result = lookup({"--bytes", "1KiB", "--op", "sum", "--db", database});
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_EQ(result.errors, "");
  EXPECT_THAT(result.out, HasSubstr("winner       cpu.one_shot{n=2}\n"));
  EXPECT_THAT(result.out, HasSubstr("time         1.00 us, speed-up 2.00x\n"));
  EXPECT_THAT(
      result.out,
      HasSubstr("status       the fastest of its family, which has no baseline, provisional\n"));
  EXPECT_THAT(result.out, HasSubstr("source       measured (from 1KiB), match exact\n"));
  EXPECT_THAT(result.out, HasSubstr("generation   1 of "));
  EXPECT_THAT(result.out, HasSubstr("Open MPI 4.1.4"));
  EXPECT_LT(result.out.find("cpu.one_shot{n=2}\n   2"),
            result.out.find("mpi.default (baseline)\n"));
}

TEST_F(Cli, LookupSaysHowToApplyTheAnswerAndWhoseVariantsItIsAbout) {
  fill();
  {
    Store store(database);
    auto all = decisions_of("sweep-1", "cpu.one_shot{n=2}");
    const auto& baseline = all[0].ranked.back();
    auto tuned = testing::ranked("mpi.all_reduce_tuned{algorithm=ring}", 1500, 1.3);
    tuned.family = "mpi";
    all[0].ranked = {all[0].ranked.front(), tuned, baseline};
    all.push_back(testing::decision(test_key(1024), {tuned}, "mpi"));
    store.publish(all, "2026-01-01T00:02:00Z");
  }
  const std::string settings =
      "apply        OMPI_MCA_coll_tuned_use_dynamic_rules=1\n"
      "             OMPI_MCA_coll_tuned_allreduce_algorithm=4\n"
      "             in the environment of mpirun; for MPI_Allreduce of all sizes and "
      "communicators. "
      "colltune export openmpi writes it by size";
  const Result any = lookup({"--bytes", "1KiB", "--db", database});
  EXPECT_THAT(any.out, HasSubstr("apply        programs run it unchanged in Open MPI 4.1"));
  EXPECT_THAT(any.out,
              HasSubstr("as you are   rank 2, mpi.all_reduce_tuned{algorithm=ring}, 1.50 us, "
                        "speed-up 1.30x\n" +
                        settings));
  EXPECT_THAT(any.out, HasSubstr("family       any, which a lookup assumes that names none"));
  EXPECT_THAT(any.out, HasSubstr("--family mpi"));
  const Result mpi = lookup({"--bytes", "1KiB", "--db", database, "--family", "mpi"});
  EXPECT_THAT(mpi.out, HasSubstr(settings));
  EXPECT_THAT(mpi.out, Not(HasSubstr("as you are")));
  EXPECT_THAT(mpi.out, Not(HasSubstr("which a lookup assumes")));
  const Result explained =
      colltune({"explain", "all_reduce", "--bytes", "1KiB", "--family", "mpi", "--db", database});
  EXPECT_THAT(explained.out, HasSubstr(settings));
}

TEST_F(Cli, LookupAsJsonCarriesTheDocumentedKeys) {
  fill();
  const Result result = lookup({"--bytes", "1024", "--db", database, "--json"});
  ASSERT_EQ(result.code, 0) << result.errors;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["winner"], "cpu.one_shot{n=2}");
  EXPECT_EQ(json["source"], "measured");
  EXPECT_EQ(json["median_ns"], 1000);
  EXPECT_EQ(json["speedup_over_baseline"], 2.0);
  EXPECT_EQ(json["generation"]["number"], 1);
  EXPECT_EQ(json["key"]["problem"]["collective"], "all_reduce");
  ASSERT_EQ(json["alternatives"].size(), 1u);
  EXPECT_EQ(json["alternatives"][0]["variant"], "mpi.default");
  EXPECT_EQ(json["alternatives"][0]["family"], "openmpi");
  EXPECT_EQ(json["environment"]["cpu_model"], "Test CPU");
  EXPECT_EQ(json["evidence"]["apply"]["by"], "component");
}

TEST_F(Cli, AWorldThatIsNotUniqueIsAnErrorThatListsTheWorlds) {
  fill();
  {
    Store store(database);
    auto more = decisions_of("sweep-1", "cpu.one_shot{n=2}");
    for (auto& each : more) each.key.topology = test_topology("x86_64-avx512");
    store.publish(more, "2026-01-01T00:02:00Z");
  }
  expect_failure(lookup({"--bytes", "1024", "--db", database}), 2, "x86_64-avx512");
  const Result named = lookup({"--bytes", "1024", "--db", database, "--arch", "x86_64-avx512"});
  EXPECT_EQ(named.code, 0) << named.errors;
}

TEST_F(Cli, WrongQuestionsSayWhatIsAllowed) {
  fill();
  const std::vector<std::string> db{"--db", database};
  const auto ask = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--db", database});
    return colltune(arguments);
  };
  expect_failure(ask({"lookup", "all_redcue", "--bytes", "1K", "--dtype", "f32"}), 2, "all_gather");
  expect_failure(ask({"lookup", "all_reduce", "--bytes", "1KB", "--dtype", "f32"}), 2,
                 "--bytes: '1KB' is not a size");
  expect_failure(ask({"lookup", "all_reduce", "--bytes", "1K", "--dtype", "f31"}), 2, "--dtype: ");
  expect_failure(ask({"lookup", "all_reduce", "--bytes", "1K", "--dtype", "f32", "--op", "add"}), 2,
                 "--op: unknown reduce op 'add'");
  expect_failure(ask({"lookup", "all_reduce", "--bytes", "1K", "--dtype", "f32", "--op", "none"}),
                 2, "--op: all_reduce needs");
  expect_failure(ask({"lookup", "broadcast", "--bytes", "1K", "--dtype", "f32", "--op", "sum"}), 2,
                 "--op: broadcast does not reduce");
  expect_failure(ask({"lookup", "all_reduce", "--bytes", "1K", "--dtype", "f32", "--nodes", "0"}),
                 2, "--nodes");
  expect_failure(
      ask({"lookup", "all_reduce", "--bytes", "1K", "--dtype", "f32", "--placement", "x"}), 2,
      "dedicated, oversubscribed");
  expect_failure(ask({"lookup", "all_reduce", "--bytes", "1K", "--dtype", "f32", "--bites"}), 2,
                 "--bites");
  expect_failure(ask({"lookup", "all_reduce", "--dtype", "f32"}), 2, "--bytes");
  expect_failure(colltune({}), 2, "colltune lookup all_reduce");
  expect_failure(colltune({"show", "poems"}), 2,
                 "sweeps, decisions, generations, measurements, environments");
}

TEST_F(Cli, WhatIsNotStoredIsNotFound) {
  fill();
  expect_failure(lookup({"--bytes", "1K", "--in-place", "--db", database}), 3, "nothing is stored");
  expect_failure(lookup({"--bytes", "1K", "--generation", "99", "--db", database}), 3, "99");
  expect_failure(lookup({"--bytes", "1K", "--family", "nccl", "--db", database}), 3, "family");
}

TEST_F(Cli, DatabasesThatAreNotThereOrNotOurs) {
  expect_failure(lookup({"--bytes", "1K", "--db", database}), 2, "there is no such file");
  expect_failure(lookup({"--bytes", "1K"}), 2, "--db FILE, --server ADDRESS or --table FILE");
  expect_failure(lookup({"--bytes", "1K", "--db", database, "--server", "unix:/x"}), 2,
                 "more than one of --db, --server");
  const std::string foreign = write("foreign.db", std::string(5000, 'x'));
  for (const char* what : {"sweeps", "decisions", "measurements", "environments"}) {
    const Result result = colltune({"show", what, "--db", foreign});
    EXPECT_NE(result.code, 0);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.errors, HasSubstr("foreign.db"));
  }
  { Store empty(database); }
  const Result nothing = lookup({"--bytes", "1K", "--db", database});
  expect_failure(nothing, 3, "");
}

TEST_F(Cli, ShowPrintsTablesAndArrays) {
  fill();
  const auto array = [&](const char* what) {
    const Result result = colltune({"show", what, "--db", database, "--json"});
    EXPECT_EQ(result.code, 0) << result.errors;
    return nlohmann::json::parse(result.out);
  };
  EXPECT_EQ(array("sweeps")[0]["state"], "complete");
  ASSERT_EQ(array("decisions").size(), 2u);
  EXPECT_EQ(array("decisions")[0]["winner"], "cpu.one_shot{n=2}");
  EXPECT_EQ(array("measurements")[0]["sweep_uuid"], "sweep-1");
  EXPECT_EQ(array("measurements")[0]["samples_ns"].size(), 3u);
  EXPECT_EQ(array("environments")[0]["environment"]["cpu_model"], "Test CPU");

  const auto table = [&](const char* what) {
    return colltune({"show", what, "--db", database}).out;
  };
  EXPECT_THAT(table("sweeps"), HasSubstr("complete"));
  // 1024 bytes in 1000 ns; all-reduce over two ranks has the factor 1.
  EXPECT_THAT(
      colltune({"show", "decisions", "--db", database, "--wide"}).out,
      ::testing::ContainsRegex("1KiB +256 +f32 +sum +no +any +[a-z]+ +[a-z]+ +1.00 +1.02 +1.02"));
  EXPECT_THAT(colltune({"show", "measurements", "--db", database, "--wide"}).out,
              ::testing::ContainsRegex("ok +3 +1.01 +1.00 +1.04"));
  EXPECT_THAT(table("decisions"), ::testing::ContainsRegex("all_reduce f32 sum, 1x2 [^\n]+\n"));
  EXPECT_THAT(table("decisions"),
              ::testing::ContainsRegex("1KiB +1.00 +2.00x +fastest +provisional"));
  EXPECT_THAT(table("measurements"), ::testing::ContainsRegex("0 +ok +3 +1.01 +1.00 +2"));
  EXPECT_THAT(table("environments"), HasSubstr(digest_of(test_environment())));
  expect_failure(colltune({"show", "measurements", "--sweep", "none", "--db", database}), 3,
                 "no sweep 'none'");
}

/// Puts the variant into quarantine for 1 KiB and for 1 MiB, after a failure of sweep-2.
void quarantine_for_both_sizes(const std::string& database, const std::string& variant) {
  Store store(database);
  store.begin_sweep(sweep("sweep-2", "2026-01-02T00:00:00Z"));
  for (const std::uint64_t size : {1024, 1 << 20}) {
    const TuningKey key = test_key(size);
    EXPECT_EQ(store.record_failure({.sweep_uuid = "sweep-2",
                                    .key = key,
                                    .variant = parse_variant(variant),
                                    .outcome = Outcome::crashed,
                                    .detail = "rank 1: signal 11",
                                    .recorded_at = "2026-01-02T00:01:00Z"}),
              1);
    store.quarantine({.key = key,
                      .variant = parse_variant(variant),
                      .failures = 1,
                      .outcome = Outcome::crashed,
                      .reason = "rank 1 died",
                      .since = "2026-01-02T00:02:00Z"});
  }
}

TEST_F(Cli, ShowPrintsFailuresAndQuarantines) {
  fill();
  quarantine_for_both_sizes(database, "cpu.one_shot{n=2}");
  const auto show = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "show");
    arguments.insert(arguments.end(), {"--db", database});
    const Result result = colltune(arguments);
    EXPECT_EQ(result.code, 0) << result.errors;
    return result.out;
  };
  EXPECT_THAT(show({"failures"}), HasSubstr("rank 1: signal 11"));
  EXPECT_THAT(show({"quarantines"}),
              ::testing::ContainsRegex("crashed +1 +cpu.one_shot\\{n=2\\}:"));
  EXPECT_THAT(show({"quarantines", "--wide"}),
              ::testing::ContainsRegex("cpu.one_shot\\{n=2\\} +crashed +1 +rank 1 died"));
  const auto failures = nlohmann::json::parse(show({"failures", "--json"}));
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_EQ(failures[0]["sweep_uuid"], "sweep-2");
  EXPECT_EQ(failures[0]["outcome"], "crashed");
  EXPECT_EQ(show({"failures", "--json", "--sweep", "sweep-1"}), "[]\n");
  const auto quarantines = nlohmann::json::parse(show({"quarantines", "--json"}));
  ASSERT_EQ(quarantines.size(), 2u);
  EXPECT_EQ(quarantines[0]["variant"], "cpu.one_shot{n=2}");
  EXPECT_EQ(quarantines[0]["key"]["problem"]["collective"], "all_reduce");
  EXPECT_EQ(quarantines[0]["key_digest"], digest_of_value(test_key(1024)));
  EXPECT_EQ(quarantines[0]["failures"], 1);
}

TEST_F(Cli, QuarantinesAreReleasedForOneKeyOrForAll) {
  fill();
  quarantine_for_both_sizes(database, "cpu.one_shot{n=2}");
  const auto release = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"quarantine", "release", "--db", database, "--variant"});
    return colltune(more);
  };
  const std::string digest = digest_of_value(test_key(1024));
  expect_failure(release({"cpu.two_shot"}), 3, "no quarantine of cpu.two_shot is in force");
  expect_failure(release({"cpu.one_shot{n=2}", "--key-digest", "xyz"}), 3, "begins with 'xyz'");
  expect_failure(release({"cpu.one_shot{n="}), 2, "cpu.one_shot{n=");
  EXPECT_EQ(StoreReader(database).quarantines().size(), 2u);
  const Result one = release({"cpu.one_shot{n=2}", "--key-digest", digest.substr(0, 8)});
  EXPECT_EQ(one.code, 0) << one.errors;
  EXPECT_THAT(one.out, StartsWith("released cpu.one_shot{n=2} for all_reduce"));
  ASSERT_EQ(StoreReader(database).quarantines().size(), 1u);
  EXPECT_EQ(StoreReader(database).quarantines()[0].key, test_key(1 << 20));
  EXPECT_EQ(release({"cpu.one_shot{n=2}"}).code, 0);
  EXPECT_EQ(colltune({"show", "quarantines", "--db", database, "--json"}).out, "[]\n");
  const auto all = nlohmann::json::parse(
      colltune({"show", "quarantines", "--db", database, "--json", "--all"}).out);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_NE(all[0]["released_at"], "");
  {
    Store owner(database);
    expect_failure(release({"cpu.one_shot{n=2}"}), 2, "is owned by process");
  }
  const std::string missing = folder.file("missing.db");
  expect_failure(colltune({"quarantine", "release", "--db", missing, "--variant", "a"}), 2,
                 "there is no such file");
  EXPECT_FALSE(std::filesystem::exists(missing));
}

TEST_F(Cli, ImportLeavesOutWhatIsInQuarantine) {
  fill();
  quarantine_for_both_sizes(database, "cpu.two_shot");
  const std::string file =
      write("results.jsonl", results("sweep-3", "2026-02-01T00:00:00Z", "cpu.two_shot"));
  const Result result = colltune({"import", file, "--db", database});
  EXPECT_EQ(result.code, 0) << result.errors;
  const auto json =
      nlohmann::json::parse(lookup({"--bytes", "1K", "--db", database, "--json"}).out);
  EXPECT_EQ(json["winner"], "mpi.default");
}

TEST_F(Cli, ExportWritesTheSameDocumentToAFileAndToStdout) {
  fill();
  const Result printed = colltune({"export", "json", "--db", database});
  ASSERT_EQ(printed.code, 0) << printed.errors;
  const std::string file = folder.file("out.json");
  const Result written = colltune({"export", "json", "--db", database, "-o", file});
  EXPECT_EQ(written.code, 0) << written.errors;
  EXPECT_EQ(written.out, "");
  EXPECT_EQ(testing::read_file(file), printed.out);
  EXPECT_EQ(nlohmann::json::parse(printed.out)["format"], "colltune.decisions");
  expect_failure(colltune({"export", "json", "--db", database, "-o", "/nowhere/x.json"}), 2,
                 "/nowhere/x.json cannot be written");
}

TEST_F(Cli, ExportForOpenMpiSaysWhyThereIsNothing) {
  fill();
  const auto to_open_mpi = [&](std::vector<std::string> more) {
    std::vector<std::string> all{"export", "openmpi", "--db", database};
    all.insert(all.end(), more.begin(), more.end());
    return colltune(all);
  };
  expect_failure(to_open_mpi({"--for", "6"}), 2, "4.1.x");
  expect_failure(to_open_mpi({"--for", "4.1.x"}), 3, "no decision of family mpi");
  expect_failure(to_open_mpi({"--for", "4.1.x", "--environment", "deadbeef"}), 3, "deadbeef");
  expect_failure(colltune({"check-export", "openmpi", "/nowhere/rules", "--for", "4.1.x"}), 2,
                 "cannot read /nowhere/rules");
}

TEST_F(Cli, HelpShowsAnExample) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"--help"},
                                             {"lookup", "--help"},
                                             {"export", "--help"},
                                             {"export", "json", "--help"},
                                             {"export", "openmpi", "--help"},
                                             {"check-export", "openmpi", "--help"},
                                             {"show", "--help"},
                                             {"show", "decisions", "--help"},
                                             {"quarantine", "--help"},
                                             {"quarantine", "release", "--help"},
                                             {"import", "--help"}}) {
    const Result result = colltune(command);
    EXPECT_EQ(result.code, 0);
    EXPECT_EQ(result.errors, "");
    EXPECT_THAT(result.out, HasSubstr("Example:\n  colltune "));
    EXPECT_THAT(result.out, HasSubstr("Exit codes"));
  }
}

TEST_F(Cli, AServerThatIsNotThereIsNamed) {
  if (!COLLTUNE_HAS_SERVER) GTEST_SKIP() << "built without gRPC";
  const std::string address = "unix:" + folder.file("nobody.sock");
  expect_failure(lookup({"--bytes", "1K", "--server", address}), 4, address);
  expect_failure(colltune({"export", "json", "--server", address}), 4, "start one with");
  expect_failure(lookup({"--bytes", "1K", "--server", "nonsense"}), 2, "host:port");
}

}  // namespace
}  // namespace colltune
