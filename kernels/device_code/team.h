// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device_call.h"
#include "host_device.h"
#include "packets.h"

namespace colltune::device {

/// One block of a rank's kernel together with the blocks of the same number of all other ranks.
/// `Context` is where it runs: on a GPU (cuda_context.cuh) or as host threads (host_context.h):
///
///     block(), blocks(), thread(), threads()   this thread's position in the kernel launch
///     sync_block(bool any)       a barrier of the block: each thread sees what all wrote before;
///                                returns whether any of them passed true
///     load_signal, store_signal  of 64-bit words, with acquire and release for all ranks
///     heeds(channel, step), heeds_flags(), clears_words()   false only in tests that skip such
///                                awaits, the check of a wire's flags, or the clearing of words
///     load_relaxed, store_relaxed, load_pair, store_pair   pairs lie at multiples of 16 bytes;
///                                each word is seen whole, the two words in any order
///     is_whole                   whether calls move only whole aligned packets (packets.h)
///     store_lane, load_lane, packet_of, has_line, any_of_line, threads_of_line
///                                for lines of 128 bytes (line_wire.h)
///     sum_everywhere, store_everywhere   a packet at one offset in all ranks' scratch memory
///     store_alias, load_alias    a packet of such memory through the rank's own address
///     release_aliases()          after stores through one address, for loads through the other
///     acquire_aliases()          before those loads
///     Remote, reach_scratch, reach_result, put, complete_puts, put_signal   see `put` below
///     packs<Reducer>             whether loops that combine may hold several packets at once
///     now_ns(), pause(look)      `look`: the number of pauses before this one
///
/// Signals keep counting from call to call, so nothing is reset. The count lies in memory, so a
/// captured graph can be replayed. What a rank posts to another must grow with every post. When a
/// wait is given up, all threads of the block learn it, and the body returns at once.
template <class Context>
class Team {
 public:
  COLLTUNE_DEVICE Team(Context& context, const DeviceCall& call)
      : context_(context), call_(call), base_(call.counters[context.block()]) {}

  /// Tells `peer` that this block has reached `step` of the call (from 1 on). Whoever awaits it
  /// sees what the block's threads wrote before. Every thread calls this.
  COLLTUNE_DEVICE void post(int peer, std::uint64_t step, Channel channel = Channel::progress) {
    quiet();
    if (context_.thread() == 0) signal(peer, step, channel);
  }
  /// Waits until `peer`'s block has reached `step`; false if the wait was given up. Every thread
  /// calls this, and all get the same answer.
  [[nodiscard]] COLLTUNE_DEVICE bool await(int peer, std::uint64_t step,
                                           Channel channel = Channel::progress) {
    bool lost = false;
    if (context_.thread() == 0) lost = !wait_for(peer, step, channel);
    return !context_.sync_block(lost);
  }
  /// Waits until all ranks' blocks have reached `step`; false if the wait was given up.
  [[nodiscard]] COLLTUNE_DEVICE bool barrier(std::uint64_t step) {
    quiet();
    // Post to all before any wait: in a small block a thread has several peers.
    for (int peer = context_.thread(); peer < call_.ranks; peer += context_.threads())
      if (peer != call_.rank) signal(peer, step, Channel::progress);
    bool lost = false;
    for (int peer = context_.thread(); peer < call_.ranks; peer += context_.threads())
      if (peer != call_.rank && !lost) lost = !wait_for(peer, step, Channel::progress);
    return !context_.sync_block(lost);
  }
  /// Whether `peer`'s block has reached `step`, without waiting. This is one thread's answer: other
  /// threads of the block may get another, and may read the peer's data only after the block's next
  /// barrier.
  [[nodiscard]] COLLTUNE_DEVICE bool has_come(int peer, std::uint64_t step,
                                              Channel channel = Channel::progress) const {
    return context_.load_signal(own_word(peer, channel)) >= base_ + step;
  }

  // Puts: stores into a peer's memory, given an offset there instead of an address here, and never
  // read back. A body that reaches its peers only by puts and posts can run where they are not
  // mapped.

  /// Offset `at` in the data of `peer`'s scratch memory.
  [[nodiscard]] COLLTUNE_DEVICE auto scratch_of(int peer, std::uint64_t at) const {
    return context_.reach_scratch(call_, peer, signals_size + at);
  }
  /// Offset `at` in `peer`'s receive buffer, which is registered.
  [[nodiscard]] COLLTUNE_DEVICE auto result_of(int peer, std::uint64_t at) const {
    return context_.reach_result(call_, peer, at);
  }
  /// Puts packet `index` of the `bytes` bytes at `to`. A peer that awaits a later post sees it.
  template <class Remote>
  COLLTUNE_DEVICE void put_packet(const Remote& to, std::uint64_t index, std::uint64_t bytes,
                                  const Packet& packet) {
    context_.put(to, index, bytes, packet);
  }
  /// Puts `bytes` bytes from `from` to `to`. All blocks take part.
  template <class Remote>
  COLLTUNE_DEVICE void put(const Remote& to, const std::byte* from, std::uint64_t bytes) {
    move_packets(
        context_, call_, {0, packets_of(bytes)},
        [&](std::uint64_t index) { return read_packet<Context>(from, index, bytes); },
        [&](std::uint64_t index, const Packet& packet) { put_packet(to, index, bytes, packet); });
  }
  /// The same, then a post: once `peer`'s block sees the post, it sees what this block has put.
  template <class Remote>
  COLLTUNE_DEVICE void put_with_signal(int peer, const Remote& to, const std::byte* from,
                                       std::uint64_t bytes, std::uint64_t step) {
    put(to, from, bytes);
    post(peer, step);
  }
  /// Completes what the block's threads have put so far: any rank that this block notifies
  /// afterwards, by whatever means, finds it there. Every thread calls this.
  COLLTUNE_DEVICE void quiet() {
    context_.complete_puts();
    context_.sync_block(false);
  }

  /// Ends a call that went up to step `steps`. Every thread calls this, once.
  COLLTUNE_DEVICE void finish(std::uint64_t steps) {
    context_.sync_block(false);
    if (context_.thread() == 0) call_.counters[context_.block()] = base_ + steps;
  }
  /// A number that differs from call to call and is the same on all ranks.
  [[nodiscard]] COLLTUNE_DEVICE std::uint64_t base() const { return base_; }

  [[nodiscard]] COLLTUNE_DEVICE Context& context() { return context_; }

  /// Waits until `is_there()`; false if the wait was given up. `peer`: the rank awaited, which
  /// `is_there` may change.
  template <class Condition>
  [[nodiscard]] COLLTUNE_DEVICE bool wait_until(const int& peer, Condition is_there) {
    return wait_until(peer, is_there, [](bool gives_up) { return gives_up; });
  }
  /// The same by several threads that all get one answer from `is_there()`. `any(bool)` says
  /// whether one of them passed true, so that they give up together.
  template <class Condition, class Any>
  [[nodiscard]] COLLTUNE_DEVICE bool wait_until(const int& peer, Condition is_there, Any any) {
    // The clock, and the abort flag, which lies in host memory, are checked only now and then.
    constexpr int looks = 256;
    std::uint64_t begin = 0;
    for (int look = 0; !is_there(); ++look) {
      if (look % looks != looks - 1) {
        Context::pause(look);
        continue;
      }
      look = looks;  // past this count pauses are long
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
  /// Offset in scratch memory of the word that `from` writes.
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
