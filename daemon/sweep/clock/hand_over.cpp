// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "hand_over.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace colltune {
namespace {

using std::chrono::nanoseconds;
using Clock = std::chrono::steady_clock;

// One word for each of a rank's two neighbours.
constexpr int words = 2;
constexpr int trips = 8;
constexpr std::string_view what = "its signal, to find out how far its core is";

std::vector<int> ranks_of_own_node(const Communicator& communicator) {
  const auto nodes = communicator.nodes();
  const int own = nodes[static_cast<std::size_t>(communicator.rank())];
  std::vector<int> ranks;
  for (int rank = 0; rank < communicator.size(); ++rank)
    if (nodes[static_cast<std::size_t>(rank)] == own) ranks.push_back(rank);
  return ranks;
}

}  // namespace

bool HandOverProbe::is_defined_on(const Communicator& communicator) {
  if (communicator.is_oversubscribed() || communicator.device() != nullptr) return false;
  std::vector<int> nodes(communicator.nodes().begin(), communicator.nodes().end());
  std::ranges::sort(nodes);
  return std::ranges::adjacent_find(nodes) != nodes.end();
}

HandOverProbe::HandOverProbe(Communicator& communicator, Deadline deadline)
    : rank_(communicator.rank()),
      of_node_(ranks_of_own_node(communicator)),
      memory_(communicator.allocate({Signals::size(words)}, deadline)),
      signals_(communicator, *memory_, 0) {}

nanoseconds HandOverProbe::measure(Deadline deadline) {
  const auto place = std::ranges::find(of_node_, rank_) - of_node_.begin();
  nanoseconds farthest{};
  for (int word = 0; word < words; ++word) {
    // In the first turn pairs begin at even positions, in the second at odd ones.
    const bool is_first = place % words == word;
    const auto other = is_first ? place + 1 : place - 1;
    if (other < 0 || other >= std::ssize(of_node_)) continue;
    const int peer = of_node_[static_cast<std::size_t>(other)];
    farthest = std::max(farthest, measure_with(peer, is_first, word, deadline));
  }
  epoch_ += trips + 1;
  return farthest;
}

nanoseconds HandOverProbe::measure_with(int peer, bool is_first, int word,
                                        Deadline deadline) const {
  Clock::time_point begin;
  for (std::uint64_t trip = 0; trip <= trips; ++trip) {
    const std::uint64_t epoch = epoch_ + trip + 1;
    if (is_first) signals_.set(word, epoch);
    signals_.wait_until(peer, word, epoch, deadline, what);
    if (!is_first) signals_.set(word, epoch);
    // The first trip only synchronises the pair, so timing starts after it.
    if (trip == 0) begin = Clock::now();
  }
  return (Clock::now() - begin) / (2 * trips);
}

}  // namespace colltune
