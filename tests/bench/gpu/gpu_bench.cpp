// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// Our CUDA kernels with several ranks on one GPU (virtual ranks), beside a plain copy of as many
// bytes in the GPU's memory. Ranks are threads whose kernels start as one launch. All move their
// bytes through one memory and no link: this tells protocol overhead, use of the processors, and
// that nothing is wrong; it is not what several GPUs do.
//
// Of each algorithm the fastest variant is printed: by the device's clock, without the time that
// the host takes to launch it, and by the host's (from the first start to the last end). What an
// empty kernel takes in the same way is the zero line. Inputs are out of the GPU's caches before
// each call. Captured calls (--captured) are judged as a graph of a training step or of a token
// runs them: a graph of 20 calls, one after the other, divided by 20, with inputs in the caches.
// The other state of the inputs is in the JSON beside each target. Results up to 16 MiB are
// verified first; a variant that is wrong is not timed. A first variant of every row is timed
// before a second one of any, so that where the time ends no row is missing as a whole.
//
// With --targets it times what our kernels must reach on one GPU (gpu_targets.h) instead, verifies
// the best of each, whatever the size, and judges them.
//
// Lines that begin with WRONG, TARGET MISSED or NOT MEASURED are findings. Exit: 0 none; 1
// something is wrong; 5 else, a target was missed; 4 else, something was not measured; 3 no GPU; 2
// no start.

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "colltune/kernels/catalogue.h"
#include "colltune/kernels/device/cuda_device.h"
#include "device_code/device_algorithm.h"
#include "device_code/empty.h"
#include "gpu_targets.h"
#include "virtual_ranks_bench.h"

namespace colltune {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

constexpr int exit_wrong = 1;
constexpr int exit_not_started = 2;
constexpr int exit_no_gpu = 3;
constexpr int exit_not_measured = 4;
constexpr int exit_target_missed = 5;

constexpr int calls_of_graph = 20;
constexpr int zero_line_calls = 200;

// Far more than any cache holds.
constexpr Bytes copied_for_rate{256 << 20};

struct Options {
  int gpu = 0;
  BenchSettings settings;
  std::vector<std::string> sizes{"8KiB", "64KiB", "1MiB", "16MiB", "256MiB"};
  std::string only;
  bool in_caches = false;
  bool judges_targets = false;
  double seconds = 240;
  std::string json;
};

/// What was found, for the exit code.
struct Findings {
  std::size_t wrong = 0;
  std::size_t missed = 0;
  std::vector<std::string> untimed;

  void add_wrong(const std::string& text) {
    ++wrong;
    fmt::print("WRONG: {}\n", text);
  }
  void add_untimed(const std::string& text) {
    untimed.push_back(text);
    fmt::print("NOT MEASURED: {}\n", text);
  }
  [[nodiscard]] int exit_code() const {
    if (wrong > 0) return exit_wrong;
    if (missed > 0) return exit_target_missed;
    return untimed.empty() ? 0 : exit_not_measured;
  }
};

/// How the GPU runs now, as far as it tells.
Json describe_state(const Device& device) {
  const std::optional<DeviceState> state = device.state();
  if (!state) return nullptr;
  return {{"clock_khz", state->clock_khz},
          {"throttles", names_of_throttles(state->throttles)},
          {"power_state", state->power_state}};
}

void print_state(const char* when, const Json& state) {
  if (state.is_null()) return;
  const std::string throttles = state["throttles"];
  fmt::print("{}: {} kHz, power state {}, held down by {}\n", when,
             state["clock_khz"].get<std::uint64_t>(), state["power_state"].get<int>(),
             throttles.empty() ? "nothing" : throttles);
}

/// Whoever ends this meanwhile leaves the whole file of before.
void write_json(const Options& options, const Json& result) {
  if (options.json.empty()) return;
  const std::string part = options.json + ".part";
  std::ofstream(part) << result.dump(1) << '\n';
  std::filesystem::rename(part, options.json);
}

/// Everything that a run has at hand.
struct Run {
  const Options& options;
  BenchDevices devices;
  const Implementations& catalogue;
  Clock::time_point give_up;
  double copied_bytes_per_us = 0;  ///< by a plain copy, reads and writes
  Capability capability{};
  Json result{};
  Findings findings{};

