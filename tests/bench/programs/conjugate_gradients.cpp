// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// An ordinary MPI program: Poisson's equation on N x N points by conjugate gradients, in strips of
// rows, with two scalar products (MPI_Allreduce of 8 bytes) in each iteration and halos by
// MPI_Sendrecv. Ends with 0 if the known solution is found.
//
//   mpirun -n 2 conjugate_gradients N SOLVES

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numbers>
#include <vector>

namespace {

/// One rank's rows of the grid, with a row of its neighbours on both sides; outside all is 0.
class Strip {
 public:
  Strip(int n, int rows) : n_(n), rows_(rows), values_(static_cast<std::size_t>(n * (rows + 2))) {}

  [[nodiscard]] double* row(int row) { return values_.data() + (row + 1) * n_; }
  [[nodiscard]] const double* row(int row) const { return values_.data() + (row + 1) * n_; }
  [[nodiscard]] int size() const { return n_ * rows_; }
  [[nodiscard]] double* begin() { return row(0); }
  [[nodiscard]] const double* begin() const { return row(0); }

  void exchange_halos(int above, int below) {
    MPI_Sendrecv(row(0), n_, MPI_DOUBLE, above, 0, row(rows_), n_, MPI_DOUBLE, below, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(row(rows_ - 1), n_, MPI_DOUBLE, below, 1, row(-1), n_, MPI_DOUBLE, above, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }

 private:
  int n_;
  int rows_;
  std::vector<double> values_;
};

double product(const Strip& one, const Strip& other) {
  double own = 0;
  for (int i = 0; i < one.size(); ++i) own += one.begin()[i] * other.begin()[i];
  double all = 0;
  MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int n = argc == 3 ? std::atoi(argv[1]) : 0;
  const int solves = argc == 3 ? std::atoi(argv[2]) : 0;
  if (n < 1 || n % ranks != 0 || solves < 1) {
    if (rank == 0)
      std::fprintf(stderr, "usage: conjugate_gradients N SOLVES; the ranks divide N\n");
    MPI_Finalize();
    return 2;
  }
  const int rows = n / ranks;
  const int above = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  const int below = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
  const auto apply = [&](Strip& from, Strip& to) {
    from.exchange_halos(above, below);
    for (int y = 0; y < rows; ++y)
      for (int x = 0; x < n; ++x)
        to.row(y)[x] = 4 * from.row(y)[x] - from.row(y - 1)[x] - from.row(y + 1)[x] -
                       (x > 0 ? from.row(y)[x - 1] : 0) - (x + 1 < n ? from.row(y)[x + 1] : 0);
  };
  Strip wanted(n, rows);
  Strip right_side(n, rows);
  for (int y = 0; y < rows; ++y)
    for (int x = 0; x < n; ++x) {
      const auto angle = [&](int i) { return std::numbers::pi * (i + 1) / (n + 1); };
      wanted.row(y)[x] = std::sin(angle(rank * rows + y)) * std::sin(2 * angle(x)) +
                         0.1 * ((rank * rows + y) * 7 % 11) - 0.3 * (x * 5 % 7);
    }
  apply(wanted, right_side);
  MPI_Barrier(MPI_COMM_WORLD);
  const auto begin = std::chrono::steady_clock::now();
  int iterations = 0;
  double error = 0;
  double last = 0;
  for (int solve = 0; solve < solves; ++solve) {
    Strip found(n, rows);
    Strip residual = right_side;
    Strip direction = residual;
    Strip applied(n, rows);
    double square = product(residual, residual);
    const double goal = 1e-20 * square;
    for (int left = 10 * n * n; left > 0 && square > goal; --left, ++iterations) {
      apply(direction, applied);
      const double step = square / product(direction, applied);
      for (int i = 0; i < found.size(); ++i) {
        found.begin()[i] += step * direction.begin()[i];
        residual.begin()[i] -= step * applied.begin()[i];
      }
      const double next = product(residual, residual);
      for (int i = 0; i < found.size(); ++i)
        direction.begin()[i] = residual.begin()[i] + next / square * direction.begin()[i];
      square = next;
    }
    last = square;
    for (int i = 0; i < found.size(); ++i)
      error = std::max(error, std::abs(found.begin()[i] - wanted.begin()[i]));
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  double worst = 0;
  MPI_Allreduce(&error, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  const bool is_right = worst < 1e-6;
  if (rank == 0)
    std::printf("result %d %a %a\nseconds %.6f\n%s\n", iterations, worst, last, seconds,
                is_right ? "right" : "WRONG");
  MPI_Finalize();
  return is_right ? 0 : 1;
}
