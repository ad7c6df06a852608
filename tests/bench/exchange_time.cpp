// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// What it takes the ranks of a launch to find out what each of them can do and to agree on it, and
// what the exchange alone takes. MAX over the ranks; median and the highest of the rounds.
//   mpirun -n 8 --oversubscribe exchange_time

#include <fmt/core.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "colltune/kernels/catalogue.h"
#include "colltune/kernels/mpi_library/mpi_communicator.h"
#include "colltune/kernels/mpi_library/mpi_settings.h"
#include "colltune/sweep/ranks/availability.h"
#include "colltune/sweep/ranks/capability_merge.h"
#include "launch/mpi_control_plane.h"

namespace {

using Clock = std::chrono::steady_clock;
constexpr int rounds = 51;

/// Times `step` after a barrier, `rounds` times; rank 0 prints.
void time_step(colltune::ControlPlane& control, const char* name,
               const std::function<void()>& step) {
  std::vector<std::int64_t> times;
  for (int round = 0; round < rounds; ++round) {
    control.barrier();
    const auto begin = Clock::now();
    step();
    std::int64_t time = (Clock::now() - begin).count();
    control.all_reduce_max({&time, 1});
    times.push_back(time);
  }
  std::ranges::sort(times);
  if (control.rank() == 0)
    fmt::print("{:32} {:9.3f} ms  (highest of {}: {:.3f} ms)\n", name,
               static_cast<double>(times[rounds / 2]) / 1e6, rounds,
               static_cast<double>(times.back()) / 1e6);
}

void run() {
  colltune::AbortFlag abort_flag;
  const auto world = colltune::make_mpi_world(abort_flag, Clock::now() + std::chrono::seconds(60));
  colltune::MpiControlPlane control(MPI_COMM_WORLD, std::chrono::seconds(60));
  const colltune::Implementations catalogue = colltune::make_catalogue();
  colltune::Capability own = colltune::detect_capability(catalogue, *world);
  // A kind of its own for every third rank.
  if (control.rank() % 3 == 1) own.features["tag.one"] = "";
  if (control.rank() % 3 == 2) own.features["tag.two"] = "";
  colltune::Availability availability;
  time_step(control, "exchange and merge",
            [&] { availability = colltune::exchange_capabilities(control, *world, own); });
  time_step(control, "detection, exchange and merge", [&] {
    availability = colltune::exchange_capabilities(control, *world,
                                                   colltune::detect_capability(catalogue, *world));
  });
  if (control.rank() == 0)
    fmt::print("{} ranks; a rank's capability travels as {} bytes\n", control.size(),
               colltune::encode({.kinds = {own}, .kind_of_rank = {0}}).size());
}

}  // namespace

int main(int argc, char** argv) {
  colltune::prepare_mpi_environment();
  MPI_Init(&argc, &argv);
  int code = 0;
  try {
    run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "exchange_time: {}\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
    code = 1;
  }
  MPI_Finalize();
  return code;
}
