// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "support/pretended_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <iterator>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "colltune/vocabulary/error.h"
#include "device/nvml.h"
#include "device/virtual_memory.h"
#include "device_code/device_algorithm.h"
#include "support/fill_bytes.h"
#include "support/pretended_graph.h"
#include "support/pretended_stream.h"

namespace colltune::test {
namespace {

constexpr std::align_val_t alignment{256};
constexpr int threads_of_block = 2;

class PretendedLaunch final : public DeviceLaunch {
 public:
  PretendedLaunch(const DeviceAlgorithm& algorithm, std::vector<device::DeviceCall> calls,
                  DeviceGrid grid, const std::atomic<bool>& is_broken)
      : algorithm_(algorithm),
        calls_(std::move(calls)),
        copies_(copies_of(algorithm, calls_)),
        blocks_of_rank_(grid.blocks),
        is_rebound_(grid.is_rebound),
        is_broken_(is_broken) {
    const device::DeviceCall& any = calls_.front();
    for (int rank = 0; rank < any.ranks; ++rank) {
      peers_.sends[rank] = any.sends[rank];
      peers_.receives[rank] = any.receives[rank];
      peers_.scratch[rank] = any.scratch[rank];
    }
    for (device::DeviceCall& call : calls_) call.look_up_peers_in(peers_);
  }

  /// From now on calls replay what `device` captures of one here; each is counted in `replays`.
  void replay_graph(PretendedDevice& device, std::atomic<int>& replays) {
    graph_ = device.capture([this](void* queue) { submit(queue); });
    replays_ = &replays;
  }

  void bind(std::size_t index, const std::byte* send, std::byte* receive) override {
    if (graph_ || !copies_.empty()) return DeviceLaunch::bind(index, send, receive);
    calls_[index].send = send;
    calls_[index].receive = receive;
  }

  void rebind(std::size_t index, const device::DeviceCall& call) override {
    if (graph_ || !copies_.empty() || !is_rebound_) return DeviceLaunch::rebind(index, call);
    calls_[index].take(call);
  }

  void start() override {
    if (is_broken_) throw std::runtime_error("the pretended device starts nothing");
    begin_ = std::chrono::steady_clock::now();
    has_ended_.store(false);
    // The one before has ended: nobody waits for it here.
    stream_ = std::jthread([this] {
      if (graph_) {
        ++*replays_;
        PretendedStream at_once{
            [](PretendedStream*, void (*work)(void*), void* argument) { work(argument); }};
        graph_->replay(&at_once);
      } else {
        run_call();
      }
      end_ = std::chrono::steady_clock::now();
      has_ended_.store(true, std::memory_order_release);
    });
  }
  void submit(void* queue) override {
    auto* const stream = static_cast<PretendedStream*>(queue);
    stream->enqueue(
        stream, [](void* launch) { static_cast<PretendedLaunch*>(launch)->run_call(); }, this);
  }
  bool has_ended() override { return has_ended_.load(std::memory_order_acquire); }
  std::chrono::nanoseconds duration() override { return end_ - begin_; }

 private:
  void run_call() {
    run_kernel();
    for (const device::DeviceCopy& copy : copies_) std::memcpy(copy.to, copy.from, copy.bytes);
    if (algorithm_.list_copies != nullptr) run_kernel();
  }
  void run_kernel() {
    std::deque<device::HostBlock> blocks;
    std::vector<std::jthread> threads;
    for (const device::DeviceCall& call : calls_)
      for (int number = 0; number < blocks_of_rank_; ++number) {
        auto& block = blocks.emplace_back(number, blocks_of_rank_, threads_of_block);
        for (int thread = 0; thread < threads_of_block; ++thread)
          threads.emplace_back([this, &call, &block, thread] {
            device::HostContext context(block, thread);
            algorithm_.run_on_host(context, call);
          });
      }
  }

