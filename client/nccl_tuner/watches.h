// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "colltune/nccl/profiler_abi.h"
#include "colltune/nccl/profiler_control.h"

namespace colltune::nccl {

/// A loaded libnccl: its event mask, and how many of its communicators use this profiler.
struct ProfiledLibrary {
  int* mask = nullptr;
  std::size_t communicators = 0;
};

/// The calls of this process whose execution a caller wants to observe. Thread-safe. There is one
/// global object, because NCCL's interface and the control interface are functions without an
/// object.
class Watches {
 public:
  constexpr Watches() = default;

  /// Registers a communicator of the library with that mask; null if there are too many libraries.
  ProfiledLibrary* add(int* mask) noexcept;
  void remove(ProfiledLibrary* library) noexcept;

  enum class Begun { watched, no_profiler, too_many };
  Begun begin(const void* send, const void* receive, std::uint64_t& watch) noexcept;
  enum class Ended { told, untold, unknown };
  Ended end(std::uint64_t watch, colltune_nccl_run& into) noexcept;

  /// NCCL reports a collective. Neither locks nor allocates.
  void tell(const ProfiledCollective& collective) noexcept;
  void tell(const ProfiledTransfer& transfer) noexcept;

 private:
  static constexpr std::size_t most_watches = 64;
  /// A process has one libnccl; tests use several stand-ins.
  static constexpr std::size_t most_libraries = 8;

  /// `state` has the watch's number in its upper half (0: the slot is free) and the report in its
  /// lower half (0: none yet). A reporting thread writes it by compare-and-swap, so it hits exactly
  /// the watch whose buffers it has compared.
  struct Slot {
    std::atomic<std::uint64_t> state = 0;
    std::atomic<const void*> send = nullptr;
    std::atomic<const void*> receive = nullptr;
  };

  /// For the watches for whose buffers `is_of(send, receive)` holds.
  template <class IsOf>
  void tell_all(std::uint32_t told, IsOf is_of) noexcept;
  /// Sets whether NCCL reports at all.
  void switch_masks() noexcept;

  std::array<Slot, most_watches> slots_{};
  std::mutex mutex_;  ///< guards all members below, and which slots are free
  std::array<ProfiledLibrary, most_libraries> libraries_{};
  std::size_t watched_ = 0;
  std::uint32_t last_number_ = 0;
};

/// Constant-initialised and never destroyed: NCCL may finalize a communicator while the process
/// ends.
Watches& watches() noexcept;

}  // namespace colltune::nccl
