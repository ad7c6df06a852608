// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device_call.h"
#include "host_device.h"
#include "packets.h"

namespace colltune::device {

/// One block of a rank's kernel among the blocks with the same number of all ranks. `Context` is
/// where it runs: on a GPU (cuda_context.cuh) or as host threads (host_context.h):
///
///     block(), blocks(), thread(), threads()   this thread's place in the launch
///     sync_block(bool any)       all threads of the block have come, what they wrote is seen by
///     all
///                                of them; whether any of them said `any`
///     load_signal, store_signal  of 64-bit words, with acquire and release for all ranks
///     heeds(channel, step), heeds_flags(), clears_words()   false in tests alone: such awaits,
///                                such words of a wire are not waited for, words are not cleared
///     load_relaxed, store_relaxed, load_pair, store_pair   the pairs lie at multiples of 16 bytes;
///                                each word of one is seen whole, the two in any order
///     is_whole                   whether calls move whole aligned packets alone (packets.h)
///     store_lane, load_lane, packet_of, has_line, any_of_line, threads_of_line
///                                of lines of 128 bytes (line_wire.h)
///     sum_everywhere, store_everywhere   a packet at a place in the scratch memory of all ranks
///     store_alias, load_alias    a packet of such memory by a rank's own address of it
///     release_aliases()          behind stores by one of the two, to be loaded by the other one
///     acquire_aliases()          before those loads
///     Remote, reach_scratch, reach_result, put, complete_puts, put_signal   see `put` below
///     packs<Reducer>             whether loops that combine may hold several packets at once
///     now_ns(), pause(look)      `look`: how many of them came before
///
/// Signals count on from call to call, so nothing is reset, and the count lies in memory, so that a
/// captured graph can be replayed. What a rank posts to another one must grow with every post.
/// A wait that is given up says so to all threads of the block: then the body returns at once.
template <class Context>
class Team {
 public:
  COLLTUNE_DEVICE Team(Context& context, const DeviceCall& call)
      : context_(context), call_(call), base_(call.counters[context.block()]) {}

  /// Tells `peer` that this block has come to `step` of the call (from 1 on). What the block's
  /// threads wrote before is visible to who awaits it; every thread calls.
  COLLTUNE_DEVICE void post(int peer, std::uint64_t step, Channel channel = Channel::progress) {
    quiet();
    if (context_.thread() == 0) signal(peer, step, channel);
  }
  /// Whether `peer`'s block has come to `step`; false where the wait was given up. Every thread
  /// calls, and gets the same answer.
  [[nodiscard]] COLLTUNE_DEVICE bool await(int peer, std::uint64_t step,
                                           Channel channel = Channel::progress) {
    bool lost = false;
    if (context_.thread() == 0) lost = !wait_for(peer, step, channel);
    return !context_.sync_block(lost);
  }
  /// All ranks' blocks have come to `step`.
  [[nodiscard]] COLLTUNE_DEVICE bool barrier(std::uint64_t step) {
    quiet();
    // All posts before any wait: a thread has several peers where a block is small.
    for (int peer = context_.thread(); peer < call_.ranks; peer += context_.threads())
      if (peer != call_.rank) signal(peer, step, Channel::progress);
    bool lost = false;
    for (int peer = context_.thread(); peer < call_.ranks; peer += context_.threads())
      if (peer != call_.rank && !lost) lost = !wait_for(peer, step, Channel::progress);
    return !context_.sync_block(lost);
  }
  /// Whether `peer`'s block has come to `step`, without waiting. One thread's answer: others of the
  /// block may get another one, and may read what came only behind the block's next barrier.
  [[nodiscard]] COLLTUNE_DEVICE bool has_come(int peer, std::uint64_t step,
                                              Channel channel = Channel::progress) const {
    return context_.load_signal(own_word(peer, channel)) >= base_ + step;
  }

  // Puts: stores into a peer's memory by a place there, not by an address here, and never read
  // back. A body that reaches its peers by these and by posts alone can run where they are not
  // mapped.

