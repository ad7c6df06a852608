// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/communication/signals.h"

#include <atomic>

#include "colltune/kernels/communication/bounded_wait.h"

namespace colltune {

// Ranks may be separate processes: an atomic implemented with a lock would not work between them.
static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free);

Signals::Signals(const Communicator& communicator, const SymmetricMemory& memory,
                 std::size_t offset, CopyMode stores)
    : abort_flag_(communicator.abort_flag()),
      rank_(communicator.rank()),
      ranks_(communicator.size()),
      yields_at_once_(communicator.is_oversubscribed()),
      fences_(stores == CopyMode::non_temporal) {
  for (int rank = 0; rank < ranks_; ++rank) {
    const std::span<std::byte> part = memory.part(rank);
    words_.push_back(part.empty() ? nullptr : part.data() + offset);
  }
}

std::uint64_t* Signals::word_of(int rank, int word) const noexcept {
  return reinterpret_cast<std::uint64_t*>(words_[static_cast<std::size_t>(rank)] + size(word));
}

void Signals::set(int word, std::uint64_t epoch) const noexcept {
  if (fences_) fence_non_temporal_stores();
  std::atomic_ref(*word_of(rank_, word)).store(epoch, std::memory_order_release);
}

std::uint64_t Signals::get(int rank, int word) const noexcept {
  return std::atomic_ref(*word_of(rank, word)).load(std::memory_order_acquire);
}

void Signals::wait_until(int rank, int word, std::uint64_t epoch, Deadline deadline,
                         std::string_view waiting_for) const {
  const std::atomic_ref signal(*word_of(rank, word));
  if (signal.load(std::memory_order_acquire) >= epoch) return;
  BoundedWait wait(deadline, abort_flag_, yields_at_once_);
  while (signal.load(std::memory_order_acquire) < epoch) wait.step(rank, waiting_for);
}

void Signals::wait_until_all(int word, std::uint64_t epoch, Deadline deadline,
                             std::string_view waiting_for) const {
  for (int distance = 1; distance < ranks_; ++distance)
    wait_until((rank_ + distance) % ranks_, word, epoch, deadline, waiting_for);
}

}  // namespace colltune
