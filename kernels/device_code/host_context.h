// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "packets.h"

namespace colltune::device {

/// Faults that a test injects into a kernel's synchronization, to check that it detects them.
struct HostFaults {
  bool relaxes_signals = false;       ///< posts and awaits order nothing
  bool skips_block_barriers = false;  ///< threads of a block do not wait for each other
  bool breaks_lines = false;          ///< readers see a line's flag before its data
  bool ignores_credit = false;        ///< senders do not wait until earlier data has been taken
  bool ignores_progress = false;      ///< ranks do not wait for their peers' progress
  std::uint64_t ignored_step = 0;     ///< ignores_progress for this step of each call alone; 0: off
  bool ignores_flags = false;         ///< readers take a wire's words whether they have arrived or
                                      ///< not
  bool keeps_words = false;           ///< readers do not clear a wire's words after use
  bool skips_alias_release = false;   ///< no alias fence after stores
  bool skips_alias_acquire = false;   ///< no alias fence before loads
  bool forgets_puts = false;          ///< signals overtake puts sent over a network
  /// Not a fault: the rank acts on each signal a moment late, so a peer that fails to wait for it
  /// gets ahead.
  bool is_slow = false;
};

/// Memory of ranks that are not mapped, so a call has addresses of its own memory only. Puts arrive
/// when they are completed, never earlier, as over a network.
struct HostNetwork {
  std::array<std::byte*, most_ranks> scratch{};
  std::array<std::byte*, most_ranks> receives{};
};

/// What the threads of one block share on the host.
class HostBlock {
 public:
  HostBlock(int block, int blocks, int threads, HostFaults faults = {},
            const HostNetwork* network = nullptr)
      : block_(block),
        blocks_(blocks),
        threads_(threads),
        faults_(faults),
        network_(network),
        barrier_(threads) {}

  [[nodiscard]] int block() const { return block_; }
  [[nodiscard]] int blocks() const { return blocks_; }
  [[nodiscard]] int threads() const { return threads_; }
  [[nodiscard]] const HostFaults& faults() const { return faults_; }
  /// Null: peers are mapped.
  [[nodiscard]] const HostNetwork* network() const { return network_; }
  /// Counts a wait that an injected fault skipped.
  void note_left_out() { ++left_out_; }
  [[nodiscard]] int count_left_out() const { return left_out_; }

  /// Block barrier. Returns whether any thread passed a true `any` in its `round`-th call.
  bool sync(bool any, std::uint64_t round) {
    if (faults_.skips_block_barriers) return any;
    if (any) said_[round % 3].store(true, std::memory_order_relaxed);
    barrier_.arrive_and_wait();
    // All threads have read the previous round's entry, and none writes it again before all have
    // reached the next round.
    said_[(round + 2) % 3].store(false, std::memory_order_relaxed);
    return said_[round % 3].load(std::memory_order_relaxed);
  }

 private:
  int block_;
  int blocks_;
  int threads_;
  HostFaults faults_;
  const HostNetwork* network_;
  std::atomic<int> left_out_ = 0;
  std::barrier<> barrier_;
  std::array<std::atomic<bool>, 3> said_{};
};

/// A thread of a kernel that runs on the host; team.h documents each function.
class HostContext {
 public:
  HostContext(HostBlock& block, int thread) : block_(&block), thread_(thread) {}

  static constexpr bool is_whole = false;
  [[nodiscard]] int block() const { return block_->block(); }
  [[nodiscard]] int blocks() const { return block_->blocks(); }
  [[nodiscard]] int thread() const { return thread_; }
  [[nodiscard]] int threads() const { return block_->threads(); }
  bool sync_block(bool any) {
    is_acquired_ = false;
    return block_->sync(any, ++rounds_);
  }

  [[nodiscard]] std::uint64_t load_signal(const std::uint64_t* word) const {
    const std::uint64_t value = atomic(word).load(
        block_->faults().relaxes_signals ? std::memory_order_relaxed : std::memory_order_acquire);
    if (block_->faults().is_slow) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return value;
  }
  [[nodiscard]] bool heeds(Channel channel, std::uint64_t step) const {
    const HostFaults& faults = block_->faults();
    const bool is_ignored = channel == Channel::credit
                                ? faults.ignores_credit
                                : faults.ignores_progress || faults.ignored_step == step;
    if (is_ignored) block_->note_left_out();
    return !is_ignored;
  }
  [[nodiscard]] bool heeds_flags() const { return !block_->faults().ignores_flags; }
  [[nodiscard]] bool clears_words() const { return !block_->faults().keeps_words; }
  void store_signal(std::uint64_t* word, std::uint64_t value) const {
    atomic(word).store(value, block_->faults().relaxes_signals ? std::memory_order_relaxed
                                                               : std::memory_order_release);
  }
  [[nodiscard]] static std::uint64_t load_relaxed(const std::uint64_t* word) {
    return atomic(word).load(std::memory_order_relaxed);
  }
  static void store_relaxed(std::uint64_t* word, std::uint64_t value) {
    atomic(word).store(value, std::memory_order_relaxed);
  }

  static void load_pair(const std::uint64_t* words, std::uint64_t (&pair)[2]) {
    for (int i = 0; i < 2; ++i) pair[i] = load_relaxed(words + i);
  }
  static void store_pair(std::uint64_t* words, std::uint64_t first, std::uint64_t second) {
    store_relaxed(words, first);
    store_relaxed(words + 1, second);
  }

