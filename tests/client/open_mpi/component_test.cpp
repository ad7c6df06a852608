// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// Programs that know nothing of colltune, launched with a table in which kernels of ours win
// everywhere.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "component_fixture.h"
#include "support/full_run.h"

namespace colltune::testing {
namespace {

using test::is_full_run;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class RandomPrograms : public Component, public ::testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, RandomPrograms, ::testing::Values(2, 3, 4, 8));

TEST_P(RandomPrograms, GetWhatTheLibraryWouldGiveThem) {
  const std::string calls = is_full_run() ? "100000" : GetParam() > 4 ? "300" : "600";
  for (const int seed : {1, 2}) {
    const Ended ended = run(with(with(launch(GetParam()), on(seed)),
                                 {RANDOM_PROGRAM, calls, std::to_string(10 * seed + GetParam())}));
    EXPECT_EQ(ended.code, 0) << ended.out << ended.errors;
    EXPECT_THAT(ended.out, HasSubstr(calls + " calls, right"));
    EXPECT_THAT(ended.errors, HasSubstr(" ran by generation 1, table "));
    EXPECT_THAT(ended.errors, Not(HasSubstr(": 0 calls on")));
  }
}

TEST_F(Component, ServesFortranByAllItsBindings) {
  for (const std::string program : {FORTRAN_PROGRAMS}) {
    if (program.empty()) GTEST_SKIP() << "there is no Fortran compiler of MPI";
    const Ended ended = run(with(with(launch(3), on()), {program}));
    EXPECT_EQ(ended.code, 0) << program << ended.out << ended.errors;
    EXPECT_THAT(ended.out, HasSubstr("all right"));
    for (const char* ran : {"cpu.broadcast", "cpu.all_gather", "cpu.all_reduce", "cpu.gather"})
      EXPECT_THAT(ended.errors, HasSubstr(ran));
  }
}

class RandomFortran : public Component, public ::testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, RandomFortran, ::testing::Values(2, 3, 4, 8));

TEST_P(RandomFortran, GetsWhatTheLibraryWouldGiveIt) {
  const std::string calls = is_full_run() ? "100000" : "200";
  for (const std::string& program : random_fortran_programs(GetParam())) {
    if (program.empty()) GTEST_SKIP() << "there is no Fortran compiler of MPI";
    const Ended ended =
        run(with(with(launch(GetParam()), on()), {program, calls, std::to_string(GetParam())}));
    EXPECT_EQ(ended.code, 0) << program << ended.out << ended.errors;
    EXPECT_THAT(ended.out, HasSubstr(calls + " calls, right"));
    expect_kernels_of_all_collectives(ended, program);
  }
}

// They would see what a kernel gets wrong.
TEST_F(Component, RandomFortranNamesTheFirstWrongValue) {
  for (const std::string program : {RANDOM_FORTRAN_PROGRAMS}) {
    if (program.empty()) GTEST_SKIP() << "there is no Fortran compiler of MPI";
    const Ended ended = run(with(with(launch(2), on()), {program, "200", "7", "spoiled=100"}));
    EXPECT_NE(ended.code, 0) << program;
    EXPECT_THAT(ended.out, ContainsRegex("seed 7, call 1[0-9][0-9]: what was received, place 1 is "
                                         "[^,]*, not [^;]*; MPI_[^,]*, type [1-3], "));
  }
}

TEST_F(Component, SpawnedProcessesAndTheirParentsGetRightResults) {
  const Ended ended =
      run(with(with(launch(2), on()), {EDGE_PROGRAM, "spawn", EDGE_PROGRAM, "spawned"}));
  EXPECT_EQ(ended.code, 0) << ended.out << ended.errors;
  EXPECT_THAT(ended.out, HasSubstr("spawn: right"));
  EXPECT_THAT(ended.out, HasSubstr("spawned: right"));
  EXPECT_THAT(ended.errors, HasSubstr(" ran by generation 1, table "));
}

