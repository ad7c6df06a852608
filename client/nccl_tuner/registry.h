// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include "tuner_context.h"

namespace colltune::nccl {

/// The communicators of this process. Thread-safe. There is one global registry, because NCCL's
/// interface and the control interface are functions without an object.
class Registry {
 public:
  constexpr Registry() = default;

  /// Adds the communicator and gives it a number.
  void add(TunerContext* communicator) noexcept;
  /// Deletes it.
  void remove(TunerContext* communicator) noexcept;

  /// Returns false if another thread is searching.
  [[nodiscard]] bool begin_search() noexcept;
  void end_search() noexcept;

  /// Calls `act` for each communicator, oldest first, as long as it returns true.
  template <class Act>
  void for_each(Act act) noexcept {
    const std::lock_guard lock(mutex_);
    for (TunerContext* at = first_; at != nullptr; at = at->next)
      if (!act(*at)) return;
  }

 private:
  std::mutex mutex_;
  TunerContext* first_ = nullptr;  ///< guarded by mutex_, as are all members below
  std::uint64_t last_number_ = 0;
  bool is_searched_ = false;
};

/// Constant-initialised and never destroyed: NCCL may finalize a communicator while the process
/// ends.
Registry& registry() noexcept;

}  // namespace colltune::nccl
