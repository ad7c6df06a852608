// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// What an iteration takes that works, exchanges with its neighbours and reduces, as solvers do:
// how much of a faster all_reduce is left between other things? MPI and nothing of colltune.
//
//   mpirun -n 2 exchange_loop ITERATIONS WORK EXCHANGED REDUCED
//
// Each iteration goes WORK times over 8 KiB, sends EXCHANGED bytes (0: none) to the next rank while
// it receives them from the one before, and sums REDUCED bytes of double over all. Prints the
// median of 21 blocks of iterations, and of these the third and the nineteenth, ns an iteration.

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int warm_up = 3;
constexpr std::size_t blocks = 21;

struct Loop {
  long iterations = 0;
  long work = 0;
  long exchanged = 0;
  long reduced = 0;
};

/// ns an iteration; negative where a sum was wrong.
double time_block(const Loop& loop, int rank, int ranks) {
  static std::array<double, 1024> field;
  field.fill(1);
  std::vector<char> sent(static_cast<std::size_t>(loop.exchanged));
  std::vector<char> received(sent.size());
  std::vector<double> own(static_cast<std::size_t>(loop.reduced) / sizeof(double));
  std::vector<double> all(own.size());
  bool is_right = true;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (long i = 0; i < loop.iterations; ++i) {
    double sum = 0;
    for (long turn = 0; turn < loop.work; ++turn)
      for (double& value : field) sum += value *= 0.999999;
    if (loop.exchanged > 0)
      MPI_Sendrecv(sent.data(), static_cast<int>(sent.size()), MPI_BYTE, (rank + 1) % ranks, 0,
                   received.data(), static_cast<int>(received.size()), MPI_BYTE,
                   (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    std::fill(own.begin(), own.end(), sum + 1);
    MPI_Allreduce(own.data(), all.data(), static_cast<int>(own.size()), MPI_DOUBLE, MPI_SUM,
                  MPI_COMM_WORLD);
    // All ranks work alike.
    is_right = is_right && std::abs(all.back() - ranks * own.back()) <= 1e-9 * all.back();
  }
  const double took = (MPI_Wtime() - begin) / static_cast<double>(loop.iterations) * 1e9;
  return is_right ? took : -1;
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int at) { return argc == 5 ? std::atol(argv[at]) : -1; };
  const Loop loop{number(1), number(2), number(3), number(4)};
  if (loop.iterations < 1 || loop.work < 0 || loop.exchanged < 0 || loop.reduced < 8) {
    std::fprintf(
        stderr, "usage: exchange_loop ITERATIONS WORK EXCHANGED REDUCED; at least 1, 0, 0 and 8\n");
    return 2;
  }
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::array<double, blocks> times{};
  for (int i = 0; i < warm_up; ++i) (void)time_block(loop, rank, ranks);
  for (double& time : times) time = time_block(loop, rank, ranks);
  std::sort(times.begin(), times.end());
  if (times.front() < 0) {
    std::fprintf(stderr, "exchange_loop: rank %d: a sum was wrong\n", rank);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (rank == 0)
    std::printf("%.0f ns an iteration (%.0f to %.0f), sums right\n", times[blocks / 2], times[2],
                times[blocks - 3]);
  MPI_Finalize();
  return 0;
}