TEST_F(Component, ServesPython) {
  const std::vector<std::string> program{PYTHON_PROGRAM};
  if (program.front().empty()) GTEST_SKIP() << "no Python with mpi4py and numpy for this MPI";
  for (const int ranks : {2, 3}) {
    const Ended ended = run(with(with(launch(ranks), on()), program));
    EXPECT_EQ(ended.code, 0) << ended.out << ended.errors;
    EXPECT_THAT(ended.out, HasSubstr("mpi4py: right"));
    expect_kernels_of_all_collectives(ended, "mpi4py");
  }
}

TEST_F(Component, LetsTheLibraryGoOnWhileARankWaits) {
  const Ended ended = run(with(with(launch(2), on()), {EDGE_PROGRAM, "progress"}));
  EXPECT_EQ(ended.code, 0) << ended.out << ended.errors;
  EXPECT_THAT(ended.errors, HasSubstr("cpu.all_reduce"));
}

TEST_F(Component, WaitsForARankHoweverLate) {
  const std::string seconds = is_full_run() ? "60" : "1";
  const Ended ended = run(with(with(launch(3), on()), {EDGE_PROGRAM, "stopped", seconds}));
  EXPECT_EQ(ended.code, 0) << ended.out << ended.errors;
  EXPECT_THAT(ended.out, HasSubstr("stopped: right"));
}

TEST_F(Component, ReportsHowLongCallsTook) {
  // By kernels of ours, and by the library.
  for (const char* const numerics : {"any", "library"}) {
    const Ended ended = run(with(with(with(launch(3), on()), set("COLLTUNE_NUMERICS", numerics)),
                                 {EDGE_PROGRAM, "late"}));
    EXPECT_EQ(ended.code, 0) << ended.out << ended.errors;
    double late = 0;
    double all = 0;
    ASSERT_EQ(std::sscanf(ended.out.c_str(), "late %lf all %lf", &late, &all), 2) << ended.out;
    double ours = 0;
    double library = 0;
    const std::string::size_type times = ended.errors.find("waits for others included: ");
    ASSERT_NE(times, std::string::npos) << ended.errors;
    ASSERT_EQ(std::sscanf(ended.errors.c_str() + times,
                          "waits for others included: %lf ms in ours, %lf ms in the library's",
                          &ours, &library),
              2)
        << ended.errors;
    EXPECT_GT(ours + library, late / 2) << ended.errors;
    EXPECT_LT(ours + library, all + 0.01) << ended.errors;
    EXPECT_THAT(ended.errors, HasSubstr("Estimated from 6 calls that were timed"));
    if (std::string(numerics) == "library") {
      EXPECT_EQ(ours, 0);
    }
  }
}

TEST_F(Component, LeavesAKilledRankToTheLauncher) {
  const Ended ended = run(with(with(launch(3), on()), {EDGE_PROGRAM, "killed"}));
  EXPECT_NE(ended.code, 0);
  EXPECT_LT(ended.took, std::chrono::seconds(10));
}

TEST_F(Component, NamesBothSidesOfCallsThatDiffer) {
  const Ended ended = run(with(with(launch(2), on()), {EDGE_PROGRAM, "mismatch"}));
  EXPECT_NE(ended.code, 0);
  EXPECT_THAT(ended.errors, HasSubstr("the ranks of a communicator make different calls"));
  EXPECT_THAT(ended.errors, HasSubstr("rank 0 all_gather of 8192 bytes"));
  EXPECT_THAT(ended.errors, HasSubstr("rank 1 all_reduce f32 sum of 4096 bytes"));
}

