// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/device_call.h"
#include "device/host_device.h"

namespace colltune::device {

/// One block of a rank's kernel among the blocks with the same number of all ranks. `Context` is
/// where it runs: on a GPU (cuda_context.cuh) or as host threads (host_context.h):
///
///     block(), blocks(), thread(), threads()   this thread's place in the launch
///     sync_block(bool any)       all threads of the block have come, what they wrote is seen by
///     all
///                                of them; whether any of them said `any`
///     load_signal, store_signal  of 64-bit words, with acquire and release for all ranks
///     heeds(channel)             false in tests alone: awaits of this channel wait for nothing
///     load_relaxed, store_relaxed
///     store_lane, load_lane, any_of_line, threads_of_line   of lines of 128 bytes (line_wire.h)
///     sum_everywhere, store_everywhere   a packet at a place in the scratch memory of all ranks
///     now_ns(), pause()
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
    context_.sync_block(false);
    if (context_.thread() == 0)
      context_.store_signal(word(peer, call_.rank, channel), base_ + step);
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
    context_.sync_block(false);
    // All posts before any wait: a thread has several peers where a block is small.
    for (int peer = context_.thread(); peer < call_.ranks; peer += context_.threads())
      if (peer != call_.rank)
        context_.store_signal(word(peer, call_.rank, Channel::progress), base_ + step);
    bool lost = false;
    for (int peer = context_.thread(); peer < call_.ranks; peer += context_.threads())
      if (peer != call_.rank && !lost) lost = !wait_for(peer, step, Channel::progress);
    return !context_.sync_block(lost);
  }
  /// The end of a call that came to `steps`; every thread calls, once.
  COLLTUNE_DEVICE void finish(std::uint64_t steps) {
    context_.sync_block(false);
    if (context_.thread() == 0) call_.counters[context_.block()] = base_ + steps;
  }
  /// A number that differs from call to call and is the same on all ranks.
  [[nodiscard]] COLLTUNE_DEVICE std::uint64_t base() const { return base_; }

  [[nodiscard]] COLLTUNE_DEVICE Context& context() { return context_; }

  /// Waits until `is_there()`; false where the wait was given up. `peer`: who is awaited.
  template <class Condition>
  [[nodiscard]] COLLTUNE_DEVICE bool wait_until(int peer, Condition is_there) {
    return wait_until(peer, is_there, [](bool gives_up) { return gives_up; });
  }
  /// The same by several threads, to all of which `is_there()` gives one answer: `any(bool)` says
  /// whether one of them has said yes, so that they give up together.
  template <class Condition, class Any>
  [[nodiscard]] COLLTUNE_DEVICE bool wait_until(int peer, Condition is_there, Any any) {
    const std::uint64_t begin = Context::now_ns();
    // The clock and the flag, which lies in the host's memory, are looked at now and then only.
    constexpr int looks = 256;
    for (int look = 0; !is_there(); ++look) {
      if (look < looks) {
        Context::pause();
        continue;
      }
      look = 0;
      const bool is_late = Context::now_ns() - begin > call_.limit_ns;
      if (!any(is_late || Context::load_relaxed(&call_.control->abort) != 0)) continue;
      if (Context::load_relaxed(&call_.control->missing) == 0)
        Context::store_relaxed(&call_.control->missing, static_cast<std::uint64_t>(peer) + 1);
      Context::store_relaxed(&call_.control->abort, 1);
      return false;
    }
    return true;
  }

 private:
  /// In the scratch memory of `at`, the word that `from` writes.
  [[nodiscard]] COLLTUNE_DEVICE std::uint64_t* word(int at, int from, Channel channel) const {
    return reinterpret_cast<std::uint64_t*>(call_.scratch[at]) +
           (context_.block() * most_ranks + from) * 2 + static_cast<int>(channel);
  }
  [[nodiscard]] COLLTUNE_DEVICE bool wait_for(int peer, std::uint64_t step, Channel channel) {
    if (!context_.heeds(channel)) return true;
    const std::uint64_t* const mine = word(call_.rank, peer, channel);
    const std::uint64_t wanted = base_ + step;
    return wait_until(peer, [&] { return context_.load_signal(mine) >= wanted; });
  }

  Context& context_;
  const DeviceCall& call_;
  std::uint64_t base_;
};

}  // namespace colltune::device
