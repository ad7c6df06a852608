// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "call_table.h"

#include <algorithm>
#include <limits>

namespace colltune {

static_assert(CallCounts::most < std::numeric_limits<std::uint16_t>::max());

std::size_t CallTable::slot_of(const TracedCall& call) const {
  // Multiplying spreads sizes, which are often powers of two, over the upper bits.
  constexpr std::uint64_t spread = 0x9e3779b97f4a7c15U;
  const auto number = [](auto value) {
    return value ? std::uint64_t{1} + static_cast<std::uint64_t>(*value) : std::uint64_t{0};
  };
  const std::uint64_t kind =
      static_cast<std::uint64_t>(call.operation) | std::uint64_t{call.is_nonblocking} << 8U |
      number(call.data_type) << 9U | number(call.reduce_op) << 15U |
      number(call.persistent) << 22U | static_cast<std::uint64_t>(call.counts) << 20U;
  const std::uint64_t mixed = (call.message_size.value * spread ^ kind) * spread;
  return static_cast<std::size_t>(mixed >> 40U) & (slots_.size() - 1);
}

std::size_t CallTable::find(const TracedCall& call) const {
  if (slots_.empty()) return none;
  for (std::size_t slot = slot_of(call); slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1))
    if (entries_[slots_[slot] - 1U].call == call) return slots_[slot] - 1U;
  return none;
}

void CallTable::insert(const TracedCall& call) {
  entries_.push_back({.call = call, .by_ranks = {}});
  const auto place = [&](std::size_t entry) {
    std::size_t slot = slot_of(entries_[entry].call);
    while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = static_cast<std::uint16_t>(entry + 1);
  };
  if (entries_.size() * 2 <= slots_.size()) return place(entries_.size() - 1);
  slots_.assign(std::max<std::size_t>(16, slots_.size() * 2), 0);
  for (std::size_t entry = 0; entry < entries_.size(); ++entry) place(entry);
}

void CallTable::add(const TracedCall& asked, std::chrono::nanoseconds time) {
  TracedCall call = is_irregular(asked.operation) ? rounded(asked) : asked;
  std::size_t found = find(call);
  if (found == none && entries_.size() >= CallCounts::most_exact) {
    call = rounded(call);
    found = find(call);
  }
  if (found == none && entries_.size() >= CallCounts::most) return add_not_kept(time);
  if (found == none) {
    insert(call);
    found = entries_.size() - 1;
  }
  latest_ = found;
  entries_[found].by_ranks.add({.calls = 1, .time = time});
}

}  // namespace colltune
