// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "colltune/kernels/implementation.h"
#include "colltune/kernels/operation.h"
#include "nccl_rank.h"
#include "nccl_library/library.h"

namespace colltune::nccl {

/// Memory from ncclMemAlloc, which NCCL's peers can map, as symmetric windows require. They cannot
/// map memory from cudaMalloc. Thread-safe.
class WindowMemory final : public BufferSource {
 public:
  explicit WindowMemory(std::shared_ptr<const Runtime> runtime) : runtime_(std::move(runtime)) {}

  [[nodiscard]] std::unique_ptr<BufferMemory> allocate(Device& device, Bytes bytes) override;
  /// The allocation that contains `part`; nothing if this source did not make it.
  [[nodiscard]] std::optional<std::span<std::byte>> find(std::span<const std::byte> part) const;
  void forget(std::byte* memory);

 private:
  std::shared_ptr<const Runtime> runtime_;
  mutable std::mutex mutex_;
  std::map<std::byte*, std::size_t> allocations_;  ///< first byte and size; guarded by mutex_
};

/// An NCCL window over an allocation, symmetric between the ranks of a communicator.
class Window {
 public:
  /// Collective: `memory` has the same size on all ranks. If other ranks do not arrive, aborts the
  /// communicator and throws Error(deadline_exceeded) or Error(aborted).
  Window(std::shared_ptr<NcclRank> member, std::span<std::byte> memory, Deadline deadline);
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window();
  /// False if the peers cannot reach each other's memory: NCCL then makes no window and reports no
  /// error.
  [[nodiscard]] bool is_there() const { return *window_ != nullptr; }
  [[nodiscard]] std::span<std::byte> memory() const { return memory_; }

 private:
  std::shared_ptr<NcclRank> member_;
  std::span<std::byte> memory_;
  /// NCCL's thread writes it while it makes the window.
  std::shared_ptr<NativeWindow> window_ = std::make_shared<NativeWindow>();
};

using Windows = std::vector<std::unique_ptr<Window>>;

/// Collective: opens windows over the allocations that contain `call`'s buffers, one for each.
/// Throws on all ranks or none.
[[nodiscard]] Windows open_windows(Communicator& communicator,
                                   const std::shared_ptr<NcclRank>& member,
                                   const WindowMemory& memory, const CallBuffers& buffers,
                                   Deadline deadline);

/// Collective: returns `own`. If this rank has no such buffer, since it is not the root, returns
/// the address at the root buffer's offset in this rank's window. NCCL checks the address on all
/// ranks and finds the root's window by it.
[[nodiscard]] std::byte* place_in_window(Communicator& communicator, const Window& window,
                                         std::span<const std::byte> own, Deadline deadline);

}  // namespace colltune::nccl
