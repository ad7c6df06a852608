// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Pairwise: n - 1 rounds; in round k a rank exchanges only with the ranks k before and k after it,
// so no rank's memory is read by two at a time. (n - 1) S / n bytes per rank (MPICH's and Open
// MPI's "pairwise"). The reduce-scatter adds one block per round.

#include <utility>

#include "schedule/scheduled_implementation.h"

namespace colltune::cpu {
namespace {

void pairwise_all_to_all(ScheduleWriter& writer, const Variant&) {
  const int ranks = writer.ranks();
  const bool in_place = writer.shape().in_place;
  for (int rank = 0; rank < ranks; ++rank)
    writer.copy(writer.output(rank, rank), writer.input(rank, rank));
  std::vector<std::pair<Block, Block>> arrived;
  for (int distance = 1; distance < ranks; ++distance) {
    for (int rank = 0; rank < ranks; ++rank) {
      const int to = (rank + distance) % ranks;
      const Block from = writer.input(rank, to);
      if (!in_place && writer.can_fetch(to, from)) {
        writer.copy(writer.output(to, rank), from);
        continue;
      }
      const Block delivered = writer.temporary(to);
      writer.push(delivered, from);
      arrived.emplace_back(writer.output(to, rank), delivered);
    }
    // In place, nothing may be overwritten before everything has left.
    if (in_place && distance < ranks - 1) continue;
    for (const auto& [to, from] : std::exchange(arrived, {})) writer.copy(to, from);
  }
}

void pairwise_reduce_scatter(ScheduleWriter& writer, const Variant&) {
  const int ranks = writer.ranks();
  std::vector<Block> sums;
  for (int rank = 0; rank < ranks; ++rank) sums.push_back(writer.input(rank, rank));
  if (ranks == 1) writer.combine(writer.output(0), {sums[0]}, true);
  for (int distance = 1; distance < ranks; ++distance)
    for (int rank = 0; rank < ranks; ++rank) {
      Block& sum = sums[static_cast<std::size_t>(rank)];
      const Block from = writer.publish(writer.input((rank + distance) % ranks, rank));
      const bool is_last = distance == ranks - 1;
      writer.combine(writer.output(rank), {sum, from}, is_last);
      sum = writer.output(rank);
    }
}

}  // namespace

Implementations make_pairwise() {
  return make_scheduled({{.name = "cpu.all_to_all_pairwise",
                          .description = "one partner at a time: n-1 rounds, (n-1)S/n bytes per "
                                         "rank (MPICH, Open MPI)",
                          .collective = Collective::all_to_all,
                          .write_wave = pairwise_all_to_all,
                          .min_ranks = 3},
                         {.name = "cpu.reduce_scatter_pairwise",
                          .description = "one partner at a time: n-1 rounds, (n-1)S/n bytes per "
                                         "rank (MPICH, Open MPI)",
                          .collective = Collective::reduce_scatter,
                          .write_wave = pairwise_reduce_scatter,
                          .numeric_class = NumericClass::same_bits,
                          .min_ranks = 3}});
}

}  // namespace colltune::cpu
