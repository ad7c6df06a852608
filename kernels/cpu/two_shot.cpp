// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Two-shot: each rank reduces its share of all ranks' inputs, then the shares are gathered: by all
// (all-reduce, 2 rounds, 2 (n - 1) S / n bytes per rank; DeepSpeed's "distributed_naive",
// csrc/cpu/comm/shm.cpp) or by the root (reduce). A broadcast scatters shares from the root, and
// all gather them (van de Geijn's algorithm, with direct reads for its all-gather). Each share is
// reduced by one rank, in rank order.

#include "schedule/scheduled_implementation.h"

namespace colltune::cpu {
namespace {

void two_shot_all_reduce(ScheduleWriter& writer, const Variant& variant) {
  combine_each(writer, part_of_each(writer));
  for (int distance = 1; distance < writer.ranks(); ++distance)
    for (int rank = 0; rank < writer.ranks(); ++rank) {
      const int share = (rank + distance) % writer.ranks();
      writer.move(writer.output(rank, share), writer.output(share, share), pushes(variant));
    }
}

void two_shot_reduce(ScheduleWriter& writer, const Variant&) {
  const int root = writer.shape().root;
  std::vector<Block> results;
  for (int share = 0; share < writer.ranks(); ++share) {
    const Block wanted = writer.output(root, share);
    results.push_back(writer.maps(share, wanted) ? wanted : writer.temporary(share));
  }
  combine_each(writer, results);
  for (int distance = 1; distance < writer.ranks(); ++distance) {
    const int share = (root + distance) % writer.ranks();
    writer.copy(writer.output(root, share), results[static_cast<std::size_t>(share)]);
  }
}

void two_shot_broadcast(ScheduleWriter& writer, const Variant& variant) {
  const int ranks = writer.ranks();
  const int root = writer.shape().root;
  for (int share = 0; share < ranks; ++share)
    if (share != root)
      writer.move(writer.output(share, share), writer.input(root, share), pushes(variant));
  for (int distance = 1; distance < ranks; ++distance)
    for (int rank = 0; rank < ranks; ++rank) {
      const int share = (rank + distance) % ranks;
      if (rank == root) continue;
      writer.move(writer.output(rank, share),
                  share == root ? writer.input(root, root) : writer.output(share, share),
                  pushes(variant));
    }
  for (int share = 0; share < ranks; ++share)
    writer.copy(writer.output(root, share), writer.input(root, share));
}

}  // namespace

Implementations make_two_shot() {
  return make_scheduled({{.name = "cpu.all_reduce_two_shot",
                          .description = "every rank reduces its share, then collects: 2 rounds, "
                                         "2(n-1)S/n bytes per rank (DeepSpeed distributed_naive)",
                          .collective = Collective::all_reduce,
                          .write_wave = two_shot_all_reduce,
                          .shares = one_share_per_rank,
                          .parameters = {flow_choices()}},
                         {.name = "cpu.reduce_two_shot",
                          .description = "every rank reduces its share, the root collects: 2 "
                                         "rounds, 2(n-1)S/n bytes per rank",
                          .collective = Collective::reduce,
                          .write_wave = two_shot_reduce,
                          .shares = one_share_per_rank},
                         {.name = "cpu.broadcast_scatter_all_gather",
                          .description = "the root scatters shares, all collect them: 2 rounds, "
                                         "2(n-1)S/n bytes per rank (van de Geijn)",
                          .collective = Collective::broadcast,
                          .write_wave = two_shot_broadcast,
                          .shares = one_share_per_rank,
                          .min_ranks = 3,
                          .parameters = {flow_choices()}}});
}

}  // namespace colltune::cpu