  const DeviceAlgorithm& algorithm_;
  std::vector<device::DeviceCall> calls_;
  device::PeerMemory peers_;  ///< of all calls
  device::DeviceCopies copies_;
  int blocks_of_rank_;
  bool is_rebound_;
  const std::atomic<bool>& is_broken_;
  std::unique_ptr<DeviceGraph> graph_;  ///< null: calls are run as they are
  std::atomic<int>* replays_ = nullptr;
  std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::time_point end_;
  std::atomic<bool> has_ended_ = true;
  std::jthread stream_;
};

/// A thread that does what it is given, in order.
class Queue final : public PretendedStream {
 public:
  Queue() : PretendedStream{&Queue::add} {
    thread_ = std::jthread([this](const std::stop_token& done) { run(done); });
  }
  [[nodiscard]] bool is_empty() const {
    const std::lock_guard lock(mutex_);
    return works_.empty();
  }
  [[nodiscard]] std::chrono::steady_clock::time_point last_end() const {
    const std::lock_guard lock(mutex_);
    return last_end_;
  }

 private:
  struct Work {
    void (*act)(void*);
    void* argument;
  };
  static void add(PretendedStream* stream, void (*work)(void*), void* argument) {
    auto* const queue = static_cast<Queue*>(stream);
    const std::lock_guard lock(queue->mutex_);
    queue->works_.push_back({work, argument});
    queue->has_more_.notify_one();
  }
  /// Also does what is left when it is to end.
  void run(const std::stop_token& done) {
    std::unique_lock lock(mutex_);
    while (has_more_.wait(lock, done, [this] { return !works_.empty(); })) {
      const Work work = works_.front();
      lock.unlock();
      work.act(work.argument);
      lock.lock();
      last_end_ = std::chrono::steady_clock::now();
      works_.pop_front();
    }
  }

  mutable std::mutex mutex_;
  std::condition_variable_any has_more_;
  std::deque<Work> works_;                          ///< guarded by mutex_; the first one runs
  std::chrono::steady_clock::time_point last_end_;  ///< guarded by mutex_
  std::jthread thread_;
};

class PretendedLibraryLaunch final : public DeviceLaunch {
 public:
  explicit PretendedLibraryLaunch(DeviceSubmission& submission) : submission_(submission) {}
  void start() override {
    begin_ = std::chrono::steady_clock::now();
    submission_.submit(static_cast<PretendedStream*>(&queue_));
  }
  void submit(void* queue) override { submission_.submit(queue); }
  bool has_ended() override { return submission_.is_submitted() && queue_.is_empty(); }
  std::chrono::nanoseconds duration() override { return queue_.last_end() - begin_; }

