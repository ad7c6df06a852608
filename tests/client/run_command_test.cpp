// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// What `colltune run` sets for a launch, by --dry-run.

#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "cli_fixture.h"

namespace colltune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::Result;

/// The program in a folder of its own, beside the files that run decisions.
class RunCommand : public testing::Cli {
 protected:
  RunCommand() {
    std::filesystem::create_directories(root() + "/bin");
    std::filesystem::copy(COLLTUNE_PROGRAM, root() + "/bin/colltune");
  }
  [[nodiscard]] std::string root() const { return folder.file("installed"); }
  void install_component() const {
    std::filesystem::create_directories(root() + "/lib/openmpi");
    std::ofstream(root() + "/lib/openmpi/mca_coll_colltune.so") << "x";
  }
  void install_tuner() const {
    std::filesystem::create_directories(root() + "/lib");
    std::ofstream(root() + "/lib/libnccl-tuner-colltune.so") << "x";
  }

  [[nodiscard]] Environment environment() const {
    Environment with = testing::test_environment();
    if (!malloc.empty()) with.malloc_settings = malloc;
    with.mpi_library = "Open MPI v4.1.4";
    with.nccl_version = "2.28.3";
    return with;
  }

  [[nodiscard]] Decision decided(std::uint64_t bytes, const std::string& winner,
                                 const std::string& of, const std::string& family,
                                 Collective collective) const {
    TuningKey key = testing::test_key(bytes);
    key.problem.collective = collective;
    if (!shape_of(collective).reduces) key.problem.reduce_op = ReduceOp::none;
    key.environment_digest = digest_of(environment());
    RankedVariant first = testing::ranked(winner, 1000, 2);
    first.family = of;
    RankedVariant own = testing::ranked("own." + std::string(name_of(collective)), 2000, 1);
    own.variant =
        parse_variant((family == "nccl" ? "nccl." : "mpi.") + std::string(name_of(collective)));
    own.is_baseline = true;
    own.family = family == "any" ? "mpi" : family;
    Decision made = testing::decision(key, {first, own}, family);
    made.verdict = Verdict::displaced;
    return made;
  }

  /// Winners of ours, of Open MPI's algorithms and of NCCL's.
  void fill_all() const {
    publish(
        {decided(1024, "cpu.all_reduce_one_shot{n=2}", "colltune", "any", Collective::all_reduce),
         decided(1024, "mpi.all_reduce_tuned{algorithm=ring}", "mpi", "mpi",
                 Collective::all_reduce),
         decided(4096, "mpi.all_gather_tuned{algorithm=ring}", "mpi", "mpi",
                 Collective::all_gather),
         decided(1024, "nccl.all_reduce_forced{algorithm=tree,channels=2,protocol=ll}", "nccl",
                 "nccl", Collective::all_reduce)});
  }
  void publish(const std::vector<Decision>& all) const {
    Store store(database);
    store.put_environment(environment());
    SweepRecord record = testing::sweep("sweep-1", "2026-01-01T00:00:00Z");
    record.environment_digest = digest_of(environment());
    store.begin_sweep(record);
    store.finish_sweep("sweep-1", SweepState::complete, "2026-01-01T00:01:00Z", "{}");
    store.publish(all, "2026-01-01T00:01:00Z");
  }

  /// `colltune run` in an environment of `own` variables alone.
  [[nodiscard]] Result run(const std::vector<std::string>& options,
                           const std::vector<std::string>& own = {}) const {
    std::vector<std::string> with_decisions{"--db", database};
    with_decisions.insert(with_decisions.end(), options.begin(), options.end());
    return run_without_decisions(with_decisions, own);
  }
  [[nodiscard]] Result run_without_decisions(const std::vector<std::string>& options,
                                             const std::vector<std::string>& own = {}) const {
    std::vector<std::string> command{"/usr/bin/env", "-i", "HOME=" + folder.file("home")};
    command.insert(command.end(), own.begin(), own.end());
    command.insert(command.end(), {root() + "/bin/colltune", "run"});
    command.insert(command.end(), options.begin(), options.end());
    const std::string out = folder.file("run.out");
    const std::string errors = folder.file("run.errors");
    const int code = testing::wait_for_process(testing::start_process(command, out, errors));
    return {code, testing::read_file(out), testing::read_file(errors)};
  }
  std::string malloc;  ///< what the environment of the decisions says of it; empty: as ever