// Such calls are not counted without a report, but written down as any other.
TEST_F(Component, NamesBothSidesWhereOneRepeatsCallsOfTheLibrary) {
  for (const char* const report : {"0", "1"}) {
    const Ended ended = run(with(with(with(launch(2), on()), set("COLLTUNE_REPORT", report)),
                                 {EDGE_PROGRAM, "mismatch_of_left"}));
    EXPECT_NE(ended.code, 0);
    EXPECT_THAT(ended.errors, HasSubstr("the ranks of a communicator make different calls"));
    EXPECT_THAT(ended.errors, HasSubstr("rank 0 all_reduce f32 sum of 4096 bytes"));
    EXPECT_THAT(ended.errors, HasSubstr("rank 1 all_reduce u64 sum of 512 bytes"));
  }
}

TEST_F(Component, KeepsNothingOfCommunicatorsThatAreFreed) {
  const std::string number = is_full_run() ? "10000" : "400";
  const Ended ended = run(with(with(launch(2), on()), {EDGE_PROGRAM, "communicators", number}));
  EXPECT_EQ(ended.code, 0) << ended.out << ended.errors;
}

TEST_F(Component, LetsProgramsStartChildren) {
  const Ended ended = run(with(with(launch(2), on()), {EDGE_PROGRAM, "children"}));
  EXPECT_EQ(ended.code, 0) << ended.out << ended.errors;
}

TEST_F(Component, ServesTwoThreadsOnTwoCommunicators) {
  const Ended ended = run(with(with(launch(2), on()), {EDGE_PROGRAM, "threads"}));
  EXPECT_EQ(ended.code, 0) << ended.out << ended.errors;
}

TEST_F(Component, ServesAProgramWithSessionsOfMpisTools) {
  const Ended ended = run(with(with(launch(2), on()), {EDGE_PROGRAM, "tool"}));
  EXPECT_EQ(ended.code, 0) << ended.out << ended.errors;
  EXPECT_THAT(ended.errors, HasSubstr(" ran by generation 1, table "));
}

TEST_F(Component, LeavesErrorsToTheLibrary) {
  const Ended ended = run(with(with(launch(2), on()), {EDGE_PROGRAM, "errors"}));
  EXPECT_EQ(ended.code, 0) << ended.out << ended.errors;
}

TEST_F(Component, IsSilentWithoutATable) {
  const Ended ended = run(with(with(launch(2), {"--mca", "mca_base_component_path",
                                                COMPONENT_FOLDER ":SYSTEM_DEFAULT:USER_DEFAULT"}),
                               {EDGE_PROGRAM, "children"}));
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.errors, Not(HasSubstr("colltune")));
}

TEST_F(Component, RefusesSettingsThatAreNone) {
  const auto errors_with = [&](const std::string& name, const std::string& value) {
    const Ended ended =
        run(with(with(with(launch(2), on()), set(name, value)), {EDGE_PROGRAM, "children"}));
    EXPECT_EQ(ended.code, 0) << name << ended.errors;
    EXPECT_THAT(ended.errors, HasSubstr("the library's own collectives run"));
    EXPECT_THAT(ended.errors, Not(HasSubstr(" ran by ")));
    return ended.errors;
  };
  EXPECT_THAT(errors_with("COLLTUNE_MEMORY", "much"),
              HasSubstr("COLLTUNE_MEMORY=much must be a size"));
  EXPECT_THAT(errors_with("COLLTUNE_NUMERICS", "mine"),
              HasSubstr("COLLTUNE_NUMERICS=mine must be library, any, same_bits, rank_order"));
  for (const char* wrong : {"1.5", "-1", "3600001", "5ms"})
    EXPECT_THAT(errors_with("COLLTUNE_PATIENCE", wrong),
                HasSubstr(std::string("COLLTUNE_PATIENCE=") + wrong +
                          " must be a number of milliseconds from 0 to 3600000"));
  EXPECT_THAT(errors_with("COLLTUNE_REPORT", "yes"),
              HasSubstr("COLLTUNE_REPORT=yes must be 0 or 1"));
  EXPECT_THAT(errors_with("COLLTUNE_TABLE_DIGEST", "123456"),
              HasSubstr("not COLLTUNE_TABLE_DIGEST=123456"));
  EXPECT_THAT(errors_with("COLLTUNE_TABLE", "/nowhere/table"), HasSubstr("/nowhere/table"));
}

