// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// Does the sweep's timer report what an independent loop reports? Both time the same library call
// in the same processes, alternating run by run in a seeded random order, on two duplicates of one
// communicator and the same buffers. Prints per size the medians of the MAX over ranks and their
// ratio (ours / independent), then the geometric mean. Exit code 0 where the mean lies in
// 0.97..1.03 and no size outside 0.90..1.10, else 1.
//
//   mpirun -n 2 honest_time [RUNS]        default 2000 runs of each loop up to 64 KiB, fewer above

#include <fmt/core.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "colltune/kernels/catalogue.h"
#include "colltune/kernels/mpi_library/mpi_communicator.h"
#include "colltune/kernels/mpi_library/mpi_settings.h"
#include "colltune/sweep/clock/run_timer.h"
#include "independent_loop.h"

namespace {

using namespace colltune;
using namespace std::chrono_literals;

const std::vector<std::pair<std::string, Collective>> named{
    {"MPI_Allreduce", Collective::all_reduce},
    {"MPI_Allgather", Collective::all_gather},
    {"MPI_Reduce_scatter_block", Collective::reduce_scatter},
    {"MPI_Bcast", Collective::broadcast},
    {"MPI_Alltoall", Collective::all_to_all}};

double quantile(std::vector<double> values, double q) {
  const auto at = static_cast<std::ptrdiff_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

const Implementation& baseline_of(const Implementations& catalogue, Collective collective) {
  for (const auto& implementation : catalogue)
    if (implementation->is_baseline() && implementation->collective() == collective)
      return *implementation;
  std::fprintf(stderr, "this build has no baseline\n");
  std::exit(2);
}

struct Result {
  double ours = 0;
  double independent = 0;
  double low = 0;  ///< quartiles of the paired ratios of blocks of runs
  double high = 0;
};

Result compare(Communicator& world, MPI_Comm other, const Implementations& catalogue,
               const std::string& name, Collective collective, std::size_t bytes, int runs) {
  const int ranks = world.size();
  const auto shape = independent::shape_of(name, bytes, ranks);
  std::vector<float> image(shape.send, 1.0F);
  std::vector<float> send(std::max<std::size_t>(shape.send, 1));
  std::vector<float> receive(std::max<std::size_t>(shape.receive, 1));

  Problem problem{.collective = collective,
                  .data_type = DataType::f32,
                  .reduce_op = shape_of(collective).reduces ? ReduceOp::sum : ReduceOp::none,
                  .message_size = Bytes{std::max(shape.send, shape.receive) * sizeof(float)},
                  // MPI_Bcast has one buffer.
                  .in_place = collective == Collective::broadcast};
  const bool is_sender = !shape_of(collective).only_root_sends || world.rank() == 0;
  const auto send_bytes = std::as_writable_bytes(std::span(send).first(shape.send));
  const auto receive_bytes = problem.in_place
                                 ? send_bytes
                                 : std::as_writable_bytes(std::span(receive).first(shape.receive));
  const auto image_bytes = std::as_bytes(std::span(image));
  const Implementation& baseline = baseline_of(catalogue, collective);
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  const auto operation =
      baseline.prepare(world,
                       {.problem = problem,
                        .root = 0,
                        .buffers = {.send = is_sender ? send_bytes : std::span<std::byte>{},
                                    .receive = receive_bytes}},
                       {.implementation = std::string(baseline.name())}, deadline);

  const std::array targets{send_bytes};
  const std::array<independent::Buffers, 1> buffers{{{send.data(), receive.data()}}};
  std::vector<double> ours;
  std::vector<double> others;
  std::mt19937_64 order(12345);  // the same on all ranks
  constexpr int warm_up = 20;
  for (int run = -warm_up; run < runs; ++run) {
    const bool ours_first = (order() & 1) != 0;
    double mine = 0;
    double other_time = 0;
    const auto run_ours = [&] {
      mine = static_cast<double>(time_run(world, *operation,
                                          {.targets = targets, .image = image_bytes},
                                          {.calls = 1, .call_limit = 60s, .barrier_limit = 60s})
                                     .count());
    };
    if (ours_first) run_ours();
    other_time = independent::run(other, name, shape, buffers, image.data());
    if (!ours_first) run_ours();
    if (run < 0) continue;
    ours.push_back(mine);
    others.push_back(other_time);
  }
  MPI_Allreduce(MPI_IN_PLACE, ours.data(), runs, MPI_DOUBLE, MPI_MAX, other);
  MPI_Allreduce(MPI_IN_PLACE, others.data(), runs, MPI_DOUBLE, MPI_MAX, other);

  std::vector<double> block_ratios;
  constexpr std::ptrdiff_t blocks = 20;
  for (std::ptrdiff_t block = 0; block < blocks; ++block) {
    const auto part = [&](const std::vector<double>& all) {
      const auto n = static_cast<std::ptrdiff_t>(all.size());
      return quantile({all.begin() + n * block / blocks, all.begin() + n * (block + 1) / blocks},
                      0.5);
    };
    block_ratios.push_back(part(ours) / part(others));
  }
  return {quantile(ours, 0.5), quantile(others, 0.5), quantile(block_ratios, 0.25),
          quantile(block_ratios, 0.75)};
}

int run(int runs) {
  AbortFlag abort;
  const auto world = make_mpi_world(abort, std::chrono::steady_clock::now() + 60s);
  const Implementations catalogue = make_catalogue();
  const auto ours = world->duplicate(std::chrono::steady_clock::now() + 60s);
  MPI_Comm other = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(library, &length);

  bool is_honest = true;
  const bool prints = world->rank() == 0;
  if (prints) {
    fmt::print("# {} ranks, {}\n", world->size(),
               std::string(library).substr(0, std::string(library).find(',')));
    fmt::print(
        "# medians over runs of the MAX over ranks; ratio = ours / independent; quartiles over 20 "
        "blocks of runs\n");
    fmt::print("{:>26} {:>10} {:>7} {:>12} {:>14} {:>7} {:>15}\n", "collective", "bytes", "runs",
               "ours (us)", "independent", "ratio", "quartiles");
  }
  for (const auto& [name, collective] : named) {
    double log_sum = 0;
    int sizes = 0;
    for (std::size_t bytes = 8; bytes <= (std::size_t{4} << 20); bytes *= 8) {
      const int size_runs = std::max(
          200,
          bytes > 65536 ? static_cast<int>(runs * 65536.0 / static_cast<double>(bytes)) : runs);
      const Result result = compare(*ours, other, catalogue, name, collective, bytes, size_runs);
      const double ratio = result.ours / result.independent;
      log_sum += std::log(ratio);
      ++sizes;
      is_honest = is_honest && ratio >= 0.90 && ratio <= 1.10;
      if (prints)
        fmt::print("{:>26} {:>10} {:>7} {:>12.2f} {:>14.2f} {:>7.3f} {:>7.3f}..{:.3f}\n", name,
                   bytes, size_runs, result.ours / 1e3, result.independent / 1e3, ratio, result.low,
                   result.high);
    }
    const double mean = std::exp(log_sum / sizes);
    is_honest = is_honest && mean >= 0.97 && mean <= 1.03;
    if (prints) fmt::print("{:>26} geometric mean of the ratios {:.4f}\n", name, mean);
  }
  if (prints)
    fmt::print("{}\n", is_honest ? "honest: within the bounds"
                                 : "OUT OF BOUNDS (a noisy machine? run it again)");
  MPI_Comm_free(&other);
  return is_honest ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const int runs = argc > 1 ? std::max(1, std::atoi(argv[1])) : 2000;
  prepare_mpi_environment();
  MPI_Init(&argc, &argv);
  const int code = run(runs);
  MPI_Finalize();
  return code;
}
