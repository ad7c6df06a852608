// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// What lies between the sweep's two clock reads besides the collective: an operation that does
// nothing, timed by the sweep's own timer, against two clock reads with nothing between them.
// Interleaved; medians over 200 blocks.

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "colltune/sweep/clock/run_timer.h"

namespace {

class EmptyOperation final : public colltune::Operation {
 public:
  void start() override {}
  void wait(colltune::Deadline) override {}
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

}  // namespace

int main() {
  using Clock = std::chrono::steady_clock;
  constexpr int blocks = 200;
  constexpr int runs = 2000;
  // Behind a pointer that the compiler cannot see through, as in a sweep.
  const std::unique_ptr<colltune::Operation> operation = std::make_unique<EmptyOperation>();
  const auto deadline = Clock::now() + std::chrono::hours(1);
  std::vector<double> with_operation;
  std::vector<double> clock_only;
  for (int block = 0; block < blocks; ++block) {
    std::chrono::nanoseconds sum{};
    for (int run = 0; run < runs; ++run)
      sum += colltune::time_calls(*operation, 1, deadline).duration();
    with_operation.push_back(static_cast<double>(sum.count()) / runs);
    sum = {};
    for (int run = 0; run < runs; ++run) {
      const auto begin = Clock::now();
      sum += Clock::now() - begin;
    }
    clock_only.push_back(static_cast<double>(sum.count()) / runs);
  }
  fmt::print(
      "an empty operation through the sweep's timer  {:.1f} ns (median of {} blocks of {} runs)\n",
      median(with_operation), blocks, runs);
  fmt::print("two clock reads with nothing between them     {:.1f} ns\n", median(clock_only));
  fmt::print("the harness's own overhead                    {:.1f} ns (bound: 100 ns)\n",
             median(with_operation) - median(clock_only));
  return median(with_operation) - median(clock_only) < 100 ? 0 : 1;
}
