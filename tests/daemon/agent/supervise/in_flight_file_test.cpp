// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/supervise/in_flight_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <utility>

#include "colltune/flight/flight_recorder.h"
#include "colltune/vocabulary/error.h"
#include "temporary_folder.h"

namespace colltune {
namespace {

using testing::SizeIs;

class InFlightFileTest : public testing::Test {
 protected:
  literals::TemporaryFolder folder_;
  std::filesystem::path path_ = InFlightFile::path_for(folder_ / "tuning.db");
};

TEST_F(InFlightFileTest, LiesBesideTheDatabase) {
  EXPECT_EQ(path_, folder_ / "tuning.db.in-flight");
}

TEST_F(InFlightFileTest, ShowsReadersWhatRanksWrote) {
  InFlightFile first = InFlightFile::create(path_, 3);
  InFlightFile second = InFlightFile::join(path_);
  FlightRecorder recorder(first.record(0), 10);
  FlightRecorder other(second.record(2), 12);
  recorder.enter({.activity = "batch", .variant = "a{}"});
  first.set_sweep("11111111-2222-3333-4444-555555555555");
  first.set_state(LaunchState::running);

  const auto reader = InFlightFile::open(path_);
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->sweep_uuid(), "11111111-2222-3333-4444-555555555555");
  EXPECT_EQ(reader->state(), LaunchState::running);
  EXPECT_EQ(reader->identity(), first.identity());
  const auto board = read_board(reader->board());
  ASSERT_THAT(board, SizeIs(2));
  EXPECT_EQ(board[0].rank, 10);
  EXPECT_EQ(board[0].current()->variant.view(), "a{}");
  EXPECT_EQ(board[1].rank, 12);
  EXPECT_EQ(board[1].current(), nullptr);
}

TEST_F(InFlightFileTest, KnowsTheHostsOfTheLaunch) {
  const std::vector<LaunchHost> hosts{{"lab0", "0, 1"},
                                      {.name = "lab1", .ranks = "2, 3", .witness_port = 65535}};
  InFlightFile file = InFlightFile::create(path_, 2, hosts);
  FlightRecorder last(file.record(1), 1);
  last.enter({.activity = "batch"});
  const auto reader = InFlightFile::open(path_);
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->hosts(), hosts);
  EXPECT_THAT(read_board(reader->board()), SizeIs(1));
  EXPECT_EQ(InFlightFile::create(path_, 1).hosts(), std::vector<LaunchHost>{});
}

TEST_F(InFlightFileTest, IsAnotherFileAfterItWasReplaced) {
  InFlightFile old = InFlightFile::create(path_, 1);
  old.set_state(LaunchState::finished);
  const auto reader = InFlightFile::open(path_);
  const InFlightFile fresh = InFlightFile::create(path_, 2);
  EXPECT_FALSE(reader->identity() == fresh.identity());
  EXPECT_EQ(reader->state(), LaunchState::finished);
  EXPECT_EQ(fresh.state(), LaunchState::starting);
  EXPECT_EQ(fresh.sweep_uuid(), "");
}

TEST_F(InFlightFileTest, RefusesRecordsThatItLacks) {
  InFlightFile file = InFlightFile::create(path_, 2);
  EXPECT_THROW((void)file.record(2), Error);
  EXPECT_THROW((void)file.record(-1), Error);
  EXPECT_THROW((void)InFlightFile::create(path_, 0), Error);
}

TEST_F(InFlightFileTest, SaysWhereItCannotBeCreated) {
  try {
    (void)InFlightFile::create(folder_ / "missing" / "x.in-flight", 1);
    FAIL() << "created in a folder that is not there";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::failed_precondition);
    EXPECT_THAT(error.what(), testing::HasSubstr("missing/x.in-flight"));
  }
}

TEST_F(InFlightFileTest, AFullDiskIsAnErrorAtCreation) {
  rlimit usual{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &usual), 0);
  const auto former = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = usual;
  small.rlim_cur = 4096;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  StatusCode code{};
  try {
    (void)InFlightFile::create(path_, 1);
  } catch (const Error& error) {
    code = error.code();
  }
  setrlimit(RLIMIT_FSIZE, &usual);
  std::signal(SIGXFSZ, former);
  EXPECT_EQ(code, StatusCode::resource_exhausted);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(InFlightFileTest, ALinkInThePlaceOfItsDraftIsNotFollowed) {
  std::ofstream(folder_ / "victim") << "precious";
  std::filesystem::create_symlink(folder_ / "victim",
                                  path_.string() + "." + std::to_string(getpid()));
  EXPECT_NO_THROW((void)InFlightFile::create(path_, 1));
  EXPECT_EQ(std::filesystem::file_size(folder_ / "victim"), 8U);
  EXPECT_FALSE(std::filesystem::is_symlink(path_));
}

TEST_F(InFlightFileTest, IsNotOpenedWhereItIsNoneOfOurs) {
  EXPECT_FALSE(InFlightFile::open(path_));
  EXPECT_THROW((void)InFlightFile::join(path_), Error);
  std::ofstream(path_) << "something else";
  EXPECT_FALSE(InFlightFile::open(path_));
  std::filesystem::remove(path_);
  std::ofstream(path_) << std::string(100'000, 'x');
  EXPECT_FALSE(InFlightFile::open(path_));
  std::filesystem::remove(path_);
  { const auto whole = InFlightFile::create(path_, 2); }
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 1000);
  EXPECT_FALSE(InFlightFile::open(path_));
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_FALSE(InFlightFile::open(path_));
}

}  // namespace
}  // namespace colltune
