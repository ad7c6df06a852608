// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "library.h"

namespace colltune::nccl {

/// ncclCommAbort or ncclCommDestroy on a thread of its own, since nothing bounds how long they
/// take: an abort ends at once all that runs on the communicator, but returns only when no graph
/// holds a call of it any more, and graphs of the caller's go when the caller likes; and it may
/// wait for other ranks of the node to abort as well (NVIDIA/nccl issue 863).
class PendingEnd {
 public:
  enum class Way { abort, destroy };
  /// `is_inside`: whether a thread is inside a function of NCCL's for this communicator. NCCL frees
  /// in an abort what such a function still looks at: where its version can it revokes the
  /// communicator first, which makes the function return, and lets that happen.
  PendingEnd(const Functions& functions, NativeHandle handle, Way way,
             std::function<bool()> is_inside = {});
  PendingEnd(const PendingEnd&) = delete;
  PendingEnd& operator=(const PendingEnd&) = delete;
  /// Waits for it, but not for ever: what has not ended then is left alone, and said so.
  ~PendingEnd();

  /// Whether it has ended, now or within `patience`.
  [[nodiscard]] bool has_ended(std::chrono::milliseconds patience) const;

 private:
  struct State;
  std::shared_ptr<State> state_;  ///< shared with the thread, which may outlive this
  std::thread thread_;
};

/// So long is waited for a function of NCCL's to return from a communicator that was revoked, and
/// where NCCL cannot revoke: it returns by itself, or is aborted where it is.
inline constexpr std::chrono::milliseconds longest_return{2'000};
inline constexpr std::chrono::milliseconds longest_return_unasked{200};
/// So long is waited for the end of a communicator.
inline constexpr std::chrono::seconds longest_end{10};

}  // namespace colltune::nccl
