// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The check of NCCL between two processes, over a library that stands for NCCL and a pretended
// device: what it finds where all is well, and where something is not.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "client/process.h"
#include "colltune/kernels/device/cuda_device.h"
#include "pair_judge.h"
#include "process_communicator.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// A variable of the environment of what is started meanwhile.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { ::unsetenv(name_); }

 private:
  const char* name_;
};

class TwoProcesses : public ::testing::Test {
 protected:
  testing::Result run(std::vector<std::string> arguments = {},
                      const std::string& tuner = COLLTUNE_NCCL_TUNER,
                      const std::string& library = COLLTUNE_FAKE_NCCL) {
    std::vector<std::string> command{COLLTUNE_PRETENDED_TWO_PROCESSES,
                                     "--tuner",
                                     tuner,
                                     "--library",
                                     library,
                                     "--json",
                                     json_file()};
    // Where all ranks come, the limit of their meeting is one that a busy machine does not reach.
    const bool meets_late = std::ranges::find(arguments, "--init-limit-ms") != arguments.end();
    for (const char* const limit : {"--held-limit-ms", "400"}) command.emplace_back(limit);
    if (!meets_late)
      for (const char* const limit : {"--init-limit-ms", "30000"}) command.emplace_back(limit);
    command.insert(command.end(), arguments.begin(), arguments.end());
    return testing::run_process(folder_, command);
  }
  [[nodiscard]] Json result() const { return Json::parse(testing::read_file(json_file())); }
  [[nodiscard]] std::string json_file() const { return folder_.file("pair.json"); }

  testing::TemporaryFolder folder_;
};

TEST_F(TwoProcesses, EverythingIsForcedAndReadBackAndAHeldCallEndsAtItsDeadline) {
  const auto ended = run();
  EXPECT_EQ(ended.code, 0) << ended.out << ended.errors;
  for (const char* const line :
       {"rank 1: NCCL has loaded our tuner", "NCCL has loaded our profiler",
        "rank 1 stopped before its call: rank 0's call ended after",
        "timed out waiting for the call of NCCL's all_reduce of rank 1",
        "rank 1 stopped before its call: a new communicator works, says rank 1",
        "rank 1 stopped amid its calls: rank 0's call ended after",
        "rank 1 stopped amid its calls: a new communicator works, says rank 0"})
    EXPECT_THAT(ended.out, HasSubstr(line));
  const Json found = result();
  EXPECT_EQ(found["findings"], Json::array());
  EXPECT_EQ(found["held_back"].size(), 2U);
  std::set<std::string> ran;
  std::set<std::string> unavailable;
  for (const Json& trial : found["trials"]) {
    const Json& named = trial["named"];
    if (named.empty()) continue;
    const std::string entry = trial["collective"].get<std::string>() + " " +
                              named["algorithm"].get<std::string>() + " " +
                              named["protocol"].get<std::string>();
    if (trial["outcome"] == "unavailable") {
      EXPECT_NE(trial["detail"], "");
      unavailable.insert(entry);
      continue;
    }
    EXPECT_EQ(trial["outcome"], "ran");
    EXPECT_EQ(trial["executed"],
              "algorithm=" + named["algorithm"].get<std::string>() + ",channels=" +
                  (named["channels"] == "0" ? "32" : named["channels"].get<std::string>()) +
                  ",protocol=" + named["protocol"].get<std::string>() + ",told_by=profiler");
    ran.insert(entry);
  }
  for (const char* const collective :
       {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce"})
    for (const char* const protocol : {" ring ll", " ring ll128", " ring simple"})
      EXPECT_THAT(ran, Contains(collective + std::string(protocol)));
  EXPECT_EQ(ran.size() + unavailable.size(), 5U * 21U);
}

TEST_F(TwoProcesses, WithoutAGpuItSaysSoInOneLine) {
  const Variable none("PRETENDED_GPU", "none");
  const auto ended = run();
  EXPECT_EQ(ended.code, 3);
  EXPECT_EQ(ended.errors, "nccl_two_processes: no GPU: the pretended machine has none\n");
  EXPECT_EQ(ended.out, "");
}

TEST_F(TwoProcesses, TheProgramForGpusFindsNoneHere) {
  if (count_cuda_devices().count > 0) GTEST_SKIP() << "there is a GPU";
  const auto ended = testing::run_process(folder_, {COLLTUNE_TWO_PROCESSES});
  EXPECT_EQ(ended.code, 3) << ended.out;
  EXPECT_THAT(ended.errors, StartsWith("nccl_two_processes: no GPU: "));
}

TEST_F(TwoProcesses, WithoutALibraryNothingIsMeasured) {
  const auto ended = run({}, COLLTUNE_NCCL_TUNER, COLLTUNE_NCCL_TUNER);  // no libnccl
  EXPECT_EQ(ended.code, 4);
  EXPECT_THAT(ended.out, AllOf(StartsWith("NOT MEASURED: NCCL: "), HasSubstr("ncclGetVersion")));
  EXPECT_EQ(result()["exit"], 4);
}

TEST_F(TwoProcesses, FilesThatAreNotThereAreNamed) {
  const auto ended = run({}, "/nowhere/tuner.so");
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.errors, HasSubstr("--tuner: there is no file '/nowhere/tuner.so'"));
  EXPECT_EQ(run({}, COLLTUNE_NCCL_TUNER, "/nowhere/libnccl.so").code, 2);
  EXPECT_EQ(run({"--bytes", "many"}).code, 2);
}

TEST_F(TwoProcesses, AnObjectThatIsNotOurTunerIsWrong) {
  const auto ended = run({}, COLLTUNE_OLD_FAKE_NCCL);
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.out, HasSubstr("WRONG: rank 0: NCCL has not loaded our tuner: "));
}

