// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/measure/compat.h"

#include <fmt/format.h>

#include <map>
#include <tuple>
#include <utility>

#include "colltune/vocabulary/problem_form.h"
#include "compat_loop.h"
#include "control/shared_result.h"

namespace colltune {
namespace {

std::string_view osu_title(Collective collective) {
  switch (collective) {
    case Collective::all_reduce:
      return "Allreduce";
    case Collective::all_gather:
      return "Allgather";
    case Collective::reduce_scatter:
      return "Reduce_scatter";
    case Collective::broadcast:
      return "Broadcast";
    case Collective::reduce:
      return "Reduce";
    case Collective::all_to_all:
      return "All-to-All Personalized Exchange";
    case Collective::gather:
      return "Gather";
    case Collective::scatter:
      return "Scatter";
  }
  return "";
}

std::string_view nccl_type(DataType type) {
  switch (type) {
    case DataType::i8:
      return "int8";
    case DataType::u8:
      return "uint8";
    case DataType::i32:
      return "int32";
    case DataType::u32:
      return "uint32";
    case DataType::i64:
      return "int64";
    case DataType::u64:
      return "uint64";
    case DataType::f16:
      return "half";
    case DataType::bf16:
      return "bfloat16";
    case DataType::f32:
      return "float";
    case DataType::f64:
      return "double";
    case DataType::f8e4m3:
      return "f8e4m3";
    case DataType::f8e5m2:
      return "f8e5m2";
  }
  return "";
}

/// The sizes of one table; what they have in common forms its title.
struct Table {
  const Cell* first = nullptr;
  std::string variant;
  std::vector<const CompatTime*> rows;
};

std::vector<Table> tables_of(const SweepPlan& plan, std::span<const CompatTime> times,
                             bool merges_places) {
  std::vector<Table> tables;
  using Title = std::tuple<int, Problem, std::string>;
  std::map<Title, std::size_t> found;
  for (const CompatTime& time : times) {
    const Cell& cell = plan.cells.at(time.cell);
    Problem common = cell.key.problem;
    common.message_size = {};
    if (merges_places) common.in_place = false;
    const auto [table, is_new] =
        found.try_emplace(Title(cell.world, common, time.variant), tables.size());
    if (is_new) tables.push_back({.first = &cell, .variant = time.variant, .rows = {}});
    tables[table->second].rows.push_back(&time);
  }
  return tables;
}

std::string describe_table(const Table& table) {
  const Problem& problem = table.first->key.problem;
  std::string text = fmt::format("# {} on {}, {}", table.variant,
                                 describe(table.first->key.topology), name_of(problem.data_type));
  if (problem.reduce_op != ReduceOp::none) text += fmt::format(" {}", name_of(problem.reduce_op));
  if (problem.registered) text += ", registered buffers";
  return text;
}

std::string render_osu(const SweepPlan& plan, std::span<const CompatTime> times) {
  std::string text;
  for (const Table& table : tables_of(plan, times, false)) {
    const Problem& problem = table.first->key.problem;
    text +=
        fmt::format("{}{}\n# OSU MPI {} Latency Test, the loop of v7.4\n", describe_table(table),
                    problem.in_place && !has_one_buffer(problem) ? ", in place" : "",
                    osu_title(problem.collective));
    text += fmt::format("{:<10}{:>18}{:>18}{:>18}{:>12}\n", "# Size", "Avg Latency(us)",
                        "Min Latency(us)", "Max Latency(us)", "Iterations");
    for (const CompatTime* row : table.rows) {
      const std::uint64_t size = osu_size(plan.cells[row->cell].key).value;
      text += row->failure.empty()
                  ? fmt::format("{:<10}{:>18.2f}{:>18.2f}{:>18.2f}{:>12}\n", size, row->mean_us,
                                row->min_us, row->max_us, row->iterations)
                  : fmt::format("# {}: {}\n", size, row->failure);
    }
    text += "\n";
  }
  return text;
}

std::string nccl_time(double us) {
  return us >= 10000 ? fmt::format("{:.0f}", us)
         : us >= 100 ? fmt::format("{:.1f}", us)
                     : fmt::format("{:.2f}", us);
}

std::string nccl_columns(const CompatTime* time, const TuningKey& key) {
  if (time == nullptr || !time->failure.empty())
    return fmt::format("  {:>7}  {:>6}  {:>6}  {:>5}", "N/A", "N/A", "N/A", "N/A");
  // Bytes per microsecond divided by 1,000 are GB/s.
  const double algbw =
      time->mean_us > 0 ? static_cast<double>(key.problem.message_size.value) / time->mean_us / 1e3
                        : 0;
  return fmt::format("  {:>7}  {:>6.2f}  {:>6.2f}  {:>5}", nccl_time(time->mean_us), algbw,
                     algbw * bus_bandwidth_factor(key.problem.collective, key.topology.ranks), "0");
}

std::string render_nccl(const SweepPlan& plan, std::span<const CompatTime> times) {
  std::string text;
  for (const Table& table : tables_of(plan, times, true)) {
    text += describe_table(table) + ", the loop of nccl-tests\n";
    text += fmt::format("#{:>66}{:>31}\n", "out-of-place", "in-place");
    text += fmt::format("#{:>11}  {:>12}  {:>8}  {:>6}  {:>6}", "size", "count", "type", "redop",
                        "root");
    for (int place = 0; place < 2; ++place)
      text += fmt::format("  {:>7}  {:>6}  {:>6}  {:>5}", "time", "algbw", "busbw", "wrong");
    text += fmt::format("\n#{:>11}  {:>12}  {:>8}  {:>6}  {:>6}", "(B)", "(elements)", "", "", "");
    for (int place = 0; place < 2; ++place)
      text += fmt::format("  {:>7}  {:>6}  {:>6}  {:>5}", "(us)", "(GB/s)", "(GB/s)", "");
    text += "\n";
    std::map<Bytes, std::array<const CompatTime*, 2>> sizes;
    for (const CompatTime* row : table.rows) {
      const Problem& problem = plan.cells[row->cell].key.problem;
      sizes[problem.message_size][problem.in_place ? 1 : 0] = row;
    }
    std::string failures;
    for (const auto& [size, places] : sizes) {
      const CompatTime& any = *(places[0] != nullptr ? places[0] : places[1]);
      const TuningKey& key = plan.cells[any.cell].key;
      const Problem& problem = key.problem;
      text += fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}{}{}\n", size.value,
                          block_elements(problem, key.topology.ranks), nccl_type(problem.data_type),
                          problem.reduce_op == ReduceOp::none ? std::string_view("none")
                                                              : name_of(problem.reduce_op),
                          shape_of(problem.collective).has_root ? 0 : -1,
                          nccl_columns(places[0], key), nccl_columns(places[1], key));
      for (const CompatTime* place : places)
        if (place != nullptr && !place->failure.empty())
          failures += fmt::format("# {}: {}\n", size.value, place->failure);
    }
    text += failures + "\n";
  }
  return text;
}

}  // namespace

std::vector<CompatTime> measure_like(CompatTool tool, Measurer& measurer, const SweepPlan& plan,
                                     const AbortFlag& stop) {
  std::vector<CompatTime> times;
  for (const Cell& cell : plan.cells) {
    if (measurer.is_stopped(stop)) break;
    for (CompatTime& time : measurer.measure_like(tool, cell)) times.push_back(std::move(time));
  }
  return times;
}

std::string render_like(CompatTool tool, const SweepPlan& plan, std::span<const CompatTime> times) {
  return tool == CompatTool::osu ? render_osu(plan, times) : render_nccl(plan, times);
}

}  // namespace colltune