  using Remote = std::byte*;  ///< also across a network, whose memory is in this process
  [[nodiscard]] Remote reach_scratch(const DeviceCall& call, int peer, std::uint64_t at) const {
    const HostNetwork* const network = block_->network();
    return (network != nullptr ? network->scratch[static_cast<std::size_t>(peer)]
                               : call.scratch[peer]) +
           at;
  }
  [[nodiscard]] Remote reach_result(const DeviceCall& call, int peer, std::uint64_t at) const {
    const HostNetwork* const network = block_->network();
    return (network != nullptr ? network->receives[static_cast<std::size_t>(peer)]
                               : call.receives[peer]) +
           at;
  }
  void put(Remote to, std::uint64_t index, std::uint64_t bytes, const Packet& packet) {
    if (block_->network() == nullptr)
      write_packet<HostContext>(to, index, bytes, packet);
    else
      puts_.push_back({to, index, bytes, packet});
  }
  void complete_puts() {
    if (block_->faults().forgets_puts) return;
    for (const Put& put : puts_)
      write_packet<HostContext>(put.to, put.index, put.bytes, put.packet);
    puts_.clear();
  }
  void put_signal(Remote to, std::uint64_t value) const {
    store_signal(reinterpret_cast<std::uint64_t*>(to), value);
  }
  template <class Reducer>
  static constexpr bool packs = true;

  // Lines of 128 bytes: one thread handles all lanes in order. The order of its accesses stands in
  // for the line being seen whole.
  static constexpr int threads_of_line = 1;
  [[nodiscard]] static bool any_of_line(bool any) { return any; }
  void store_lane(std::uint64_t* line, int lane, const Packet& packet, std::uint64_t flag) const {
    const bool flag_is_first = block_->faults().breaks_lines;
    if (flag_is_first && lane == 0) {
      store_signal(line + flag_of_line, flag);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::uint64_t words[2];
    std::memcpy(words, &packet, sizeof words);
    line[2 * lane] = words[0];
    if (2 * lane + 1 != flag_of_line)
      line[2 * lane + 1] = words[1];
    else if (!flag_is_first)
      store_signal(line + flag_of_line, flag);
  }
  /// What a thread read of one lane.
  struct Lane {
    bool has_come = false;
    std::uint64_t words[2] = {};
  };
  [[nodiscard]] Lane load_lane(const std::uint64_t* line, int lane, std::uint64_t flag) const {
    if (load_signal(line + flag_of_line) != flag && heeds_flags()) return {};
    return {true, {line[2 * lane], 2 * lane + 1 != flag_of_line ? line[2 * lane + 1] : 0}};
  }
  [[nodiscard]] static Packet packet_of(const Lane& lane, int) {
    Packet packet;
    std::memcpy(&packet, lane.words, sizeof packet);
    return packet;
  }
  [[nodiscard]] static bool has_line(const Lane& lane, std::uint64_t) { return lane.has_come; }

  // Access to all ranks' scratch memory. A host has no multicast address, so this goes from rank to
  // rank. Whatever a GPU leaves unordered without a fence is delayed as long as possible here: a
  // store by one address reaches loads by the other address only at the next fence after it, and a
  // load that no fence precedes returns zeros.
  template <class Reducer>
  [[nodiscard]] Packet sum_everywhere(const DeviceCall& call, std::uint64_t at,
                                      const Reducer& reducer) const {
    if (!is_acquired_) return {};
    const auto input = [&](int rank) {
      return read_packet<HostContext>(call.scratch[rank] + at, 0, packet_bytes);
    };
    auto sums = reducer.first(input(0));
    for (int rank = 1; rank < call.ranks; ++rank) reducer.add(sums, input(rank));
    return reducer.finish(sums, false);
  }
  void store_everywhere(const DeviceCall& call, std::uint64_t at, const Packet& packet) {
    for (int rank = 0; rank < call.ranks; ++rank)
      unreleased_.emplace_back(call.scratch[rank] + at, packet);
  }
  void store_alias(std::byte* to, std::uint64_t index, const Packet& packet) {
    unreleased_.emplace_back(to + index * packet_bytes, packet);
  }
  [[nodiscard]] Packet load_alias(const std::byte* from, std::uint64_t index) const {
    if (!is_acquired_) return {};
    return read_packet<HostContext>(from + index * packet_bytes, 0, packet_bytes);
  }
  void release_aliases() {
    if (block_->faults().skips_alias_release) return;
    for (const auto& [place, packet] : unreleased_)
      write_packet<HostContext>(place, 0, packet_bytes, packet);
    unreleased_.clear();
  }
  void acquire_aliases() { is_acquired_ = !block_->faults().skips_alias_acquire; }
  [[nodiscard]] static std::uint64_t now_ns() {
    return static_cast<std::uint64_t>(
        std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
  }
  static void pause(int) { std::this_thread::yield(); }

 private:
  static constexpr int flag_of_line = 15;  ///< its index among the line's words

  static std::atomic_ref<std::uint64_t> atomic(const std::uint64_t* word) {
    return std::atomic_ref(*const_cast<std::uint64_t*>(word));
  }

  HostBlock* block_;
  int thread_;
  std::uint64_t rounds_ = 0;
  struct Put {
    std::byte* to;
    std::uint64_t index;
    std::uint64_t bytes;
    Packet packet;
  };

  std::vector<Put> puts_;     ///< not completed
  bool is_acquired_ = false;  ///< since the last barrier of the block
  std::vector<std::pair<std::byte*, Packet>> unreleased_;
};

/// The context of a call that moves only whole aligned packets: the path that a GPU takes then.
class WholeHostContext final : public HostContext {
 public:
  static constexpr bool is_whole = true;
  explicit WholeHostContext(HostContext&& context) : HostContext(std::move(context)) {}
};

}  // namespace colltune::device