TEST_F(TwoProcesses, WhatDoesNotRunAsForcedMissesTheTarget) {
  const Variable like("PRETENDED_NCCL", "runs tree whatever is forced");
  const auto ended = run({"--bytes", "64KiB"});
  EXPECT_EQ(ended.code, 5) << ended.out;
  EXPECT_THAT(ended.out, HasSubstr("TARGET MISSED: nccl.all_reduce_forced{algorithm=ring,"
                                   "channels=0,protocol=ll} 65536 B ran algorithm=tree,"));
  EXPECT_THAT(ended.out, HasSubstr("TARGET MISSED: all_reduce ring simple never ran as forced"));
  EXPECT_THAT(ended.out, Not(HasSubstr("all_reduce tree ll never ran")));
}

TEST_F(TwoProcesses, ACallThatHangsIsWrongAndTheOthersRun) {
  const Variable like("PRETENDED_NCCL", "hangs in ring simple");
  const auto ended = run({"--bytes", "16KiB", "--call-limit-ms", "300"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.out, HasSubstr("WRONG: nccl.all_reduce_forced{algorithm=ring,channels=0,"
                                   "protocol=simple} 16384 B, rank 0: NCCL's all_reduce did not "
                                   "end in time"));
  EXPECT_THAT(ended.out, HasSubstr("nccl.reduce_forced{algorithm=ring,channels=1,protocol=ll} "
                                   "16384 B ran as forced"));
  EXPECT_THAT(ended.out, HasSubstr("a new communicator works, says rank 1"));
}

TEST_F(TwoProcesses, ALibraryThatTellsNoProfilerIsNotMeasured) {
  const Variable like("PRETENDED_NCCL", "is from before profilers");
  const auto ended = run({"--bytes", "16KiB"});
  EXPECT_EQ(ended.code, 4) << ended.out;
  EXPECT_THAT(ended.out, HasSubstr("NOT MEASURED: what ran, rank 0: NCCL 2.26.3 tells no "
                                   "profiler how many channels a call has"));
}

TEST_F(TwoProcesses, FewerChannelsThanForcedAreNoFinding) {
  const Variable like("PRETENDED_NCCL", "has four channels");
  const auto ended = run();
  EXPECT_EQ(ended.code, 0) << ended.out;
  EXPECT_THAT(ended.out, HasSubstr("ran with fewer channels than forced, which is not credited"));
}

TEST_F(TwoProcesses, ARankThatNcclRefusesIsNamed) {
  const Variable like("PRETENDED_NCCL", "rank 1 is refused");
  const auto ended = run({"--init-limit-ms", "4000"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.out, HasSubstr("WRONG: rank 1: no communicator: "));
  EXPECT_THAT(ended.out, HasSubstr("unhandled system error"));
}

TEST_F(TwoProcesses, WhatDoesNotEndIsKilledInTime) {
  const auto begin = std::chrono::steady_clock::now();
  const auto ended = run({"--bytes", "1KiB", "--seconds", "6", "--held-limit-ms", "600000"});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s);
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.out, HasSubstr("WRONG: rank 0 ended by its parent: it did not end in time"));
  EXPECT_THAT(ended.out, HasSubstr("NOT MEASURED: rank 1 stopped before its call"));
}

// The judge alone.

Json trial_of(const char* outcome, const char* detail, const char* executed) {
  return {{"event", "trial"},
          {"collective", "all_reduce"},
          {"message_size_bytes", 1024},
          {"variant", "v"},
          {"named", {{"algorithm", "ring"}, {"protocol", "ll"}, {"channels", "2"}}},
          {"outcome", outcome},
          {"detail", detail},
          {"executed", executed},
          {"is_what_was_named", true}};
}
std::vector<std::string> findings_of(const Json& first, const Json& second) {
  std::array<PairReport, pair_ranks> reports;
  reports[0].events = {first, {{"event", "done"}, {"fault", ""}}};
  reports[1].events = {second, {{"event", "done"}, {"fault", ""}}};
  return judge_pair(reports).findings;
}

