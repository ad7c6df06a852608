// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Rings: each block travels from neighbour to neighbour; no rank communicates with more than two.
// An all-reduce is a reduce-scatter and an all-gather: 2 (n - 1) rounds, 2 (n - 1) S / n bytes per
// rank (Patarasuk and Yuan, 2009). The all-gather can go both ways at once, which halves its
// rounds. The ring order of each block is the same on all ranks, so all get the same bits.

#include "schedule/scheduled_implementation.h"

namespace colltune::cpu {
namespace {

/// Block b travels from rank b + 1 around to rank b, and every rank adds its contribution.
void reduce_around(ScheduleWriter& writer, const std::vector<Block>& results) {
  const int ranks = writer.ranks();
  const auto first_of = [&](int block) { return (block + 1) % ranks; };
  std::vector<Block> travelling;
  for (int block = 0; block < ranks; ++block) {
    const Block start = writer.input(first_of(block), block);
    travelling.push_back(ranks == 1 ? start : writer.publish(start));
  }
  if (ranks == 1) writer.combine(results[0], {travelling[0]}, true);
  for (int step = 1; step < ranks; ++step)
    for (int block = 0; block < ranks; ++block) {
      const int rank = (first_of(block) + step) % ranks;
      Block& at = travelling[static_cast<std::size_t>(block)];
      const bool is_last = step == ranks - 1;
      const Block to = is_last ? results[static_cast<std::size_t>(block)] : writer.temporary(rank);
      writer.combine(to, {at, writer.input(rank, block)}, is_last);
      at = to;
    }
}

/// Each rank's block travels around the ring.
void gather_around(ScheduleWriter& writer, bool both_ways) {
  const int ranks = writer.ranks();
  const int forwards = both_ways ? ranks / 2 : ranks - 1;
  const int backwards = ranks - 1 - forwards;
  const auto pass = [&](int block, int step, int direction) {
    const auto rank_at = [&](int steps) {
      return ((block + direction * steps) % ranks + ranks) % ranks;
    };
    writer.move(writer.output(rank_at(step), block), writer.output(rank_at(step - 1), block));
  };
  for (int step = 1; step < ranks; ++step)
    for (int block = 0; block < ranks; ++block) {
      if (step <= forwards) pass(block, step, 1);
      if (step <= backwards) pass(block, step, -1);
    }
}

ParameterChoices ways_choices() { return {"ways", {"one", "both"}}; }
bool goes_both_ways(const Variant& variant) { return word(variant, "ways") == "both"; }

void ring_all_reduce(ScheduleWriter& writer, const Variant& variant) {
  reduce_around(writer, part_of_each(writer));
  gather_around(writer, goes_both_ways(variant));
}

void ring_reduce_scatter(ScheduleWriter& writer, const Variant&) {
  reduce_around(writer, part_of_each(writer));
}

void ring_all_gather(ScheduleWriter& writer, const Variant& variant) {
  place_own_blocks(writer);
  gather_around(writer, goes_both_ways(variant));
}

}  // namespace

Implementations make_ring() {
  return make_scheduled({{.name = "cpu.all_reduce_ring",
                          .description = "reduce-scatter and all-gather around a ring: 2(n-1) "
                                         "rounds, 2(n-1)S/n bytes per rank (Patarasuk, Yuan)",
                          .collective = Collective::all_reduce,
                          .write_wave = ring_all_reduce,
                          .shares = one_share_per_rank,
                          .numeric_class = NumericClass::same_bits,
                          .min_ranks = 3,
                          .is_pipeline = true,
                          .parameters = {ways_choices()}},
                         {.name = "cpu.reduce_scatter_ring",
                          .description = "each block goes around a ring: n-1 rounds, (n-1)S/n "
                                         "bytes per rank (Patarasuk, Yuan)",
                          .collective = Collective::reduce_scatter,
                          .write_wave = ring_reduce_scatter,
                          .numeric_class = NumericClass::same_bits,
                          .min_ranks = 3,
                          .is_pipeline = true},
                         {.name = "cpu.all_gather_ring",
                          .description = "each block goes around a ring: n-1 rounds, or half as "
                                         "many both ways, (n-1)S/n bytes per rank",
                          .collective = Collective::all_gather,
                          .write_wave = ring_all_gather,
                          .min_ranks = 3,
                          .is_pipeline = true,
                          .parameters = {ways_choices()}}});
}

}  // namespace colltune::cpu
