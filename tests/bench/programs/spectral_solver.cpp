// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// An ordinary MPI program: heat in a periodic cube of N^3 points, a step by FFTW, in slabs that are
// transposed by MPI_Alltoall. Ends with 0 if the field is right by the known decay of its modes.
//
//   mpirun -n 2 spectral_solver N STEPS      N: a power of two that the ranks divide

#include <fftw3.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numbers>
#include <vector>

namespace {

using Number = std::complex<double>;

struct EndsPlan {
  void operator()(fftw_plan_s* plan) const { fftw_destroy_plan(plan); }
};
using Plan = std::unique_ptr<fftw_plan_s, EndsPlan>;

/// One rank's slab of the cube: n / ranks planes of n x n.
class Cube {
 public:
  Cube(std::size_t n, MPI_Comm comm) : n_(n), comm_(comm) {
    int ranks = 0;
    MPI_Comm_size(comm, &ranks);
    ranks_ = static_cast<std::size_t>(ranks);
    own_ = n / ranks_;
    block_ = own_ * own_ * n;
    field_.resize(own_ * n * n);
    sent_.resize(field_.size());
    received_.resize(field_.size());
    planes_forwards_ = plan(2, n, own_, FFTW_FORWARD);
    planes_backwards_ = plan(2, n, own_, FFTW_BACKWARD);
    // Of one plane after the transposition: each of its columns.
    columns_forwards_ = plan(1, n, 1, FFTW_FORWARD);
    columns_backwards_ = plan(1, n, 1, FFTW_BACKWARD);
  }

  [[nodiscard]] std::size_t own() const { return own_; }
  /// Plane, row, column.
  Number& at(std::size_t z, std::size_t y, std::size_t x) { return field_[(z * n_ + y) * n_ + x]; }
  std::vector<Number>& field() { return field_; }

  /// Afterwards at(y, z, x).
  void forwards() {
    run(planes_forwards_, 0);
    transpose();
    for (std::size_t y = 0; y < own_; ++y) run(columns_forwards_, y);
  }
  void backwards() {
    for (std::size_t y = 0; y < own_; ++y) run(columns_backwards_, y);
    transpose();
    run(planes_backwards_, 0);
  }

 private:
  /// In place; of one dimension: `n` columns of a plane. An estimated plan is the same in each
  /// launch, and with it the last bits.
  Plan plan(int dimensions, std::size_t n, std::size_t planes, int direction) {
    const auto length = static_cast<int>(n);
    const std::array lengths{length, length};
    const bool is_plane = dimensions == 2;
    const int count = is_plane ? static_cast<int>(planes) : length;
    const int stride = is_plane ? 1 : length;
    const int distance = is_plane ? length * length : 1;
    auto* const data = reinterpret_cast<fftw_complex*>(field_.data());
    return Plan(fftw_plan_many_dft(dimensions, lengths.data(), count, data, nullptr, stride,
                                   distance, data, nullptr, stride, distance, direction,
                                   FFTW_ESTIMATE | FFTW_UNALIGNED));
  }
  void run(const Plan& plan, std::size_t plane) {
    auto* const data = reinterpret_cast<fftw_complex*>(&at(plane, 0, 0));
    fftw_execute_dft(plan.get(), data, data);
  }

  /// Planes become rows: afterwards at(y, z, x).
  void transpose() {
    for (std::size_t to = 0; to < ranks_; ++to)
      for (std::size_t z = 0; z < own_; ++z)
        std::memcpy(static_cast<void*>(&sent_[to * block_ + z * own_ * n_]), &at(z, to * own_, 0),
                    own_ * n_ * sizeof(Number));
    MPI_Alltoall(sent_.data(), static_cast<int>(block_), MPI_C_DOUBLE_COMPLEX, received_.data(),
                 static_cast<int>(block_), MPI_C_DOUBLE_COMPLEX, comm_);
    for (std::size_t from = 0; from < ranks_; ++from)
      for (std::size_t z = 0; z < own_; ++z)
        for (std::size_t y = 0; y < own_; ++y)
          std::memcpy(static_cast<void*>(&at(y, from * own_ + z, 0)),
                      &received_[from * block_ + (z * own_ + y) * n_], n_ * sizeof(Number));
  }