  /// The value that a printed script sets; empty if it sets none.
  static std::string value_of(const Result& printed, const std::string& name) {
    const std::string begin = "export " + name + "='";
    const auto at = printed.out.find(begin);
    if (at == std::string::npos) return "";
    return printed.out.substr(at + begin.size(),
                              printed.out.find('\'', at + begin.size()) - at - begin.size());
  }
};

constexpr const char* rules = "OMPI_MCA_coll_tuned_dynamic_rules_filename";

TEST_F(RunCommand, SetsWhatEachLibraryNeeds) {
  install_component();
  install_tuner();
  fill_all();
  const Result printed = run({"--dry-run"});
  EXPECT_EQ(printed.code, 0) << printed.errors;
  EXPECT_EQ(value_of(printed, "OMPI_MCA_mca_base_component_path"),
            root() + "/lib/openmpi:SYSTEM_DEFAULT:USER_DEFAULT");
  const std::string table = value_of(printed, "OMPI_MCA_coll_colltune_table");
  EXPECT_THAT(table, HasSubstr(folder.file("home") + "/.cache/colltune/"));
  EXPECT_EQ(value_of(printed, "COLLTUNE_TABLE"), table);
  EXPECT_EQ(table, folder.file("home") + "/.cache/colltune/" +
                       value_of(printed, "OMPI_MCA_coll_colltune_table_digest") + ".ctt");
  EXPECT_EQ(value_of(printed, "OMPI_MCA_coll_colltune_report"), "1");
  EXPECT_EQ(value_of(printed, "NCCL_TUNER_PLUGIN"), root() + "/lib/libnccl-tuner-colltune.so");
  EXPECT_EQ(value_of(printed, "OMPI_MCA_coll_tuned_use_dynamic_rules"), "1");
  EXPECT_EQ(colltune({"show", "decisions", "--table", table, "--family", "all"}).code, 0);
  EXPECT_EQ(colltune({"check-export", "openmpi", value_of(printed, rules), "--for", "4.1.x"}).code,
            0);
  EXPECT_THAT(printed.errors,
              HasSubstr("Open MPI runs colltune's kernels where they won (1 keys); its own "
                        "algorithms follow rules (2 of 2 keys); NCCL's tuner follows the "
                        "table (1 keys); decided for 1x2 x86_64-avx2"));
  EXPECT_THAT(printed.errors, HasSubstr("not in this launch: nothing"));
}

TEST_F(RunCommand, LeavesWhatTheUserHasSet) {
  install_component();
  install_tuner();
  fill_all();
  const Result printed =
      run({"--dry-run"},
          {"OMPI_MCA_mca_base_component_path=/own", "NCCL_TUNER_PLUGIN=own", "COLLTUNE_REPORT=0",
           "OMPI_MCA_coll_tuned_use_dynamic_rules=0", "COLLTUNE_TABLE=older.ctt"});
  EXPECT_EQ(printed.code, 0) << printed.errors;
  EXPECT_EQ(value_of(printed, "OMPI_MCA_mca_base_component_path"), root() + "/lib/openmpi:/own");
  for (const char* const none : {"NCCL_TUNER_PLUGIN", "OMPI_MCA_coll_colltune_report", rules,
                                 "OMPI_MCA_coll_tuned_use_dynamic_rules"})
    EXPECT_EQ(value_of(printed, none), "") << none;
  EXPECT_EQ(value_of(printed, "COLLTUNE_TABLE"), value_of(printed, "OMPI_MCA_coll_colltune_table"))
      << "an older table would come first";
  EXPECT_THAT(printed.errors,
              HasSubstr("Open MPI's rules (OMPI_MCA_coll_tuned_use_dynamic_rules is yours)"));
  EXPECT_THAT(printed.errors, HasSubstr("NCCL (NCCL_TUNER_PLUGIN is yours)"));
}