TEST_F(Component, RunsWithinItsMemory) {
  const Ended ended = run(with(with(with(launch(4), on()), set("COLLTUNE_MEMORY", "256KiB")),
                               {RANDOM_PROGRAM, "500", "3"}));
  EXPECT_EQ(ended.code, 0) << ended.out << ended.errors;
  EXPECT_THAT(ended.errors, HasSubstr("would exceed the limit of 256KiB"));
}

TEST_F(Component, LeavesFloatsToTheLibraryWhereItsOrderIsDemanded) {
  const Ended ended = run(with(with(with(launch(3), on()), set("COLLTUNE_NUMERICS", "library")),
                               {EDGE_PROGRAM, "children"}));
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.errors, HasSubstr("its order of adding would not be the library's"));
  EXPECT_THAT(ended.errors, HasSubstr("calls left to the library: all_reduce"));
  EXPECT_THAT(ended.errors, Not(HasSubstr("less  cpu.all_reduce")));
}

TEST_F(Component, RunsTheNextBestUnlessTheLibraryFollowsRules) {
  const TemporaryFolder folder;
  const std::string table = folder.file("table");
  ASSERT_EQ(run({PLANTED_TABLE, table, "1", "library_wins", "1x2"}).code, 0);
  const std::vector<std::string> with_table =
      with(with(launch(2), on()), set("COLLTUNE_TABLE", table));
  const Ended next = run(with(with_table, {RANDOM_PROGRAM, "500", "3"}));
  EXPECT_EQ(next.code, 0) << next.out << next.errors;
  EXPECT_THAT(next.out, HasSubstr("500 calls, right"));
  EXPECT_THAT(next.errors, HasSubstr(" less  cpu.all_reduce"));
  const Ended ruled = run(
      with(with_table, {"--mca", "coll_tuned_use_dynamic_rules", "1", RANDOM_PROGRAM, "500", "3"}));
  EXPECT_EQ(ruled.code, 0) << ruled.out << ruled.errors;
  EXPECT_THAT(ruled.errors, HasSubstr("mpi.all_reduce_tuned{algorithm=linear} of all_reduce f32: "
                                      "no kernel of ours"));
  EXPECT_THAT(ruled.errors, HasSubstr("nothing of the table runs there"));
}

TEST_F(Component, StandsBackWhereNotAllRanksHaveIt) {
  // Two programs in one launch: one of them has no table.
  const Ended ended = run(with(with(with(launch(1), on()), {EDGE_PROGRAM, "children", ":", "-n",
                                                            "1", EDGE_PROGRAM, "children"}),
                               {}));
  EXPECT_EQ(ended.code, 0) << ended.out << ended.errors;
  EXPECT_THAT(ended.errors, HasSubstr("not all ranks of a communicator run with colltune"));
  // Both have one, with unlike settings.
  const Ended unlike =
      run(with(with(with(launch(1), on()), {EDGE_PROGRAM, "children", ":", "-n", "1"}),
               with(with(set("COLLTUNE_TABLE", table(1)), set("COLLTUNE_MEMORY", "1MiB")),
                    {EDGE_PROGRAM, "children"})));
  EXPECT_EQ(unlike.code, 0) << unlike.out << unlike.errors;
  EXPECT_THAT(unlike.errors, HasSubstr("the same settings"));
}

