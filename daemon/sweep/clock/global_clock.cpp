// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/clock/global_clock.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace colltune {
namespace {

using std::chrono::nanoseconds;

// With this many exchanges the shortest trip seen is some 20 % above the shortest possible one; an
// exchange takes a few us.
constexpr int exchanges = 48;

/// Bounds on the offset between the other rank's clock and this one's: it lies between the two.
struct Bounds {
  std::int64_t low = std::numeric_limits<std::int64_t>::min();
  std::int64_t high = std::numeric_limits<std::int64_t>::max();
};

/// What a rank knows about its clock relative to rank 0's, as the words that are exchanged.
struct Known {
  std::int64_t offset = 0;
  std::int64_t error = 0;
};

class Estimate {
 public:
  Estimate(Communicator& communicator, Deadline deadline, const ReadClock& read)
      : communicator_(communicator), deadline_(deadline), read_(read) {}

  ClockOffset run() {
    const auto nodes = communicator_.nodes();
    const int rank = communicator_.rank();
    std::vector<int> leaders;  // leader of each node; nodes are numbered in the order of their
                               // first ranks
    for (int r = 0; r < communicator_.size(); ++r)
      if (nodes[static_cast<std::size_t>(r)] == static_cast<int>(leaders.size()))
        leaders.push_back(r);
    const int leader = leaders[static_cast<std::size_t>(nodes[static_cast<std::size_t>(rank)])];

    Known own;
    if (rank == 0)
      for (std::size_t node = 1; node < leaders.size(); ++node) teach(leaders[node], own, false);
    else if (rank == leader)
      own = learn(0);
    if (rank == leader) {
      for (int r = 0; r < communicator_.size(); ++r)
        if (r != rank &&
            nodes[static_cast<std::size_t>(r)] == nodes[static_cast<std::size_t>(rank)])
          teach(r, own, true);
    } else {
      own = learn(leader);
    }
    const std::int64_t error = communicator_.all_reduce_max(own.error, deadline_);
    const std::int64_t unlike =
        communicator_.all_reduce_max(own.offset != 0 || leaders.size() > 1 ? 1 : 0, deadline_);
    return {.offset = nanoseconds(own.offset),
            .error = nanoseconds(error),
            .is_one_clock = unlike == 0,
            .estimated_at = std::chrono::steady_clock::now()};
  }

 private:
  void teach(int other, const Known& own, bool shares_node) {
    Bounds bounds;
    for (int i = 0; i < exchanges; ++i) {
      const std::int64_t sent = read_().count();
      communicator_.send_word(other, sent, deadline_);
      const std::int64_t there = communicator_.receive_word(other, deadline_);
      const std::int64_t back = read_().count();
      bounds.high = std::min(bounds.high, there - sent);
      bounds.low = std::max(bounds.low, there - back);
    }
    // What `other` must add to its clock to get this rank's clock.
    std::int64_t offset = -(bounds.low + (bounds.high - bounds.low) / 2);
    std::int64_t error = (bounds.high - bounds.low + 1) / 2;
    if (shares_node && bounds.low <= 0 && 0 <= bounds.high) {
      offset = 0;
      error = std::max(-bounds.low, bounds.high);
    }
    communicator_.send_word(other, own.offset + offset, deadline_);
    communicator_.send_word(other, own.error + std::max<std::int64_t>(0, error), deadline_);
  }

  Known learn(int teacher) {
    for (int i = 0; i < exchanges; ++i) {
      (void)communicator_.receive_word(teacher, deadline_);
      communicator_.send_word(teacher, read_().count(), deadline_);
    }
    Known own;
    own.offset = communicator_.receive_word(teacher, deadline_);
    own.error = communicator_.receive_word(teacher, deadline_);
    return own;
  }

  Communicator& communicator_;
  Deadline deadline_;
  const ReadClock& read_;
};

}  // namespace

nanoseconds read_steady_clock() { return std::chrono::steady_clock::now().time_since_epoch(); }

ClockOffset estimate_clock_offset(Communicator& communicator, Deadline deadline,
                                  const ReadClock& read) {
  return Estimate(communicator, deadline, read).run();
}

}  // namespace colltune
