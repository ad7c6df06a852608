// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "colltune/kernels/device.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
class NvmlDevice;
}

namespace colltune::test {

/// Host threads that stand for a GPU: all that lies between a call and a kernel's body is tried
/// without one. Blocks have two threads, whatever a variant says. Thread-safe.
class PretendedDevice final : public Device {
 public:
  /// `processors`: how many blocks of the most threads run at once.
  explicit PretendedDevice(std::string identity = "pretended", int processors = 16,
                           std::string architecture = "pretended");
  ~PretendedDevice() override;

  DeviceFacts facts() const override {
    return {architecture_, identity_, features(), {cache_bytes_}};
  }
  std::map<std::string, std::string, std::less<>> features() const {
    if (is_broken_) throw Error(StatusCode::internal, "the pretended device is broken");
    std::map<std::string, std::string, std::less<>> found{
        {"device.name", "host threads"},
        {"device.processors", std::to_string(processors_)},
        {"device.whole_lines", "peers"}};
    if (why_no_multicast_.empty())
      found.emplace("device.multicast", "pretended");
    else
      found.emplace("device.multicast.unavailable", why_no_multicast_);
    if (has_cuda_) found.emplace("cuda.driver", "pretended");
    return found;
  }
  std::byte* allocate(Bytes bytes, Memory memory) override;
  void release(std::byte* memory) noexcept override;
  void write(std::byte* to, std::span<const std::byte> from) override;
  void read(std::span<std::byte> to, const std::byte* from) override;
  void fill(std::span<std::byte> bytes, unsigned char value) override;
  void copy(std::byte* to, std::span<const std::byte> from) override { write(to, from); }
  DeviceHandle share(std::span<const std::byte> bytes) override;
  std::byte* open(const DeviceHandle& handle) override;
  void close(std::byte* /*opened*/) noexcept override {}
  std::byte* map(std::span<std::byte> bytes) override {
    if (mapped_ >= most_mapped_)
      throw Error(StatusCode::resource_exhausted, "the pretended device maps no more");
    ++mapped_;
    return bytes.data();
  }
  void unmap(std::span<std::byte> /*bytes*/) noexcept override { --mapped_; }
  void reach(const Device& other) override;
  std::unique_ptr<DeviceLaunch> make_launch(const DeviceAlgorithm& algorithm,
                                            std::span<const device::DeviceCall> calls,
                                            DeviceGrid grid) override;
  /// The queue is a PretendedStream.
  std::unique_ptr<DeviceLaunch> make_library_launch(DeviceSubmission& submission) override;
  std::unique_ptr<DeviceGraph> capture(const std::function<void(void* queue)>& put) override;
  bool keep_with_capture(void* queue, std::shared_ptr<const void> kept) override;
  void make_current() override {}
  std::optional<DeviceState> state() const override;
  VirtualMemory* virtual_memory() override { return virtual_memory_.get(); }

  /// Allocations that are not released yet.
  [[nodiscard]] std::size_t count_allocations() const;
  /// Parts of the host's memory that are not unmapped yet.
  [[nodiscard]] int count_mapped() const { return mapped_; }
  /// From now on it maps so many parts of the host's memory at once at most.
  void limit_mapped(int parts) { most_mapped_ = parts; }
  /// Replays of what launches captured (DeviceGrid::replays_graph).
  [[nodiscard]] int count_replays() const { return replays_; }
  /// From now on memory ends after `bytes`.
  void limit_memory(std::size_t bytes) { most_memory_ = bytes; }
  /// From now on it says that it has a cache of `bytes`.
  void pretend_cache(std::size_t bytes) { cache_bytes_ = bytes; }
  /// Bytes that were filled.
  [[nodiscard]] std::size_t count_filled() const { return filled_; }
  /// From now on it says nothing about itself, and launches nothing.
  void break_down() { is_broken_ = true; }
  /// From now on it says that it is under CUDA, for libraries that stand for those of CUDA.
  void pretend_cuda() { has_cuda_ = true; }
  /// From now on it has the virtual memory of device `ordinal` of `library`, which stands for the
  /// CUDA driver. Throws Error where that has none.
  void offer_virtual_memory(int ordinal, const char* library);
  /// From now on it tells how it runs, as `library`, which stands for NVML, says. Throws Error.
  void offer_state(const char* library);
  /// From now on it captures nothing.
  void refuse_captures() { captures_ = false; }
  /// From now on other devices cannot be reached.
  void forbid_peers() { reaches_peers_ = false; }
  /// From now on what it fills of other devices' memory is lost, though it says that it reaches it.
  void lose_fills_of_peers() { loses_fills_ = true; }

 private:
  std::string identity_;
  int processors_;
  std::string architecture_;
  std::atomic<std::size_t> most_memory_ = ~std::size_t{0};
  std::atomic<std::size_t> cache_bytes_ = 0;
  std::atomic<std::size_t> filled_ = 0;
  std::atomic<bool> captures_ = true;
  std::atomic<bool> reaches_peers_ = true;
  std::atomic<bool> loses_fills_ = false;
  std::atomic<bool> is_broken_ = false;
  std::atomic<bool> has_cuda_ = false;
  std::atomic<int> mapped_ = 0;
  std::atomic<int> most_mapped_ = std::numeric_limits<int>::max();
  std::atomic<int> replays_ = 0;
  std::unique_ptr<VirtualMemory> virtual_memory_;
  std::unique_ptr<const NvmlDevice> nvml_;
  std::string why_no_multicast_;
  mutable std::mutex mutex_;
  struct Allocation {
    std::size_t size = 0;
    bool is_used = true;
  };
  std::map<std::byte*, Allocation> allocations_;  ///< guarded by mutex_
};

}  // namespace colltune::test
