// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// Does `sweep --compat osu` print what OSU's loop measures? An independent loop of the same form
// (MPI and nothing of colltune: a barrier, then call and barrier, MPI_Wtime around each call, the
// mean over the counted ones, averaged over the ranks) alternates with ours. Prints the medians of
// both per size, their ratio (ours / independent) with its quartiles, and the geometric mean. Exit
// code 0 where that lies in 0.90..1.10, else 1.
//
//   mpirun -n 2 compat_time [REPETITIONS]        default 11

#include <fmt/core.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "colltune/kernels/catalogue.h"
#include "colltune/kernels/mpi_library/mpi_communicator.h"
#include "colltune/kernels/mpi_library/mpi_settings.h"
#include "colltune/sweep/measure/compat.h"
#include "colltune/sweep/ranks/availability.h"
#include "launch/mpi_control_plane.h"

namespace {

using namespace colltune;
using namespace std::chrono_literals;

double quantile(std::vector<double> values, double q) {
  const auto at = static_cast<std::ptrdiff_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

/// The mean of a call in us, averaged over the ranks.
double independent_loop(std::size_t bytes) {
  const int skipped = bytes > 8192 ? 10 : 100;
  const int counted = bytes > 8192 ? 100 : 1000;
  const int count = static_cast<int>(bytes / sizeof(float));
  const std::vector<float> send(bytes / sizeof(float), 1);
  std::vector<float> receive(send.size());
  double sum = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < skipped + counted; ++i) {
    const double begin = MPI_Wtime();
    MPI_Allreduce(send.data(), receive.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    const double end = MPI_Wtime();
    if (i >= skipped) sum += end - begin;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  const double own = sum * 1e6 / counted;
  double all = 0;
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all / ranks;
}

int run(int repetitions) {
  AbortFlag abort;
  AbortFlag stop;
  const auto world = make_mpi_world(abort, std::chrono::steady_clock::now() + 60s);
  MpiControlPlane control(MPI_COMM_WORLD, 300s);
  const Implementations catalogue = make_catalogue();
  const Availability availability =
      exchange_capabilities(control, *world, detect_capability(catalogue, *world));
  const SweepSpec spec{.collectives = {Collective::all_reduce},
                       .sizes = parse_sizes("8,1KiB,8KiB,64KiB,1MiB"),
                       .include = {"mpi.all_reduce"},
                       .null_test = false};
  const SweepPlan plan = share_plan(control, spec, availability, catalogue, "benchmark");
  Measurer measurer(
      {.control = control, .launch = *world, .implementations = catalogue, .plan = plan},
      MeasurePolicy{});
  std::vector<std::vector<double>> ours(plan.cells.size());
  std::vector<std::vector<double>> independent(plan.cells.size());
  for (int repetition = 0; repetition < repetitions; ++repetition)
    for (std::size_t cell = 0; cell < plan.cells.size(); ++cell) {
      independent[cell].push_back(
          independent_loop(plan.cells[cell].key.problem.message_size.value));
      const auto times = measurer.measure_like(CompatTool::osu, plan.cells[cell]);
      if (control.rank() == 0) ours[cell].push_back(times.at(0).mean_us);
    }
  if (control.rank() != 0) return 0;
  fmt::print("{:>10} {:>14} {:>14} {:>8} {:>8} {:>8}\n", "size (B)", "ours (us)", "independent",
             "ratio", "q25", "q75");
  double logarithms = 0;
  for (std::size_t cell = 0; cell < plan.cells.size(); ++cell) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < ours[cell].size(); ++i)
      ratios.push_back(ours[cell][i] / independent[cell][i]);
    const double ratio = quantile(ratios, 0.5);
    logarithms += std::log(ratio);
    fmt::print("{:>10} {:>14.3f} {:>14.3f} {:>8.3f} {:>8.3f} {:>8.3f}\n",
               plan.cells[cell].key.problem.message_size.value, quantile(ours[cell], 0.5),
               quantile(independent[cell], 0.5), ratio, quantile(ratios, 0.25),
               quantile(ratios, 0.75));
  }
  const double mean = std::exp(logarithms / static_cast<double>(plan.cells.size()));
  fmt::print("geometric mean of the ratios {:.3f} (bound: 0.90..1.10), {} repetitions\n", mean,
             repetitions);
  return mean > 0.90 && mean < 1.10 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  prepare_mpi_environment();
  MPI_Init(&argc, &argv);
  int code = run(argc > 1 ? std::atoi(argv[1]) : 11);
  MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return code;
}
