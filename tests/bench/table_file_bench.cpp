// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// What a table file costs: to open one, and to look up in it. Lookups are timed in batches, since
// one takes less than reading the clock; every batch asks random calls at random sizes, two thirds
// of them between measured sizes.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "colltune/json/output_file.h"
#include "colltune/table/decision_table.h"
#include "colltune/table_file/table_content.h"
#include "colltune/table_file/table_file.h"

namespace colltune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int sizes_per_group = 24;  // 8 B to 64 MiB in powers of two, as nccl-tests sweeps
constexpr int variants_per_decision = 4;
constexpr const char* environment = "0123456789abcdef0123456789abcdef";

Decision make_decision(int size_index, int group) {
  const int nodes = 1 + group / 8;
  Decision decision{.key = {.problem = {.message_size = {std::uint64_t{8} << size_index}},
                            .topology = {.nodes = nodes,
                                         .ranks_per_node = 8,
                                         .ranks = 8 * nodes,
                                         .architectures = {{"x86_64-avx512", 8 * nodes}},
                                         .layout_digest = "uniform",
                                         .interconnect = "tcp"},
                            .environment_digest = environment},
                    .ranked = {},
                    .reason = "faster than the baseline by more than the noise",
                    .sweep_uuid = "6f0c5f1e-0000-0000-0000-000000000000"};
  decision.key.problem.data_type =
      enum_names(DataType{})[static_cast<std::size_t>(group % 8)].value;
  // The best parameter grows with the size, so that winners change between sizes.
  for (int i = 0; i < variants_per_decision; ++i) {
    const int apart = std::abs(i - (size_index + group) % variants_per_decision);
    decision.ranked.push_back(
        {.variant = parse_variant("mpi.all_reduce.ring{segment=" + std::to_string(1024 << i) + "}"),
         .family = "openmpi",
         .protocol = "openmpi",
         .is_baseline = i == 0,
         .median = std::chrono::nanoseconds((1000 + 100 * apart) << size_index / 2),
         .speedup_over_baseline = 1.5,
         .numeric_class = NumericClass::same_bits});
  }
  std::ranges::sort(decision.ranked, {}, &RankedVariant::median);
  decision.verdict = Verdict::displaced;
  return decision;
}

std::string make_file(int decisions) {
  DecisionSet set{.generation = {"store", 1, "digest"}, .decisions = {}};
  set.decisions.reserve(static_cast<std::size_t>(decisions));
  for (int i = 0; i < decisions; ++i)
    set.decisions.push_back(make_decision(i % sizes_per_group, i / sizes_per_group));
  const DecisionTable table(std::move(set));
  return encode_table(
      {.set = table.set(), .environment_digest = environment, .groups = table.answer_groups()});
}

/// Prints the quantiles of some times.
void print(const std::string& what, std::vector<double> times, const char* unit) {
  std::ranges::sort(times);
  const auto at = [&](double share) {
    return times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))];
  };
  fmt::print("  {:<34} p50 {:8.1f} {}   p5 {:8.1f}   p95 {:8.1f}   of {}\n", what, at(0.5), unit,
             at(0.05), at(0.95), times.size());
}

double since(Clock::time_point begin) {
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

struct Question {
  GroupKey key;
  TableView::Group group;
  Bytes size;
};

void time_lookups(const TableView& view) {
  constexpr std::size_t batch = 1000;
  constexpr std::size_t batches = 500;
  std::mt19937_64 random(1);
  std::vector<Question> questions;
  for (std::size_t i = 0; i < batch * batches; ++i) {
    const auto group = static_cast<TableView::Group>(random() % view.groups().size());
    const table_file::GroupKeyRecord& key = view.groups()[group].key;
    const std::uint64_t power = std::uint64_t{8} << random() % sizes_per_group;
    questions.push_back(
        {.key = {.call = key.problem, .world = key.world, .family = view.family(key.family)},
         .group = group,
         .size = {random() % 3 == 0 ? power : power + random() % power}});
  }
  const auto time = [&](const char* what, auto&& look_up) {
    std::uint64_t sum = 0;
    std::vector<double> times;
    for (std::size_t first = 0; first < questions.size(); first += batch) {
      const auto begin = Clock::now();
      for (std::size_t i = first; i < first + batch; ++i) sum += look_up(questions[i]);
      times.push_back(since(begin) / batch);
    }
    if (sum == 0) throw Error(StatusCode::internal, "no question was answered");
    print(what, std::move(times), "ns");
  };
  time("find(key, size)", [&](const Question& asked) -> std::uint64_t {
    const auto answer = view.find(asked.key, asked.size);
    return answer ? answer->variant + 1 : 0;
  });
  time("find(group, size)", [&](const Question& asked) -> std::uint64_t {
    const auto answer = view.find(asked.group, asked.size);
    return answer ? answer->variant + 1 : 0;
  });
  time("find(group, size) and its time", [&](const Question& asked) -> std::uint64_t {
    const auto answer = view.find(asked.group, asked.size);
    return answer ? static_cast<std::uint64_t>(answer->time().count()) : 0;
  });
}

void run(int decisions, const std::filesystem::path& path) {
  write_output(path, make_file(decisions), std::cout);
  fmt::print("{} decisions, {:.1f} MB\n", decisions,
             static_cast<double>(std::filesystem::file_size(path)) / 1e6);
  std::vector<double> opens;
  for (int i = 0; i < 21; ++i) {
    const auto begin = Clock::now();
    const TableFile file(path);
    opens.push_back(since(begin) / 1e6);
  }
  print("open (in the page cache)", opens, "ms");
  const TableFile file(path);
  time_lookups(file.view());
}

}  // namespace
}  // namespace colltune

int main(int argc, char** argv) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("table_file_bench.{}.ctt", ::getpid());
  int status = 0;
  try {
    // The numbers of decisions; given none, those that the targets speak of.
    std::vector<int> counts;
    for (int i = 1; i < argc; ++i) counts.push_back(std::stoi(argv[i]));
    if (counts.empty()) counts = {1000, 1000000};
    for (const int count : counts) colltune::run(count, path);
  } catch (const std::exception& error) {
    std::cerr << "table_file_bench: " << error.what() << '\n';
    status = 1;
  }
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  return status;
}