  /// Place `at` of the data of `peer`'s scratch memory.
  [[nodiscard]] COLLTUNE_DEVICE auto scratch_of(int peer, std::uint64_t at) const {
    return context_.reach_scratch(call_, peer, signals_size + at);
  }
  /// Place `at` of `peer`'s receive buffer, which is registered.
  [[nodiscard]] COLLTUNE_DEVICE auto result_of(int peer, std::uint64_t at) const {
    return context_.reach_result(call_, peer, at);
  }
  /// Packet `index` of `bytes` bytes at `to`. Who awaits a later post sees it.
  template <class Remote>
  COLLTUNE_DEVICE void put_packet(const Remote& to, std::uint64_t index, std::uint64_t bytes,
                                  const Packet& packet) {
    context_.put(to, index, bytes, packet);
  }
  /// `bytes` bytes from `from` to `to`, by all blocks.
  template <class Remote>
  COLLTUNE_DEVICE void put(const Remote& to, const std::byte* from, std::uint64_t bytes) {
    move_packets(
        context_, call_, {0, packets_of(bytes)},
        [&](std::uint64_t index) { return read_packet<Context>(from, index, bytes); },
        [&](std::uint64_t index, const Packet& packet) { put_packet(to, index, bytes, packet); });
  }
  /// The same, then a post: `peer`'s block that has seen it sees what this block has put.
  template <class Remote>
  COLLTUNE_DEVICE void put_with_signal(int peer, const Remote& to, const std::byte* from,
                                       std::uint64_t bytes, std::uint64_t step) {
    put(to, from, bytes);
    post(peer, step);
  }
  /// What the block's threads have put so far is there for everyone whom this block tells so from
  /// now on, in whatever way; every thread calls.
  COLLTUNE_DEVICE void quiet() {
    context_.complete_puts();
    context_.sync_block(false);
  }

  /// The end of a call that came to `steps`; every thread calls, once.
  COLLTUNE_DEVICE void finish(std::uint64_t steps) {
    context_.sync_block(false);
    if (context_.thread() == 0) call_.counters[context_.block()] = base_ + steps;
  }
  /// A number that differs from call to call and is the same on all ranks.
  [[nodiscard]] COLLTUNE_DEVICE std::uint64_t base() const { return base_; }

  [[nodiscard]] COLLTUNE_DEVICE Context& context() { return context_; }

  /// Waits until `is_there()`; false where the wait was given up. `peer`: who is awaited, which
  /// `is_there` may change.
  template <class Condition>
  [[nodiscard]] COLLTUNE_DEVICE bool wait_until(const int& peer, Condition is_there) {
    return wait_until(peer, is_there, [](bool gives_up) { return gives_up; });
  }
  /// The same by several threads, to all of which `is_there()` gives one answer: `any(bool)` says
  /// whether one of them has said yes, so that they give up together.
  template <class Condition, class Any>
  [[nodiscard]] COLLTUNE_DEVICE bool wait_until(const int& peer, Condition is_there, Any any) {
    // The clock and the flag, which lies in the host's memory, are looked at now and then only.
    constexpr int looks = 256;
    std::uint64_t begin = 0;
    for (int look = 0; !is_there(); ++look) {
      if (look % looks != looks - 1) {
        Context::pause(look);
        continue;
      }
      look = looks;  // beyond here pauses are long
      const std::uint64_t now = Context::now_ns();
      if (begin == 0) begin = now;
      const bool is_late = now - begin > call_.limit_ns;
      if (!any(is_late || Context::load_relaxed(&call_.control->abort) != 0)) continue;
      if (Context::load_relaxed(&call_.control->missing) == 0)
        Context::store_relaxed(&call_.control->missing, static_cast<std::uint64_t>(peer) + 1);
      Context::store_relaxed(&call_.control->abort, 1);
      return false;
    }
    return true;
  }

 private:
  /// Where in scratch memory the word lies that `from` writes.
  [[nodiscard]] COLLTUNE_DEVICE std::uint64_t place_of_word(int from, Channel channel) const {
    return static_cast<std::uint64_t>((context_.block() * most_ranks + from) * 2 +
                                      static_cast<int>(channel)) *
           sizeof(std::uint64_t);
  }
  [[nodiscard]] COLLTUNE_DEVICE const std::uint64_t* own_word(int from, Channel channel) const {
    return reinterpret_cast<const std::uint64_t*>(call_.scratch[call_.rank] +
                                                  place_of_word(from, channel));
  }
  COLLTUNE_DEVICE void signal(int peer, std::uint64_t step, Channel channel) {
    context_.put_signal(context_.reach_scratch(call_, peer, place_of_word(call_.rank, channel)),
                        base_ + step);
  }
  [[nodiscard]] COLLTUNE_DEVICE bool wait_for(int peer, std::uint64_t step, Channel channel) {
    if (!context_.heeds(channel, step)) return true;
    return wait_until(peer, [&] { return has_come(peer, step, channel); });
  }

  Context& context_;
  const DeviceCall& call_;
  std::uint64_t base_;
};

}  // namespace colltune::device