  [[nodiscard]] bool is_over() const { return Clock::now() > give_up; }
};

double measure_copy_rate(VirtualRanksBench& bench) {
  const double us =
      std::chrono::duration<double, std::micro>(bench.copy_time(copied_for_rate)).count();
  return 2 * static_cast<double>(copied_for_rate.value) / us;
}

/// Times of an empty kernel, us: by the device's clock and the host's.
struct ZeroLine {
  double device_us = 0;
  double host_us = 0;
};

ZeroLine measure_zero_line(Device& by_clock, Device& as_called, DeviceGrid grid) {
  const DeviceAlgorithm empty = device::make_empty_algorithm();
  const device::PeerMemory nobody;
  device::DeviceCall call;
  call.look_up_peers_in(nobody);
  const auto median_of = [&](Device& device, bool by_host) {
    const auto launch = device.make_launch(empty, {&call, 1}, grid);
    std::vector<double> times;
    for (int i = 0; i < zero_line_calls; ++i) {
      const auto begin = Clock::now();
      launch->start();
      while (!launch->has_ended()) {
      }
      const std::chrono::duration<double, std::micro> host = Clock::now() - begin;
      const std::chrono::duration<double, std::micro> own = launch->duration();
      times.push_back(by_host ? host.count() : own.count());
    }
    std::ranges::nth_element(times, times.begin() + zero_line_calls / 2);
    return times[zero_line_calls / 2];
  };
  return {median_of(by_clock, false), median_of(as_called, true)};
}

/// What a launch takes by itself, in each way in which calls are timed.
void report_zero_lines(Run& run) {
  struct Way {
    const char* name;
    Device& by_clock;
    DeviceGrid grid;
  };
  const Way ways[] = {
      {"stream", run.devices.alone, {.blocks = 1, .threads = 32}},
      {"graph", run.devices.alone, {.blocks = 1, .threads = 32, .replays_graph = true}},
      {"graph of 20", run.devices.repeated, {.blocks = 1, .threads = 32, .replays_graph = true}},
      {"graph of 20, 128 blocks",
       run.devices.repeated,
       {.blocks = 128, .threads = 512, .replays_graph = true}}};
  Json& lines = run.result["zero_line"] = Json::array();
  for (const Way& way : ways) {
    const ZeroLine line = measure_zero_line(way.by_clock, run.devices.calls, way.grid);
    fmt::print("an empty kernel, {}: {:.2f} us by the device's clock, {:.2f} by the host's\n",
               way.name, line.device_us, line.host_us);
    lines.push_back(
        {{"launch", way.name}, {"device_us", line.device_us}, {"host_us", line.host_us}});
  }
}

void begin(Run& run, VirtualRanksBench& bench) {
  run.capability = bench.capability(run.catalogue);
  run.copied_bytes_per_us = measure_copy_rate(bench);
  const int ranks = bench.settings().ranks;
  run.result = {{"gpu", run.capability.features},
                {"ranks", ranks},
                {"placement", "shared_device"},
                {"type", name_of(bench.settings().type)},
                {"copy_GB_per_s", run.copied_bytes_per_us / 1e3},
                {"graph_capture", bench.settings().is_captured},
                {"input", bench.evicts() ? "rotating" : "hot"},
                {"complete", false},
                {"rows", Json::array()},
                {"state_before", describe_state(run.devices.calls)}};
  fmt::print(
      "{}, {}: {} virtual ranks; a plain copy moves {:.0f} GB/s (reads and writes); inputs are "
      "{}\n\n",
      run.capability.value("device.name"), run.capability.architecture, ranks,
      run.copied_bytes_per_us / 1e3, bench.evicts() ? "out of the caches" : "in the caches");
  report_zero_lines(run);
  if (!bench.evicts() && !run.options.in_caches && !bench.settings().is_captured)
    run.findings.add_untimed("inputs out of the caches: nobody tells how large these are");
}

void end(Run& run) {
  run.result["state_after"] = describe_state(run.devices.calls);
  run.result["not_measured"] = run.findings.untimed;
  run.result["complete"] = run.findings.untimed.empty();
  for (const char* const when : {"state_before", "state_after"})
    print_state(when, run.result[when]);
  write_json(run.options, run.result);
}

void print_heads() {
  fmt::print("{:>10} {:>10} {:>10} {:>9} {:>8} {:>8}  {}\n", "size", "device", "host", "algbw",
             "of copy", "memory", "variant");
  fmt::print("{:>10} {:>10} {:>10} {:>9}\n", "(B)", "(us)", "(us)", "(GB/s)");
}

GpuFigures figures_of(const Run& run, const BenchRow& row, int ranks) {
  return {.device_us = row.device_us,
          .moved_bytes = moved_bytes(row.implementation->name(), ranks, row.problem.message_size),
          .memory_bytes = memory_bytes(row.best.value(), ranks, row.problem.message_size,
                                       run.devices.calls.facts().cache_size),
          .copied_bytes_per_us = run.copied_bytes_per_us};
}

/// Prints `row` and adds it to the result, with what was wrong in it and what is not there.
void report_row(Run& run, const BenchRow& row, int ranks) {
  for (const std::string& fault : row.faults) run.findings.add_wrong(fault);
  if (const std::string untimed = describe_untimed(row); !untimed.empty())
    run.findings.add_untimed(untimed);
  Json json{{"implementation", row.implementation->name()},
            {"collective", name_of(row.problem.collective)},
            {"message_size_bytes", row.problem.message_size.value},
            {"graph_capture", row.problem.graph_capture},
            {"variants", row.variants.size()},
            {"timed", row.timed},
            {"wrong", row.faults.size()},
            {"times", Json::object()},
            {"variant", nullptr}};
  for (const auto& [variant, us] : row.times) json["times"][to_string(variant)] = us;
  if (row.best) {
    const GpuFigures figures = figures_of(run, row, ranks);
    const double copied = figures.device_us * figures.copied_bytes_per_us;
    const double share = figures.moved_bytes / copied;
    const double of_memory = figures.memory_bytes / copied;
    const auto bytes = static_cast<double>(row.problem.message_size.value);
    const auto percent = [](double part) {
      return part == 0 ? std::string() : fmt::format("{:.0f} %", 100 * part);
    };
    fmt::print("{:>10} {:>10.2f} {:>10.2f} {:>9.2f} {:>8} {:>8}  {}\n",
               row.problem.message_size.value, row.device_us, row.host_us,
               bytes / row.device_us / 1e3, percent(share), percent(of_memory),
               to_string(*row.best));
    json["variant"] = to_string(*row.best);
    json["device_us"] = row.device_us;
    json["host_us"] = row.host_us;
    if (share != 0) {
      json["of_copy"] = share;
      json["of_memory"] = of_memory;
    }
  }
  std::fflush(stdout);
  run.result["rows"].push_back(std::move(json));
}

/// What is in the table: by collective and size, so that neighbours have their data in common.
std::vector<BenchRow> list_rows(Run& run, const VirtualRanksBench& bench) {
  std::vector<BenchRow> rows;
  Json unavailable = Json::object();
  for (const auto& implementation : run.catalogue) {
    const std::string name(implementation->name());
    if (!implementation->runs_on_device() || name.find(run.options.only) == std::string::npos)
      continue;
    for (const std::string& size : run.options.sizes) {
      BenchRow row = bench.make_row(*implementation, run.capability, parse_bytes(size));
      if (row.variants.empty())
        unavailable[name] = row.why_untimed;
      else
        rows.push_back(std::move(row));
    }
  }
  std::ranges::stable_sort(rows, {}, [](const BenchRow& row) {
    return std::pair(row.problem.collective, row.problem.message_size);
  });
  run.result["unavailable"] = std::move(unavailable);
  return rows;
}

void make_table(Run& run) {
  VirtualRanksBench bench(run.devices, run.options.settings);
  begin(run, bench);
  std::vector<BenchRow> rows = list_rows(run, bench);
  if (rows.empty()) run.findings.add_untimed("anything: no implementation runs here");
  for (BenchRow& row : rows)
    if (!run.is_over()) bench.time_next(row);
  print_heads();
  for (BenchRow& row : rows) {
    while (row.tried < row.variants.size() && !run.is_over()) bench.time_next(row);
    report_row(run, row, bench.settings().ranks);
  }
  end(run);
}

Json describe_target(const GpuTarget& target, const GpuVerdict& verdict) {
  Json json{{"name", target.name},      {"message", target.size},
            {"ranks", target_ranks},    {"figure", name_of(target.figure)},
            {"target", target.bound},   {"measured", nullptr},
            {"reached", "not measured"}};
  if (verdict.measured) json["measured"] = *verdict.measured;
  if (verdict.is_reached)
    json["reached"] = *verdict.is_reached;
  else
    json["reason"] = verdict.reason;
  return json;
}

/// The same for a person, and for the exit code.
void report_target(Run& run, const GpuTarget& target, const GpuVerdict& verdict) {
  const std::string figures =
      fmt::format("{}, {}, {} ranks: {} of {} {:.3g}", target.name, target.size, target_ranks,
                  verdict.measured ? fmt::format("{:.3g}", *verdict.measured) : "nothing",
                  wants_more(target) ? "at least" : "at most", target.bound);
  const std::string text = fmt::format("{} ({})", figures, name_of(target.figure));
  if (!verdict.is_reached) {
    run.findings.add_untimed(fmt::format("target {}: {}", text, verdict.reason));
  } else if (*verdict.is_reached) {
    fmt::print("TARGET REACHED: {}\n", text);
  } else {
    ++run.findings.missed;
    fmt::print("TARGET MISSED: {}\n", text);
  }
}

/// Times all variants of the forms of `target`. The best of them counts, if it is right.
GpuVerdict measure_target(Run& run, const GpuTarget& target, Json& details) {
  BenchSettings settings = run.options.settings;
  settings.ranks = target_ranks;
  settings.is_captured = target.graph_capture;
  if (settings.is_captured) settings.evicts_inputs = false;
  settings.most_variants = 0;
  VirtualRanksBench bench(run.devices, settings);
  std::optional<double> plain_copy_us;
  if (target.figure == GpuTarget::Figure::times_plain_copy)
    plain_copy_us = std::chrono::duration<double, std::micro>(
                        bench.copy_time(parse_bytes(target.size) * target_ranks))
                        .count();
  std::optional<double> best;
  std::string untimed;
  const auto add_reason = [&](const std::string& reason) {
    untimed += (untimed.empty() ? "" : "; ") + reason;
  };
  for (const auto& implementation : run.catalogue) {
    if (!is_form_of(target, implementation->name())) continue;
    BenchRow row = bench.make_row(*implementation, run.capability, parse_bytes(target.size));
    while (row.tried < row.variants.size() && !run.is_over()) bench.time_next(row);
    if (row.best) {
      const std::string fault = bench.verify_best(row);
      if (!fault.empty()) row.faults.push_back(to_string(*row.best) + ": " + fault);
    }
    report_row(run, row, target_ranks);
    if (const std::string lacking = describe_untimed(row); !lacking.empty()) add_reason(lacking);
    if (!row.faults.empty()) add_reason(std::string(implementation->name()) + " is wrong");
    if (!row.best || !row.faults.empty()) continue;
    GpuFigures figures = figures_of(run, row, target_ranks);
    figures.plain_copy_us = plain_copy_us;
    const auto figure = figure_of(target, figures);
    if (!figure || !is_better(target, *figure, best)) continue;
    best = figure;
    details = {{"variant", to_string(*row.best)},
               {"device_us", row.device_us},
               {"host_us", row.host_us},
               {"input", bench.evicts() ? "rotating" : "hot"}};
    if (const auto otherwise = bench.time_of_best_otherwise(row))
      details[bench.evicts() ? "device_us_hot" : "device_us_rotating"] = *otherwise;
    if (plain_copy_us) details["plain_copy_us"] = *plain_copy_us;
  }
  return judge(target, best, untimed);
}

/// The file is written again behind each target: whoever ends this leaves what there is.
void judge_targets(Run& run) {
  {
    BenchSettings settings = run.options.settings;
    settings.ranks = target_ranks;
    VirtualRanksBench bench(run.devices, settings);
    begin(run, bench);
  }
  Json& targets = run.result["targets"] = Json::array();
  for (const GpuTarget& target : gpu_targets())
    targets.push_back(describe_target(target, {.reason = "it was not come to"}));
  write_json(run.options, run.result);
  print_heads();
  std::size_t number = 0;
  for (const GpuTarget& target : gpu_targets()) {
    GpuVerdict verdict;
    Json details = Json::object();
    try {
      verdict = measure_target(run, target, details);
    } catch (const std::exception& error) {
      verdict = {.reason = error.what()};
    }
    report_target(run, target, verdict);
    Json& json = targets[number++] = describe_target(target, verdict);
    json.update(details);
    write_json(run.options, run.result);
  }
  end(run);
}

int run(const Options& options) {
  const CudaDevices gpus = count_cuda_devices();
  if (gpus.count == 0) {
    std::cerr << "gpu_bench: " << gpus.why_none << '\n';
    return exit_no_gpu;
  }
  const std::unique_ptr<Device> calls = open_cuda_device(options.gpu);
  const std::unique_ptr<Device> alone = open_cuda_device(options.gpu, {.times_device_alone = true});
  const std::unique_ptr<Device> repeated =
      open_cuda_device(options.gpu, {.times_device_alone = true, .calls_of_graph = calls_of_graph});
  const Implementations catalogue = make_catalogue();
  Run run{.options = options,
          .devices = {.calls = *calls, .alone = *alone, .repeated = *repeated},
          .catalogue = catalogue,
          .give_up = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(options.seconds))};
  if (options.judges_targets)
    judge_targets(run);
  else
    make_table(run);
  return run.findings.exit_code();
}

}  // namespace
}  // namespace colltune

