// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Bruck's algorithms for any number of ranks: ceil(log2 n) rounds, with partners at doubling
// distances. All-gather: each round receives all blocks that the partner has; (n - 1) S / n bytes
// in all. All-to-all: each set bit of a block's distance is one hop of the block; S log2(n) / 2
// bytes (Bruck et al. 1997).

#include <algorithm>
#include <bit>

#include "schedule/scheduled_implementation.h"

namespace colltune::cpu {
namespace {

void bruck_all_gather(ScheduleWriter& writer, const Variant&) {
  const int ranks = writer.ranks();
  place_own_blocks(writer);
  for (int distance = 1; distance < ranks; distance *= 2)
    for (int rank = 0; rank < ranks; ++rank) {
      const int peer = (rank + distance) % ranks;
      for (int i = 0; i < std::min(distance, ranks - distance); ++i) {
        const int block = (peer + i) % ranks;
        writer.move(writer.output(rank, block), writer.output(peer, block));
      }
    }
}

void bruck_all_to_all(ScheduleWriter& writer, const Variant&) {
  const int ranks = writer.ranks();
  for (int rank = 0; rank < ranks; ++rank)
    writer.copy(writer.output(rank, rank), writer.input(rank, rank));
  // By rank and remaining distance: where the block is. In place a rank keeps copies, since it
  // overwrites blocks that have not left yet.
  std::vector<std::vector<Block>> has(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank)
    for (int distance = 0; distance < ranks; ++distance) {
      const Block input = writer.input(rank, (rank + distance) % ranks);
      has[static_cast<std::size_t>(rank)].push_back(
          distance > 0 && writer.shape().in_place ? writer.keep(input) : input);
    }
  for (unsigned bit = 1; bit < static_cast<unsigned>(ranks); bit *= 2) {
    auto next = has;
    for (int rank = 0; rank < ranks; ++rank)
      for (unsigned distance = bit; distance < static_cast<unsigned>(ranks); ++distance) {
        if ((distance & bit) == 0) continue;
        const int to = (rank + static_cast<int>(bit)) % ranks;
        const int source =
            ((to - static_cast<int>(distance & (2 * bit - 1))) % ranks + ranks) % ranks;
        const bool arrives = std::bit_floor(distance) == bit;
        const Block place = arrives ? writer.output(to, source) : writer.temporary(to);
        writer.move(place, has[static_cast<std::size_t>(rank)][distance]);
        next[static_cast<std::size_t>(to)][distance] = place;
      }
    has = std::move(next);
  }
}

}  // namespace

Implementations make_bruck() {
  return make_scheduled({{.name = "cpu.all_gather_bruck",
                          .description = "partners at doubling distance, any n: log2(n) rounds, "
                                         "(n-1)S/n bytes per rank (Bruck et al.)",
                          .collective = Collective::all_gather,
                          .write_wave = bruck_all_gather,
                          .min_ranks = 3},
                         {.name = "cpu.all_to_all_bruck",
                          .description = "blocks travel the bits of their distance: log2(n) "
                                         "rounds, S log2(n)/2 bytes per rank (Bruck et al.)",
                          .collective = Collective::all_to_all,
                          .write_wave = bruck_all_to_all,
                          .min_ranks = 3}});
}

}  // namespace colltune::cpu