TEST_F(RunCommand, SetsNoRulesThatChangeTheOrderOfSumsWhereTheLibrarysIsDemanded) {
  install_component();
  fill_all();
  for (const bool by_option : {true, false}) {
    const Result printed = by_option ? run({"--dry-run", "--numerics", "library"})
                                     : run({"--dry-run"}, {"COLLTUNE_NUMERICS=library"});
    EXPECT_EQ(printed.code, 0) << printed.errors;
    EXPECT_THAT(printed.errors, HasSubstr("follow rules (1 of 1 keys)"));
    EXPECT_EQ(value_of(printed, "OMPI_MCA_coll_colltune_numerics"), by_option ? "library" : "");
  }
}

// Ranks that read unlike files, or none, would hang.
TEST_F(RunCommand, SetsNoRulesWhereAHostMayNotSeeThem) {
  install_component();
  fill_all();
  const std::vector<std::vector<std::string>> commands{{"mpirun", "-H", "a,b", "p"},
                                                       {"mpirun", "--hostfile", "h", "p"},
                                                       {"mpirun", "--host=a,b", "p"},
                                                       {"srun", "-n4", "p"},
                                                       {"/opt/slurm/bin/srun", "-N2", "p"}};
  for (const auto& command : commands) {
    std::vector<std::string> options{"--dry-run", "--"};
    options.insert(options.end(), command.begin(), command.end());
    const Result printed = run(options);
    EXPECT_EQ(value_of(printed, rules), "") << command[1];
    EXPECT_THAT(printed.errors, HasSubstr("name a folder that all see with --files"));
    EXPECT_NE(value_of(printed, "OMPI_MCA_coll_colltune_table"), "");
  }
  EXPECT_EQ(value_of(run({"--dry-run"}, {"SLURM_JOB_NUM_NODES=4"}), rules), "");
  EXPECT_NE(value_of(run({"--dry-run"}, {"SLURM_JOB_NUM_NODES=1"}), rules), "");
  EXPECT_NE(value_of(run({"--dry-run", "--", "srun", "p"}, {"SLURM_JOB_NUM_NODES=1"}), rules), "");
  const Result shared =
      run({"--dry-run", "--files", folder.file("shared"), "--", "mpirun", "-H", "a,b"});
  EXPECT_THAT(value_of(shared, rules), HasSubstr(folder.file("shared") + "/"));
}

TEST_F(RunCommand, SetsMallocAsItWasMeasured) {
  install_component();
  malloc = "glibc 2.36 raised MALLOC_MMAP_THRESHOLD_=33554432 MALLOC_TRIM_THRESHOLD_=67108864";
  fill_all();
  const Result printed = run({"--dry-run"}, {"MALLOC_TRIM_THRESHOLD_=1"});
  EXPECT_EQ(printed.code, 0) << printed.errors;
  EXPECT_EQ(value_of(printed, "MALLOC_MMAP_THRESHOLD_"), "33554432");
  EXPECT_EQ(value_of(printed, "MALLOC_TRIM_THRESHOLD_"), "") << "that is the user's";
  EXPECT_THAT(printed.errors, HasSubstr("malloc as measured (MALLOC_MMAP_THRESHOLD_)"));
  const Result several = run({"--dry-run", "--", "mpirun", "-H", "a,b", "p"});
  EXPECT_THAT(
      several.errors,
      HasSubstr("malloc as measured (MALLOC_MMAP_THRESHOLD_, MALLOC_TRIM_THRESHOLD_; mpirun "
                "hands them to other hosts by its -x alone)"));
  const Result by_srun = run({"--dry-run", "--", "srun", "-N2", "p"});
  EXPECT_THAT(by_srun.errors,
              HasSubstr("malloc as measured (MALLOC_MMAP_THRESHOLD_, MALLOC_TRIM_THRESHOLD_);"));
}

TEST_F(RunCommand, SetsNothingOfMallocWhereNothingWasSet) {
  install_component();
  malloc = "glibc 2.36 grown";
  fill_all();
  const Result printed = run({"--dry-run"});
  EXPECT_THAT(printed.out, Not(HasSubstr("MALLOC")));
  EXPECT_THAT(printed.errors, Not(HasSubstr("malloc")));
}

