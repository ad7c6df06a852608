// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A shared object with the functions of libnccl that colltune opens, for ranks that are threads and
// buffers in the host's memory, on the queues of pretended devices. It loads its tuner as NCCL
// does, asks it about the five collectives, and takes the cheapest entry that the table then holds;
// ranks that do not choose alike never meet. Its communicators are nonblocking: what it is asked is
// done by threads of its own.

#include <cstddef>
#include <cstdint>

namespace colltune::test {

inline constexpr int most_fake_ranks = 8;

/// What the library is like from now on.
struct FakeNcclSettings {
  int version = 22809;
  int tuner_interface = 5;  ///< the newest that it knows
  int channels = 32;        ///< of a communicator
  /// Entries that a rank cannot choose (bit algorithm * 3 + protocol), besides those that NCCL's
  /// model leaves out.
  std::uint64_t unavailable[most_fake_ranks] = {};
  /// The same on all ranks, for calls of so many bytes and more.
  std::uint64_t unavailable_for_long = 0;
  std::uint64_t long_bytes = ~std::uint64_t{0};
  /// The file that the tuner of a rank finds in its environment; null: what is there.
  const char* snapshot[most_fake_ranks] = {};
  bool makes_windows = true;      ///< else it gives none, without an error
  int rank_without_window = -1;   ///< never comes to the others that make one
  int rank_stuck_in_init = -1;    ///< never comes to the others; others wait for it
  int rank_refused_in_init = -1;  ///< ends with an error
  int sound_inits = 0;            ///< so many communicators of a rank are made well before that
  int rank_stuck_in_call = -1;    ///< never comes to the others in calls of `stuck_entries`
  std::uint64_t stuck_entries = 0;
};

/// What happened since the library was configured.
struct FakeNcclCounts {
  int joined = 0;     ///< members of communicators that were made
  int destroyed = 0;  ///< of these, ended in peace
  int aborted = 0;
  int registered = 0;   ///< buffers that are so now
  int windows = 0;      ///< that are open now, of all ranks
  int allocations = 0;  ///< of memory that were not given back
  int operators = 0;    ///< that were made and not destroyed
  int calls = 0;        ///< of collectives, of all ranks
};

// Its own functions, besides NCCL's.
using FakeNcclConfigure = void (*)(const FakeNcclSettings* settings);
using FakeNcclCount = FakeNcclCounts (*)();
/// The calls of `rank` that come from now on go no further until it is let go: -1 holds none.
using FakeNcclHold = void (*)(int rank);
/// Returns when a call of the held rank has come to where it is held.
using FakeNcclAwaitHeld = void (*)();
// What it does without asking its tuner, where all buffers of a call lie in windows.
inline constexpr int symmetric_kernel_entry = 100;
inline constexpr int copy_engine_entry = 101;
/// What a rank chose in its last call, as algorithm * 3 + protocol, or one of these; -1: none.
struct FakeNcclChoice {
  int entry = -1;
  int channels = 0;
};
using FakeNcclLast = FakeNcclChoice (*)(int rank);
/// What a communicator was made with; 0: what the library takes by itself.
struct FakeNcclMade {
  int fewest_ctas = 0;
  int most_ctas = 0;
  int policy = 0;
};
/// Those of `rank` so far, the first `most` in `into`; returns how many there are.
using FakeNcclListMade = int (*)(int rank, FakeNcclMade* into, int most);

}  // namespace colltune::test
