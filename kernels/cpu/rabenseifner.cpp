// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Rabenseifner's algorithm: recursive halving leaves each rank one share of the result, recursive
// doubling collects the shares. 2 log2 n rounds, 2 (n - 1) S / n bytes per rank (Rabenseifner
// 2004). Where n is no power of two, neighbours first join into one and part at the end. The
// halving alone is a reduce-scatter.

#include <bit>

#include "schedule/scheduled_implementation.h"

namespace colltune::cpu {
namespace {

int members_of(int ranks) { return static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks))); }

/// The members of a power of two of ranks, and where each has which share.
struct Members {
  int count = 1;
  int joined = 0;  ///< pairs that are one member
  std::vector<std::vector<Block>> has{};

  [[nodiscard]] int rank(int member) const {
    return member < joined ? 2 * member + 1 : member + joined;
  }
};

Members join(ScheduleWriter& writer) {
  Members members{.count = members_of(writer.ranks())};
  members.joined = writer.ranks() - members.count;
  for (int member = 0; member < members.count; ++member) {
    const int rank = members.rank(member);
    auto& has = members.has.emplace_back();
    for (int share = 0; share < members.count; ++share) {
      has.push_back(writer.input(rank, share));
      if (member >= members.joined) continue;
      const Block sum = writer.temporary(rank);
      writer.combine(sum, {writer.share(writer.input(rank - 1, share)), has.back()}, false);
      has.back() = sum;
    }
  }
  return members;
}

/// Member m is left with share m, in `results`.
void halve(ScheduleWriter& writer, Members& members, const std::vector<Block>& results) {
  for (int distance = members.count / 2; distance >= 1; distance /= 2) {
    const bool is_last = distance == 1;
    const auto keeps = [&](int member, int share) {
      return (share & ~(distance - 1)) == (member & ~(distance - 1));
    };
    const auto before = members.has;
    for (int member = 0; member < members.count; ++member)
      for (int share = 0; share < members.count; ++share) {
        if (!keeps(member, share)) continue;
        const int first = member & ~distance;
        std::vector<Block> sources;
        for (const int from : {first, first + distance}) {
          const Block block =
              before[static_cast<std::size_t>(from)][static_cast<std::size_t>(share)];
          sources.push_back(from == member ? block : writer.share(block));
        }
        Block& has = members.has[static_cast<std::size_t>(member)][static_cast<std::size_t>(share)];
        has = is_last ? results[static_cast<std::size_t>(member)]
                      : writer.temporary(members.rank(member));
        writer.combine(has, std::move(sources), is_last);
      }
  }
}

void draw_all_reduce(ScheduleWriter& writer, const Variant&) {
  Members members = join(writer);
  std::vector<Block> results;
  for (int member = 0; member < members.count; ++member)
    results.push_back(writer.output(members.rank(member), member));
  halve(writer, members, results);
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

void draw_reduce_scatter(ScheduleWriter& writer, const Variant&) {
  Members members = join(writer);
  halve(writer, members, part_of_each(writer));
}

}  // namespace

Implementations make_rabenseifner() {
  return make_scheduled({{.name = "cpu.all_reduce_rabenseifner",
                          .description = "recursive halving, then doubling: 2 log2(n) rounds, "
                                         "2(n-1)S/n bytes per rank (Rabenseifner)",
                          .collective = Collective::all_reduce,
                          .draw = draw_all_reduce,
                          .shares = [](const Shape& shape, const Variant&) { return members_of(shape.ranks); },
                          .numeric_class = NumericClass::same_bits,
                          .min_ranks = 3},
                         {.name = "cpu.reduce_scatter_recursive_halving",
                          .description = "recursive halving: log2(n) rounds, (n-1)S/n bytes per "
                                         "rank (Rabenseifner)",
                          .collective = Collective::reduce_scatter,
                          .draw = draw_reduce_scatter,
                          .numeric_class = NumericClass::same_bits,
                          .min_ranks = 3,
                          .needs_power_of_two = true}});
}

}  // namespace colltune::cpu
