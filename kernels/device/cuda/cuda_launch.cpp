// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda_launch.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include "cuda_error.h"

namespace colltune {
namespace {

Event make_event() {
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreate(&event), "cudaEventCreate");
  return Event(event);
}

std::chrono::nanoseconds time_between(const Event& begin, const Event& end) {
  float milliseconds = 0;
  check_cuda(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "cudaEventElapsedTime");
  return std::chrono::nanoseconds(std::llround(static_cast<double>(milliseconds) * 1e6));
}

/// Captures what `put` puts on `stream`; none of it runs.
GraphExec capture_on(int gpu, const Stream& stream, const std::function<void()>& put) {
  check_cuda(cudaSetDevice(gpu), "cudaSetDevice");
  // Capture for this thread only: meanwhile other ranks allocate memory, as do a library's threads.
  check_cuda(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal),
             "cudaStreamBeginCapture");
  std::exception_ptr refused;
  try {
    put();
  } catch (...) {
    refused = std::current_exception();
  }
  cudaGraph_t captured = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream.get(), &captured);
  const Graph graph(captured);
  if (refused) {
    static_cast<void>(cudaGetLastError());
    std::rethrow_exception(refused);
  }
  check_cuda(ended, "cudaStreamEndCapture");
  cudaGraphExec_t made = nullptr;
  check_cuda(cudaGraphInstantiate(&made, graph.get(), 0), "cudaGraphInstantiate");
  GraphExec replay(made);
  check_cuda(cudaGraphUpload(made, stream.get()), "cudaGraphUpload");
  check_cuda(cudaStreamSynchronize(stream.get()), "cudaGraphUpload");
  return replay;
}

class CudaGraph final : public DeviceGraph {
 public:
  CudaGraph(int gpu, GraphExec replay) : gpu_(gpu), replay_(std::move(replay)) {}
  void replay(void* queue) override {
    check_cuda(cudaSetDevice(gpu_), "cudaSetDevice");
    check_cuda(cudaGraphLaunch(replay_.get(), static_cast<cudaStream_t>(queue)), "cudaGraphLaunch");
  }

 private:
  int gpu_;
  GraphExec replay_;
};

/// Blocks a stream until all work is queued on it, so that the device's clock does not measure how
/// long the host takes to queue it.
class Gate {
 public:
  ~Gate() { open(); }
  /// Work put on `stream` from now on runs after `open`.
  void close(cudaStream_t stream) {
    is_open_.store(false, std::memory_order_relaxed);
    check_cuda(cudaLaunchHostFunc(
                   stream,
                   [](void* gate) {
                     // A kernel launch takes microseconds. Under a profiler or a checker, though,
                     // the launch returns only when the kernel has ended, and the kernel waits for
                     // the gate. So the gate gives up after 10 ms.
                     const auto give_up =
                         std::chrono::steady_clock::now() + std::chrono::milliseconds(10);
                     while (!static_cast<Gate*>(gate)->is_open_.load(std::memory_order_acquire) &&
                            std::chrono::steady_clock::now() < give_up) {
                     }
                   },
                   this),
               "cudaLaunchHostFunc");
  }
  void open() noexcept { is_open_.store(true, std::memory_order_release); }

 private:
  std::atomic<bool> is_open_ = true;
};

/// The arguments of a kernel for the ranks of `calls`, with `blocks` blocks each.
device::LaunchArguments arguments_of(std::span<const device::DeviceCall> calls, int blocks) {
  device::LaunchArguments arguments{.common = calls.front(), .blocks = blocks, .is_whole = true};
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const device::DeviceCall& call = calls[i];
    arguments.own[i] = {call.rank, call.send, call.receive, call.counters};
    arguments.is_whole = arguments.is_whole && device::moves_whole_packets(call);
  }
  for (int rank = 0; rank < arguments.common.ranks; ++rank) {
    arguments.peers.sends[rank] = arguments.common.sends[rank];
    arguments.peers.receives[rank] = arguments.common.receives[rank];
    arguments.peers.scratch[rank] = arguments.common.scratch[rank];
  }
  return arguments;
}

