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

/// Memory of ncclMemAlloc: NCCL's peers can map it, which symmetric windows need. Memory of
/// cudaMalloc they cannot. Thread-safe.
class WindowMemory final : public BufferSource {
 public:
  explicit WindowMemory(std::shared_ptr<const Runtime> runtime) : runtime_(std::move(runtime)) {}

  [[nodiscard]] std::unique_ptr<BufferMemory> allocate(Device& device, Bytes bytes) override;
  /// The allocation that `part` lies in; nothing: none of this source.
  [[nodiscard]] std::optional<std::span<std::byte>> find(std::span<const std::byte> part) const;
  void forget(std::byte* memory);

 private:
  std::shared_ptr<const Runtime> runtime_;
  mutable std::mutex mutex_;
  std::map<std::byte*, std::size_t> allocations_;  ///< guarded by mutex_; their bytes
};

/// A window of NCCL's over an allocation, symmetric between the ranks of a communicator.
class Window {
 public:
  /// Collective: `memory` has the same size on all ranks. Throws Error(deadline_exceeded, aborted)
  /// where the others do not come, with the communicator aborted.
  Window(std::shared_ptr<NcclRank> member, std::span<std::byte> memory, Deadline deadline);
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window();
  /// NCCL makes none, and reports no error, where its peers cannot reach each other's memory.
  [[nodiscard]] bool is_there() const { return *window_ != nullptr; }
  [[nodiscard]] std::span<std::byte> memory() const { return memory_; }

 private:
  std::shared_ptr<NcclRank> member_;
  std::span<std::byte> memory_;
  /// NCCL's thread writes it, as long as it makes the window.
  std::shared_ptr<NativeWindow> window_ = std::make_shared<NativeWindow>();
};

using Windows = std::vector<std::unique_ptr<Window>>;

/// Collective: windows over what `call`'s buffers lie in, one for each allocation. Throws on all
/// ranks or none.
[[nodiscard]] Windows open_windows(Communicator& communicator,
                                   const std::shared_ptr<NcclRank>& member,
                                   const WindowMemory& memory, const CallBuffers& buffers,
                                   Deadline deadline);

/// Collective: `own`; where this rank has no such buffer, since it is no root, what lies as far in
/// its window as the root's does. NCCL looks at the address on all ranks, and finds the root's by
/// it.
[[nodiscard]] std::byte* place_in_window(Communicator& communicator, const Window& window,
                                         std::span<const std::byte> own, Deadline deadline);

}  // namespace colltune::nccl
