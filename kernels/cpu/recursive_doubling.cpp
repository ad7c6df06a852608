// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Recursive doubling: in round k a rank exchanges everything that it has with the rank 2^k away.
// All-reduce: log2 n rounds, S log2 n bytes per rank. Both ranks of a pair combine in the same
// order, so all ranks get the same bits. All-gather: log2 n rounds, (n - 1) S / n bytes. If n is
// not a power of two, neighbours first join into one member and separate at the end: 2 more rounds
// (Thakur, Rabenseifner, Gropp 2005).

#include "joined_ranks.h"
#include "schedule/scheduled_implementation.h"

namespace colltune::cpu {
namespace {

void recursive_doubling_all_reduce(ScheduleWriter& writer, const Variant&) {
  const JoinedRanks members(writer.ranks());
  if (writer.ranks() == 1) return writer.combine(writer.output(0), {writer.input(0)}, true);
  // In place, a rank would overwrite what others may not have read yet.
  const auto publish = [&](const Block& block) {
    return writer.shape().in_place ? writer.keep(block) : writer.publish(block);
  };
  std::vector<Block> has;
  for (int member = 0; member < members.count; ++member) {
    const int rank = members.rank(member);
    has.push_back(publish(writer.input(rank)));
    if (member >= members.joined) continue;
    const Block sum = writer.temporary(rank);
    writer.combine(sum, {publish(writer.input(rank - 1)), writer.input(rank)}, false);
    has.back() = sum;
  }
  for (int distance = 1; distance < members.count; distance *= 2) {
    const bool is_last = 2 * distance == members.count;
    std::vector<Block> next;
    for (int member = 0; member < members.count; ++member) {
      const int first = member & ~distance;
      const int rank = members.rank(member);
      next.push_back(is_last ? writer.output(rank) : writer.temporary(rank));
      writer.combine(
          next.back(),
          {has[static_cast<std::size_t>(first)], has[static_cast<std::size_t>(first + distance)]},
          is_last);
    }
    has = std::move(next);
  }
  for (int pair = 0; pair < members.joined; ++pair)
    writer.move(writer.output(2 * pair), writer.output(2 * pair + 1));
}

void recursive_doubling_all_gather(ScheduleWriter& writer, const Variant&) {
  const JoinedRanks members(writer.ranks());
  const auto fetch = [&](int rank, int from, int block) {
    writer.move(writer.output(rank, block), writer.output(from, block));
  };
  place_own_blocks(writer);
  for (int pair = 0; pair < members.joined; ++pair) fetch(2 * pair + 1, 2 * pair, 2 * pair);
  for (int distance = 1; distance < members.count; distance *= 2)
    for (int member = 0; member < members.count; ++member) {
      const int peer = member ^ distance;
      for (int block = 0; block < writer.ranks(); ++block)
        if ((members.member(block) ^ peer) < distance)
          fetch(members.rank(member), members.rank(peer), block);
    }
  for (int pair = 0; pair < members.joined; ++pair)
    for (int block = 0; block < writer.ranks(); ++block)
      if (block != 2 * pair) fetch(2 * pair, 2 * pair + 1, block);
}

}  // namespace

Implementations make_recursive_doubling() {
  return make_scheduled({{.name = "cpu.all_reduce_recursive_doubling",
                          .description = "pairs at doubling distance: log2(n) rounds, S log2(n) "
                                         "bytes per rank (Thakur, Rabenseifner, Gropp)",
                          .collective = Collective::all_reduce,
                          .write_wave = recursive_doubling_all_reduce,
                          .numeric_class = NumericClass::same_bits,
                          .min_ranks = 3},
                         {.name = "cpu.all_gather_recursive_doubling",
                          .description = "pairs at doubling distance: log2(n) rounds, (n-1)S/n "
                                         "bytes per rank (Thakur, Rabenseifner, Gropp)",
                          .collective = Collective::all_gather,
                          .write_wave = recursive_doubling_all_gather,
                          .min_ranks = 3}});
}

}  // namespace colltune::cpu
