// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Two-shot all-reduce in shared memory: each rank stages its input, reduces its own share of
// everybody's, then collects the shares of the others. 2 steps, 2 (n - 1) S / n bytes read per
// rank, S bytes reduced per rank; DeepSpeed's "distributed_naive" (csrc/cpu/comm/shm.cpp). Each
// share is reduced by one rank in rank order: the same bits on all ranks.

#include <algorithm>
#include <cstring>

#include "staged.h"

namespace colltune::cpu {
namespace {

constexpr int filled = 0;   ///< my slot of this epoch holds my input
constexpr int reduced = 1;  ///< my share of my slot of this epoch holds the result

// The result of a share replaces its owner's input in the owner's slot, which nobody else reads.
// A slot is written again two epochs later. By then every peer has signalled `filled` of the epoch
// between, which it does only after it has read this epoch's shares.
class TwoShot final : public Operation {
 public:
  TwoShot(Communicator& communicator, const Call& call, const Variant& variant, Deadline deadline)
      : chunks_(make_chunked_call(communicator, call, variant)),
        rank_(communicator.rank()),
        ranks_(communicator.size()),
        staging_(communicator, chunks_.chunk, 2, deadline),
        sources_(static_cast<std::size_t>(ranks_)) {}

  void start() override {
    if (chunks_.total > 0) stage_chunk(0);
  }

  void wait(Deadline deadline) override {
    for (std::size_t offset = 0; offset < chunks_.total; offset += chunks_.chunk) {
      if (offset > 0) stage_chunk(offset);
      const std::size_t size = chunks_.size_of_chunk_at(offset);
      staging_.signals().wait_until_all(filled, epoch_, deadline, "the staged input");
      reduce_own_share(size);
      staging_.signals().set(reduced, epoch_);
      std::byte* const receive = chunks_.call.buffers.receive.data() + offset;
      for (int distance = 0; distance < ranks_; ++distance)
        collect_share((rank_ + distance) % ranks_, size, receive, deadline);
    }
  }

 private:
  struct Share {
    std::size_t begin;
    std::size_t end;
  };

  void stage_chunk(std::size_t offset) {
    ++epoch_;
    std::memcpy(staging_.slot(rank_, epoch_), chunks_.call.buffers.send.data() + offset,
                chunks_.size_of_chunk_at(offset));
    staging_.signals().set(filled, epoch_);
  }

  /// Whole cache lines, so that no two ranks write one; the last ranks' shares may be empty.
  Share share_of(int rank, std::size_t size) const {
    const auto ranks = static_cast<std::size_t>(ranks_);
    const std::size_t even = (size + ranks - 1) / ranks;
    const std::size_t unit = (even + Signals::stride - 1) / Signals::stride * Signals::stride;
    const std::size_t begin = std::min(unit * static_cast<std::size_t>(rank), size);
    return {begin, std::min(begin + unit, size)};
  }

  void reduce_own_share(std::size_t size) {
    const auto [begin, end] = share_of(rank_, size);
    if (begin == end) return;
    for (int r = 0; r < ranks_; ++r)
      sources_[static_cast<std::size_t>(r)] = staging_.slot(r, epoch_) + begin;
    reduce_in_rank_order(sources_, staging_.slot(rank_, epoch_) + begin,
                         (end - begin) / chunks_.element_size, chunks_.reduction);
  }

  void collect_share(int owner, std::size_t size, std::byte* receive, Deadline deadline) const {
    if (owner != rank_)
      staging_.signals().wait_until(owner, reduced, epoch_, deadline, "the reduced share");
    const auto [begin, end] = share_of(owner, size);
    std::memcpy(receive + begin, staging_.slot(owner, epoch_) + begin, end - begin);
  }

  ChunkedCall chunks_;
  int rank_;
  int ranks_;
  Staging staging_;
  std::vector<const std::byte*> sources_;
  std::uint64_t epoch_ = 0;
};

class AllReduceTwoShot final : public StagedAllReduce {
 public:
  std::string_view name() const override { return "cpu.all_reduce_two_shot"; }
  std::string_view description() const override {
    return "shared memory, every rank reduces its share, then collects: 2 steps, 2(n-1)S/n bytes "
           "read per rank (DeepSpeed distributed_naive)";
  }
  Cost cost(const Problem& problem, const Topology& topology, const Variant&) const override {
    const auto size = static_cast<double>(problem.message_size.value);
    return {.steps = 2,
            .bytes_per_rank = 2.0 * (topology.ranks - 1) / topology.ranks * size,
            .reduced_bytes = size};
  }
  std::unique_ptr<Operation> prepare(Communicator& communicator, const Call& call,
                                     const Variant& variant, Deadline deadline) const override {
    return std::make_unique<TwoShot>(communicator, call, variant, deadline);
  }
};

}  // namespace

Implementations make_all_reduce_two_shot() {
  Implementations made;
  made.push_back(std::make_unique<AllReduceTwoShot>());
  return made;
}

}  // namespace colltune::cpu