  std::size_t n_;
  MPI_Comm comm_;
  std::size_t ranks_ = 1;
  std::size_t own_ = 0;
  std::size_t block_ = 0;  ///< numbers for each rank
  std::vector<Number> field_;
  std::vector<Number> sent_;
  std::vector<Number> received_;
  Plan planes_forwards_;
  Plan planes_backwards_;
  Plan columns_forwards_;
  Plan columns_backwards_;
};

double square_of_frequency(std::size_t i, std::size_t n) {
  const double frequency = static_cast<double>(i <= n / 2 ? i : n - i);
  return frequency * frequency;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto n = static_cast<std::size_t>(argc == 3 ? std::atoi(argv[1]) : 0);
  const int steps = argc == 3 ? std::atoi(argv[2]) : 0;
  if (n < 2 || (n & (n - 1)) != 0 || n % static_cast<std::size_t>(ranks) != 0 || steps < 1) {
    if (rank == 0)
      std::fprintf(stderr,
                   "usage: spectral_solver N STEPS; N a power of two that the ranks divide\n");
    MPI_Finalize();
    return 2;
  }
  constexpr double time_step = 1e-3;
  Cube cube(n, MPI_COMM_WORLD);
  const std::size_t first = static_cast<std::size_t>(rank) * cube.own();
  const auto angle = [&](std::size_t i) {
    return 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n);
  };
  const auto start = [&](std::size_t z, std::size_t y, std::size_t x) {
    return std::sin(angle(z)) * std::cos(angle(y)) * std::sin(angle(x));
  };
  for (std::size_t z = 0; z < cube.own(); ++z)
    for (std::size_t y = 0; y < n; ++y)
      for (std::size_t x = 0; x < n; ++x) cube.at(z, y, x) = start(first + z, y, x);
  // What a step leaves of each mode.
  const auto points = static_cast<double>(n * n * n);
  std::vector<double> left;
  left.reserve(cube.field().size());
  for (std::size_t y = 0; y < cube.own(); ++y)
    for (std::size_t z = 0; z < n; ++z)
      for (std::size_t x = 0; x < n; ++x)
        left.push_back(
            std::exp(-time_step * (square_of_frequency(first + y, n) + square_of_frequency(z, n) +
                                   square_of_frequency(x, n))) /
            points);
  MPI_Barrier(MPI_COMM_WORLD);
  const auto begin = std::chrono::steady_clock::now();
  for (int step = 0; step < steps; ++step) {
    cube.forwards();
    for (std::size_t i = 0; i < left.size(); ++i) cube.field()[i] *= left[i];
    cube.backwards();
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  // The one mode of the start decays by exp(-3 t).
  const double decay = std::exp(-3 * time_step * steps);
  double own_error = 0;
  double own_sum = 0;
  for (std::size_t z = 0; z < cube.own(); ++z)
    for (std::size_t y = 0; y < n; ++y)
      for (std::size_t x = 0; x < n; ++x) {
        own_error =
            std::max(own_error, std::abs(cube.at(z, y, x) - decay * start(first + z, y, x)));
        own_sum += std::abs(cube.at(z, y, x));
      }
  double error = 0;
  double sum = 0;
  MPI_Allreduce(&own_error, &error, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(&own_sum, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  const bool is_right = error < 1e-9;
  if (rank == 0)
    std::printf("result %a %a\nseconds %.6f\n%s\n", error, sum, seconds,
                is_right ? "right" : "WRONG");
  MPI_Finalize();
  return is_right ? 0 : 1;
}
