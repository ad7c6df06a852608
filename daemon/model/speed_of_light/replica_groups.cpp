// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/speed_of_light/replica_groups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <numeric>
#include <utility>

#include "colltune/vocabulary/error.h"
#include "refused.h"

namespace colltune::speed_of_light {
namespace {

// Lists of a message of 64 MiB name as many ranks.
constexpr std::int64_t most_listed_ranks = std::int64_t{1} << 24;
constexpr std::string_view tiles_form = "[groups,size]<=[dimensions]T(order)";

/// Reads the parts of a text from its beginning on.
class TilesReader {
 public:
  explicit TilesReader(std::string_view text) : text_(text) {}

  [[nodiscard]] bool is_done() const { return at_ == text_.size(); }

  void expect(std::string_view what) {
    if (!text_.substr(at_).starts_with(what)) fail_here(fmt::format("'{}'", what));
    at_ += what.size();
  }

  /// "[1,2]", or with other brackets, of numbers from `least` on.
  std::vector<int> numbers(char open, char close, int least) {
    expect({&open, 1});
    std::vector<int> found{number(least)};
    while (at_ < text_.size() && text_[at_] == ',') {
      ++at_;
      found.push_back(number(least));
    }
    expect({&close, 1});
    return found;
  }

  [[noreturn]] void fail_with(const std::string& what) const {
    fail(fmt::format("replica_tiles '{}': {}", text_, what));
  }
  [[noreturn]] void fail_here(const std::string& expected) const {
    fail_with(
        fmt::format("expected {} at character {}; the form is {}", expected, at_ + 1, tiles_form));
  }