constexpr const char* as_named = "algorithm=ring,channels=2,protocol=ll,told_by=profiler";

TEST(PairJudge, WrongResultsOfEitherRankAreWrong) {
  EXPECT_THAT(findings_of(trial_of("ran", "", as_named), trial_of("wrong", "element 3", as_named)),
              Contains("WRONG: v 1024 B, rank 1: element 3"));
}

TEST(PairJudge, RanksThatDifferAreWrong) {
  EXPECT_THAT(
      findings_of(trial_of("ran", "", as_named),
                  trial_of("ran", "", "algorithm=tree,channels=2,protocol=ll,told_by=profiler")),
      Contains(HasSubstr("on rank 0 and algorithm=tree")));
  EXPECT_THAT(findings_of(trial_of("ran", "", as_named), trial_of("unavailable", "x", "")),
              Contains("WRONG: v 1024 B: 'ran' on rank 0, 'unavailable' on rank 1"));
}

TEST(PairJudge, CreditForSomethingElseIsWrong) {
  constexpr const char* other = "algorithm=tree,channels=2,protocol=ll,told_by=profiler";
  EXPECT_THAT(findings_of(trial_of("ran", "", other), trial_of("ran", "", other)),
              Contains("WRONG: v 1024 B ran " + std::string(other) + ", which is credited"));
}

TEST(PairJudge, UnavailableWantsAReason) {
  EXPECT_THAT(findings_of(trial_of("unavailable", "", ""), trial_of("unavailable", "", "")),
              Contains("WRONG: v 1024 B is unavailable for no reason"));
}

TEST(PairJudge, WhatNobodyToldIsWrong) {
  constexpr const char* untold = "algorithm=ring,channels=2,protocol=ll";
  EXPECT_THAT(findings_of(trial_of("ran", "", untold), trial_of("ran", "", untold)),
              Contains(HasSubstr("which NCCL did not tell our profiler")));
}

// Its communicator, with threads for processes.

class ProcessCommunicators : public ::testing::Test {
 protected:
  void run(int ranks, const std::function<void(Communicator&)>& body) {
    const int arena = make_process_arena();
    std::vector<std::unique_ptr<Communicator>> all;
    for (int rank = 0; rank < ranks; ++rank)
      all.push_back(join_processes(arena, rank, ranks, abort_, nullptr));
    ::close(arena);
    std::vector<std::jthread> threads;
    for (const auto& one : all) threads.emplace_back([&] { body(*one); });
  }
  AbortFlag abort_;
};

TEST_F(ProcessCommunicators, RanksMeetAndSplit) {
  run(3, [](Communicator& world) {
    for (int round = 0; round < 100; ++round)
      EXPECT_EQ(world.all_reduce_max(10 * round + world.rank(), soon_enough()), 10 * round + 2);
    // Ranks 2 and 0, in that order, and rank 1 alone.
    const auto part = world.split(world.rank() % 2, -world.rank(), soon_enough());
    EXPECT_EQ(part->size(), world.rank() == 1 ? 1 : 2);
    EXPECT_EQ(part->rank(), world.rank() == 0 ? 1 : 0);
    const auto memory = part->allocate({8}, soon_enough());
    memory->part(part->rank())[0] = static_cast<std::byte>(7 + world.rank());
    part->barrier(soon_enough());
    if (part->size() == 2) {
      EXPECT_EQ(memory->part(0)[0], std::byte{9});
    }
    EXPECT_EQ(world.split(world.rank() == 0 ? -1 : 0, 0, soon_enough()) == nullptr,
              world.rank() == 0);
    world.barrier(soon_enough());
  });
}

TEST_F(ProcessCommunicators, WordsStayInOrder) {
  run(2, [](Communicator& world) {
    for (int word = 0; word < 50; ++word) {
      if (world.rank() == 0)
        world.send_word(1, word, soon_enough());
      else
        EXPECT_EQ(world.receive_word(0, soon_enough()), word);
    }
  });
}

TEST_F(ProcessCommunicators, WhoDoesNotComeIsNamed) {
  run(2, [](Communicator& world) {
    if (world.rank() == 1) return;
    try {
      world.barrier(std::chrono::steady_clock::now() + 50ms);
      ADD_FAILURE() << "a rank did not come";
    } catch (const RankMissing& missing) {
      EXPECT_EQ(missing.rank(), 1);
    }
  });
}

TEST_F(ProcessCommunicators, MemoryEndsOnAllRanks) {
  run(2, [](Communicator& world) {
    EXPECT_THROW(for (;;) static_cast<void>(world.allocate({1 << 20}, soon_enough())), Error);
  });
  EXPECT_THROW(static_cast<void>(join_processes(-1, 2, 2, abort_, nullptr)), Error);
}

}  // namespace
}  // namespace colltune::test
