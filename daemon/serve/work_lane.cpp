// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "work_lane.h"

#include <sys/resource.h>
#include <unistd.h>

#include <utility>

namespace colltune {
namespace {

/// On Linux the nice value belongs to the thread.
constexpr int niceness_of_long_work = 5;

}  // namespace

WorkLane::WorkLane(std::size_t most_bytes)
    : most_bytes_(most_bytes), thread_([this](const std::stop_token& stop) { run(stop); }) {}

WorkLane::~WorkLane() = default;

bool WorkLane::submit(std::size_t bytes, std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (bytes_ + bytes > most_bytes_) return false;
    bytes_ += bytes;
    items_.push_back({bytes, std::move(work)});
  }
  changed_.notify_one();
  return true;
}

void WorkLane::run(const std::stop_token& stop) {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), niceness_of_long_work);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, stop, [&] { return !items_.empty(); });
    if (items_.empty()) return;
    Item item = std::move(items_.front());
    items_.pop_front();
    lock.unlock();
    item.work();
    item.work = nullptr;  // what it holds goes before its bytes count as free
    lock.lock();
    bytes_ -= item.bytes;
  }
}

}  // namespace colltune
