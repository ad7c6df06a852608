// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "refused_calls.h"

#include <fmt/format.h>

#include <atomic>

#include "colltune/vocabulary/error.h"

namespace colltune {

/// Its owner alone writes it. Zero at first: calls are counted from 1 on.
struct RefusedCalls::Line {
  std::uint64_t refused[places];
  std::uint64_t has_ended;
};

namespace {

void put(std::uint64_t& word, std::uint64_t value) noexcept {
  std::atomic_ref(word).store(value, std::memory_order_release);
}
std::uint64_t get(std::uint64_t& word) noexcept {
  return std::atomic_ref(word).load(std::memory_order_acquire);
}

[[noreturn]] void fail_unlike(int refusing, int other, std::uint64_t call) {
  throw Error(StatusCode::aborted,
              fmt::format("rank {} did not make call {}, since its buffers were wrong there, but "
                          "rank {} did: neither makes a further one",
                          refusing, call, other));
}

}  // namespace

RefusedCalls::RefusedCalls(Communicator& ranks, Deadline deadline)
    : memory_(ranks.allocate({sizeof(Line)}, deadline)), rank_(ranks.rank()) {
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const std::span<std::byte> part = memory_->part(rank);
    lines_.push_back(part.empty() ? nullptr : reinterpret_cast<Line*>(part.data()));
    if (rank != rank_ && !part.empty()) others_.push_back(rank);
  }
}

std::uint64_t RefusedCalls::read(int rank, std::size_t place) const {
  return get(lines_[static_cast<std::size_t>(rank)]->refused[place]);
}

void RefusedCalls::refuse() noexcept {
  latest_ = (latest_ + 1) % places;
  before_ = own_[latest_];
  own_[latest_] = ++calls_;
  put(lines_[static_cast<std::size_t>(rank_)]->refused[latest_], calls_);
  is_open_ = true;
}

void RefusedCalls::end() noexcept { put(lines_[static_cast<std::size_t>(rank_)]->has_ended, 1); }

bool RefusedCalls::agrees() {
  if (!is_open_) return true;
  look();
  const std::uint64_t own = own_[latest_];
  for (const int other : others_) {
    const std::uint64_t theirs = read(other, latest_);
    if (theirs == own) continue;
    if (theirs == before_) return false;
    if (theirs > own) fail_unlike(rank_, other, own);
    fail_unlike(other, rank_, theirs);
  }
  is_open_ = false;
  return true;
}

void RefusedCalls::look() const {
  const std::size_t next = (latest_ + 1) % places;
  // Read first: a rank ends after a refusal, which is the better reason.
  int ended = rank_;
  for (const int other : others_)
    if (get(lines_[static_cast<std::size_t>(other)]->has_ended) != 0) ended = other;
  for (const int other : others_) {
    const std::uint64_t theirs = read(other, next);
    if (theirs != own_[next] && theirs <= calls_) fail_unlike(other, rank_, theirs);
  }
  if (ended != rank_)
    throw Error(StatusCode::aborted,
                fmt::format("rank {} makes no further calls, since one failed there; rank {} "
                            "would wait for it in call {}",
                            ended, rank_, calls_));
}

}  // namespace colltune
