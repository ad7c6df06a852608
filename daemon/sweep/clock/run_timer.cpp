// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/clock/run_timer.h"

#include <algorithm>
#include <cstring>

#include "colltune/kernels/arithmetic/cache.h"

namespace colltune {

using Clock = std::chrono::steady_clock;

TimedCalls time_calls(Operation& operation, int calls, Deadline deadline,
                      std::span<const CallBuffers> bindings) {
  const auto begin = Clock::now();
  return {.begin = begin, .end = end_of_calls(operation, calls, deadline, bindings)};
}

Clock::time_point end_of_calls(Operation& operation, int calls, Deadline deadline,
                               std::span<const CallBuffers> bindings) {
  if (bindings.empty()) {
    for (int call = 0; call < calls; ++call) {
      operation.start();
      operation.wait(deadline);
    }
    return Clock::now();
  }
  operation.call_each(bindings, deadline);
  return Clock::now();
}

void rewrite(const RunInput& input) {
  for (const std::span<std::byte> target : input.targets)
    if (input.device != nullptr && !target.empty())
      input.device->write(target.data(), input.image);
    else if (!target.empty())
      std::memcpy(target.data(), input.image.data(), target.size());
  for (const std::span<std::byte> bytes : input.evicted)
    if (input.device != nullptr)
      input.device->fill(bytes, 0);
    else
      evict_from_caches(bytes);
}

Deadline start_together(Communicator& communicator, const RunInput& input,
                        const RunLimits& limits) {
  rewrite(input);
  communicator.barrier(Clock::now() + limits.barrier_limit);
  return Clock::now() + limits.call_limit;
}

std::chrono::nanoseconds time_run(Communicator& communicator, Operation& operation,
                                  const RunInput& input, const RunLimits& limits) {
  const Deadline deadline = start_together(communicator, input, limits);
  return time_calls(operation, limits.calls, deadline, input.bindings).duration();
}

std::chrono::nanoseconds clock_resolution() {
  // The smallest of a few steps: an interruption makes a step longer, never shorter.
  std::chrono::nanoseconds smallest = std::chrono::seconds(1);
  for (int i = 0; i < 64; ++i) {
    const auto first = Clock::now();
    auto second = Clock::now();
    while (second == first) second = Clock::now();
    smallest = std::min<std::chrono::nanoseconds>(smallest, second - first);
  }
  return smallest;
}

}  // namespace colltune
