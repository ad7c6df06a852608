// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// What our NCCL tuner takes of a call: getCollInfo through the loaded library, with a fresh table
// of costs each time, as NCCL makes it. A loop that makes the table and calls a function that does
// nothing stands beside it; the difference is the tuner's. Interleaved blocks, medians over blocks.
// Usage: nccl_tuner_bench LIBNCCL-TUNER-COLLTUNE.SO [BLOCKS]

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "client/nccl_tuner/loaded_tuner.h"
#include "daemon/temporary_folder.h"
#include "support/nccl_tables.h"

namespace colltune {
namespace {

using nccl::Algorithm;
using nccl::Function;
using nccl::Protocol;

constexpr int calls_per_block = 20'000;
constexpr int sizes_per_curve = 24;  // 8 B to 64 MiB in powers of two, as nccl-tests sweeps

nccl::Result do_nothing(void*, int, std::size_t, int, float**, int, int, int, int*) {
  return nccl::result_success;
}

/// Questions in random order, so that the branch predictor does not know the next.
std::vector<test::Asked> make_questions() {
  std::mt19937 random(1);
  std::vector<test::Asked> questions;
  for (int question = 0; question < 1024; ++question)
    questions.push_back({static_cast<Function>(random() % nccl::function_count),
                         (std::size_t{8} << random() % sizes_per_curve) + random() % 8});
  return questions;
}

/// A range for each size, of every collective, for 16 worlds.
std::vector<test::NcclRule> make_rules() {
  std::vector<test::NcclRule> rules;
  for (int world = 0; world < 16; ++world)
    for (int function = 0; function < nccl::function_count; ++function)
      for (int size = 0; size < sizes_per_curve; ++size)
        rules.push_back({.function = static_cast<Function>(function),
                         .ranks = 8 * (1 + world),
                         .nodes = 1 + world,
                         .min_message = {std::uint64_t{8} << size},
                         .max_message = {(std::uint64_t{16} << size) - 1},
                         .choice = {Algorithm::ring, Protocol::ll, 1 + size},
                         .time_us = 10});
  return rules;
}

/// Nanoseconds per call of one block.
double time_block(nccl::GetCollInfo ask, void* context, const std::vector<test::Asked>& questions) {
  const test::Costs fresh = test::Costs::of(5);
  test::Costs costs;
  const auto begin = std::chrono::steady_clock::now();
  for (int call = 0; call < calls_per_block; ++call) {
    const test::Asked& question = questions[static_cast<std::size_t>(call) % questions.size()];
    costs = fresh;
    int channels = 0;
    ask(context, static_cast<int>(question.function), question.bytes, question.pipe_operations,
        reinterpret_cast<float**>(costs.entries.data()),  // NOLINT
        nccl::algorithm_count, nccl::protocol_count, question.registered, &channels);
  }
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  return took.count() / calls_per_block;
}

struct Case {
  std::string name;
  nccl::GetCollInfo ask;
  void* context;
  std::vector<double> blocks;
};

void print(Case& one, double nothing) {
  std::ranges::sort(one.blocks);
  const auto at = [&](double share) {
    return one.blocks[static_cast<std::size_t>(share * static_cast<double>(one.blocks.size() - 1))];
  };
  fmt::print("{:<34} {:8.1f} {:8.1f} {:8.1f} {:8.1f} {:14.1f}\n", one.name, at(0.5), at(0.05),
             at(0.95), at(1), at(0.5) - nothing);
}

}  // namespace
}  // namespace colltune

int main(int argc, char** argv) {
  using namespace colltune;
  if (argc < 2) {
    fmt::print(stderr, "usage: nccl_tuner_bench LIBNCCL-TUNER-COLLTUNE.SO [BLOCKS]\n");
    return 2;
  }
  const int blocks = argc > 2 ? std::atoi(argv[2]) : 400;
  if (blocks < 1) {
    fmt::print(stderr, "nccl_tuner_bench: BLOCKS is '{}'; allowed are numbers from 1\n", argv[2]);
    return 2;
  }
  const literals::TemporaryFolder folder;
  const std::filesystem::path file = folder / "cluster.ctt";
  (void)test::write_nccl_table(file, make_rules());
  setenv("COLLTUNE_TABLE", file.c_str(), 1);
  const test::LoadedTuner tuner(argv[1], 5);
  const test::TunerControl control(tuner);
  const test::TunedCommunicator ruled(tuner, 8, 1);
  const test::TunedCommunicator without_rules(tuner, 5, 1);
  const auto force_newest = [&](bool is_observed) {
    std::vector<colltune_nccl_communicator> all(control.list(nullptr, 0));
    control.list(all.data(), all.size());
    const colltune_nccl_force force{
        .id = 1, .functions = 31, .algorithm = 1, .protocol = 0, .channels = 4, .time_us = 10};
    control.force(all.back().number, &force);
    control.observe(all.back().number, is_observed ? 1 : 0);
  };
  const test::TunedCommunicator forced(tuner, 8, 1);
  force_newest(false);
  const test::TunedCommunicator observed(tuner, 8, 1);
  force_newest(true);

  // As the call goes through a pointer of the library, so does the one that does nothing.
  const volatile nccl::GetCollInfo nothing = do_nothing;
  std::vector<Case> cases{
      {"table made, nothing asked", nothing, nullptr, {}},
      {"no rule for the communicator", tuner.get_coll_info(), without_rules.context(), {}},
      {"table of 1920 rules", tuner.get_coll_info(), ruled.context(), {}},
      {"forced", tuner.get_coll_info(), forced.context(), {}},
      {"forced and observed", tuner.get_coll_info(), observed.context(), {}}};
  const std::vector<test::Asked> questions = make_questions();
  for (Case& one : cases) time_block(one.ask, one.context, questions);  // warm
  for (int block = 0; block < blocks; ++block)
    for (Case& one : cases) one.blocks.push_back(time_block(one.ask, one.context, questions));

  fmt::print("ns per call, {} blocks of {} calls, random collectives and sizes\n", blocks,
             calls_per_block);
  fmt::print("{:<34} {:>8} {:>8} {:>8} {:>8} {:>14}\n", "", "median", "5 %", "95 %", "most",
             "above nothing");
  std::ranges::sort(cases.front().blocks);
  const double least = cases.front().blocks[cases.front().blocks.size() / 2];
  for (Case& one : cases) print(one, least);
  return 0;
}
