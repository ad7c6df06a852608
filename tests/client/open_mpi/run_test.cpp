// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// `colltune run`: a launch whose programs run the winners.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "component_fixture.h"

namespace colltune::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class RunLaunches : public Component {
 protected:
  [[nodiscard]] std::vector<std::string> tuned(const std::vector<std::string>& options = {}) const {
    return with(
        with({COLLTUNE_PROGRAM, "run", "--table", table(1), "--files", folder_.file("files")},
             options),
        {"--"});
  }
  TemporaryFolder folder_;
};

TEST_F(RunLaunches, AProgramRunsTheWinnersAndSaysWhatTheyWereWorth) {
  const Ended ended = run(with(with(tuned(), launch(2)), {RANDOM_PROGRAM, "300", "5"}));
  EXPECT_EQ(ended.code, 0) << ended.errors;
  EXPECT_THAT(ended.out, HasSubstr("300 calls, right"));
  EXPECT_THAT(ended.errors, HasSubstr("colltune run: Open MPI runs colltune's kernels"));
  EXPECT_THAT(ended.errors, HasSubstr("ms less than the library's own"));
  EXPECT_THAT(ended.errors, HasSubstr(" ran by generation 1, table "));
}

TEST_F(RunLaunches, TheUsersOwnSettingsSurvive) {
  const std::vector<std::string> show{
      "sh", "-c",
      "echo $OWN; echo $OMPI_MCA_btl_vader_eager_limit; echo report "
      "$OMPI_MCA_coll_colltune_report"};
  const Ended ended = run(with(with(with(tuned({"--quiet"}), launch(1)),
                                    {"-x", "OWN=mine", "--mca", "btl_vader_eager_limit", "8192"}),
                               show));
  EXPECT_EQ(ended.code, 0) << ended.errors;
  EXPECT_EQ(ended.out, "mine\n8192\nreport\n");
  EXPECT_EQ(ended.errors, "");
}

TEST_F(RunLaunches, SeveralProgramsOfOneLaunchAreServed) {
  auto command = with(with(tuned(), launch(1)), {RANDOM_PROGRAM, "200", "7", ":", "-n", "1"});
  const Ended ended = run(with(command, {RANDOM_PROGRAM, "200", "7"}));
  EXPECT_EQ(ended.code, 0) << ended.errors;
  EXPECT_THAT(ended.errors, HasSubstr(" ran by generation 1, table "));
  EXPECT_THAT(ended.errors, Not(HasSubstr(": 0 calls on")));
}

TEST_F(RunLaunches, ExitCodesAndSignalsAreTheCommands) {
  EXPECT_EQ(run(with(tuned(), {"sh", "-c", "exit 7"})).code, 7);
  EXPECT_EQ(run(with(tuned(), {"sh", "-c", "kill -TERM $$"})).code, -SIGTERM);
  const Ended none = run(with(tuned(), {"/no/such/program"}));
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.errors, HasSubstr("'/no/such/program' cannot be started: No such file"));
}

TEST_F(RunLaunches, ComparesWithAndWithout) {
  const std::string show = "echo ${OMPI_MCA_coll_colltune_table:+with}";
  const Ended ended = run(with(tuned({"--ab", "3"}), {"sh", "-c", show}));
  EXPECT_EQ(ended.code, 0) << ended.errors;
  EXPECT_EQ(ended.out, "with\n\n\nwith\nwith\n\n") << "the first of each pair changes";
  EXPECT_THAT(ended.errors, HasSubstr("s without, "));
  EXPECT_THAT(ended.errors,
              HasSubstr("in the median of 3 pairs of launches (too few for an interval; "
                        "all: "));
  EXPECT_THAT(run(with(tuned({"--ab", "6", "--quiet"}), {"true"})).errors,
              HasSubstr("in the median of 6 pairs of launches (95 %: "));
}

TEST_F(RunLaunches, ComparesNothingWhereALaunchFails) {
  const Ended ended = run(with(tuned({"--ab", "2"}), {"sh", "-c", "exit 9"}));
  EXPECT_EQ(ended.code, 9);
  EXPECT_THAT(ended.errors,
              HasSubstr("launch 1 of 4 (with colltune) ended with 9; nothing is compared"));
}

// A scheduler tells the process that it started.
TEST_F(RunLaunches, PassesSignalsOnWhileItCompares) {
  const std::string started = folder_.file("started");
  const pid_t pid = start_process(
      with(tuned({"--ab", "2"}),
           {"sh", "-c", "trap 'exit 5' TERM; : > " + started + "; while :; do sleep 0.05; done"}),
      folder_.file("out"), folder_.file("errors"));
  while (!std::filesystem::exists(started)) std::this_thread::yield();
  ::kill(pid, SIGTERM);
  EXPECT_EQ(wait_for_process(pid), 5);
  EXPECT_THAT(read_file(folder_.file("errors")), HasSubstr("ended with 5; nothing is compared"));
}

}  // namespace
}  // namespace colltune::testing
