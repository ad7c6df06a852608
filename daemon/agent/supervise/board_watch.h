// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "colltune/flight/flight_recorder.h"
#include "colltune/hosts/witness_watch.h"
#include "colltune/machine/descriptor.h"

namespace colltune {

/// Observes the ranks of a board from outside: which process died, whose step is late.
class BoardWatch {
 public:
  /// `board` outlives this object.
  explicit BoardWatch(std::span<const std::byte> board);

  /// Finds ranks that have recorded their first entry, and looks at the processes of all that are
  /// on this host. What follows says what it saw.
  void look(SteadyTime now);
  /// Adds descriptors to poll, which become readable when a rank dies. Adds none if the kernel has
  /// no pidfd (before 5.3): then look repeatedly.
  void append_poll(std::vector<pollfd>& polled) const;
  /// Records of ranks on this host that died without recording that they had finished.
  [[nodiscard]] std::vector<std::size_t> find_dead() const;
  /// Ranks on this host that have been seen stopped so far.
  [[nodiscard]] const std::vector<StoppedRank>& stopped() const { return stopped_; }
  /// Whether a rank's step is more than `grace` late at `now`.
  [[nodiscard]] bool is_late(SteadyTime now, std::chrono::nanoseconds grace) const;

 private:
  struct Rank {
    bool is_known = false;
    bool is_local = false;
    bool is_alive = false;
    int rank = 0;
    pid_t pid = 0;
    std::uint64_t start_ticks = 0;
    Descriptor pidfd;
  };
  [[nodiscard]] std::span<const std::byte> region(std::size_t record) const;
  void find_new_ranks();

  std::span<const std::byte> board_;
  std::string host_;
  std::vector<Rank> ranks_;
  std::vector<StoppedRank> stopped_;
};

}  // namespace colltune
