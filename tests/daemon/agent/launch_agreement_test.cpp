// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/launch_agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string_view>

#include "colltune/vocabulary/error.h"
#include "daemon/temporary_folder.h"

namespace colltune {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

RankSetUp rank_with(std::map<std::string, std::string> settings) {
  return {.settings = std::move(settings), .host = "a boot", .pid_namespace = "4:1"};
}

TEST(LaunchAgreement, SaysNothingOfRanksThatAreAlike) {
  EXPECT_EQ(why_unlike({rank_with({{"A", "1"}}), rank_with({{"A", "1"}})}), "");
}

TEST(LaunchAgreement, NamesTheVariableTheValuesAndTheRanks) {
  const std::string name = "OMPI_MCA_coll_tuned_allreduce_algorithm";
  EXPECT_THAT(why_unlike({rank_with({{"A", "1"}}), rank_with({{"A", "1"}, {name, "3"}}),
                          rank_with({{"A", "1"}}), rank_with({{"A", "2"}, {name, "4"}})}),
              AllOf(HasSubstr("A: '1' on ranks 0-2, '2' on rank 3"),
                    HasSubstr(name + ": not set on ranks 0,2, '3' on rank 1, '4' on rank 3")));
}

TEST(LaunchAgreement, RanksOfAHostShareAPidNamespace) {
  RankSetUp other = rank_with({});
  other.pid_namespace = "4:2";
  EXPECT_THAT(why_unlike({rank_with({}), rank_with({}), other}),
              AllOf(HasSubstr("ranks 0 and 2 run on host a in PID namespaces of their own"),
                    HasSubstr("4:1"), HasSubstr("4:2")));
  other.host = "b boot";
  EXPECT_EQ(why_unlike({rank_with({}), rank_with({}), other}), "");
}

TEST(LaunchAgreement, RefusesTheProcOfAnotherNamespace) {
  RankSetUp other = rank_with({});
  other.pid_namespace = "4:2 with the /proc of another (process 1 is 77 there)";
  EXPECT_THAT(why_unlike({other}), HasSubstr("--mount-proc"));
}

TEST(LaunchAgreement, ANamespaceMadeForOneRankIsRefusedBeforeMpi) {
  const literals::TemporaryFolder folder;
  const std::filesystem::path proc(folder / "proc");
  std::filesystem::create_directories(proc / "1");
  std::filesystem::create_symlink("7", proc / "self");
  const auto write_init = [&](std::string_view variables) {
    std::ofstream(proc / "1/environ", std::ios::binary) << variables;
  };
  const char* local_size = "2";
  const auto environment = [&](const char* name) {
    return std::string_view(name) == "OMPI_COMM_WORLD_LOCAL_SIZE" ? local_size : nullptr;
  };
  using namespace std::string_view_literals;
  write_init("HOME=/\0TERM=linux\0"sv);
  EXPECT_EQ(why_alone(environment, 7, proc), "");
  EXPECT_THAT(why_alone(environment, 1, proc), HasSubstr("shows another one's processes (1 is 7"));
  write_init("HOME=/\0OMPI_COMM_WORLD_RANK=1\0"sv);
  EXPECT_THAT(why_alone(environment, 7, proc), HasSubstr("a PID namespace of its own"));
  local_size = "1";
  EXPECT_EQ(why_alone(environment, 7, proc), "") << "nobody is there to be reached";
}

TEST(LaunchAgreement, IsFoundPointToPointOnAllRanks) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const auto soon = std::chrono::steady_clock::now() + 60s;
  EXPECT_EQ(compare_ranks(MPI_COMM_WORLD, describe_rank({{"A", "1"}}), soon), "");
  const bool is_last = rank == size - 1;
  const std::string why =
      compare_ranks(MPI_COMM_WORLD, describe_rank({{"A", is_last ? "2" : "1"}}), soon);
  if (size == 1)
    EXPECT_EQ(why, "");
  else
    EXPECT_THAT(why, HasSubstr("'2' on rank " + std::to_string(size - 1)));
}

TEST(LaunchAgreement, NamesWhoDoesNotComeInTime) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size < 2) GTEST_SKIP() << "needs a rank that is late";
  MPI_Comm world = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &world);
  if (rank == 0) {
    try {
      (void)compare_ranks(world, describe_rank({}), std::chrono::steady_clock::now() + 100ms);
      ADD_FAILURE() << "no Error was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::deadline_exceeded);
      EXPECT_THAT(error.what(), HasSubstr("rank 1 did not say in time"));
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm_free(&world);
}

}  // namespace
}  // namespace colltune
