// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "stream_gate.h"

#include <malloc.h>

#include <algorithm>

namespace colltune {

bool StreamGate::admit(Stream& stream, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (active_.size() < limits_.most_active) {
    begin(stream, now);
    return true;
  }
  if (waiting_.size() >= limits_.most_waiting) return false;
  waiting_.push_back(&stream);
  return true;
}

bool StreamGate::withdraw(const Stream& stream) {
  const std::lock_guard lock(mutex_);
  return std::erase(waiting_, &stream) > 0;
}

void StreamGate::leave(const Stream& stream, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  std::erase(waiting_, &stream);
  const bool was_active =
      std::erase_if(active_, [&](const Active& one) { return one.stream == &stream; }) > 0;
  if (!was_active) return;
  if (!waiting_.empty()) {
    Stream& next = *waiting_.front();
    waiting_.pop_front();
    begin(next, now);
  } else if (active_.empty()) {
    // What many messages took goes back to the system, not only to the allocator.
    ::malloc_trim(0);
  }
}

void StreamGate::note_progress(const Stream& stream, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (Active* const one = find(stream)) one->progress = now;
}

std::size_t StreamGate::cancel_late(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  std::size_t cancelled = 0;
  while (true) {
    const auto late = std::ranges::find_if(active_, [&](const Active& one) {
      return !one.is_cancelled &&
             (now - one.progress > limits_.stall ||
              (!waiting_.empty() && now - one.begun > limits_.turn));
    });
    if (late == active_.end()) return cancelled;
    late->is_cancelled = true;
    ++cancelled;
    late->stream->cancel();  // may change active_
  }
}

void StreamGate::wind_up() {
  const std::lock_guard lock(mutex_);
  for (const Active& one : active_) one.stream->wind_up(true);
  while (!waiting_.empty()) {
    Stream& stream = *waiting_.front();
    waiting_.pop_front();
    stream.wind_up(false);
  }
}

void StreamGate::begin(Stream& stream, Clock::time_point now) {
  active_.push_back({&stream, now, now, false});
  stream.begin();
}

StreamGate::Active* StreamGate::find(const Stream& stream) {
  const auto found = std::ranges::find(active_, &stream, &Active::stream);
  return found == active_.end() ? nullptr : &*found;
}

}  // namespace colltune
