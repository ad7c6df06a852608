// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// An ordinary MPI program: heat in a periodic cube of N^3 points, a step by FFT, in slabs that are
// transposed by MPI_Alltoall. Ends with 0 if the field is right by the known decay of its modes.
//
//   mpirun -n 2 spectral_solver N STEPS      N: a power of two that the ranks divide

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numbers>
#include <utility>
#include <vector>

namespace {

using Number = std::complex<double>;

/// FFTs of one length.
class Fft {
 public:
  explicit Fft(std::size_t length) : length_(length), turns_(length / 2), reversed_(length) {
    for (std::size_t i = 0; i < length / 2; ++i)
      turns_[i] = std::polar(
          1.0, -2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(length));
    for (std::size_t i = 1, j = 0; i < length; ++i) {
      std::size_t bit = length / 2;
      for (; (j & bit) != 0; bit /= 2) j ^= bit;
      reversed_[i] = (j ^= bit);
    }
  }

  /// Of `length` numbers, `stride` apart; backwards without the factor 1/length.
  void run(Number* data, std::size_t stride, bool is_backwards) const {
    for (std::size_t i = 0; i < length_; ++i)
      if (i < reversed_[i]) std::swap(data[i * stride], data[reversed_[i] * stride]);
    for (std::size_t half = 1; half < length_; half *= 2)
      for (std::size_t start = 0; start < length_; start += 2 * half)
        for (std::size_t i = 0; i < half; ++i) {
          const Number turn = turns_[i * (length_ / (2 * half))];
          Number& low = data[(start + i) * stride];
          Number& high = data[(start + i + half) * stride];
          const Number turned = high * (is_backwards ? std::conj(turn) : turn);
          high = low - turned;
          low += turned;
        }
  }

 private:
  std::size_t length_;
  std::vector<Number> turns_;
  std::vector<std::size_t> reversed_;
};

/// One rank's slab of the cube: n / ranks planes of n x n.
class Cube {
 public:
  Cube(std::size_t n, MPI_Comm comm) : n_(n), comm_(comm), fft_(n) {
    int ranks = 0;
    MPI_Comm_size(comm, &ranks);
    ranks_ = static_cast<std::size_t>(ranks);
    own_ = n / ranks_;
    block_ = own_ * own_ * n;
    field_.resize(own_ * n * n);
    sent_.resize(field_.size());
    received_.resize(field_.size());
  }

  [[nodiscard]] std::size_t own() const { return own_; }
  /// Plane, row, column.
  Number& at(std::size_t z, std::size_t y, std::size_t x) { return field_[(z * n_ + y) * n_ + x]; }

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

  void forwards() {
    for (std::size_t z = 0; z < own_; ++z) {
      for (std::size_t y = 0; y < n_; ++y) fft_.run(&at(z, y, 0), 1, false);
      for (std::size_t x = 0; x < n_; ++x) fft_.run(&at(z, 0, x), n_, false);
    }
    transpose();
    for (std::size_t y = 0; y < own_; ++y)
      for (std::size_t x = 0; x < n_; ++x) fft_.run(&at(y, 0, x), n_, false);
  }
  void backwards() {
    for (std::size_t y = 0; y < own_; ++y)
      for (std::size_t x = 0; x < n_; ++x) fft_.run(&at(y, 0, x), n_, true);
    transpose();
    for (std::size_t z = 0; z < own_; ++z) {
      for (std::size_t y = 0; y < n_; ++y) fft_.run(&at(z, y, 0), 1, true);
      for (std::size_t x = 0; x < n_; ++x) fft_.run(&at(z, 0, x), n_, true);
    }
  }

 private:
  std::size_t n_;
  MPI_Comm comm_;
  Fft fft_;
  std::size_t ranks_ = 1;
  std::size_t own_ = 0;
  std::size_t block_ = 0;  ///< numbers for each rank
  std::vector<Number> field_;
  std::vector<Number> sent_;
  std::vector<Number> received_;
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
  MPI_Barrier(MPI_COMM_WORLD);
  const auto begin = std::chrono::steady_clock::now();
  const auto points = static_cast<double>(n * n * n);
  for (int step = 0; step < steps; ++step) {
    cube.forwards();
    for (std::size_t y = 0; y < cube.own(); ++y)
      for (std::size_t z = 0; z < n; ++z)
        for (std::size_t x = 0; x < n; ++x)
          cube.at(y, z, x) *=
              std::exp(-time_step * (square_of_frequency(first + y, n) + square_of_frequency(z, n) +
                                     square_of_frequency(x, n))) /
              points;
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