constexpr const char* han_rules = "OMPI_MCA_coll_han_dynamic_rules_filename";

TEST_F(RunCommand, SetsRulesForHanAcrossHosts) {
  install_component();
  const auto across_hosts = [&](std::uint64_t bytes, const std::string& winner) {
    Decision made = decided(bytes, winner, "mpi", "mpi", Collective::all_reduce);
    Topology& topology = made.key.topology;
    topology.nodes = 2;
    topology.ranks = 2 * topology.ranks_per_node;
    topology.architectures.front().ranks = topology.ranks;
    return made;
  };
  publish({across_hosts(1024, "mpi.all_reduce_han"), across_hosts(4096, "mpi.all_reduce_han"),
           across_hosts(65536, "mpi.all_reduce_tuned{algorithm=ring}")});
  const std::vector<std::string> shared{
      "--dry-run", "--files", folder.file("shared"), "--", "mpirun", "-H", "a,b", "p"};
  const Result printed = run(shared);
  EXPECT_EQ(printed.code, 0) << printed.errors;
  EXPECT_THAT(printed.errors, HasSubstr("coll/han runs where it won (2 of 3 keys)"));
  EXPECT_EQ(value_of(printed, "OMPI_MCA_coll_han_use_dynamic_file_rules"), "1");
  EXPECT_NE(value_of(printed, "OMPI_MCA_coll_han_priority"), "");
  EXPECT_EQ(value_of(printed, rules), "") << "these would change what coll/han calls";
  const std::string file = value_of(printed, han_rules);
  EXPECT_THAT(file, HasSubstr(folder.file("shared") + "/"));
  EXPECT_EQ(colltune({"check-export", "openmpi-han", file, "--for", "4.1.x"}).code, 0);
  // The user's own rules for it stay; then its algorithms may follow ours.
  const Result own = run(shared, {"OMPI_MCA_coll_han_priority=90"});
  EXPECT_EQ(value_of(own, han_rules), "");
  EXPECT_NE(value_of(own, rules), "");
  // Where one host is all, coll/han serves nothing.
  EXPECT_EQ(value_of(run({"--dry-run"}), han_rules), "");
}

TEST_F(RunCommand, PrintsForScriptsAndContainers) {
  install_component();
  fill_all();
  const std::string odd = folder.file("it's a \"folder\"");
  const Result script = run({"--dry-run=sh", "--files", odd});
  EXPECT_EQ(script.code, 0) << script.errors;
  // A shell reads it back.
  std::ofstream(folder.file("script"))
      << script.out << "printf %s \"$OMPI_MCA_coll_colltune_table\"\n";
  const std::string read = folder.file("read");
  EXPECT_EQ(testing::wait_for_process(testing::start_process({"/bin/sh", folder.file("script")},
                                                             read, folder.file("read.errors"))),
            0);
  EXPECT_THAT(testing::read_file(read), HasSubstr(odd + "/"));
  const Result container = run({"--dry-run=kubernetes", "--files", odd});
  EXPECT_THAT(container.out, HasSubstr("- name: OMPI_MCA_coll_colltune_table\n  value: \""));
  EXPECT_THAT(container.out, HasSubstr("it's a \\\"folder\\\""));
}

TEST_F(RunCommand, SaysWhyNothingCanRun) {
  install_component();
  publish({decided(1024, "mpi.all_reduce_tuned{algorithm=ring}", "mpi", "any",
                   Collective::all_reduce)});
  expect_failure(run({"--dry-run"}), 3,
                 "nothing of this table can run in a program: colltune's kernels (none");
}

// Kernels for GPUs are colltune's too, and no program runs them.
TEST_F(RunCommand, CountsOnlyWhatTheComponentRuns) {
  install_component();
  publish({decided(1024, "cuda.all_reduce_one_shot{blocks=1}", "colltune", "any",
                   Collective::all_reduce)});
  expect_failure(run({"--dry-run"}), 3, "colltune's kernels (none displaced the default)");
}

