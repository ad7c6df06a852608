// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Rabenseifner's algorithm: recursive halving leaves each rank one share of the result, recursive
// doubling gathers the shares. 2 log2 n rounds, 2 (n - 1) S / n bytes per rank (Rabenseifner 2004).
// If n is not a power of two, neighbours first join into one member and separate at the end. The
// halving alone is a reduce-scatter.

#include <functional>
#include <utility>

#include "joined_ranks.h"
#include "schedule/scheduled_implementation.h"

namespace colltune::cpu {
namespace {

/// By member and share: the block that holds it.
using Has = std::vector<std::vector<Block>>;

/// Where member `member` puts the result of `share`, which is one of its own.
using ResultOf = std::function<Block(int member, int share)>;

/// Forms the members, each with `shares` shares.
Has join(ScheduleWriter& writer, const JoinedRanks& members, int shares) {
  Has all;
  for (int member = 0; member < members.count; ++member) {
    const int rank = members.rank(member);
    auto& has = all.emplace_back();
    for (int share = 0; share < shares; ++share) {
      has.push_back(writer.input(rank, share));
      if (member >= members.joined) continue;
      const Block sum = writer.temporary(rank);
      writer.combine(sum, {writer.publish(writer.input(rank - 1, share)), has.back()}, false);
      has.back() = sum;
    }
  }
  return all;
}

/// Leaves each member with the results of its own shares, as `owner_of` assigns them.
void halve(ScheduleWriter& writer, const JoinedRanks& members, Has has_all,
           const std::function<int(int share)>& owner_of, const ResultOf& result_of) {
  const int shares = static_cast<int>(has_all.front().size());
  for (int distance = members.count / 2; distance >= 1; distance /= 2) {
    const bool is_last = distance == 1;
    const Has before = has_all;
    for (int member = 0; member < members.count; ++member)
      for (int share = 0; share < shares; ++share) {
        if ((owner_of(share) ^ member) >= distance) continue;
        const int first = member & ~distance;
        std::vector<Block> sources;
        for (const int from : {first, first + distance}) {
          const Block block =
              before[static_cast<std::size_t>(from)][static_cast<std::size_t>(share)];
          sources.push_back(from == member ? block : writer.publish(block));
        }
        Block& has = has_all[static_cast<std::size_t>(member)][static_cast<std::size_t>(share)];
        has = is_last ? result_of(member, share) : writer.temporary(members.rank(member));
        writer.combine(has, std::move(sources), is_last);
      }
  }
}

void rabenseifner_all_reduce(ScheduleWriter& writer, const Variant&) {
  const JoinedRanks members(writer.ranks());
  halve(
      writer, members, join(writer, members, members.count), [](int share) { return share; },
      [&](int member, int share) { return writer.output(members.rank(member), share); });
  for (int distance = 1; distance < members.count; distance *= 2)
    for (int member = 0; member < members.count; ++member) {
      const int peer = member ^ distance;
      const int first = peer & ~(distance - 1);
      for (int share = first; share < first + distance; ++share)
        writer.move(writer.output(members.rank(member), share),
                    writer.output(members.rank(peer), share));
    }
  for (int pair = 0; pair < members.joined; ++pair)
    for (int share = 0; share < members.count; ++share)
      writer.move(writer.output(2 * pair, share), writer.output(2 * pair + 1, share));
}

void rabenseifner_reduce_scatter(ScheduleWriter& writer, const Variant&) {
  const JoinedRanks members(writer.ranks());
  const std::vector<Block> parts = part_of_each(writer);
  std::vector<std::pair<Block, Block>> of_neighbours;  // to, from
  halve(
      writer, members, join(writer, members, writer.ranks()),
      [&](int share) { return members.member(share); },
      [&](int member, int share) {
        const Block& part = parts[static_cast<std::size_t>(share)];
        if (share == members.rank(member)) return part;
        return of_neighbours.emplace_back(part, writer.temporary(members.rank(member))).second;
      });
  for (const auto& [part, sum] : of_neighbours) writer.move(part, sum);
}

}  // namespace

Implementations make_rabenseifner() {
  return make_scheduled({{.name = "cpu.all_reduce_rabenseifner",
                          .description = "recursive halving, then doubling: 2 log2(n) rounds, "
                                         "2(n-1)S/n bytes per rank (Rabenseifner)",
                          .collective = Collective::all_reduce,
                          .write_wave = rabenseifner_all_reduce,
                          .shares = [](const ScheduledCall& shape,
                                       const Variant&) { return JoinedRanks(shape.ranks).count; },
                          .numeric_class = NumericClass::same_bits,
                          .min_ranks = 3},
                         {.name = "cpu.reduce_scatter_recursive_halving",
                          .description = "recursive halving: log2(n) rounds, (n-1)S/n bytes per "
                                         "rank (Rabenseifner)",
                          .collective = Collective::reduce_scatter,
                          .write_wave = rabenseifner_reduce_scatter,
                          .numeric_class = NumericClass::same_bits,
                          .min_ranks = 3}});
}

}  // namespace colltune::cpu