 private:
  int number(int least) {
    int value = 0;
    const char* const begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc{} || value < least)
      fail_here(fmt::format("a number from {} to {}", least, most_world_ranks));
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// Throws where the product exceeds the most ranks.
std::int64_t product_of(const std::vector<int>& factors, const TilesReader& reader) {
  std::int64_t product = 1;
  for (const int factor : factors) {
    product *= factor;
    if (product > most_world_ranks)
      reader.fail_with(fmt::format("{} are more than {} ranks", factors, most_world_ranks));
  }
  return product;
}

void check_order(const std::vector<int>& order, std::size_t dimensions, const TilesReader& reader) {
  if (order.size() != dimensions)
    reader.fail_with(fmt::format("the order names {} of {} dimensions", order.size(), dimensions));
  std::vector<int> sorted = order;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    reader.fail_with(fmt::format("the order names dimension {} twice", *twice));
  if (std::cmp_greater_equal(sorted.back(), dimensions))
    reader.fail_with(fmt::format("the order names dimension {}; dimensions are 0 to {}",
                                 sorted.back(), dimensions - 1));
}

/// How many nodes these ranks are on. Sorts them. Throws where a node has more of them than
/// another.
int count_nodes(std::vector<int>& nodes_of_ranks) {
  std::ranges::sort(nodes_of_ranks);
  int runs = 0;
  std::ptrdiff_t length = 0;
  for (auto begin = nodes_of_ranks.begin(); begin != nodes_of_ranks.end(); ++runs) {
    const auto end = std::upper_bound(begin, nodes_of_ranks.end(), *begin);
    if (runs > 0 && end - begin != length)
      fail("a replica group has more ranks on one node than on another; there is no model of that");
    length = end - begin;
    begin = end;
  }
  return runs;
}

/// How groups of existing ranks lie on nodes of `per_node` ranks.
EntryGroups layout_of(const std::vector<std::vector<int>>& groups, int per_node) {
  EntryGroups found{.largest = {.nodes = 0, .ranks = 0}};
  std::vector<int> nodes_of_ranks;
  for (const std::vector<int>& group : groups) {
    nodes_of_ranks.clear();
    for (const int rank : group) nodes_of_ranks.push_back(rank / per_node);
    const Communicator here{.nodes = count_nodes(nodes_of_ranks),
                            .ranks = static_cast<int>(group.size())};
    if (found.largest.ranks != 0 &&
        (here.ranks != found.largest.ranks || here.nodes != found.largest.nodes))
      found.are_equal = false;
    // Of unlike groups the one on the most nodes counts, then the largest: all wait for it.
    if (std::pair(here.nodes, here.ranks) > std::pair(found.largest.nodes, found.largest.ranks))
      found.largest = here;
  }
  return found;
}

}  // namespace

GroupTiles parse_group_tiles(std::string_view text) {
  TilesReader reader(text);
  const std::vector<int> tiles = reader.numbers('[', ']', 1);
  if (tiles.size() != 2)
    reader.fail_with(
        fmt::format("{} are {} numbers; the form is {}", tiles, tiles.size(), tiles_form));
  reader.expect("<=");
  GroupTiles found{.groups = tiles[0], .size = tiles[1]};
  found.dimensions = reader.numbers('[', ']', 1);
  found.order.resize(found.dimensions.size());
  std::iota(found.order.begin(), found.order.end(), 0);
  if (!reader.is_done()) {
    reader.expect("T");
    found.order = reader.numbers('(', ')', 0);
    if (!reader.is_done()) reader.fail_here("the end");
    check_order(found.order, found.dimensions.size(), reader);
  }
  const std::int64_t of_groups = product_of(tiles, reader);
  const std::int64_t of_dimensions = product_of(found.dimensions, reader);
  if (of_groups != of_dimensions)
    reader.fail_with(fmt::format("{} groups of {} are {} ranks, but the dimensions have {}",
                                 found.groups, found.size, of_groups, of_dimensions));
  return found;
}

std::vector<std::vector<int>> list_groups(const GroupTiles& tiles) {
  const std::size_t dimensions = tiles.dimensions.size();
  std::vector<int> strides(dimensions, 1);
  for (std::size_t i = dimensions; i-- > 1;) strides[i - 1] = strides[i] * tiles.dimensions[i];
  std::vector<int> place(dimensions, 0);  // in the order of `order`
  int rank = 0;
  std::vector<std::vector<int>> groups(static_cast<std::size_t>(tiles.groups));
  for (std::vector<int>& group : groups) {
    group.reserve(static_cast<std::size_t>(tiles.size));
    for (int i = 0; i < tiles.size; ++i) {
      group.push_back(rank);
      // The next place in row-major order.
      for (std::size_t k = dimensions; k-- > 0;) {
        const auto dimension = static_cast<std::size_t>(tiles.order[k]);
        rank += strides[dimension];
        if (++place[k] < tiles.dimensions[dimension]) break;
        rank -= strides[dimension] * tiles.dimensions[dimension];
        place[k] = 0;
      }
    }
  }
  return groups;
}

EntryGroups GroupLayouts::of(const CollectiveEntry& entry) {
  if (nodes_ < 1) fail(fmt::format("{} nodes; at least 1", nodes_));
  if (world() > most_world_ranks)
    fail(fmt::format("{} ranks; at most {}", world(), most_world_ranks));
  const int forms = (entry.replica_groups ? 1 : 0) + (entry.replica_counts ? 1 : 0) +
                    (entry.replica_tiles ? 1 : 0);
  if (forms > 1)
    fail("more than one of replica_groups, replica_counts and replica_tiles; give one");
  if (entry.replica_counts) return of_counts(*entry.replica_counts);
  if (entry.replica_tiles) return of_tiles(*entry.replica_tiles);
  if (entry.replica_groups && !entry.replica_groups->empty()) return of_list(*entry.replica_groups);
  return {.largest = {.nodes = nodes_, .ranks = static_cast<int>(world())}};
}

EntryGroups GroupLayouts::of_list(const std::vector<std::vector<int>>& groups) const {
  std::vector<int> all;
  for (const std::vector<int>& group : groups) {
    if (group.empty()) fail("an empty replica group");
    for (const int rank : group) {
      if (rank < 0 || rank >= world())
        fail(fmt::format("rank {} of a replica group; ranks are 0 to {}", rank, world() - 1));
      all.push_back(rank);
    }
  }
  EntryGroups found = layout_of(groups, per_node_);
  std::ranges::sort(all);
  if (const auto twice = std::ranges::adjacent_find(all); twice != all.end())
    fail(fmt::format("rank {} is in the replica groups twice", *twice));
  return found;
}

EntryGroups GroupLayouts::of_counts(const ReplicaCounts& counts) {
  const std::string what =
      fmt::format("replica_counts: {} groups of {}", counts.groups, counts.size);
  if (counts.groups < 1 || counts.size < 1) fail(what + "; both are at least 1");
  const std::int64_t ranks = std::int64_t{counts.groups} * counts.size;
  check_covers(ranks, what);
  return of_tiles(fmt::format("[{},{}]<=[{}]", counts.groups, counts.size, ranks));
}

EntryGroups GroupLayouts::of_tiles(const std::string& text) {
  if (const auto known = remembered_.find(text); known != remembered_.end()) return known->second;
  const GroupTiles tiles = parse_group_tiles(text);
  check_covers(std::int64_t{tiles.groups} * tiles.size,
               fmt::format("replica_tiles '{}': {} groups of {}", text, tiles.groups, tiles.size));
  listed_ranks_ += world();
  if (listed_ranks_ > most_listed_ranks)
    fail(fmt::format("different replica_counts and replica_tiles of more than {} ranks in all",
                     most_listed_ranks));
  const EntryGroups found = layout_of(list_groups(tiles), per_node_);
  remembered_.emplace(text, found);
  return found;
}

void GroupLayouts::check_covers(std::int64_t ranks, const std::string& what) const {
  if (ranks != world())
    fail(fmt::format("{} are {} ranks, but the world has {}, each in one group", what, ranks,
                     world()));
}

}  // namespace colltune::speed_of_light
