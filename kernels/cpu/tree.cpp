// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// k-nomial trees: in each round every rank in the tree serves k - 1 more (fan-out k; 2 is the
// binomial tree), ceil(log_k n) rounds. Broadcast, reduce, all-reduce as a reduce and a broadcast,
// and gather and scatter of whole subtrees (Open MPI's coll/base and MPICH use the same trees).
// Subtrees are intervals of ranks counted from the root, combined in that order.

#include <algorithm>

#include "schedule/scheduled_implementation.h"

namespace colltune::cpu {
namespace {

int fanout_of(const Variant& variant) { return static_cast<int>(number(variant, "fanout")); }

/// A tree over the ranks, which are counted from the root as places.
class Tree {
 public:
  Tree(int ranks, int root, int fanout) : ranks_(ranks), root_(root), fanout_(fanout) {
    for (std::int64_t span = 1; span < ranks; span *= fanout)
      spans_.push_back(static_cast<int>(span));
  }
  [[nodiscard]] int rank(int place) const { return (place + root_) % ranks_; }
  /// Number of places in the subtree of a child on each level, smallest first.
  [[nodiscard]] const std::vector<int>& spans() const { return spans_; }
  /// Calls `act(parent, child)` for each edge of a level.
  template <class Act>
  void for_each_edge(int span, Act act) const {
    const std::int64_t family = std::int64_t{span} * fanout_;
    for (std::int64_t parent = 0; parent < ranks_; parent += family)
      for (std::int64_t child = parent + span;
           child < std::min<std::int64_t>(parent + family, ranks_); child += span)
        act(static_cast<int>(parent), static_cast<int>(child));
  }
  /// End of the subtree of `child`: its places are [child, end).
  [[nodiscard]] int end(int child, int span) const { return std::min(child + span, ranks_); }