TEST_F(RunCommand, SaysWhatThisInstallationLacks) {
  fill_all();
  const Result printed = run({"--dry-run"});
  EXPECT_EQ(printed.code, 0);
  EXPECT_THAT(printed.errors, HasSubstr("this installation has no component for Open MPI"));
  EXPECT_THAT(printed.errors, HasSubstr("this installation has no tuner for it"));
}

TEST_F(RunCommand, RefusesWhatIsNone) {
  install_component();
  fill_all();
  expect_failure(run({}), 2, "no command to launch: name it after --");
  expect_failure(run({"--dry-run=perl"}), 2, "'perl' is no form; allowed are sh, kubernetes");
  expect_failure(run({"--numerics", "exact", "--", "true"}), 2, "unknown numerics 'exact'");
  expect_failure(run({"--dry-run"}, {"COLLTUNE_NUMERICS=../exact"}), 2,
                 "unknown numerics '../exact'");
  expect_failure(run({"--memory", "much", "--", "true"}), 2, "much");
  expect_failure(run({"--ab", "-1", "--", "true"}), 2, "--ab: -1 is no number of pairs");
  std::ofstream(folder.file("file")) << "x";
  expect_failure(run({"--dry-run", "--files", folder.file("file") + "/below"}), 2,
                 "cannot be made");
  expect_failure(run({"--table", "t", "--dry-run"}), 2, "");
}

TEST_F(RunCommand, WritesFilesThatAreNotThereAlone) {
  install_component();
  fill_all();
  const Result first = run({"--dry-run"});
  ASSERT_EQ(first.code, 0) << first.errors;
  const std::string table = value_of(first, "OMPI_MCA_coll_colltune_table");
  const std::string content = testing::read_file(table);
  const auto inode_of = [](const std::string& file) {
    struct stat status {};
    EXPECT_EQ(::stat(file.c_str(), &status), 0);
    return status.st_ino;
  };
  const auto inode = inode_of(table);
  EXPECT_EQ(run({"--dry-run"}).out, first.out);
  EXPECT_EQ(inode_of(table), inode) << "a file that is there was written again";
  std::ofstream(table) << std::string(content.size(), 'x');
  EXPECT_EQ(run({"--dry-run"}).out, first.out);
  EXPECT_EQ(testing::read_file(table), content);
  std::filesystem::remove(table);
  EXPECT_EQ(run({"--dry-run"}).out, first.out);
  EXPECT_EQ(testing::read_file(table), content);
}

