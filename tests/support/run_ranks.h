// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "colltune/kernels/communication/thread_communicator.h"

namespace colltune::test {

/// A deadline that no healthy test reaches, also under a sanitizer on a busy machine.
[[nodiscard]] inline Deadline soon_enough() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(60);
}

/// Runs `body` once per rank of a thread world, each in a thread of its own. A rank that throws
/// raises the abort flag, so that no other waits for it; the first exception that was thrown is
/// rethrown here once all threads have ended.
inline void run_ranks(int ranks, const std::function<void(Communicator&)>& body,
                      const RankPlaces& pretended = {}, std::span<Device* const> devices = {}) {
  AbortFlag abort_flag;
  const auto world = make_thread_world(ranks, abort_flag, pretended, devices);
  std::mutex mutex;
  std::exception_ptr first;  // guarded by mutex
  {
    std::vector<std::jthread> threads;
    for (const auto& communicator : world)
      threads.emplace_back([&, rank = communicator.get()] {
        try {
          body(*rank);
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (!first) first = std::current_exception();
          abort_flag.raise();
        }
      });
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace colltune::test