int main(int argc, char** argv) {
  colltune::Options options;
  colltune::BenchSettings& settings = options.settings;
  CLI::App app("Our CUDA kernels with several ranks on one GPU, beside a plain copy");
  app.add_option("--gpu", options.gpu, "which one");
  auto* const ranks =
      app.add_option("--ranks", settings.ranks, "virtual ranks")->check(CLI::Range(1, 16));
  auto* const sizes = app.add_option("--sizes", options.sizes, "message sizes")->delimiter(',');
  auto* const only =
      app.add_option("--only", options.only, "implementations whose names hold this");
  app.add_option("--calls", settings.calls, "timed calls of each variant")
      ->check(CLI::Range(1, 10000));
  auto* const variants =
      app.add_option("--variants", settings.most_variants,
                     "at most so many of each row, spread over its search space");
  std::string type(name_of(settings.type));
  app.add_option("--type", type, "of what is summed: f32, bf16, ...");
  auto* const captured = app.add_flag("--captured", settings.is_captured,
                                      "calls that the caller captures into a graph");
  app.add_flag("--in-caches", options.in_caches, "nothing pushes inputs out of the GPU's caches");
  app.add_flag("--targets", options.judges_targets, "time and judge the targets instead")
      ->excludes(ranks)
      ->excludes(sizes)
      ->excludes(only)
      ->excludes(variants)
      ->excludes(captured);
  app.add_option("--seconds", options.seconds, "begin nothing new after so long");
  app.add_option("--json", options.json, "file to write");
  CLI11_PARSE(app, argc, argv);
  settings.evicts_inputs = !options.in_caches && !settings.is_captured;
  try {
    settings.type = colltune::parse_name<colltune::DataType>(type);
    return colltune::run(options);
  } catch (const std::exception& error) {
    std::cerr << "gpu_bench: " << error.what() << '\n';
    return colltune::exit_not_started;
  }
}
