// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "colltune/nccl/choice.h"
#include "library.h"

namespace colltune::nccl {

/// What NCCL told of a call.
struct ToldRun {
  int kind = colltune_nccl_ran_entry;
  Choice choice{};  ///< of an entry alone
};

/// The next call of a collective on these buffers: NCCL tells its profiler what it runs as. Nothing
/// is told where NCCL has not loaded colltune's.
class WatchedCall {
 public:
  WatchedCall(const ProfilerControl& control, const void* send, const void* receive);
  WatchedCall(const WatchedCall&) = delete;
  WatchedCall& operator=(const WatchedCall&) = delete;
  ~WatchedCall() { static_cast<void>(end()); }

  /// Whether NCCL tells of it at all.
  [[nodiscard]] bool is_watched() const { return watch_.has_value(); }
  /// What it ran as, with its channels, once it has ended; nothing where no kernel did it, or
  /// nobody told. NCCL tells nothing more.
  std::optional<ToldRun> end() noexcept;

 private:
  const ProfilerControl& control_;
  std::optional<std::uint64_t> watch_;
};

}  // namespace colltune::nccl
