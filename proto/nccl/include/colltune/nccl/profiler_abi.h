// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "colltune/nccl/tuner_abi.h"

/// What NCCL and a profiler plug-in agree on, in versions 4 (NCCL 2.27), 5 (from 2.28) and 6
/// (newer): src/include/plugin/profiler/ in NCCL's repository. NCCL looks for the symbols
/// ncclProfiler_v6, _v5, _v4, the newest that it knows first; those before tell no channels that
/// were used.
namespace colltune::nccl {

/// A bit of the mask of events that a profiler wants, and the type of one: the kernel of a
/// collective is launched.
inline constexpr int profile_collective = 1 << 1;
/// The same of a send or receive, those that NCCL makes of a collective among them.
inline constexpr int profile_transfer = 1 << 2;
/// Told before these, of all that is launched with one kernel. In version 4 what is in a group is
/// told only where the profiler gave that a handle.
inline constexpr int profile_group = 1 << 0;
/// Others that NCCL tells whoever wants these, from version 5 on.
inline constexpr int profile_group_call = 1 << 8;
inline constexpr int profile_collective_call = 1 << 9;

/// What is told of a collective: the same in all three versions, whose next members are left out.
struct ProfiledCollective {
  std::uint64_t sequence_number;
  const char* function;
  const void* send;
  void* receive;
  std::size_t count;
  int root;
  const char* data_type;
  std::uint8_t channels;  ///< that it runs on; 0 where it is no kernel of NCCL's table
  std::uint8_t warps;
  const char* algorithm;
  const char* protocol;
};

/// The same of a send or receive.
struct ProfiledTransfer {
  const char* function;
  void* buffer;
  const char* data_type;
  std::size_t count;
  int peer;
};

/// The beginning of an event, which is of the type that it says.
template <class Type>
struct ProfilerEvent {
  Type type;
  void* parent;
  int rank;
  union {
    ProfiledCollective collective;
    ProfiledTransfer transfer;
  };
};
using ProfilerEventV4 = ProfilerEvent<std::uint8_t>;
using ProfilerEventV5 = ProfilerEvent<std::uint64_t>;

/// The mask is the library's, for all communicators of the process: it reads it before each call,
/// and a profiler may write it at any time. A handle that is null is not stopped.
template <class Event, class Init>
struct Profiler {
  const char* name;
  Init init;
  Result (*start_event)(void* context, void** handle, Event* event);
  Result (*stop_event)(void* handle);
  Result (*record_event_state)(void* handle, int state, void* details);
  Finalize finalize;
};
using ProfilerInitV4 = Result (*)(void** context, int* mask, const char* name,
                                  std::uint64_t communicator, int nodes, int ranks, int rank,
                                  Logger logger);
using ProfilerInitV5 = Result (*)(void** context, std::uint64_t communicator, int* mask,
                                  const char* name, int nodes, int ranks, int rank, Logger logger);
using ProfilerV4 = Profiler<ProfilerEventV4, ProfilerInitV4>;
using ProfilerV5 = Profiler<ProfilerEventV5, ProfilerInitV5>;  ///< and 6

// As the compilers of NCCL lay them out on every 64-bit processor that it runs on.
static_assert(sizeof(ProfilerV4) == 6 * sizeof(void*) && sizeof(ProfilerV5) == 6 * sizeof(void*));
static_assert(offsetof(ProfilerEventV4, parent) == 8 && offsetof(ProfilerEventV4, rank) == 16);
static_assert(offsetof(ProfilerEventV4, collective) == 24);
static_assert(offsetof(ProfilerEventV5, parent) == 8 && offsetof(ProfilerEventV5, rank) == 16);
static_assert(offsetof(ProfilerEventV5, collective) == 24);
static_assert(offsetof(ProfilerEventV4, transfer) == 24);
static_assert(offsetof(ProfilerEventV5, transfer) == 24);
static_assert(offsetof(ProfiledTransfer, buffer) == 8 && offsetof(ProfiledTransfer, peer) == 32);
static_assert(offsetof(ProfiledCollective, root) == 40);
static_assert(offsetof(ProfiledCollective, data_type) == 48);
static_assert(offsetof(ProfiledCollective, channels) == 56);
static_assert(offsetof(ProfiledCollective, warps) == 57);
static_assert(offsetof(ProfiledCollective, algorithm) == 64);
static_assert(sizeof(ProfiledCollective) == 80);

}  // namespace colltune::nccl
