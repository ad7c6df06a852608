// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "colltune/export/export_csv.h"
#include "literal_decisions.h"

namespace colltune {
namespace {

using testing::decision;
using testing::ranked;
using testing::test_key;

/// A reader by RFC 4180, but for lines that end with LF. Fails the test where the text is not of
/// that form.
std::vector<std::vector<std::string>> parse(std::string_view text) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row;
  std::string field;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '"') {
      EXPECT_EQ(field, "");
      for (++at; at < text.size(); ++at) {
        if (text[at] == '"' && (at + 1 == text.size() || text[at + 1] != '"')) break;
        if (text[at] == '"') ++at;
        field += text[at];
      }
      ++at;
      EXPECT_TRUE(at < text.size() && (text[at] == ',' || text[at] == '\n')) << at;
    } else if (text[at] == ',') {
      row.push_back(std::exchange(field, {}));
      ++at;
    } else if (text[at] == '\n') {
      row.push_back(std::exchange(field, {}));
      rows.push_back(std::exchange(row, {}));
      ++at;
    } else {
      EXPECT_NE(text[at], '\r');
      field += text[at++];
    }
  }
  EXPECT_TRUE(row.empty() && field.empty()) << "the last row has no end";
  return rows;
}

class Csv : public ::testing::Test {
 protected:
  void write(std::vector<Decision> decisions) {
    Environment environment = testing::test_environment();
    environment.mpi_library = "Open MPI v4.1.4";
    rows_ = parse(
        export_csv({.generation = {.store_uuid = "s", .number = 3, .content_digest = "d"},
                    .decisions = std::move(decisions),
                    .environments = {{digest_of(testing::test_environment()), environment}}}));
    ASSERT_FALSE(rows_.empty());
    for (const auto& row : rows_) EXPECT_EQ(row.size(), rows_.front().size());
  }
  /// The field of the row (0: the first after the names) in the column of that name.
  [[nodiscard]] std::string at(std::size_t row, const std::string& name) const {
    const auto column = std::ranges::find(rows_.front(), name);
    EXPECT_NE(column, rows_.front().end()) << name;
    return rows_.at(row + 1).at(static_cast<std::size_t>(column - rows_.front().begin()));
  }
  std::vector<std::vector<std::string>> rows_;
};

TEST_F(Csv, HasARowForEachRankedVariantInTheOrderOfTheKeys) {
  RankedVariant tuned = ranked("mpi.all_reduce_tuned{algorithm=ring,segment_size=0}", 700, 1.25);
  tuned.family = "mpi";
  write({decision(test_key(4096), {ranked("cpu.one_shot", 100, 3)}),
         decision(test_key(64), {tuned, ranked("mpi.default", 1000, 1)})});
  ASSERT_EQ(rows_.size(), 4U);
  EXPECT_EQ(at(0, "message_size_bytes"), "64");
  EXPECT_EQ(at(2, "message_size_bytes"), "4096");
  EXPECT_EQ(at(0, "rank"), "1");
  EXPECT_EQ(at(1, "rank"), "2");
  EXPECT_EQ(at(0, "variant"), "mpi.all_reduce_tuned{algorithm=ring,segment_size=0}");  // a comma
  EXPECT_EQ(at(0, "variant_family"), "mpi");
  EXPECT_EQ(at(0, "family"), "any");
  EXPECT_EQ(at(0, "median_ns"), "700");
  EXPECT_EQ(at(0, "speedup_over_baseline"), "1.25");
  EXPECT_EQ(at(1, "is_baseline"), "true");
  EXPECT_EQ(at(0, "generation"), "3");
  EXPECT_EQ(at(0, "content_digest"), "d");
  EXPECT_EQ(at(0, "environment_digest"), digest_of(testing::test_environment()));
  EXPECT_EQ(at(0, "calling"), "each");
  EXPECT_EQ(at(0, "architecture"), "x86_64-avx2");
  EXPECT_EQ(at(0, "apply_by"), "environment");
  EXPECT_EQ(at(0, "apply_variables"),
            "OMPI_MCA_coll_tuned_use_dynamic_rules=1 OMPI_MCA_coll_tuned_allreduce_algorithm=4 "
            "OMPI_MCA_coll_tuned_allreduce_algorithm_segmentsize=0");
  EXPECT_EQ(at(2, "apply_by"), "component");
}

TEST_F(Csv, QuotesWhatWouldEndAField) {
  Decision odd = decision(test_key(64), {ranked("cpu.one_shot", 100, 3)});
  odd.sweep_uuid = "say \"when\",\r\nthen go";
  odd.key.problem.kind = ProblemKind::mesh_reduce;
  odd.key.problem.mesh = parse_mesh("2x1", "0:sum,1:sum");
  write({odd});
  EXPECT_EQ(at(0, "sweep_uuid"), odd.sweep_uuid);
  EXPECT_EQ(at(0, "mesh_shape"), "2x1");
  EXPECT_EQ(at(0, "mesh_steps"), "0:sum,1:sum");
}

TEST_F(Csv, WithoutDecisionsThereIsNothing) {
  try {
    (void)export_csv({});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::not_found);
  }
}

}  // namespace
}  // namespace colltune