class CudaLaunch final : public DeviceLaunch {
 public:
  CudaLaunch(int gpu, const device::Kernels& kernels, const device::LaunchArguments& arguments,
             int ranks, device::DeviceCopies copies, bool meets_again, DeviceGrid grid,
             const CudaDeviceOptions& options)
      : gpu_(gpu),
        kernels_(kernels),
        arguments_(arguments),
        kernel_(device::choose_kernel(kernels_, arguments_.common.type, arguments_.common.op)),
        copies_(std::move(copies)),
        meets_again_(meets_again),
        ranks_(ranks),
        grid_(grid),
        is_gated_(options.times_device_alone),
        stream_(make_stream()),
        begin_(make_event()),
        end_(make_event()) {
    const auto more = std::min(copies_.size(), static_cast<std::size_t>(grid_.copy_queues));
    for (std::size_t i = 1; i < more; ++i) {
      beside_.push_back(make_stream());
      joins_.push_back(make_event());
    }
    if (more > 1) fork_ = make_event();
    if (!grid_.replays_graph) return;
    calls_of_start_ = options.calls_of_graph;
    replay_ = capture_on(gpu_, stream_, [this] {
      // The events are nodes of the graph, so no host work lies between them.
      record(begin_, cudaEventRecordExternal);
      for (int call = 0; call < calls_of_start_; ++call) launch(stream_.get());
      record(end_, cudaEventRecordExternal);
    });
  }

  void bind(std::size_t index, const std::byte* send, std::byte* receive) override {
    // The copies were listed for the buffers, and the graph holds them.
    if (replay_ || !copies_.empty()) return DeviceLaunch::bind(index, send, receive);
    arguments_.own[index].send = send;
    arguments_.own[index].receive = receive;
    is_bound_.store(true, std::memory_order_relaxed);
  }

  void rebind(std::size_t index, const device::DeviceCall& call) override {
    if (replay_ || !copies_.empty() || !grid_.is_rebound) return DeviceLaunch::rebind(index, call);
    arguments_.own[index].send = call.send;
    arguments_.own[index].receive = call.receive;
    // What the ranks have in common is written by one of them; all bring the same.
    if (index == 0) {
      arguments_.common.take(call);
      kernel_ = device::choose_kernel(kernels_, call.type, call.op);
    }
    is_bound_.store(true, std::memory_order_relaxed);
  }

  void start() override {
    check_cuda(cudaSetDevice(gpu_), "cudaSetDevice");
    if (replay_) {
      check_cuda(cudaGraphLaunch(replay_.get(), stream_.get()), "cudaGraphLaunch");
      return;
    }
    if (is_bound_.exchange(false, std::memory_order_relaxed)) note_whole_packets();
    if (is_gated_) gate_.close(stream_.get());
    try {
      record(begin_, cudaEventRecordDefault);
      launch(stream_.get());
      record(end_, cudaEventRecordDefault);
    } catch (...) {
      gate_.open();
      throw;
    }
    gate_.open();
  }

  void submit(void* queue) override {
    check_cuda(cudaSetDevice(gpu_), "cudaSetDevice");
    launch(static_cast<cudaStream_t>(queue));
  }

  bool has_ended() override {
    // Asks the stream, not the last event: a start that failed halfway may have left work running.
    const cudaError_t result = cudaStreamQuery(stream_.get());
    if (result == cudaErrorNotReady) return false;
    check_cuda(result, "the kernel");
    return true;
  }

  std::chrono::nanoseconds duration() override {
    return time_between(begin_, end_) / calls_of_start_;
  }

 private:
  void note_whole_packets() {
    arguments_.is_whole = true;
    device::DeviceCall call = arguments_.common;  // not registered, so no peers' buffers matter
    for (int i = 0; i < ranks_; ++i) {
      call.send = arguments_.own[i].send;
      call.receive = arguments_.own[i].receive;
      arguments_.is_whole = arguments_.is_whole && device::moves_whole_packets(call);
    }
  }

  void record(const Event& event, unsigned flags) {
    check_cuda(cudaEventRecordWithFlags(event.get(), stream_.get(), flags), "cudaEventRecord");
  }

  void launch(cudaStream_t stream) {
    launch_kernel(stream);
    copy_on(stream);
    if (meets_again_) launch_kernel(stream);
  }

  /// Spreads the copies over `stream` and the side streams, which fork from it and join it: a copy
  /// engine serves one stream at a time.
  void copy_on(cudaStream_t stream) {
    if (!beside_.empty()) check_cuda(cudaEventRecord(fork_.get(), stream), "cudaEventRecord");
    for (const Stream& other : beside_)
      check_cuda(cudaStreamWaitEvent(other.get(), fork_.get(), 0), "cudaStreamWaitEvent");
    for (std::size_t i = 0; i < copies_.size(); ++i) {
      const std::size_t turn = i % (beside_.size() + 1);
      check_cuda(cudaMemcpyAsync(copies_[i].to, copies_[i].from, copies_[i].bytes,
                                 cudaMemcpyDefault, turn == 0 ? stream : beside_[turn - 1].get()),
                 "cudaMemcpyAsync");
    }
    for (std::size_t i = 0; i < beside_.size(); ++i) {
      check_cuda(cudaEventRecord(joins_[i].get(), beside_[i].get()), "cudaEventRecord");
      check_cuda(cudaStreamWaitEvent(stream, joins_[i].get(), 0), "cudaStreamWaitEvent");
    }
  }

