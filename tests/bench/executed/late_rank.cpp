// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// An ordinary MPI program in which the last rank comes late to every call: how long does it take
// from its arrival until all ranks are through? One JSON object for each size, and one with what
// the first ten calls of the program took in all.
//
//   mpirun -n 2 late_rank MICROSECONDS RUNS BYTES...

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;  // one for all processes of a machine

double now() {
  return std::chrono::duration<double, std::nano>(Clock::now().time_since_epoch()).count();
}

void wait_until(double time) {
  while (now() < time) continue;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: late_rank MICROSECONDS RUNS BYTES...\n");
    return 2;
  }
  const double late = 1e3 * std::atof(argv[1]);
  const int runs = std::atoi(argv[2]);
  const double begin = now();
  MPI_Init(&argc, &argv);
  const double initialized = now();
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  {
    std::vector<float> send(16, 1);
    std::vector<float> receive(16);
    for (int i = 0; i < 10; ++i)
      MPI_Allreduce(send.data(), receive.data(), 16, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    double own[2] = {now() - initialized, now() - begin};
    double all[2];
    MPI_Reduce(own, all, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
      std::printf("{\"first_calls_ns\": %.0f, \"with_init_ns\": %.0f}\n", all[0], all[1]);
  }
  for (int argument = 3; argument < argc; ++argument) {
    const auto count = static_cast<std::size_t>(std::atol(argv[argument])) / sizeof(float);
    std::vector<float> send(count, 1);
    std::vector<float> receive(count);
    std::vector<double> times;
    for (int run = -10; run < runs; ++run) {
      MPI_Barrier(MPI_COMM_WORLD);
      double start = now() + 5e4 + late;
      MPI_Bcast(&start, 1, MPI_DOUBLE, ranks - 1, MPI_COMM_WORLD);
      if (rank == ranks - 1) wait_until(start);
      MPI_Allreduce(send.data(), receive.data(), static_cast<int>(count), MPI_FLOAT, MPI_SUM,
                    MPI_COMM_WORLD);
      const double own = now() - start;
      double slowest = 0;
      MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      if (run >= 0) times.push_back(slowest);
    }
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                     times.end());
    if (rank == 0)
      std::printf("{\"bytes\": %zu, \"late_us\": %.0f, \"runs\": %d, \"median_ns\": %.0f}\n",
                  count * sizeof(float), late / 1e3, runs, times[times.size() / 2]);
  }
  MPI_Finalize();
  return 0;
}