// A snapshot that is new may be replaced unseen: launches remember its table a little later.
TEST_F(RunCommand, TakesTheTableThatWasMadeOfTheSameSnapshot) {
  install_component();
  fill_all();
  const std::string known = folder.file("home") + "/.cache/colltune/known-tables";
  const auto run_until_known = [&](const std::string& digest) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    for (;;) {
      const Result printed = run({"--dry-run"});
      EXPECT_EQ(printed.code, 0) << printed.errors;
      std::ifstream lines(known);
      std::string state;
      std::string table;
      if ((lines >> state >> table && table != digest) || std::chrono::steady_clock::now() > end)
        return printed;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  };
  const std::string digest = "OMPI_MCA_coll_colltune_table_digest";
  const Result first = run_until_known("");
  const std::string remembered = testing::read_file(known);
  EXPECT_THAT(remembered, HasSubstr(" " + value_of(first, digest) + "\n"));
  const Result again = run({"--dry-run"});
  EXPECT_EQ(again.out, first.out);
  EXPECT_EQ(again.errors, first.errors);
  // What a launch must know of it lies beside it, is taken, and is found again where it is damaged.
  const std::string facts =
      folder.file("home") + "/.cache/colltune/" + value_of(first, digest) + "-all.json";
  std::string known_facts = testing::read_file(facts);
  for (const std::string damaged : {"", "{}", R"({"build":"another","facts":{}})"}) {
    std::ofstream(facts) << damaged;
    const Result anew = run({"--dry-run"});
    EXPECT_EQ(anew.out, first.out);
    EXPECT_EQ(anew.errors, first.errors);
    EXPECT_EQ(testing::read_file(facts), known_facts);
  }
  const std::string of_generation = "\"generation\":1,";
  known_facts.replace(known_facts.find(of_generation), of_generation.size(), "\"generation\":7,");
  std::ofstream(facts) << known_facts;
  EXPECT_THAT(run({"--dry-run"}).errors, HasSubstr("(generation 7, "));
  std::filesystem::remove(facts);
  EXPECT_THAT(run({"--dry-run"}).errors, HasSubstr("(generation 1, "));
  EXPECT_EQ(run({"--dry-run", "--numerics", "library"}).code, 0);
  EXPECT_TRUE(std::filesystem::exists(folder.file("home") + "/.cache/colltune/" +
                                      value_of(first, digest) + "-library.json"));
  // Another generation is another table.
  const std::vector more{
      decided(2048, "cpu.all_reduce_one_shot{n=2}", "colltune", "any", Collective::all_reduce)};
  Store(database).publish(more, "2026-01-02T00:00:00Z");
  const Result second = run_until_known(value_of(first, digest));
  EXPECT_NE(value_of(second, digest), value_of(first, digest));
  EXPECT_THAT(second.errors, HasSubstr("(generation 2, "));
  EXPECT_EQ(testing::read_file(known).find(remembered), testing::read_file(known).find('\n') + 1);
  // What is remembered is what is taken.
  const std::string state = testing::read_file(known).substr(0, remembered.find(' '));
  std::ofstream(known) << "no line\n\n" << state << ' ' << value_of(first, digest) << '\n';
  EXPECT_THAT(run({"--dry-run"}).errors, HasSubstr("(generation 1, "));
  // The wrong table, or none: it is made anew.
  std::ofstream(value_of(first, "OMPI_MCA_coll_colltune_table")) << "damaged";
  EXPECT_EQ(run({"--dry-run"}).out, second.out);
  std::ofstream(known) << state << " ../../../etc/passwd\n";
  EXPECT_EQ(run({"--dry-run"}).out, second.out);
  // --table runs the same, by the same file.
  const Result by_table = run_without_decisions(
      {"--dry-run", "--table", value_of(second, "OMPI_MCA_coll_colltune_table")});
  EXPECT_EQ(by_table.out, second.out);
  EXPECT_EQ(by_table.errors, second.errors);
}

TEST_F(RunCommand, RecordsWithDecisionsAndWithout) {
  install_component();
  Result shown = run_without_decisions({"--dry-run", "--record", folder.file("t.ctr")});
  EXPECT_EQ(shown.code, 2);
  EXPECT_THAT(shown.errors, HasSubstr("--record: this installation has no recorder for Open MPI"));
  std::filesystem::create_directories(root() + "/lib/openmpi-recorder");
  std::ofstream(root() + "/lib/openmpi-recorder/mca_coll_colltune_recorder.so") << "x";
  shown = run_without_decisions({"--dry-run", "--record", folder.file("t.ctr")});
  EXPECT_EQ(shown.code, 0) << shown.errors;
  EXPECT_EQ(shown.out, "export OMPI_MCA_mca_base_component_path='" + root() +
                           "/lib/openmpi-recorder:SYSTEM_DEFAULT:USER_DEFAULT'\n"
                           "export OMPI_MCA_coll_colltune_trace='" +
                           folder.file("t.ctr") + "'\n");
  // Nothing is written for such a launch, so it needs no folder for it.
  EXPECT_EQ(run_without_decisions({"--dry-run", "--record", folder.file("t.ctr")}, {"HOME="}).code,
            0);
  fill_all();
  shown = run({"--dry-run", "--record", folder.file("t.ctr")}, {"COLLTUNE_TRACE=mine"});
  EXPECT_EQ(shown.code, 0) << shown.errors;
  EXPECT_THAT(shown.out, HasSubstr("export OMPI_MCA_coll_colltune_table="));
  EXPECT_THAT(shown.out, HasSubstr("export COLLTUNE_TRACE='" + folder.file("t.ctr") + "'\n"));
  EXPECT_EQ(
      value_of(shown, "OMPI_MCA_mca_base_component_path"),
      root() + "/lib/openmpi-recorder:" + root() + "/lib/openmpi:SYSTEM_DEFAULT:USER_DEFAULT");
}

}  // namespace
}  // namespace colltune
