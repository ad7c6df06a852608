// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include "communicator.h"

namespace colltune::nccl {

/// The communicators of this process. Thread-safe. There is one, global: NCCL's interface and the
/// control interface are functions without an object.
class Registry {
 public:
  constexpr Registry() = default;

  /// Takes the communicator and numbers it.
  void add(Communicator* communicator) noexcept;
  /// Deletes it.
  void remove(Communicator* communicator) noexcept;

  /// False where another thread searches.
  [[nodiscard]] bool begin_search() noexcept;
  void end_search() noexcept;

  /// Calls `act` for each, the oldest first, as long as it returns true.
  template <class Act>
  void for_each(Act act) noexcept {
    const std::lock_guard lock(mutex_);
    for (Communicator* at = first_; at != nullptr; at = at->next)
      if (!act(*at)) return;
  }

 private:
  std::mutex mutex_;
  Communicator* first_ = nullptr;  ///< guarded by mutex_, as all below
  std::uint64_t last_number_ = 0;
  bool is_searched_ = false;
};

/// Constant-initialised and never destroyed: NCCL may finalize a communicator while the process
/// ends.
Registry& registry() noexcept;

}  // namespace colltune::nccl
