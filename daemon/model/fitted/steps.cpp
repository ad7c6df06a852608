// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/fitted/steps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

constexpr std::size_t parameters = 3;
using Row = std::array<double, parameters>;

/// The terms of a time, divided by it, so that errors are relative.
Row relative_terms(const WorldTime& one) {
  return {1 / one.time, one.count.steps / one.time, one.count.bytes_per_rank / one.time};
}

void check_times(std::span<const WorldTime> times) {
  std::set<int> worlds;
  for (const WorldTime& one : times) {
    for (const double value : {one.time, one.count.steps, one.count.bytes_per_rank})
      if (!(value > 0) || !std::isfinite(value))
        throw Error(StatusCode::invalid_argument,
                    "a fit over worlds needs times, steps and bytes above 0; those of " +
                        std::to_string(one.size.value) + " bytes on " + std::to_string(one.ranks) +
                        " ranks hold " + std::to_string(value));
    worlds.insert(one.ranks);
  }
  if (worlds.size() < 2)
    throw Error(
        StatusCode::invalid_argument,
        "a fit over worlds needs two numbers of ranks; there are " + std::to_string(worlds.size()));
}

/// Weighted least squares for 1 of the parameters in `used` only, by elimination with pivots; empty
/// if they cannot be told apart.
std::optional<Row> solve(const std::vector<Row>& rows, const std::vector<double>& weights,
                         unsigned used) {
  // Columns are scaled to unit length, as steps and bytes differ by orders of magnitude.
  Row scale{};
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t p = 0; p < parameters; ++p) scale[p] += weights[i] * rows[i][p] * rows[i][p];
  std::vector<std::size_t> columns;
  for (std::size_t p = 0; p < parameters; ++p) {
    scale[p] = std::sqrt(scale[p]);
    if ((used >> p & 1U) != 0) columns.push_back(p);
  }
  const std::size_t n = columns.size();
  std::array<std::array<double, parameters + 1>, parameters> matrix{};
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t a = 0; a < n; ++a) {
      const double value = weights[i] * rows[i][columns[a]] / scale[columns[a]];
      for (std::size_t b = 0; b < n; ++b)
        matrix[a][b] += value * rows[i][columns[b]] / scale[columns[b]];
      matrix[a][n] += value;
    }
  for (std::size_t a = 0; a < n; ++a) {
    std::size_t pivot = a;
    for (std::size_t row = a + 1; row < n; ++row)
      if (std::abs(matrix[row][a]) > std::abs(matrix[pivot][a])) pivot = row;
    if (std::abs(matrix[pivot][a]) < 1e-10) return {};
    std::swap(matrix[a], matrix[pivot]);
    for (std::size_t row = 0; row < n; ++row) {
      if (row == a) continue;
      const double factor = matrix[row][a] / matrix[a][a];
      for (std::size_t column = a; column <= n; ++column)
        matrix[row][column] -= factor * matrix[a][column];
    }
  }
  Row solution{};
  for (std::size_t a = 0; a < n; ++a)
    solution[columns[a]] = matrix[a][n] / matrix[a][a] / scale[columns[a]];
  return solution;
}

double relative_error(const Row& terms, const Row& solution) {
  double value = -1;
  for (std::size_t p = 0; p < parameters; ++p) value += terms[p] * solution[p];
  return value;
}

/// The best solution without negative parameters: of all sets of parameters, as there are few.
Row solve_without_negative(const std::vector<Row>& rows, const std::vector<double>& weights) {
  Row best{};
  double least = std::numeric_limits<double>::infinity();
  for (unsigned used = 1; used < 1U << parameters; ++used) {
    const std::optional<Row> solution = solve(rows, weights, used);
    if (!solution || std::ranges::any_of(*solution, [](double value) { return value < 0; }))
      continue;
    double squares = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double error = relative_error(rows[i], *solution);
      squares += weights[i] * error * error;
    }
    if (squares >= least) continue;
    least = squares;
    best = *solution;
  }
  return best;
}

}  // namespace

StepFit fit_steps(std::span<const WorldTime> times) {
  check_times(times);
  std::vector<Row> rows;
  for (const WorldTime& one : times) rows.push_back(relative_terms(one));
  std::vector<double> weights(rows.size(), 1.0);
  Row solution = solve_without_negative(rows, weights);
  for (int round = 0; round < 20; ++round) {
    std::vector<double> errors;
    for (const Row& terms : rows) errors.push_back(std::abs(relative_error(terms, solution)));
    std::vector<double> sorted = errors;
    std::ranges::sort(sorted);
    // Huber's 1.345 deviations, the deviation estimated by the median of absolute errors.
    const double limit = 1.345 * 1.4826 * sorted[sorted.size() / 2];
    for (std::size_t i = 0; i < rows.size(); ++i)
      weights[i] = errors[i] <= limit || limit <= 0 ? 1 : limit / errors[i];
    solution = solve_without_negative(rows, weights);
  }
  return {.overhead = solution[0], .per_step = solution[1], .per_byte = solution[2]};
}

std::optional<double> time_in_world(const StepFit& fit, std::span<const WorldTime> times,
                                    Bytes size, const StepCount& count) {
  double logs = 0;
  int found = 0;
  for (const WorldTime& one : times) {
    if (one.size != size) continue;
    logs += std::log(one.time / fit.at(one.count));
    ++found;
  }
  if (found == 0) return {};
  return fit.at(count) * std::exp(logs / found);
}

}  // namespace colltune
