// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "pending_end.h"

#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <utility>

namespace colltune::nccl {
namespace {

constexpr auto pause_between_looks = std::chrono::microseconds(200);

const char* name_of(PendingEnd::Way way) {
  return way == PendingEnd::Way::abort ? "ncclCommAbort" : "ncclCommDestroy";
}

void await_return(const Functions& functions, NativeHandle handle,
                  const std::function<bool()>& is_inside) {
  const bool is_revoked =
      functions.revoke != nullptr && functions.revoke(handle, revoke_as_usual) == result_success;
  const auto end =
      std::chrono::steady_clock::now() + (is_revoked ? longest_return : longest_return_unasked);
  while (is_inside() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(pause_between_looks);
}

}  // namespace

struct PendingEnd::State {
  Way way;
  std::mutex mutex;
  std::condition_variable changed;
  bool has_ended = false;  ///< guarded by mutex
};

PendingEnd::PendingEnd(const Functions& functions, NativeHandle handle, Way way,
                       std::function<bool()> is_inside)
    : state_(std::make_shared<State>(way)),
      thread_([state = state_, functions, handle, is_inside = std::move(is_inside)] {
        const bool aborts = state->way == Way::abort;
        if (aborts && is_inside && is_inside()) await_return(functions, handle, is_inside);
        if (const Result result = (aborts ? functions.abort : functions.destroy)(handle);
            result != result_success && result != result_in_progress)
          std::fprintf(stderr, "colltune: %s: %s\n", name_of(state->way),
                       functions.get_error_string(result));
        const std::lock_guard lock(state->mutex);
        state->has_ended = true;
        state->changed.notify_all();
      }) {}

bool PendingEnd::has_ended(std::chrono::milliseconds patience) const {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, patience, [this] { return state_->has_ended; });
}

PendingEnd::~PendingEnd() {
  if (has_ended(longest_end)) {
    thread_.join();
    return;
  }
  std::fprintf(stderr,
               "colltune: %s is left waiting, for other ranks or for graphs of the caller's that "
               "hold calls of its communicator\n",
               name_of(state_->way));
  thread_.detach();
}

}  // namespace colltune::nccl
