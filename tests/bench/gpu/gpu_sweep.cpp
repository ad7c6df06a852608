// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// A sweep over all of our CUDA kernels by ranks that share one GPU, into a tuning database. Without
// MPI: the ranks are threads. What it finds is kept under placement shared_device and never answers
// for real topologies.

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <string>

#include "colltune/kernels/device/cuda_device.h"
#include "colltune/sweep/passes/report.h"
#include "colltune/sweep/spec/sweep_spec.h"
#include "virtual_ranks_sweep.h"

namespace colltune {
namespace {

struct Options {
  int gpu = 0;
  int ranks = 4;
  double budget_seconds = 0;
  std::string configuration;
  std::string database;
};

int run(const Options& options) {
  const CudaDevices gpus = count_cuda_devices();
  if (gpus.count == 0) {
    std::cerr << "gpu_sweep: " << gpus.why_none << '\n';
    return 3;
  }
  const auto begin = std::chrono::steady_clock::now();
  SweepSpec spec = load_sweep_spec(options.configuration);
  if (options.budget_seconds > 0)
    spec.budget = std::chrono::nanoseconds(static_cast<std::int64_t>(options.budget_seconds * 1e9));
  const std::unique_ptr<Device> device = open_cuda_device(options.gpu);
  const VirtualRanksSweep sweep =
      sweep_virtual_ranks(*device, options.ranks, spec, options.database);
  fmt::print("{}", render_results(sweep.outcome.measurements, sweep.decisions, true));
  std::size_t failed = 0;
  for (const auto& [outcome, count] : sweep.outcome.trials)
    if (is_fault(outcome)) failed += count;
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  fmt::print("{}, {} decisions in generation {}, {} trials failed, {:.1f} s\n",
             name_of(sweep.outcome.end), sweep.decisions.size(), sweep.generation.number, failed,
             elapsed.count());
  return failed == 0 && !sweep.decisions.empty() ? 0 : 1;
}

}  // namespace
}  // namespace colltune

int main(int argc, char** argv) {
  colltune::Options options;
  CLI::App app("A sweep of our CUDA kernels by ranks that share one GPU");
  app.add_option("--gpu", options.gpu, "which one");
  app.add_option("--ranks", options.ranks, "virtual ranks")->check(CLI::Range(2, 16));
  app.add_option("--budget", options.budget_seconds, "seconds, instead of the configuration's");
  app.add_option("--config", options.configuration, "sweep configuration")->required();
  app.add_option("--db", options.database, "tuning database to add to")->required();
  CLI11_PARSE(app, argc, argv);
  try {
    return colltune::run(options);
  } catch (const std::exception& error) {
    std::cerr << "gpu_sweep: " << error.what() << '\n';
    return 2;
  }
}
