// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// Programs that know nothing of colltune, launched under the preloaded library with a table in
// which kernels of ours win everywhere.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "../programs/launches.h"
#include "support/full_run.h"

namespace colltune::testing {
namespace {

using test::is_full_run;
using ::testing::HasSubstr;
using ::testing::Not;

class Preload : public Launches {
 protected:
  /// What starts a rank's program under the library; `behind`: another library to preload.
  static std::vector<std::string> under(int seed = 1, const std::string& behind = {}) {
    return {"/usr/bin/env", "LD_PRELOAD=" PRELOADED + (behind.empty() ? "" : ":" + behind),
            "COLLTUNE_TABLE=" + table(seed), "COLLTUNE_REPORT=1"};
  }
  static std::vector<std::string> random_program(const std::string& calls, int seed) {
    return with({RANDOM_PROGRAM, calls, std::to_string(seed)}, {RANDOM_OPTIONS});
  }
  static Ended run_under(int ranks, const std::vector<std::string>& program, int seed = 1) {
    return run(with(with(launch(ranks), under(seed)), program));
  }
};

class PreloadedRandomPrograms : public Preload, public ::testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, PreloadedRandomPrograms, ::testing::Values(2, 3, 4, 8));

TEST_P(PreloadedRandomPrograms, GetWhatTheLibraryWouldGiveThem) {
  const std::string calls = is_full_run() ? "100000" : GetParam() > 4 ? "200" : "600";
  const Ended ended = run_under(GetParam(), random_program(calls, GetParam()), GetParam() % 2);
  EXPECT_EQ(ended.code, 0) << ended.out << ended.errors;
  EXPECT_THAT(ended.out, HasSubstr(calls + " calls, right"));
  EXPECT_THAT(ended.errors, HasSubstr(" ran by generation 1, table "));
  EXPECT_THAT(ended.errors, Not(HasSubstr(": 0 calls on")));
}

TEST_F(Preload, OneRankRunsTheLibrarysOwn) {
  const Ended ended = run_under(1, with(random_program("100", 1), {"without-windows"}));
  EXPECT_EQ(ended.code, 0) << ended.out << ended.errors;
  EXPECT_THAT(ended.out, HasSubstr("100 calls, right"));
}

TEST_F(Preload, ServesFortranByAllItsBindings) {
  for (const std::string program : {FORTRAN_PROGRAMS}) {
    if (program.empty()) GTEST_SKIP() << "there is no Fortran compiler of MPI";
    const Ended ended = run_under(3, {program});
    EXPECT_EQ(ended.code, 0) << program << ended.out << ended.errors;
    EXPECT_THAT(ended.out, HasSubstr("all right"));
    for (const char* ran : {"cpu.broadcast", "cpu.all_gather", "cpu.all_reduce", "cpu.gather"})
      EXPECT_THAT(ended.errors, HasSubstr(ran)) << program;
  }
}

class PreloadedRandomFortran : public Preload, public ::testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, PreloadedRandomFortran, ::testing::Values(2, 3, 4, 8));

TEST_P(PreloadedRandomFortran, GetsWhatTheLibraryWouldGiveIt) {
  const std::string calls = is_full_run() ? "100000" : "200";
  for (const std::string& program : random_fortran_programs(GetParam())) {
    if (program.empty()) GTEST_SKIP() << "there is no Fortran compiler of MPI";
    const Ended ended =
        run_under(GetParam(), with({program, calls, std::to_string(GetParam())}, {RANDOM_OPTIONS}));
    EXPECT_EQ(ended.code, 0) << program << ended.out << ended.errors;
    EXPECT_THAT(ended.out, HasSubstr(calls + " calls, right"));
    expect_kernels_of_all_collectives(ended, program);
  }
}

TEST_F(Preload, ProgramsAtTheEdges) {
  for (const std::vector<std::string>& what : {std::vector<std::string>{"progress"},
                                               {"stopped", "1"},
                                               {"communicators", "400"},
                                               {"children"},
                                               {"threads"},
                                               {"errors"}}) {
    const Ended ended = run_under(2, with({EDGE_PROGRAM}, what));
    EXPECT_EQ(ended.code, 0) << what.front() << ended.out << ended.errors;
    EXPECT_THAT(ended.out, HasSubstr(what.front() + ": right"));
    EXPECT_THAT(ended.errors, HasSubstr(" ran by generation 1, table ")) << what.front();
  }
}

TEST_F(Preload, NamesBothSidesOfCallsThatDiffer) {
  const Ended ended = run_under(2, {EDGE_PROGRAM, "mismatch"});
  EXPECT_NE(ended.code, 0);
  EXPECT_THAT(ended.errors, HasSubstr("the ranks of a communicator make different calls"));
}

