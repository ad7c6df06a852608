// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <thread>

#include "nccl/library.h"

namespace colltune::nccl {

/// ncclCommAbort or ncclCommDestroy on a thread of its own, since nothing bounds how long they
/// take: an abort ends at once all that runs on the communicator, but returns only when no graph
/// holds a call of it any more, and graphs of the caller's go when the caller likes; and it may
/// wait for other ranks of the node to abort as well (NVIDIA/nccl issue 863).
class PendingEnd {
 public:
  enum class Way { abort, destroy };
  PendingEnd(const Functions& functions, NativeHandle handle, Way way);
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

/// So long is waited for the end of a communicator.
inline constexpr std::chrono::seconds longest_end{10};

}  // namespace colltune::nccl
