// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "colltune/nccl/choice.h"
#include "library.h"

namespace colltune::nccl {

/// What NCCL's profiler reported about a call.
struct ToldRun {
  int kind = colltune_nccl_ran_entry;
  Choice choice{};  ///< set only if a table entry ran
};

/// Watches the next call of a collective on these buffers: NCCL tells colltune's profiler plug-in
/// what the call runs as. Nothing is reported if NCCL has not loaded that plug-in.
class WatchedCall {
 public:
  WatchedCall(const ProfilerControl& control, const void* send, const void* receive);
  WatchedCall(const WatchedCall&) = delete;
  WatchedCall& operator=(const WatchedCall&) = delete;
  ~WatchedCall() { static_cast<void>(end()); }

  /// Whether NCCL reports the call at all.
  [[nodiscard]] bool is_watched() const { return watch_.has_value(); }
  /// Ends the watch. Returns what the call ran as, with its channels, once the call has ended;
  /// nothing if no kernel ran, or nothing was reported. NCCL reports nothing after this.
  std::optional<ToldRun> end() noexcept;

 private:
  const ProfilerControl& control_;
  std::optional<std::uint64_t> watch_;
};

}  // namespace colltune::nccl
