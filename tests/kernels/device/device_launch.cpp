// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "device_launch.h"

#include <algorithm>
#include <barrier>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "arithmetic/numerics.h"
#include "device/device_implementation.h"
#include "guarded_buffers.h"
#include "support/fill_bytes.h"

namespace colltune::test {
namespace {

using namespace std::chrono_literals;
using device::DeviceCall;
using device::HostBlock;

constexpr std::byte garbage{0xEE};
constexpr std::size_t cache_line = 128;

/// Memory that begins at a cache line.
class AlignedMemory {
 public:
  explicit AlignedMemory(std::size_t size)
      : lines_(std::make_unique<Line[]>(size / cache_line + 1)), size_(size) {}
  [[nodiscard]] std::span<std::byte> bytes() const {
    return {reinterpret_cast<std::byte*>(lines_.get()), size_};
  }

 private:
  struct alignas(cache_line) Line {
    std::byte bytes[cache_line];
  };
  std::unique_ptr<Line[]> lines_;
  std::size_t size_;
};

void fill_words(std::span<std::byte> bytes, std::uint64_t word) {
  for (std::size_t i = 0; i + sizeof word <= bytes.size(); i += sizeof word)
    std::memcpy(bytes.data() + i, &word, sizeof word);
}

/// One rank: its buffers, its memory that the others reach, and what its threads share.
struct Rank {
  Rank(const DeviceLaunch& launch, int rank, std::uint64_t scratch_size, std::byte fill,
       const device::HostNetwork* network)
      : memory(guarded_size(launch.problem, launch.ranks)),
        buffers(memory.bytes(), launch.problem, rank, launch.ranks, rank == launch.root),
        scratch_memory(GuardedBuffer::size_with_strips(scratch_size)),
        scratch(scratch_memory.bytes(), scratch_size),
        counters(static_cast<std::size_t>(launch.blocks), launch.first_counter),
        stream(launch.blocks * launch.threads) {
    fill_bytes(scratch.inside(), fill);
    std::ranges::fill(scratch.inside().first(device::signals_size), std::byte{});
    device::HostFaults faults = launch.faults;
    faults.is_slow = rank == launch.slow_rank;
    for (int block = 0; block < launch.blocks; ++block)
      blocks.emplace_back(block, launch.blocks, launch.threads, faults, network);
  }

  AlignedMemory memory;
  GuardedBuffers buffers;
  AlignedMemory scratch_memory;
  GuardedBuffer scratch;
  std::vector<std::uint64_t> counters;
  std::deque<HostBlock> blocks;
  std::barrier<> stream;  ///< a call begins when the one before has ended on this rank
};

class Launch {
 public:
  Launch(const DeviceAlgorithm& algorithm, const DeviceLaunch& launch)
      : algorithm_(algorithm),
        launch_(launch),
        beginning_((launch.ranks - (launch.missing_rank >= 0 ? 1 : 0)) * launch.blocks *
                   launch.threads) {
    DeviceCall call = describe_call();
    call.scratch_bytes = algorithm.scratch_bytes(call);
    const std::uint64_t scratch = device::signals_size + call.scratch_bytes;
    for (int rank = 0; rank < launch.ranks; ++rank)
      ranks_.emplace_back(launch, rank, scratch, static_cast<std::byte>(algorithm.scratch_fill),
                          launch.is_networked ? &network_ : nullptr);
    for (int rank = 0; rank < launch.ranks; ++rank) {
      Rank& of = ranks_[static_cast<std::size_t>(rank)];
      peers_.scratch[rank] = of.scratch.inside().data();
      if (!launch.problem.registered) continue;
      peers_.sends[rank] = of.buffers.send.data();
      peers_.receives[rank] = of.buffers.receive.data();
    }
    call.look_up_peers_in(peers_);
    for (int rank = 0; rank < launch.ranks; ++rank) {
      Rank& of = ranks_[static_cast<std::size_t>(rank)];
      call.rank = rank;
      call.send = of.buffers.send.data();
      call.receive = of.buffers.receive.data();
      call.counters = of.counters.data();
      calls_.push_back(launch.is_networked ? without_peers(call) : call);
    }
  }

  DeviceOutcome run() {
    {
      std::vector<std::jthread> threads;
      for (int rank = 0; rank < launch_.ranks; ++rank) {
        if (rank == launch_.missing_rank) continue;
        for (int block = 0; block < launch_.blocks; ++block)
          for (int thread = 0; thread < launch_.threads; ++thread)
            threads.emplace_back([this, rank, block, thread] { run_thread(rank, block, thread); });
      }
    }
    if (outcome_.fault.empty() && !std::ranges::all_of(ranks_, [](const Rank& rank) {
          return rank.buffers.are_whole() && rank.scratch.is_whole();
        }))
      outcome_.fault = "bytes beside a buffer were written";
    outcome_.missing = static_cast<int>(control_.missing) - 1;
    for (const Rank& rank : ranks_)
      for (const HostBlock& block : rank.blocks) outcome_.left_out += block.count_left_out();
    outcome_.steps = (ranks_.front().counters.front() - launch_.first_counter) /
                     static_cast<std::uint64_t>(launch_.calls);
    return outcome_;
  }

 private:
  /// `call` with the addresses of the rank's own memory alone; the network has the others.
  [[nodiscard]] DeviceCall without_peers(DeviceCall call) {
    for (int peer = 0; peer < call.ranks; ++peer) {
      const auto at = static_cast<std::size_t>(peer);
      network_.scratch[at] = peers_.scratch[peer];
      network_.receives[at] = peers_.receives[peer];
    }
    device::PeerMemory& alone = alone_.emplace_back();
    alone.scratch[call.rank] = peers_.scratch[call.rank];
    call.look_up_peers_in(alone);
    return call;
  }