 private:
  DeviceSubmission& submission_;
  std::chrono::steady_clock::time_point begin_;
  Queue queue_;
};

}  // namespace

PretendedDevice::PretendedDevice(std::string identity, int processors, std::string architecture)
    : identity_(std::move(identity)),
      processors_(processors),
      architecture_(std::move(architecture)) {}

PretendedDevice::~PretendedDevice() {
  EXPECT_EQ(count_allocations(), 0U) << "memory of a device was not released";
  EXPECT_EQ(count_mapped(), 0) << "memory of the host was not unmapped";
  for (const auto& [memory, allocation] : allocations_) ::operator delete(memory, alignment);
}

void PretendedDevice::offer_virtual_memory(int ordinal, const char* library) {
  std::string why_not;
  virtual_memory_ = VirtualMemory::open(ordinal, why_not, library);
  if (!virtual_memory_) throw Error(StatusCode::failed_precondition, why_not);
  why_no_multicast_ = virtual_memory_->why_no_multicast();
}

void PretendedDevice::offer_state(const char* library) {
  nvml_ = NvmlDevice::open("0000:3b:00.0", library);  // the only one that the fake library knows
  if (!nvml_) throw Error(StatusCode::not_found, std::string(library) + " knows no GPU");
}
std::optional<DeviceState> PretendedDevice::state() const {
  if (!nvml_) return std::nullopt;
  return nvml_->state();
}

std::byte* PretendedDevice::allocate(Bytes bytes, Memory /*memory*/) {
  if (bytes.value > most_memory_)
    throw Error(StatusCode::resource_exhausted, "the pretended device has no memory left");
  const std::lock_guard lock(mutex_);
  auto spare = std::ranges::find_if(allocations_, [&](const auto& entry) {
    return !entry.second.is_used && entry.second.size == bytes.value;
  });
  if (spare == allocations_.end()) {
    auto* const made = static_cast<std::byte*>(::operator new(bytes.value, alignment));
    spare = allocations_.emplace(made, Allocation{.size = bytes.value}).first;
  }
  spare->second.is_used = true;
  // As memory that somebody else has used.
  std::memset(spare->first, 0xEE, bytes.value);
  return spare->first;
}

void PretendedDevice::release(std::byte* memory) noexcept {
  const std::lock_guard lock(mutex_);
  allocations_.find(memory)->second.is_used = false;
}

void PretendedDevice::write(std::byte* to, std::span<const std::byte> from) {
  std::ranges::copy(from, to);
}
void PretendedDevice::read(std::span<std::byte> to, const std::byte* from) {
  std::copy_n(from, to.size(), to.begin());
}
void PretendedDevice::fill(std::span<std::byte> bytes, unsigned char value) {
  if (loses_fills_) {
    const std::lock_guard lock(mutex_);
    auto after = allocations_.upper_bound(bytes.data());
    if (after == allocations_.begin() ||
        bytes.data() >= std::prev(after)->first + std::prev(after)->second.size)
      return;
  }
  filled_ += bytes.size();
  fill_bytes(bytes, std::byte{value});
}

DeviceHandle PretendedDevice::share(std::span<const std::byte> /*bytes*/) {
  throw Error(StatusCode::failed_precondition, "a pretended device is of one process");
}
std::byte* PretendedDevice::open(const DeviceHandle& /*handle*/) {
  throw Error(StatusCode::failed_precondition, "a pretended device is of one process");
}
void PretendedDevice::reach(const Device& other) {
  if (!reaches_peers_)
    throw Error(StatusCode::failed_precondition,
                identity_ + " cannot reach " + other.facts().identity);
}

std::unique_ptr<DeviceLaunch> PretendedDevice::make_launch(
    const DeviceAlgorithm& algorithm, std::span<const device::DeviceCall> calls, DeviceGrid grid) {
  // As on a GPU: a processor has room for the most threads that kernels are compiled for.
  const int most_blocks = processors_ * (device::most_threads / grid.threads);
  if (static_cast<int>(calls.size()) * grid.blocks > most_blocks)
    throw Error(StatusCode::resource_exhausted, "more blocks than processors");
  auto launch = std::make_unique<PretendedLaunch>(
      algorithm, std::vector<device::DeviceCall>(calls.begin(), calls.end()), grid, is_broken_);
  if (grid.replays_graph) launch->replay_graph(*this, replays_);
  return launch;
}

std::unique_ptr<DeviceLaunch> PretendedDevice::make_library_launch(DeviceSubmission& submission) {
  return std::make_unique<PretendedLibraryLaunch>(submission);
}

std::unique_ptr<DeviceGraph> PretendedDevice::capture(const std::function<void(void* queue)>& put) {
  if (!captures_)
    throw Error(StatusCode::failed_precondition, "the pretended device captures nothing");
  PretendedCapture capture;
  put(capture.queue());
  return capture.end();
}

bool PretendedDevice::keep_with_capture(void* queue, std::shared_ptr<const void> kept) {
  auto* const stream = static_cast<PretendedStream*>(queue);
  if (stream->keep == nullptr) return false;
  using Kept = std::shared_ptr<const void>;
  stream->keep(
      stream, [](void* made) { delete static_cast<Kept*>(made); }, new Kept(std::move(kept)));
  return true;
}

std::size_t PretendedDevice::count_allocations() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::ranges::count_if(allocations_, [](const auto& entry) { return entry.second.is_used; }));
}

}  // namespace colltune::test
