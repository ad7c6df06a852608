// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/device/cuda_device.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <utility>
#include <vector>

#include "cuda_error.h"
#include "cuda_memory.h"
#include "device/nvml.h"
#include "device/virtual_memory.h"
#include "device_code/device_algorithm.h"

namespace colltune {
namespace {

template <class Handle, cudaError_t (*destroy)(Handle)>
struct Destroyer {
  void operator()(Handle handle) const noexcept { static_cast<void>(destroy(handle)); }
};
using Stream = std::unique_ptr<CUstream_st, Destroyer<cudaStream_t, cudaStreamDestroy>>;
using Event = std::unique_ptr<CUevent_st, Destroyer<cudaEvent_t, cudaEventDestroy>>;
using Graph = std::unique_ptr<CUgraph_st, Destroyer<cudaGraph_t, cudaGraphDestroy>>;
using GraphExec = std::unique_ptr<CUgraphExec_st, Destroyer<cudaGraphExec_t, cudaGraphExecDestroy>>;

/// A stream that neither waits for the legacy default stream nor makes it wait.
Stream make_stream() {
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  return Stream(stream);
}

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

int attribute(cudaDeviceAttr which, int gpu) {
  int value = 0;
  check_cuda(cudaDeviceGetAttribute(&value, which, gpu), "cudaDeviceGetAttribute");
  return value;
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
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
  CudaLaunch(int gpu, const void* kernel, const device::LaunchArguments& arguments, int ranks,
             device::DeviceCopies copies, bool meets_again, DeviceGrid grid,
             const CudaDeviceOptions& options)
      : gpu_(gpu),
        kernel_(kernel),
        arguments_(arguments),
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
  const void* kernel_;
  device::LaunchArguments arguments_;
  std::atomic<bool> is_bound_ = false;  ///< other buffers since the last start
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

class CudaDevice final : public Device {
 public:
  CudaDevice(int gpu, const CudaDeviceOptions& options)
      : gpu_(gpu), options_(options), memory_(gpu) {
    check_cuda(cudaSetDevice(gpu), "cudaSetDevice");
    check_cuda(cudaGetDeviceProperties(&properties_, gpu), "cudaGetDeviceProperties");
    if (attribute(cudaDevAttrCooperativeLaunch, gpu) == 0)
      throw Error(StatusCode::failed_precondition,
                  "GPU " + std::to_string(gpu) + " starts no cooperative kernels");
    copies_ = make_stream();
    char bus_id[32] = {};
    check_cuda(cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, gpu), "cudaDeviceGetPCIBusId");
    nvml_ = NvmlDevice::open(bus_id);
    std::string why_not;
    virtual_memory_ = VirtualMemory::open(gpu, why_not);
    why_no_multicast_ = virtual_memory_ ? virtual_memory_->why_no_multicast() : why_not;
  }

  std::string architecture() const override {
    return "sm_" + std::to_string(properties_.major * 10 + properties_.minor);
  }
  std::string identity() const override {
    std::string text = "GPU-";
    for (const char byte : properties_.uuid.bytes) {
      char digits[3];
      std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(byte));
      text += digits;
    }
    return text;
  }
  std::map<std::string, std::string, std::less<>> features() const override {
    int driver = 0;
    int runtime = 0;
    check_cuda(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    check_cuda(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    std::map<std::string, std::string, std::less<>> found{
        {"device.name", properties_.name},
        {"device.processors", std::to_string(properties_.multiProcessorCount)},
        {"device.memory.bytes", std::to_string(properties_.totalGlobalMem)},
        {"device.cache.bytes", std::to_string(properties_.l2CacheSize)},
        {"cuda.driver", version_text(driver)},
        {"cuda.runtime", version_text(runtime)},
        {"cuda.compute_capability",
         std::to_string(properties_.major) + "." + std::to_string(properties_.minor)},
        {"cuda.peers", std::to_string(count_peers())},
        {"device.whole_lines", has_whole_lines() ? "peers" : "own"},
        {"device.handles", virtual_memory_ ? "file_descriptor" : "ipc"}};
    if (why_no_multicast_.empty())
      found.emplace("device.multicast", "switches");
    else
      found.emplace("device.multicast.unavailable", why_no_multicast_);
    if (nvml_) found.emplace("device.links", std::to_string(nvml_->count_links()));
    return found;
  }
  std::optional<DeviceState> state() const override {
    if (!nvml_) return std::nullopt;
    return nvml_->state();
  }

  Bytes cache_size() const override {
    return {static_cast<std::uint64_t>(properties_.l2CacheSize)};
  }

  std::byte* allocate(Bytes bytes, Memory memory) override {
    return memory_.allocate(static_cast<std::size_t>(bytes.value), memory);
  }
  void release(std::byte* memory) noexcept override { memory_.release(memory); }

  void write(std::byte* to, std::span<const std::byte> from) override {
    move(to, from.data(), from.size(), cudaMemcpyHostToDevice);
  }
  void read(std::span<std::byte> to, const std::byte* from) override {
    move(to.data(), from, to.size(), cudaMemcpyDeviceToHost);
  }
  void copy(std::byte* to, std::span<const std::byte> from) override {
    move(to, from.data(), from.size(), cudaMemcpyDeviceToDevice);
  }
  void fill(std::span<std::byte> bytes, unsigned char value) override {
    check_cuda(cudaSetDevice(gpu_), "cudaSetDevice");
    check_cuda(cudaMemsetAsync(bytes.data(), value, bytes.size(), copies_.get()),
               "cudaMemsetAsync");
    check_cuda(cudaStreamSynchronize(copies_.get()), "cudaMemsetAsync");
  }

  DeviceHandle share(std::span<const std::byte> bytes) override { return memory_.share(bytes); }
  std::byte* open(const DeviceHandle& handle) override { return memory_.open(handle); }
  void close(std::byte* opened) noexcept override { memory_.close(opened); }
  VirtualMemory* virtual_memory() override { return virtual_memory_.get(); }

  std::byte* map(std::span<std::byte> bytes) override {
    check_cuda(cudaSetDevice(gpu_), "cudaSetDevice");
    check_cuda(cudaHostRegister(bytes.data(), bytes.size(),
                                cudaHostRegisterMapped | cudaHostRegisterPortable),
               "cudaHostRegister");
    void* mapped = nullptr;
    if (const cudaError_t result = cudaHostGetDevicePointer(&mapped, bytes.data(), 0);
        result != cudaSuccess) {
      unmap(bytes);
      check_cuda(result, "cudaHostGetDevicePointer");
    }
    return static_cast<std::byte*>(mapped);
  }
  void unmap(std::span<std::byte> bytes) noexcept override {
    static_cast<void>(cudaHostUnregister(bytes.data()));
  }

  void reach(const Device& other) override {
    const auto* const peer = dynamic_cast<const CudaDevice*>(&other);
    if (peer != nullptr && peer->gpu_ == gpu_) return;
    if (peer == nullptr || !can_reach(peer->gpu_))
      throw Error(
          StatusCode::failed_precondition,
          "GPU " + std::to_string(gpu_) + " cannot reach the memory of " + other.identity());
    check_cuda(cudaSetDevice(gpu_), "cudaSetDevice");
    if (const cudaError_t result = cudaDeviceEnablePeerAccess(peer->gpu_, 0);
        result != cudaErrorPeerAccessAlreadyEnabled)
      check_cuda(result, "cudaDeviceEnablePeerAccess");
    else
      static_cast<void>(cudaGetLastError());
  }

  std::unique_ptr<DeviceLaunch> make_launch(const DeviceAlgorithm& algorithm,
                                            std::span<const device::DeviceCall> calls,
                                            DeviceGrid grid) override {
    const device::DeviceCall& call = calls.front();
    if (algorithm.needs_multicast && call.multicast == nullptr)
      throw Error(StatusCode::failed_precondition,
                  algorithm.name + " needs memory that reaches all GPUs at once: " +
                      (why_no_multicast_.empty() ? "not all of them have it" : why_no_multicast_));
    const void* const kernel = choose_kernel(algorithm.kernels, call.type, call.op);
    check_cuda(cudaSetDevice(gpu_), "cudaSetDevice");
    // Loads the kernel now. A lazy load at the first launch could wait for the end of another
    // kernel that in turn waits for this one (CUDA C++ Programming Guide, Lazy Loading, "Concurrent
    // Execution").
    cudaFuncAttributes attributes{};
    check_cuda(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
    int blocks_of_processor = 0;
    check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_of_processor, kernel,
                                                             grid.threads, 0),
               "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    const int ranks = static_cast<int>(calls.size());
    const int most = blocks_of_processor * properties_.multiProcessorCount;
    if (ranks * grid.blocks > most)
      throw Error(StatusCode::resource_exhausted,
                  std::to_string(ranks * grid.blocks) + " blocks of " +
                      std::to_string(grid.threads) + " threads of " + algorithm.name +
                      " must run at once; this GPU runs " + std::to_string(most));
    return std::make_unique<CudaLaunch>(gpu_, kernel, arguments_of(calls, grid.blocks), ranks,
                                        copies_of(algorithm, calls),
                                        algorithm.list_copies != nullptr, grid, options_);
  }

  std::unique_ptr<DeviceLaunch> make_library_launch(DeviceSubmission& submission) override {
    make_current();
    return std::make_unique<CudaLibraryLaunch>(gpu_, submission, options_);
  }
  std::unique_ptr<DeviceGraph> capture(const std::function<void(void* queue)>& put) override {
    make_current();
    const Stream stream = make_stream();
    return std::make_unique<CudaGraph>(gpu_, capture_on(gpu_, stream, [&] { put(stream.get()); }));
  }
  bool keep_with_capture(void* queue, std::shared_ptr<const void> kept) override {
    make_current();
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaGraph_t graph = nullptr;
    check_cuda(cudaStreamGetCaptureInfo(static_cast<cudaStream_t>(queue), &status, nullptr, &graph,
                                        nullptr, nullptr, nullptr),
               "cudaStreamGetCaptureInfo");
    if (status == cudaStreamCaptureStatusNone) return false;
    if (status != cudaStreamCaptureStatusActive)
      throw Error(StatusCode::failed_precondition,
                  "the capture of the caller's queue is not valid");
    using Kept = std::shared_ptr<const void>;
    auto owned = std::make_unique<Kept>(std::move(kept));
    cudaUserObject_t object = nullptr;
    check_cuda(cudaUserObjectCreate(
                   &object, owned.get(), [](void* made) { delete static_cast<Kept*>(made); }, 1,
                   cudaUserObjectNoDestructorSync),
               "cudaUserObjectCreate");
    static_cast<void>(owned.release());
    if (const cudaError_t result =
            cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove);
        result != cudaSuccess) {
      static_cast<void>(cudaUserObjectRelease(object, 1));
      check_cuda(result, "cudaGraphRetainUserObject");
    }
    return true;
  }
  void make_current() override { check_cuda(cudaSetDevice(gpu_), "cudaSetDevice"); }

 private:
  [[nodiscard]] bool can_reach(int other) const {
    int can = 0;
    check_cuda(cudaDeviceCanAccessPeer(&can, gpu_, other), "cudaDeviceCanAccessPeer");
    return can != 0;
  }
  [[nodiscard]] int count_peers() const {
    int peers = 0;
    for (int other = 0; other < count_cuda_devices().count; ++other)
      if (other != gpu_ && can_reach(other)) ++peers;
    return peers;
  }
  /// NVLink keeps 128 bytes that a warp stores at once together (NCCL sends LL128 over nothing
  /// else). Support for atomics between devices tells it from PCI Express without a query for
  /// links.
  [[nodiscard]] bool has_whole_lines() const {
    int peers = 0;
    for (int other = 0; other < count_cuda_devices().count; ++other) {
      if (other == gpu_ || !can_reach(other)) continue;
      int has_atomics = 0;
      check_cuda(
          cudaDeviceGetP2PAttribute(&has_atomics, cudaDevP2PAttrNativeAtomicSupported, gpu_, other),
          "cudaDeviceGetP2PAttribute");
      if (has_atomics == 0) return false;
      ++peers;
    }
    return peers > 0;
  }
  void move(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    if (bytes == 0) return;
    check_cuda(cudaSetDevice(gpu_), "cudaSetDevice");
    check_cuda(cudaMemcpyAsync(to, from, bytes, kind, copies_.get()), "cudaMemcpyAsync");
    check_cuda(cudaStreamSynchronize(copies_.get()), "cudaMemcpyAsync");
  }

  int gpu_;
  CudaDeviceOptions options_;
  cudaDeviceProp properties_{};
  CudaMemory memory_;
  Stream copies_;                                  ///< for read, write and fill
  std::unique_ptr<const NvmlDevice> nvml_;         ///< null if NVML is unavailable
  std::unique_ptr<VirtualMemory> virtual_memory_;  ///< null if the device offers none
  std::string why_no_multicast_;                   ///< empty: multicast is available
};

}  // namespace

CudaDevices count_cuda_devices() {
  CudaDevices devices;
  const cudaError_t result = cudaGetDeviceCount(&devices.count);
  if (result == cudaSuccess && devices.count > 0) return devices;
  static_cast<void>(cudaGetLastError());
  devices.count = 0;
  devices.why_none = std::string("no GPU: ") +
                     cudaGetErrorString(result == cudaSuccess ? cudaErrorNoDevice : result);
  return devices;
}

std::unique_ptr<Device> open_cuda_device(int number, const CudaDeviceOptions& options) {
  const CudaDevices devices = count_cuda_devices();
  if (devices.count == 0) throw Error(StatusCode::failed_precondition, devices.why_none);
  if (number < 0 || number >= devices.count)
    throw Error(StatusCode::invalid_argument, "there is no GPU " + std::to_string(number) +
                                                  "; this process sees " +
                                                  std::to_string(devices.count) + ", from 0 on");
  try {
    return std::make_unique<CudaDevice>(number, options);
  } catch (const Error& error) {
    throw Error(StatusCode::failed_precondition, error.what());
  }
}

}  // namespace colltune