// A communicator is worth its set-up only once its ranks have spent as long in collectives.
TEST_F(Component, CommunicatorsThatAreHardlyUsedAreNotSetUp) {
  const auto report_with = [](const char* patience, const std::string& calls) {
    const Ended ended = run(with(with(with(launch(2), on()), set("COLLTUNE_PATIENCE", patience)),
                                 {RANDOM_PROGRAM, calls, "5"}));
    EXPECT_EQ(ended.code, 0) << ended.errors;
    EXPECT_THAT(ended.out, HasSubstr(calls + " calls, right"));
    return ended.errors;
  };
  EXPECT_THAT(report_with("3600000", "300"), HasSubstr("no communicator was set up"));
  // The slowest of 3,000 random calls alone takes longer.
  EXPECT_THAT(report_with("1", "3000"), HasSubstr(" ran by generation 1, table "));
}

/// What is written in C++ is loaded at the first set-up.
class LateBridge : public Component {
 protected:
  /// A folder of the component's, with something else in the place of the library that it loads.
  static std::string without_library(const TemporaryFolder& folder) {
    const std::string component = "mca_coll_colltune.so";
    std::filesystem::create_symlink(std::filesystem::path(COMPONENT_FOLDER) / component,
                                    folder.file(component));
    std::ofstream(folder.file("libcolltune_bridge.so")) << "no library";
    return std::filesystem::path(folder.file("x")).parent_path().string();
  }
  /// What switches the component of a folder on, of some ranks of a launch.
  static std::vector<std::string> on_in(const std::string& folder) {
    const std::string path = folder + ":SYSTEM_DEFAULT:USER_DEFAULT";
    return with(with(set("COLLTUNE_TABLE", table(1)), set("COLLTUNE_REPORT", "1")),
                with(set("COLLTUNE_PATIENCE", ""), set("OMPI_MCA_mca_base_component_path", path)));
  }
  static constexpr const char* most = "60000";  // ms; programs end once the library is loaded
};

TEST_F(LateBridge, IsNotLoadedByAShortProgram) {
  const TemporaryFolder folder;
  const Ended ended = run(
      with(with(launch(2), on_in(without_library(folder))), {EDGE_PROGRAM, "until_loaded", "0"}));
  EXPECT_EQ(ended.code, 0) << ended.errors;
  EXPECT_THAT(ended.errors, Not(HasSubstr("cannot be loaded")));
  EXPECT_THAT(ended.errors, HasSubstr("report of rank 0: no communicator was set up"));
}

TEST_F(LateBridge, IsLoadedWhereItPays) {
  const Ended ended =
      run(with(with(launch(2), on_in(COMPONENT_FOLDER)), {EDGE_PROGRAM, "until_loaded", most}));
  EXPECT_EQ(ended.code, 0) << ended.errors;
  EXPECT_THAT(ended.errors, HasSubstr(" ran by generation 1, table "));
}

TEST_F(LateBridge, ThatARankCannotLoadServesNone) {
  const TemporaryFolder folder;
  const Ended ended =
      run(with(with(with(launch(1), on_in(COMPONENT_FOLDER)),
                    {EDGE_PROGRAM, "until_loaded", most, ":", "-n", "1"}),
               with(on_in(without_library(folder)), {EDGE_PROGRAM, "until_loaded", most})));
  EXPECT_EQ(ended.code, 0) << ended.errors;
  EXPECT_THAT(ended.errors, HasSubstr("/libcolltune_bridge.so cannot be loaded: "));
  EXPECT_THAT(ended.errors, HasSubstr("not all ranks of a communicator could load the same build"));
  EXPECT_THAT(ended.errors, HasSubstr("report of rank 0: no communicator was set up"));
}

TEST_F(LateBridge, ThatIsNotThereIsSaidAtOnce) {
  const TemporaryFolder folder;
  const std::string path = without_library(folder);
  std::filesystem::remove(folder.file("libcolltune_bridge.so"));
  const Ended ended = run(with(with(launch(2), on_in(path)), {EDGE_PROGRAM, "until_loaded", "0"}));
  EXPECT_EQ(ended.code, 0) << ended.errors;
  EXPECT_THAT(ended.errors, HasSubstr("/libcolltune_bridge.so cannot be loaded: "));
}

}  // namespace
}  // namespace colltune::testing
