// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A shared object with the functions of libnccl that colltune opens, for ranks that are threads, or
// processes that meet in shared memory, and buffers in the host's memory, on the queues of
// pretended devices. It loads its tuner as NCCL does, asks it about the five collectives, and takes
// the cheapest entry that the table then holds; ranks that do not choose alike never meet. Its
// communicators are blocking, as those of programs: a function returns when all is done that does
// not need the queue. (Threads of its own do it all the same.)

#include <cstddef>
#include <cstdint>

namespace colltune::test {

inline constexpr int most_fake_ranks = 8;

/// What the library is like from now on.
struct FakeNcclSettings {
  int version = 22809;
  int tuner_interface = 5;     ///< the newest that it knows
  int profiler_interface = 5;  ///< the same of profilers; before 4 it finds none of ours
  int entry_that_runs = -1;    ///< whatever the table says: algorithm * 3 + protocol
  int channels = 32;           ///< of a communicator
  int own_channels = 64;       ///< that it takes by itself, at most: since 2.31 no tuner gets more
  /// Entries that a rank cannot choose (bit algorithm * 3 + protocol), besides those that NCCL's
  /// model leaves out.
  std::uint64_t unavailable[most_fake_ranks] = {};
  /// The same on all ranks, for calls of so many bytes and more.
  std::uint64_t unavailable_for_long = 0;
  std::uint64_t long_bytes = ~std::uint64_t{0};
  /// The file that the tuner of a rank finds in its environment; null: what is there.
  const char* table[most_fake_ranks] = {};
  int rank_with_another_identity = -1;  ///< its tuner is told another name of the communicator
  /// A rank whose library refuses all that a call selects.
  int rank_without_selection = -1;
  bool makes_windows = true;      ///< else it gives none, without an error
  int rank_without_window = -1;   ///< never comes to the others that make one
  int rank_stuck_in_init = -1;    ///< never comes to the others; others wait for it
  int rank_refused_in_init = -1;  ///< ends with an error
  int sound_inits = 0;            ///< so many communicators of a rank are made well before that
  int rank_stuck_in_call = -1;    ///< never comes to the others in calls of `stuck_entries`
  std::uint64_t stuck_entries = 0;
  int rank_stuck_in_abort = -1;  ///< its aborts end when this changes
  /// Its calls of collectives do not return, but for the first `sound_calls` of each communicator,
  /// before the communicator is revoked or aborted.
  int rank_stuck_inside = -1;
  int sound_calls = 0;
  bool is_nonblocking = false;       ///< whatever is asked for, as NCCL_COMM_BLOCKING=0 says
  bool has_copy_engines = true;      ///< else kernels and transfers do what they should do
  bool tells_of_replays = false;     ///< the profiler, instead of captures: as where a proxy helps
  int rank_refused_in_capture = -1;  ///< its calls on captured queues end with an error
  int rank_stuck_in_capture = -1;    ///< its calls on captured queues are never on them
  /// So long the end of a communicator waits for the graphs that hold calls of it, before it ends
  /// with an error; NCCL, since 2.26, waits for ever.
  int longest_wait_ms = 30'000;
  /// Its ranks are processes of one machine, not threads of one, and a rank sends
  /// most_bytes_across_processes at most.
  bool is_across_processes = false;
};
inline constexpr std::size_t most_bytes_across_processes = 1 << 20;

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
  int captured = 0;     ///< calls of collectives that graphs hold now, of all ranks
  int overdue = 0;      ///< communicators whose end waited for graphs in vain
  int revoked = 0;
  int aborted_inside = 0;  ///< aborts while a thread was inside a function of the communicator
};

// Its own functions, besides NCCL's.
/// "fake_nccl_configure" forgets what happened, "fake_nccl_change" does not.
using FakeNcclConfigure = void (*)(const FakeNcclSettings* settings);
using FakeNcclCount = FakeNcclCounts (*)();
/// The calls of `rank` that come from now on go no further until it is let go: -1 holds none.
using FakeNcclHold = void (*)(int rank);
/// Returns when a call of the held rank has come to where it is held.
using FakeNcclAwaitHeld = void (*)();
/// Returns when the end of a communicator has begun to wait for graphs.
using FakeNcclAwaitEnd = void (*)();
// What it does without asking its tuner, where all buffers of a call lie in windows.
inline constexpr int symmetric_kernel_entry = 100;
inline constexpr int copy_engine_entry = 101;
/// What a rank chose in its last call, as algorithm * 3 + protocol, or one of these; -1: none.
struct FakeNcclChoice {
  int entry = -1;
  int channels = 0;
};
using FakeNcclLast = FakeNcclChoice (*)(int rank);
/// The thread of the system's that made the last call of `rank`; 0: there was none.
using FakeNcclCaller = int (*)(int rank);
/// What a communicator was made with; 0: what the library takes by itself.
struct FakeNcclMade {
  int fewest_ctas = 0;
  int most_ctas = 0;
  int policy = 0;
  int blocking = 0;
};
/// What the last call of a rank brought as its own configuration, field by field.
struct FakeNcclCallConfiguration {
  std::uint64_t calls = 0;  ///< that brought one
  std::size_t size = 0;
  unsigned int magic = 0;
  unsigned int version = 0;
  bool has_extension = false;
  int fewest_ctas = 0;
  int most_ctas = 0;
  int nvls_ctas = 0;
  int cga_cluster_size = 0;
  char selection[128] = {};  ///< "": none
  int forces_selection = 0;
  int cta_policy = 0;
  std::uint64_t profiler_tag = 0;
};
using FakeNcclConfigured = FakeNcclCallConfiguration (*)(int rank);
/// Those of `rank` so far, the first `most` in `into`; returns how many there are.
using FakeNcclListMade = int (*)(int rank, FakeNcclMade* into, int most);

}  // namespace colltune::test