TEST_F(Preload, NamesBothSidesWhereOneRepeatsCallsOfTheLibrary) {
  const Ended ended =
      run_under(2, {"/usr/bin/env", "COLLTUNE_REPORT=0", EDGE_PROGRAM, "mismatch_of_left"});
  EXPECT_NE(ended.code, 0);
  EXPECT_THAT(ended.errors, HasSubstr("rank 0 all_reduce f32 sum of 4096 bytes"));
  EXPECT_THAT(ended.errors, HasSubstr("rank 1 all_reduce u64 sum of 512 bytes"));
}

TEST_F(Preload, LeavesAKilledRankToTheLauncher) {
  const Ended ended = run_under(3, {EDGE_PROGRAM, "killed"});
  EXPECT_NE(ended.code, 0);
}

TEST_F(Preload, WrongCallsReturnTheLibrarysErrors) {
  const std::vector<std::string> wrong = with({WRONG_CALLS}, {WRONG_OPTIONS});
  const Ended without = run(with(launch(2), wrong));
  const Ended ended = run_under(2, wrong);
  EXPECT_EQ(without.code, 0) << without.errors;
  EXPECT_EQ(ended.code, 0) << ended.errors;
  EXPECT_EQ(ended.out, without.out);
  EXPECT_THAT(ended.out, HasSubstr("sum right"));
  EXPECT_THAT(ended.errors, HasSubstr("cpu.all_reduce"));
}

TEST_F(Preload, ProgramsWithoutMpiAreLeftAlone) {
  for (const std::vector<std::string>& program :
       {std::vector<std::string>{"/bin/true"}, {"/bin/sh", "-c", "exec /bin/true"}}) {
    const Ended ended = run(with(under(), program));
    EXPECT_EQ(ended.code, 0);
    EXPECT_EQ(ended.errors, "");
  }
  const Ended shell = run(with(with(launch(2), under()), {"sh", "-c", "exit 0"}));
  EXPECT_EQ(shell.code, 0);
  EXPECT_EQ(shell.errors, "");
}

TEST_F(Preload, IsSilentWithoutATable) {
  const Ended ended =
      run(with(launch(2), {"env", "LD_PRELOAD=" PRELOADED, EDGE_PROGRAM, "children"}));
  EXPECT_EQ(ended.code, 0) << ended.out;
  EXPECT_THAT(ended.errors, Not(HasSubstr("colltune")));
}

// Spawned processes find each other by the launcher's names of another launch; those that spawned
// them are none of their ranks.
TEST_F(Preload, SpawnedProcessesAndTheirParentsGetRightResults) {
  if (!CAN_SPAWN) GTEST_SKIP() << "this MPI cannot spawn processes, without us either";
  for (const bool has_children_under : {true, false}) {
    const std::vector<std::string> child{EDGE_PROGRAM, "spawned"};
    const Ended ended = run_under(
        2, with({EDGE_PROGRAM, "spawn"}, has_children_under ? with(under(), child) : child));
    EXPECT_EQ(ended.code, 0) << ended.out << ended.errors;
    EXPECT_THAT(ended.out, HasSubstr("spawn: right"));
    EXPECT_THAT(ended.out, HasSubstr("spawned: right"));
    EXPECT_THAT(ended.errors, HasSubstr(" ran by generation 1, table ")) << "of the parents";
  }
}

TEST_F(Preload, SessionsAreLeftToTheLibrary) {
  const std::string program = SESSION_PROGRAM;
  if (program.empty()) GTEST_SKIP() << "this MPI has no sessions";
  const Ended alone = run_under(2, {program, "alone"});
  EXPECT_EQ(alone.code, 0) << alone.out << alone.errors;
  EXPECT_EQ(alone.out, "alone: right\n");
  EXPECT_EQ(alone.errors, "");
  const Ended beside = run_under(2, {program, "beside"});
  EXPECT_EQ(beside.code, 0) << beside.out << beside.errors;
  EXPECT_EQ(beside.out, "beside: right\n");
  EXPECT_THAT(beside.errors, HasSubstr(" ran by generation 1, table "));
}

TEST_F(Preload, ServesPython) {
  const std::vector<std::string> program{PYTHON_PROGRAM};
  if (program.front().empty()) GTEST_SKIP() << "no Python with mpi4py and numpy for this MPI";
  for (const int ranks : {2, 3}) {
    const Ended ended = run_under(ranks, program);
    EXPECT_EQ(ended.code, 0) << ended.out << ended.errors;
    EXPECT_THAT(ended.out, HasSubstr("mpi4py: right"));
    expect_kernels_of_all_collectives(ended, "mpi4py");
  }
}

