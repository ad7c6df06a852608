// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "errands.h"

#include <condition_variable>
#include <cstdio>
#include <exception>
#include <mutex>
#include <utility>

#include "pending_end.h"

namespace colltune::nccl {

struct Errands::State {
  std::function<void()> watch;  ///< the object's; not called after its end
  mutable std::mutex mutex;     ///< guards all members below
  std::condition_variable changed;
  std::function<Result()> act;  ///< the errand to start; empty: none
  std::string what;
  bool is_under_way = false;
  bool is_over = false;  ///< no errand will follow
  Result result = result_success;
  std::exception_ptr thrown;

  void run() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait_for(lock, pause_of_watch, [this] { return is_over || act; });
      if (act) {
        do_errand(lock);
      } else if (is_over) {
        return;
      } else {
        // Called with the mutex held, so the object cannot end meanwhile.
        watch();
      }
    }
  }
  void do_errand(std::unique_lock<std::mutex>& lock) {
    const auto doing = std::exchange(act, nullptr);
    lock.unlock();
    Result ended = result_internal_error;
    std::exception_ptr error;
    try {
      ended = doing();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    result = ended;
    thrown = error;
    is_under_way = false;
    changed.notify_all();
  }
};

Errands::Errands(std::function<void()> watch) : state_(std::make_shared<State>()) {
  state_->watch = std::move(watch);
  thread_ = std::thread([state = state_] { state->run(); });
}

Errands::~Errands() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->is_over = true;
    state_->changed.notify_all();
  }
  if (has_ended_within(is_left_alone_ ? std::chrono::milliseconds(0) : longest_end)) {
    thread_.join();
    return;
  }
  std::fprintf(stderr, "colltune: %s is left waiting for other ranks\n", what().c_str());
  thread_.detach();
}

void Errands::begin(std::string what, std::function<Result()> act) {
  const std::lock_guard lock(state_->mutex);
  state_->what = std::move(what);
  state_->act = std::move(act);
  state_->is_under_way = true;
  state_->thrown = nullptr;
  state_->result = result_success;
  state_->changed.notify_all();
}

bool Errands::is_under_way() const {
  const std::lock_guard lock(state_->mutex);
  return state_->is_under_way;
}

bool Errands::has_ended_within(std::chrono::milliseconds patience) const {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, patience, [this] { return !state_->is_under_way; });
}

Result Errands::result() const {
  const std::lock_guard lock(state_->mutex);
  if (state_->thrown) std::rethrow_exception(state_->thrown);
  return state_->result;
}

std::string Errands::what() const {
  const std::lock_guard lock(state_->mutex);
  return state_->what;
}

std::function<bool()> Errands::under_way_elsewhere() const {
  return [state = state_] {
    const std::lock_guard lock(state->mutex);
    return state->is_under_way;
  };
}

}  // namespace colltune::nccl