 private:
  int ranks_;
  int root_;
  int fanout_;
  std::vector<int> spans_;
};

/// Copies `from`, which the root has, to every rank's output.
void spread(ScheduleWriter& writer, const Tree& tree, const Block& from) {
  for (auto span = tree.spans().rbegin(); span != tree.spans().rend(); ++span)
    tree.for_each_edge(*span, [&](int parent, int child) {
      writer.move(writer.output(tree.rank(child)),
                  parent == 0 ? from : writer.output(tree.rank(parent)));
    });
}

/// Reduces all ranks' inputs into the output of the tree's root.
void collect(ScheduleWriter& writer, const Tree& tree) {
  std::vector<Block> sums;
  for (int place = 0; place < writer.ranks(); ++place)
    sums.push_back(writer.input(tree.rank(place)));
  if (writer.ranks() == 1) writer.combine(writer.output(tree.rank(0)), {sums[0]}, true);
  for (const int span : tree.spans()) {
    std::vector<std::vector<Block>> sources(sums.size());
    tree.for_each_edge(span, [&](int parent, int child) {
      auto& of_parent = sources[static_cast<std::size_t>(parent)];
      if (of_parent.empty()) of_parent.push_back(sums[static_cast<std::size_t>(parent)]);
      of_parent.push_back(writer.publish(sums[static_cast<std::size_t>(child)]));
    });
    for (std::size_t place = 0; place < sums.size(); ++place) {
      if (sources[place].empty()) continue;
      const int rank = tree.rank(static_cast<int>(place));
      const bool is_last = place == 0 && span == tree.spans().back();
      sums[place] = is_last ? writer.output(rank) : writer.temporary(rank);
      writer.combine(sums[place], std::move(sources[place]), is_last);
    }
  }
}

void tree_broadcast(ScheduleWriter& writer, const Variant& variant) {
  const int root = writer.shape().root;
  spread(writer, Tree(writer.ranks(), root, fanout_of(variant)), writer.input(root));
  writer.copy(writer.output(root), writer.input(root));
}

void tree_reduce(ScheduleWriter& writer, const Variant& variant) {
  collect(writer, Tree(writer.ranks(), writer.shape().root, fanout_of(variant)));
}

void tree_all_reduce(ScheduleWriter& writer, const Variant& variant) {
  const Tree tree(writer.ranks(), 0, fanout_of(variant));
  collect(writer, tree);
  spread(writer, tree, writer.output(0));
}

void tree_gather(ScheduleWriter& writer, const Variant& variant) {
  const int root = writer.shape().root;
  const Tree tree(writer.ranks(), root, fanout_of(variant));
  std::vector<Block> at;  // by place: where the block of its rank is now
  for (int place = 0; place < writer.ranks(); ++place) at.push_back(writer.input(tree.rank(place)));
  for (const int span : tree.spans())
    tree.for_each_edge(span, [&](int parent, int child) {
      for (int place = child; place < tree.end(child, span); ++place) {
        Block& block = at[static_cast<std::size_t>(place)];
        const Block to = parent == 0 ? writer.output(root, tree.rank(place))
                                     : writer.temporary(tree.rank(parent));
        writer.move(to, block);
        block = to;
      }
    });
  writer.copy(writer.output(root, root), writer.input(root));
}

void tree_scatter(ScheduleWriter& writer, const Variant& variant) {
  const int root = writer.shape().root;
  const Tree tree(writer.ranks(), root, fanout_of(variant));
  std::vector<Block> at;  // by place: where the block for its rank is now
  for (int place = 0; place < writer.ranks(); ++place)
    at.push_back(writer.input(root, tree.rank(place)));
  for (auto span = tree.spans().rbegin(); span != tree.spans().rend(); ++span)
    tree.for_each_edge(*span, [&](int, int child) {
      for (int place = child; place < tree.end(child, *span); ++place) {
        Block& block = at[static_cast<std::size_t>(place)];
        const int rank = tree.rank(child);
        const Block to = place == child ? writer.output(rank) : writer.temporary(rank);
        writer.move(to, block);
        block = to;
      }
    });
  writer.copy(writer.output(root), writer.input(root, root));
}

ParameterChoices fanout_choices() { return {"fanout", {2, 4, 8}}; }

}  // namespace

Implementations make_tree() {
  return make_scheduled({{.name = "cpu.broadcast_tree",
                          .description = "k-nomial tree: log_k(n) rounds, S bytes per rank",
                          .collective = Collective::broadcast,
                          .write_wave = tree_broadcast,
                          .min_ranks = 3,
                          .is_pipeline = true,
                          .parameters = {fanout_choices()}},
                         {.name = "cpu.reduce_tree",
                          .description = "k-nomial tree: log_k(n) rounds, (k-1)S log_k(n) bytes "
                                         "at the root",
                          .collective = Collective::reduce,
                          .write_wave = tree_reduce,
                          .numeric_class = NumericClass::same_bits,
                          .min_ranks = 3,
                          .is_pipeline = true,
                          .parameters = {fanout_choices()}},
                         {.name = "cpu.all_reduce_tree",
                          .description = "k-nomial reduce and broadcast: 2 log_k(n) rounds, (k-1)S "
                                         "log_k(n) bytes at rank 0",
                          .collective = Collective::all_reduce,
                          .write_wave = tree_all_reduce,
                          .numeric_class = NumericClass::same_bits,
                          .min_ranks = 3,
                          .is_pipeline = true,
                          .parameters = {fanout_choices()}},
                         {.name = "cpu.gather_tree",
                          .description = "k-nomial tree of whole subtrees: log_k(n) rounds",
                          .collective = Collective::gather,
                          .write_wave = tree_gather,
                          .min_ranks = 3,
                          .parameters = {fanout_choices()}},
                         {.name = "cpu.scatter_tree",
                          .description = "k-nomial tree of whole subtrees: log_k(n) rounds",
                          .collective = Collective::scatter,
                          .write_wave = tree_scatter,
                          .min_ranks = 3,
                          .parameters = {fanout_choices()}}});
}

}  // namespace colltune::cpu