// A rank without colltune is not waited for, whichever it is.
TEST_F(Preload, StandsBackWhereNotAllRanksHaveIt) {
  const std::vector<std::string> program = random_program("200", 4);
  const std::vector<std::string> more{":", "-n", "1"};
  for (const bool is_first : {true, false}) {
    const auto one = with(under(), program);
    const Ended ended = run(is_first ? with(with(with(launch(2), one), more), program)
                                     : with(with(with(launch(1), program), more), one));
    EXPECT_EQ(ended.code, 0) << ended.out << ended.errors;
    EXPECT_THAT(ended.errors, HasSubstr("not all ranks of a communicator run with colltune"));
    EXPECT_THAT(ended.out, HasSubstr("200 calls, right"));
  }
}

TEST_F(Preload, StandsBackWhereSettingsDiffer) {
  const std::vector<std::string> program{EDGE_PROGRAM, "children"};
  const Ended ended = run(with(with(with(with(launch(1), under()), program), {":", "-n", "1"}),
                               with(with(under(), {"COLLTUNE_MEMORY=1MiB"}), program)));
  EXPECT_EQ(ended.code, 0) << ended.out << ended.errors;
  EXPECT_THAT(ended.errors, HasSubstr("the same settings"));
  EXPECT_THAT(ended.out, HasSubstr("children: right"));
}

TEST_F(Preload, RefusesSettingsThatAreNone) {
  const Ended ended = run_under(2, {"env", "COLLTUNE_NUMERICS=mine", EDGE_PROGRAM, "children"});
  EXPECT_EQ(ended.code, 0) << ended.out;
  EXPECT_THAT(ended.errors, HasSubstr("COLLTUNE_NUMERICS=mine must be library, any"));
}

// A tool sees all calls, and those that it passes on are served.
TEST_F(Preload, ToolsBeforeMpiKeepWorking) {
  const Ended ended =
      run(with(with(launch(2), under(1, COUNTING_TOOL)), {EDGE_PROGRAM, "children"}));
  EXPECT_EQ(ended.code, 0) << ended.out << ended.errors;
  EXPECT_THAT(ended.out, HasSubstr("tool: 40 calls"));
  EXPECT_THAT(ended.errors, HasSubstr("38 calls on 1 communicator(s) ran by generation 1"));
}

TEST_F(Preload, TheComponentForOpenMpiStandsBack) {
  if (std::string(COMPONENT_FOLDER).empty()) GTEST_SKIP() << "this build has no such component";
  const Ended ended =
      run(with(with(with(launch(2), {"--mca", "mca_base_component_path",
                                     COMPONENT_FOLDER ":SYSTEM_DEFAULT:USER_DEFAULT"}),
                    under()),
               random_program("300", 3)));
  EXPECT_EQ(ended.code, 0) << ended.out << ended.errors;
  EXPECT_THAT(ended.out, HasSubstr("300 calls, right"));
  const auto times_in_errors = [&](const std::string& text) {
    int times = 0;
    for (std::size_t at = ended.errors.find(text); at != std::string::npos;
         at = ended.errors.find(text, at + 1))
      ++times;
    return times;
  };
  EXPECT_EQ(times_in_errors("the component for Open MPI stands back"), 1) << ended.errors;
  EXPECT_EQ(times_in_errors(" ran by generation 1, table "), 1) << ended.errors;
}

TEST_F(Preload, ColltuneRunPreloads) {
  const TemporaryFolder folder;
  const std::vector<std::string> tuned{COLLTUNE_PROGRAM, "run",     "--table",           table(1),
                                       "--preload",      "--files", folder.file("files")};
  const Ended ended = run(with(with(with(tuned, {"--"}), launch(2)), random_program("200", 5)));
  EXPECT_EQ(ended.code, 0) << ended.errors;
  EXPECT_THAT(ended.out, HasSubstr("200 calls, right"));
  EXPECT_THAT(ended.errors, HasSubstr("a preloaded library runs colltune's kernels"));
  EXPECT_THAT(ended.errors, HasSubstr(" ran by generation 1, table "));
  const Ended shown =
      run(with({"/usr/bin/env", "LD_PRELOAD=libmine.so"}, with(tuned, {"--dry-run"})));
  EXPECT_THAT(shown.out, HasSubstr("export LD_PRELOAD='" PRELOADED ":libmine.so'"));
  EXPECT_THAT(shown.out, HasSubstr("export COLLTUNE_TABLE='"));
  EXPECT_THAT(shown.out, Not(HasSubstr("OMPI_MCA_coll_colltune")));
  const Ended both = run(with(tuned, {"--record", folder.file("trace"), "--", "true"}));
  EXPECT_EQ(both.code, 2);
  EXPECT_THAT(both.errors, HasSubstr("--record and --preload"));
}

// On this rests that all ranks find the same ranks present.
TEST_F(Preload, RanksMeetInMpiInit) {
  const TemporaryFolder folder;
  const Ended ended = run(with(launch(3), {MET_IN_INIT, folder.file("file"), "3"}));
  EXPECT_EQ(ended.code, 0) << ended.out << ended.errors;
}

}  // namespace
}  // namespace colltune::testing
