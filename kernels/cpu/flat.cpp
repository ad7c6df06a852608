// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Flat: every rank that needs a block reads it from the rank that has it (pull), or that rank
// stores it there (push), all at once: 1 round. These are the linear algorithms of Open MPI's
// coll/basic, and of its coll/sm with shared memory. Peers are visited in rotated order, so that
// not all ranks read from one.

#include "schedule/scheduled_implementation.h"

namespace colltune::cpu {
namespace {

void flat_broadcast(ScheduleWriter& writer, const Variant& variant) {
  const int root = writer.shape().root;
  for (int distance = 1; distance < writer.ranks(); ++distance)
    writer.move(writer.output((root + distance) % writer.ranks()), writer.input(root),
                pushes(variant));
  writer.copy(writer.output(root), writer.input(root));
}

void flat_reduce(ScheduleWriter& writer, const Variant&) {
  const int root = writer.shape().root;
  std::vector<Block> sources;
  for (int rank = 0; rank < writer.ranks(); ++rank)
    sources.push_back(rank == root ? writer.input(rank) : writer.publish(writer.input(rank)));
  writer.combine(writer.output(root), std::move(sources), true);
}

void flat_reduce_scatter(ScheduleWriter& writer, const Variant&) {
  combine_each(writer, part_of_each(writer));
}

void flat_all_gather(ScheduleWriter& writer, const Variant& variant) {
  const int ranks = writer.ranks();
  for (int distance = 0; distance < ranks; ++distance)
    for (int rank = 0; rank < ranks; ++rank) {
      const int from = (rank + distance) % ranks;
      writer.move(writer.output(rank, from), writer.input(from), pushes(variant));
    }
}

void flat_all_to_all(ScheduleWriter& writer, const Variant& variant) {
  const int ranks = writer.ranks();
  // In place, a rank would overwrite what others may not have read yet.
  if (writer.shape().in_place)
    for (int rank = 0; rank < ranks; ++rank)
      for (int distance = 1; distance < ranks; ++distance)
        (void)writer.keep(writer.input(rank, (rank + distance) % ranks));
  std::vector<std::pair<Block, Block>> moves;
  for (int distance = 0; distance < ranks; ++distance)
    for (int rank = 0; rank < ranks; ++rank) {
      const int from = (rank + distance) % ranks;
      Block block = writer.input(from, rank);
      if (distance > 0 && writer.shape().in_place)
        block = writer.keep(block);
      else if (distance > 0 && !pushes(variant))
        block = writer.publish(block);
      moves.emplace_back(writer.output(rank, from), block);
    }
  for (const auto& [to, from] : moves) writer.move(to, from, pushes(variant));
}

void flat_gather(ScheduleWriter& writer, const Variant& variant) {
  const int root = writer.shape().root;
  for (int distance = 0; distance < writer.ranks(); ++distance) {
    const int from = (root + distance) % writer.ranks();
    writer.move(writer.output(root, from), writer.input(from), pushes(variant));
  }
}

void flat_scatter(ScheduleWriter& writer, const Variant& variant) {
  const int root = writer.shape().root;
  for (int distance = 1; distance <= writer.ranks(); ++distance) {
    const int to = (root + distance) % writer.ranks();
    writer.move(writer.output(to), writer.input(root, to), pushes(variant));
  }
}

}  // namespace

Implementations make_flat() {
  return make_scheduled(
      {{.name = "cpu.broadcast_flat",
        .description = "every rank reads the root's message: 1 round, S bytes per rank",
        .collective = Collective::broadcast,
        .write_wave = flat_broadcast,
        .parameters = {flow_choices()}},
       {.name = "cpu.reduce_flat",
        .description = "the root reads and reduces everything: 1 round, (n-1)S bytes at the root",
        .collective = Collective::reduce,
        .write_wave = flat_reduce},
       {.name = "cpu.reduce_scatter_flat",
        .description = "every rank reads and reduces its block: 1 round, (n-1)S/n bytes per rank",
        .collective = Collective::reduce_scatter,
        .write_wave = flat_reduce_scatter},
       {.name = "cpu.all_gather_flat",
        .description = "every rank reads all blocks: 1 round, (n-1)S/n bytes per rank",
        .collective = Collective::all_gather,
        .write_wave = flat_all_gather,
        .parameters = {flow_choices()}},
       {.name = "cpu.all_to_all_flat",
        .description = "every rank reads its blocks: 1 round, (n-1)S/n bytes per rank",
        .collective = Collective::all_to_all,
        .write_wave = flat_all_to_all,
        .parameters = {flow_choices()}},
       {.name = "cpu.gather_flat",
        .description = "the root reads all blocks: 1 round, (n-1)S/n bytes at the root",
        .collective = Collective::gather,
        .write_wave = flat_gather,
        .parameters = {flow_choices()}},
       {.name = "cpu.scatter_flat",
        .description = "every rank reads its block: 1 round, (n-1)S/n bytes at the root",
        .collective = Collective::scatter,
        .write_wave = flat_scatter,
        .parameters = {flow_choices()}}});
}

}  // namespace colltune::cpu
