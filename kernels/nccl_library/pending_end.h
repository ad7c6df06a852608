// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "library.h"

namespace colltune::nccl {

/// Runs ncclCommAbort or ncclCommDestroy on a thread of its own, since both can take arbitrarily
/// long. An abort ends all work on the communicator at once, but returns only when no graph holds a
/// call of it any more, and the caller may keep such graphs as long as it likes. It may also wait
/// for other ranks of the node to abort (NVIDIA/nccl issue 863).
class PendingEnd {
 public:
  enum class Way { abort, destroy };
  /// `is_inside`: whether a thread is inside an NCCL function for this communicator. An abort frees
  /// memory that such a function still uses. So if NCCL's version can, the communicator is revoked
  /// first, which makes the function return, and the abort waits for that.
  PendingEnd(const Functions& functions, NativeHandle handle, Way way,
             std::function<bool()> is_inside = {});
  PendingEnd(const PendingEnd&) = delete;
  PendingEnd& operator=(const PendingEnd&) = delete;
  /// Waits at most `longest_end`; an end that takes longer is left alone, with a message on stderr.
  ~PendingEnd();

  /// Whether the end is complete, now or within `patience`.
  [[nodiscard]] bool has_ended(std::chrono::milliseconds patience) const;

 private:
  struct State;
  std::shared_ptr<State> state_;  ///< shared with the thread, which may outlive this
  std::thread thread_;
};

/// How long to wait for an NCCL function to return after the communicator was revoked, and, if NCCL
/// cannot revoke, without that: the function then returns by itself or is aborted while inside.
inline constexpr std::chrono::milliseconds longest_return{2'000};
inline constexpr std::chrono::milliseconds longest_return_unasked{200};
/// How long to wait for the end of a communicator.
inline constexpr std::chrono::seconds longest_end{10};

}  // namespace colltune::nccl
