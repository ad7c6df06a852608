// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "shared_times.h"

#include <algorithm>

namespace colltune {
namespace {

constexpr int time_bits = 32;
constexpr std::uint64_t longest = (std::uint64_t{1} << time_bits) - 1;  // 4.3 s
constexpr std::uint64_t takes_part = 1;                                 // before the first probe

}  // namespace

SharedTimes::SharedTimes(const Signals& signals, const Communicator& communicator, int first)
    : signals_(signals), rank_(communicator.rank()), first_(first) {
  const auto nodes = communicator.nodes();
  for (int rank = 0; rank < communicator.size(); ++rank)
    if (communicator.is_one_node() ||
        nodes[static_cast<std::size_t>(rank)] == nodes[static_cast<std::size_t>(rank_)])
      near_.push_back(rank);
  for (int word = 0; word < words; ++word) signals_.set(first_ + word, takes_part);
}

void SharedTimes::publish(const StoreChoice::Times& own) noexcept {
  ++probe_;
  is_taken_ = false;
  for (std::size_t mode = 0; mode < own.size(); ++mode) {
    const auto time = std::min(longest, static_cast<std::uint64_t>(own[mode].count()));
    signals_.set(first_ + static_cast<int>(mode), probe_ << time_bits | time);
  }
}

std::optional<StoreChoice::Times> SharedTimes::take() noexcept {
  if (is_taken_) return {};
  StoreChoice::Times slowest{};
  for (const int rank : near_)
    for (std::size_t mode = 0; mode < slowest.size(); ++mode) {
      const std::uint64_t said = signals_.get(rank, first_ + static_cast<int>(mode));
      if (said == 0) continue;
      if (said >> time_bits < probe_) return {};
      const auto time = static_cast<std::chrono::nanoseconds::rep>(said & longest);
      slowest[mode] = std::max(slowest[mode], std::chrono::nanoseconds(time));
    }
  is_taken_ = true;
  return slowest;
}

}  // namespace colltune
