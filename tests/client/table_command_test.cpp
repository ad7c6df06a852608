// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// `colltune export table`, and the commands that read a table file.

#include <filesystem>

#include "cli_fixture.h"
#include "colltune/table_file/table_file.h"

namespace colltune::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class TableCommand : public Cli {
 protected:
  [[nodiscard]] Result export_table(std::vector<std::string> more = {}) const {
    std::vector<std::string> all{"export", "table", "--db", database, "-o", table};
    all.insert(all.end(), more.begin(), more.end());
    return colltune(all);
  }

  /// Publishes decisions of a second environment beside the first.
  void add_environment() const {
    Store store(database);
    Environment other = test_environment();
    other.kernel = "6.2";
    store.put_environment(other);
    SweepRecord record = sweep("sweep-2", "2026-02-01T00:00:00Z");
    record.environment_digest = digest_of(other);
    store.begin_sweep(record);
    TuningKey key = test_key(1024);
    key.environment_digest = digest_of(other);
    Decision one = decision(key, {ranked("mpi.default", 3000, 1)});
    one.sweep_uuid = "sweep-2";
    std::vector<Decision> all = decisions_of("sweep-1", "cpu.one_shot{n=2}");
    all.push_back(one);
    store.finish_sweep("sweep-2", SweepState::complete, "2026-02-01T00:01:00Z", "{}");
    store.publish(all, "2026-02-01T00:01:00Z");
    other_environment = digest_of(other);
  }

  std::string table = folder.file("cluster.ctt");
  mutable std::string other_environment;
};

TEST_F(TableCommand, AnswersLookupsAsTheDatabaseDoes) {
  fill();
  const Result written = export_table();
  ASSERT_EQ(written.code, 0) << written.errors;
  EXPECT_EQ(written.out, "");
  EXPECT_THAT(written.errors, HasSubstr("2 decisions of generation 1 in environment " +
                                        digest_of(test_environment())));
  EXPECT_THAT(written.errors, HasSubstr("digest " + TableFile(table).digest()));
  for (const char* size : {"1KiB", "32KiB", "16MiB"})
    for (const bool json : {false, true}) {
      std::vector<std::string> from_database{"--bytes", size, "--db", database};
      std::vector<std::string> from_table{"--bytes", size, "--table", table};
      if (json) from_database.emplace_back("--json"), from_table.emplace_back("--json");
      const Result expected = lookup(from_database);
      ASSERT_EQ(expected.code, 0) << expected.errors;
      EXPECT_EQ(lookup(from_table).out, expected.out);
    }
}

TEST_F(TableCommand, IsReadByExplainShowAndOtherExports) {
  fill();
  ASSERT_EQ(export_table().code, 0);
  const Result explained = colltune({"explain", "all_reduce", "--bytes", "1KiB", "--table", table});
  EXPECT_EQ(explained.code, 0) << explained.errors;
  EXPECT_THAT(explained.out, HasSubstr("cpu.one_shot{n=2}"));
  EXPECT_THAT(explained.out, HasSubstr("explain --db FILE tells"));
  EXPECT_EQ(colltune({"show", "decisions", "--table", table}).out,
            colltune({"show", "decisions", "--db", database}).out);
  EXPECT_EQ(colltune({"export", "json", "--table", table}).out,
            colltune({"export", "json", "--db", database}).out);
  const std::string again = folder.file("again.ctt");
  ASSERT_EQ(colltune({"export", "table", "--table", table, "-o", again}).code, 0);
  EXPECT_EQ(TableFile(again).digest(), TableFile(table).digest());
}

TEST_F(TableCommand, IsOfOneEnvironment) {
  fill();
  add_environment();
  expect_failure(export_table(), 2, "the decisions are of several environments");
  EXPECT_FALSE(std::filesystem::exists(table));
  ASSERT_EQ(export_table({"--environment", other_environment.substr(0, 8)}).code, 0);
  EXPECT_EQ(TableFile(table).read_decisions().decisions.size(), 1U);
  EXPECT_EQ(TableFile(table).environment_digest(), other_environment);
  expect_failure(export_table({"--environment", "zzzz"}), 3, "zzzz");
}

TEST_F(TableCommand, HoldsTheRegimeThatIsAskedFor) {
  fill();
  expect_failure(export_table({"--calling", "persistent"}), 3, "regime");
  EXPECT_EQ(export_table({"--calling", "all", "--input", "all"}).code, 0);
}

TEST_F(TableCommand, ErrorsNameTheFileAndWhatIsAllowed) {
  fill();
  expect_failure(lookup({"--bytes", "1KiB", "--table", folder.file("none.ctt")}), 2, "none.ctt");
  expect_failure(lookup({"--bytes", "1KiB", "--table", database}), 2, "does not begin as a table");
  ASSERT_EQ(export_table().code, 0);
  expect_failure(lookup({"--bytes", "1KiB", "--table", table, "--db", database}), 2,
                 "more than one of --db, --server and --table");
  expect_failure(lookup({"--bytes", "1KiB"}), 2, "--table FILE");
  expect_failure(lookup({"--bytes", "1KiB", "--table", table, "--generation", "9"}), 3,
                 "generation 9");
  expect_failure(colltune({"show", "decisions"}), 2, "give --db FILE");
  expect_failure(colltune({"export", "table", "--db", database}), 2, "--output");
  expect_failure(colltune({"export", "table", "--db", database, "-o", "-"}), 2, "/dev/stdout");
  std::string bytes = read_file(table);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  expect_failure(lookup({"--bytes", "1KiB", "--table", write("bad.ctt", bytes)}), 5, "bad.ctt");
}

}  // namespace
}  // namespace colltune::testing
