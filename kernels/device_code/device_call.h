// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "colltune/vocabulary/collective.h"

namespace colltune::device {

constexpr int most_ranks = 16;
constexpr int most_blocks = 64;
constexpr int most_threads = 512;  ///< of a block: kernels are compiled for this many

/// What the host and a rank's kernel tell each other while it runs, in memory that both reach. All
/// words are read and written as atomics.
struct Control {
  /// Nonzero: all waits end, and the kernel with them. Set by the host at the call's deadline, or
  /// by a kernel whose wait took too long.
  std::uint64_t abort = 0;
  /// The rank, plus 1, that the first wait to end this way had waited for. 0: none.
  std::uint64_t missing = 0;
};

/// Where the ranks' memory lies, as one device addresses it.
struct PeerMemory {
  /// The ranks' buffers, if they are registered.
  const std::byte* sends[most_ranks] = {};
  std::byte* receives[most_ranks] = {};
  /// The ranks' scratch memory: signals first (`signals_size`), then `scratch_bytes` of data.
  std::byte* scratch[most_ranks] = {};
};

/// One rank's call as its kernel sees it. Plain data: it is a kernel argument, frozen in a captured
/// graph. What changes from call to call is in the memory behind `counters`.
struct DeviceCall {
  int rank = 0;
  int ranks = 1;
  int root = 0;
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  bool in_place = false;
  bool registered = false;
  /// Size of the message, or of each rank's block if there is one per rank.
  std::uint64_t bytes = 0;
  const std::byte* send = nullptr;
  std::byte* receive = nullptr;
  // Indexed by rank; they point into a PeerMemory that outlives the call. Pointers, not arrays, so
  // that a kernel keeps the call in registers and looks peers up in its arguments.
  const std::byte* const* sends = nullptr;
  std::byte* const* receives = nullptr;
  std::byte* const* scratch = nullptr;
  std::uint64_t scratch_bytes = 0;
  /// An address of all ranks' scratch memory at once, for a device's multicast instructions: a
  /// store writes to every rank, a load returns the sum over all. Null: there is no such address.
  std::byte* multicast = nullptr;
  /// This rank's own counters, one per block: how far its signals have counted.
  std::uint64_t* counters = nullptr;
  Control* control = nullptr;
  std::uint64_t chunk = 0;     ///< bytes; for bodies that cut the message
  int slots = 2;               ///< most chunks in flight between two ranks; also for bodies that
                               ///< cut the message
  int packets = 1;             ///< packets of 16 bytes that a thread loads before it stores the
                               ///< first
  std::uint64_t limit_ns = 0;  ///< limit of each wait, by the device's own clock

  /// What may change from call to call: size, root, type, operator and this rank's buffers.
  constexpr void take(const DeviceCall& next) {
    root = next.root;
    type = next.type;
    op = next.op;
    bytes = next.bytes;
    send = next.send;
    receive = next.receive;
  }
  /// Whether nothing of that is unlike but the buffers.
  [[nodiscard]] constexpr bool is_like(const DeviceCall& other) const {
    return root == other.root && type == other.type && op == other.op && bytes == other.bytes;
  }
  constexpr void look_up_peers_in(const PeerMemory& peers) {
    sends = peers.sends;
    receives = peers.receives;
    scratch = peers.scratch;
  }
};

/// The arguments of one kernel launch: the calls of all ranks of this process on one device. They
/// differ in `own` alone.
struct LaunchArguments {
  struct Own {
    int rank = 0;
    const std::byte* send = nullptr;
    std::byte* receive = nullptr;
    std::uint64_t* counters = nullptr;
  };
  DeviceCall common;  ///< its `sends`, `receives` and `scratch` are those of `peers`
  PeerMemory peers;
  Own own[most_ranks];
  int blocks = 1;         ///< of each rank
  bool is_whole = false;  ///< moves_whole_packets holds for all calls
};

/// What a block of one rank tells the block with the same number of another rank. Each is a word of
/// its own with one writer, and only grows.
enum class Channel : std::uint8_t {
  progress = 0,  ///< how far the block has come
  credit = 1,    ///< how much of what it was given it has taken
};
/// The words of all blocks, ranks and channels, at the beginning of each rank's scratch memory.
constexpr std::uint64_t signals_size =
    std::uint64_t{most_blocks} * most_ranks * 2 * sizeof(std::uint64_t);

}  // namespace colltune::device
