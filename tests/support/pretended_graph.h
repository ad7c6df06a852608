// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "colltune/kernels/device.h"
#include "support/pretended_stream.h"

namespace colltune::test {

/// A queue of a pretended device that is captured: what is put on it is kept, and run with each
/// replay of the graph. Whoever put it there may be another thread.
class PretendedCapture final : public PretendedStream {
 public:
  PretendedCapture() : PretendedStream{&PretendedCapture::add, &PretendedCapture::keep_argument} {}

  /// As a cudaStream_t is handed on.
  [[nodiscard]] void* queue() { return static_cast<PretendedStream*>(this); }
  /// What was captured. What its graph, and its replays, keep goes with the last of them.
  [[nodiscard]] std::unique_ptr<DeviceGraph> end() {
    return std::make_unique<Graph>(std::exchange(captured_, nullptr));
  }

 private:
  struct Work {
    void (*act)(void*);
    void* argument;
  };
  struct Captured {
    ~Captured() {
      for (const Work& one : kept) one.act(one.argument);
    }
    std::mutex mutex;
    std::vector<Work> works;  ///< guarded by mutex while it is captured
    std::vector<Work> kept;   ///< the same
  };
  class Graph final : public DeviceGraph {
   public:
    explicit Graph(std::shared_ptr<const Captured> captured) : captured_(std::move(captured)) {}
    void replay(void* queue) override {
      auto* const stream = static_cast<PretendedStream*>(queue);
      using Held = std::shared_ptr<const Captured>;
      stream->enqueue(
          stream,
          [](void* argument) {
            const std::unique_ptr<Held> held(static_cast<Held*>(argument));
            for (const Work& one : (*held)->works) one.act(one.argument);
          },
          new Held(captured_));
    }

   private:
    std::shared_ptr<const Captured> captured_;
  };

  static void add(PretendedStream* stream, void (*work)(void*), void* argument) {
    Captured& captured = *static_cast<PretendedCapture*>(stream)->captured_;
    const std::lock_guard lock(captured.mutex);
    captured.works.push_back({work, argument});
  }
  static void keep_argument(PretendedStream* stream, void (*release)(void*), void* argument) {
    Captured& captured = *static_cast<PretendedCapture*>(stream)->captured_;
    const std::lock_guard lock(captured.mutex);
    captured.kept.push_back({release, argument});
  }

  std::shared_ptr<Captured> captured_ = std::make_shared<Captured>();
};

}  // namespace colltune::test