  [[nodiscard]] DeviceCall describe_call() {
    DeviceCall call = describe_device_call(launch_.problem, launch_.ranks, launch_.root);
    call.control = &control_;
    call.chunk = launch_.chunk;
    call.slots = launch_.slots;
    call.packets = launch_.packets;
    call.limit_ns = static_cast<std::uint64_t>(launch_.limit.count());
    return call;
  }

  void run_thread(int rank, int block, int thread) {
    Rank& of = ranks_[static_cast<std::size_t>(rank)];
    const bool is_first = block == 0 && thread == 0;
    device::HostContext context(of.blocks[static_cast<std::size_t>(block)], thread);
    for (int number = 0; number < launch_.calls; ++number) {
      if (is_first) begin_call(rank, number);
      // Nobody is given up before it has begun.
      if (number == 0) beginning_.arrive_and_wait();
      of.stream.arrive_and_wait();
      // Without barriers it is luck whether a block's threads are apart: here they are.
      if (launch_.faults.skips_block_barriers && thread > 0) std::this_thread::sleep_for(2ms);
      const DeviceCall& call = calls_[static_cast<std::size_t>(rank)];
      algorithm_.run_on_host(context, call);
      of.stream.arrive_and_wait();
      if (algorithm_.list_copies != nullptr) {
        if (is_first)
          for (const auto& copy : copies_of(algorithm_, {&call, 1}))
            std::memcpy(copy.to, copy.from, copy.bytes);
        of.stream.arrive_and_wait();
        algorithm_.run_on_host(context, call);
        of.stream.arrive_and_wait();
      }
      if (is_first) end_call(rank, number);
    }
  }

  [[nodiscard]] Problem problem_of(int number) const {
    Problem problem = launch_.problem;
    if (!launch_.sizes.empty())
      problem.message_size = {
          launch_.sizes[static_cast<std::size_t>(number) % launch_.sizes.size()]};
    return problem;
  }
  [[nodiscard]] VerifiedCall verified(int number) const {
    return {problem_of(number), launch_.ranks, launch_.root, DataPattern::exact,
            static_cast<std::uint64_t>(number) + 1};
  }

  void begin_call(int rank, int number) {
    Rank& of = ranks_[static_cast<std::size_t>(rank)];
    if (!launch_.sizes.empty()) {
      of.buffers = {of.memory.bytes(), problem_of(number), rank, launch_.ranks,
                    rank == launch_.root};
      DeviceCall& call = calls_[static_cast<std::size_t>(rank)];
      call.bytes = describe_device_call(problem_of(number), launch_.ranks, launch_.root).bytes;
      call.send = of.buffers.send.data();
      call.receive = of.buffers.receive.data();
    }
    if (!launch_.problem.in_place) fill_bytes(of.buffers.receive, garbage);
    if (launch_.word)
      fill_words(of.buffers.send, *launch_.word);
    else
      fill_send(verified(number), rank, of.buffers.send);
    if (launch_.has_late_rank && number % launch_.ranks == rank)
      std::this_thread::sleep_for(launch_.late_by);
  }

  void end_call(int rank, int number) {
    if (launch_.missing_rank >= 0) return;
    Rank& of = ranks_[static_cast<std::size_t>(rank)];
    // From here on the input is the caller's again; in place, what was received is part of it.
    const std::vector<std::byte> received(of.buffers.receive.begin(), of.buffers.receive.end());
    fill_bytes(of.buffers.send, garbage);
    if (launch_.word) return expect_words(rank, received);
    const bool at_once = algorithm_.numeric_class == NumericClass::rank_order;
    const Rounding rounding =
        at_once ? rounding_at_once(launch_.problem) : rounding_handed_on(launch_.problem);
    if (!launch_.sizes.empty() && !of.buffers.are_whole())
      note_fault("bytes beside a buffer were written in call " + std::to_string(number));
    if (const auto wrong = find_mismatch(verified(number), rank, rounding, received))
      note_fault("rank " + std::to_string(rank) + ", call " + std::to_string(number) +
                 ": element " + std::to_string(wrong->element) + " is " + wrong->got + ", not " +
                 wrong->expected);
  }

  void expect_words(int rank, const std::vector<std::byte>& received) {
    std::vector<std::byte> expected(received.size());
    fill_words(expected, *launch_.word);
    if (received != expected) note_fault("rank " + std::to_string(rank) + ": another word came");
  }

  void note_fault(const std::string& fault) {
    const std::scoped_lock lock(mutex_);
    if (outcome_.fault.empty()) outcome_.fault = fault;
  }

  const DeviceAlgorithm& algorithm_;
  const DeviceLaunch& launch_;
  device::Control control_;
  device::HostNetwork network_;
  std::deque<Rank> ranks_;
  device::PeerMemory peers_;
  std::deque<device::PeerMemory> alone_;  ///< of networked ranks, each with its own memory
  std::vector<DeviceCall> calls_;
  std::barrier<> beginning_;  ///< of all threads of all ranks that are there
  std::mutex mutex_;
  DeviceOutcome outcome_;  ///< guarded by mutex_ while threads run
};

}  // namespace

DeviceOutcome run_on_host(const DeviceAlgorithm& algorithm, const DeviceLaunch& launch) {
  return Launch(algorithm, launch).run();
}

}  // namespace colltune::test