  void launch_kernel(cudaStream_t stream) {
    void* arguments[] = {&arguments_};
    check_cuda(cudaLaunchCooperativeKernel(
                   kernel_, dim3(static_cast<unsigned>(ranks_ * grid_.blocks)),
                   dim3(static_cast<unsigned>(grid_.threads)), arguments, 0, stream),
               "cudaLaunchCooperativeKernel");
  }

  int gpu_;
  device::Kernels kernels_;
  device::LaunchArguments arguments_;
  const void* kernel_;                  ///< for the type and operator of `arguments_`
  std::atomic<bool> is_bound_ = false;  ///< other buffers, or another size, since the last start
  device::DeviceCopies copies_;
  bool meets_again_;  ///< launches the kernel again after the copies
  int ranks_;
  DeviceGrid grid_;
  bool is_gated_;
  Gate gate_;  ///< outlives the stream that it holds
  Stream stream_;
  std::vector<Stream> beside_;  ///< side streams for copies
  Event begin_;
  Event end_;
  Event fork_;
  std::vector<Event> joins_;
  int calls_of_start_ = 1;
  GraphExec replay_;  ///< all that a start begins; null if it is launched without a graph
};

/// Work that a library puts on a stream of its own, between two events.
class CudaLibraryLaunch final : public DeviceLaunch {
 public:
  CudaLibraryLaunch(int gpu, DeviceSubmission& submission, const CudaDeviceOptions& options)
      : gpu_(gpu),
        submission_(submission),
        is_gated_(options.times_device_alone),
        stream_(make_stream()),
        begin_(make_event()),
        end_(make_event()) {}

  void start() override {
    check_cuda(cudaSetDevice(gpu_), "cudaSetDevice");
    if (is_gated_) gate_.close(stream_.get());
    try {
      check_cuda(cudaEventRecord(begin_.get(), stream_.get()), "cudaEventRecord");
      is_closed_ = false;
      submission_.submit(stream_.get());
      static_cast<void>(close());
    } catch (...) {
      gate_.open();
      throw;
    }
    gate_.open();
  }

  void submit(void* queue) override {
    check_cuda(cudaSetDevice(gpu_), "cudaSetDevice");
    submission_.submit(queue);
  }

  bool has_ended() override {
    if (!is_closed_ && !close()) return false;
    const cudaError_t result = cudaStreamQuery(stream_.get());
    if (result == cudaErrorNotReady) return false;
    check_cuda(result, "the library's kernel");
    return true;
  }

  std::chrono::nanoseconds duration() override { return time_between(begin_, end_); }

 private:
  /// Records the last event as soon as the whole call is on the stream.
  bool close() {
    if (!submission_.is_submitted()) return false;
    check_cuda(cudaEventRecord(end_.get(), stream_.get()), "cudaEventRecord");
    return is_closed_ = true;
  }

  int gpu_;
  DeviceSubmission& submission_;
  bool is_gated_;
  bool is_closed_ = true;
  Gate gate_;  ///< outlives the stream that it holds
  Stream stream_;
  Event begin_;
  Event end_;
};

}  // namespace

Stream make_stream() {
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  return Stream(stream);
}

std::unique_ptr<DeviceGraph> capture_on_gpu(int gpu, const std::function<void(void* queue)>& put) {
  const Stream stream = make_stream();
  return std::make_unique<CudaGraph>(gpu, capture_on(gpu, stream, [&] { put(stream.get()); }));
}

std::unique_ptr<DeviceLaunch> make_cuda_launch(int gpu, const DeviceAlgorithm& algorithm,
                                               std::span<const device::DeviceCall> calls,
                                               DeviceGrid grid, const CudaDeviceOptions& options) {
  return std::make_unique<CudaLaunch>(gpu, algorithm.kernels, arguments_of(calls, grid.blocks),
                                      static_cast<int>(calls.size()), copies_of(algorithm, calls),
                                      algorithm.list_copies != nullptr, grid, options);
}

std::unique_ptr<DeviceLaunch> make_cuda_library_launch(int gpu, DeviceSubmission& submission,
                                                       const CudaDeviceOptions& options) {
  return std::make_unique<CudaLibraryLaunch>(gpu, submission, options);
}

}  // namespace colltune
