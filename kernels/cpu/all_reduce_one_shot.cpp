// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// One-shot all-reduce in shared memory: each rank stages its input, waits once for all, and reduces
// everybody's input itself. 1 step, (n - 1) S bytes read per rank, n S bytes reduced per rank;
// DeepSpeed's "symmetric_naive" (csrc/cpu/comm/shm.cpp). Rank order: the same bits on all ranks.

#include <cstring>

#include "staged.h"

namespace colltune::cpu {
namespace {

constexpr int filled = 0;  ///< the signal: my slot of this epoch holds my input

// A slot is written again two epochs later. By then every peer has signalled the epoch between,
// which it does only after it has read this one: no second signal is needed.
class OneShot final : public Operation {
 public:
  OneShot(Communicator& communicator, const Call& call, const Variant& variant, Deadline deadline)
      : chunks_(make_chunked_call(communicator, call, variant)),
        rank_(communicator.rank()),
        ranks_(communicator.size()),
        staging_(communicator, chunks_.chunk, 1, deadline),
        sources_(static_cast<std::size_t>(ranks_)) {}

  void start() override {
    if (chunks_.total > 0) stage_chunk(0);
  }

  void wait(Deadline deadline) override {
    for (std::size_t offset = 0; offset < chunks_.total; offset += chunks_.chunk) {
      if (offset > 0) stage_chunk(offset);
      staging_.signals().wait_until_all(filled, epoch_, deadline, "the staged input");
      for (int r = 0; r < ranks_; ++r)
        sources_[static_cast<std::size_t>(r)] = staging_.slot(r, epoch_);
      reduce_in_rank_order(sources_, chunks_.call.buffers.receive.data() + offset,
                           chunks_.size_of_chunk_at(offset) / chunks_.element_size,
                           chunks_.reduction);
    }
  }

 private:
  void stage_chunk(std::size_t offset) {
    ++epoch_;
    std::memcpy(staging_.slot(rank_, epoch_), chunks_.call.buffers.send.data() + offset,
                chunks_.size_of_chunk_at(offset));
    staging_.signals().set(filled, epoch_);
  }

  ChunkedCall chunks_;
  int rank_;
  int ranks_;
  Staging staging_;
  std::vector<const std::byte*> sources_;
  std::uint64_t epoch_ = 0;
};

class AllReduceOneShot final : public StagedAllReduce {
 public:
  std::string_view name() const override { return "cpu.all_reduce_one_shot"; }
  std::string_view description() const override {
    return "shared memory, every rank reduces everything: 1 step, (n-1)S bytes read per rank "
           "(DeepSpeed symmetric_naive)";
  }
  Cost cost(const Problem& problem, const Topology& topology, const Variant&) const override {
    const auto size = static_cast<double>(problem.message_size.value);
    return {.steps = 1,
            .bytes_per_rank = (topology.ranks - 1) * size,
            .reduced_bytes = topology.ranks * size};
  }
  std::unique_ptr<Operation> prepare(Communicator& communicator, const Call& call,
                                     const Variant& variant, Deadline deadline) const override {
    return std::make_unique<OneShot>(communicator, call, variant, deadline);
  }
};

}  // namespace

Implementations make_all_reduce_one_shot() {
  Implementations made;
  made.push_back(std::make_unique<AllReduceOneShot>());
  return made;
}

}  // namespace colltune::cpu
