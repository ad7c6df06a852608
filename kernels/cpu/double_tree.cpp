// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Double binary tree: each half of the message uses one in-order binary tree, whose leaves are the
// even places. In the second tree every rank is shifted by one place, so that a leaf in one tree is
// an inner node in the other (for an odd number of ranks, one rank is a leaf in both). An
// all-reduce reduces along both trees and broadcasts back along them, over all ranks. With a root,
// the trees span all other ranks, and the root communicates with the top of each. About log2 n
// rounds each way, S bytes per rank each way (Sanders, Speck, Traeff 2009; NCCL's "tree").
// In-order: each tree node combines its left subtree, itself and its right subtree.

#include "schedule/scheduled_implementation.h"

namespace colltune::cpu {
namespace {

/// One share along one tree over the places [first, end), counted from some rank.
class TreeOfShare {
 public:
  struct Span {
    int first = 0;
    int end = 0;
    int counted_from = 0;  ///< the rank with place 0
  };

  TreeOfShare(ScheduleWriter& writer, int share, const Span& span)
      : writer_(writer), share_(share), span_(span) {}

  /// The rank at the top of the tree.
  [[nodiscard]] int top() const { return rank(middle(span_.first, span_.end)); }

  /// Reduces over the tree and returns where the sum is: in `top_sum` if given, and then the sum is
  /// the result of all ranks; else wherever the top of the tree holds it.
  Block reduce(const Block* top_sum) { return reduce(span_.first, span_.end, top_sum); }

  /// Copies the output of the tree's top to every rank's output.
  void spread() { spread(span_.first, span_.end); }

 private:
  /// The middle of a subtree that begins at a leaf: an odd number of places after that leaf, unless
  /// the subtree is a single place.
  static int middle(int first, int end) {
    return end - first == 1 ? first : first + (((end - first) / 2) | 1);
  }
  [[nodiscard]] int rank(int place) const {
    const int moved = (place - span_.first + share_) % (span_.end - span_.first);
    return (span_.first + moved + span_.counted_from) % writer_.ranks();
  }

  /// Reduces over [first, end) and returns where the sum is, at the middle place.
  Block reduce(int first, int end, const Block* result) {
    const int place = middle(first, end);
    std::vector<Block> sources;
    if (first < place) sources.push_back(writer_.publish(reduce(first, place, nullptr)));
    sources.push_back(writer_.input(rank(place), share_));
    if (place + 1 < end) sources.push_back(writer_.publish(reduce(place + 1, end, nullptr)));
    if (sources.size() == 1 && result == nullptr) return sources.front();
    const Block sum = result != nullptr ? *result : writer_.temporary(rank(place));
    writer_.combine(sum, std::move(sources), result != nullptr);
    return sum;
  }

  void spread(int first, int end) {
    const int place = middle(first, end);
    const Block from = writer_.output(rank(place), share_);
    const auto hand_on = [&](int begin, int stop) {
      if (begin == stop) return;
      writer_.move(writer_.output(rank(middle(begin, stop)), share_), from);
      spread(begin, stop);
    };
    hand_on(first, place);
    hand_on(place + 1, end);
  }

  ScheduleWriter& writer_;
  int share_;
  Span span_;
};

void double_tree_all_reduce(ScheduleWriter& writer, const Variant&) {
  for (const int share : {0, 1}) {
    TreeOfShare tree(writer, share, {.end = writer.ranks()});
    const Block sum = writer.output(tree.top(), share);
    tree.reduce(&sum);
    tree.spread();
  }
}

TreeOfShare tree_of_others(ScheduleWriter& writer, int share) {
  return {writer, share, {.first = 1, .end = writer.ranks(), .counted_from = writer.shape().root}};
}

void double_tree_broadcast(ScheduleWriter& writer, const Variant&) {
  const int root = writer.shape().root;
  for (const int share : {0, 1}) {
    TreeOfShare tree = tree_of_others(writer, share);
    writer.move(writer.output(tree.top(), share), writer.input(root, share));
    tree.spread();
  }
  for (const int share : {0, 1}) writer.copy(writer.output(root, share), writer.input(root, share));
}

void double_tree_reduce(ScheduleWriter& writer, const Variant&) {
  const int root = writer.shape().root;
  for (const int share : {0, 1}) {
    const Block of_others = writer.publish(tree_of_others(writer, share).reduce(nullptr));
    writer.combine(writer.output(root, share), {writer.input(root, share), of_others}, true);
  }
}

int two_shares(const ScheduledCall&, const Variant&) { return 2; }

ScheduledAlgorithm double_tree(Collective collective, std::string description,
                               void (*write)(ScheduleWriter&, const Variant&)) {
  return {
      .name = "cpu." + std::string(name_of(collective)) + "_double_tree",
      .description = "two binary trees, half a message each, leaves of one at work in the other: " +
                     std::move(description) + " (Sanders et al., NCCL)",
      .collective = collective,
      .write_wave = write,
      .shares = two_shares,
      .numeric_class =
          shape_of(collective).reduces ? NumericClass::same_bits : NumericClass::rank_order,
      .min_ranks = 3,
      .is_pipeline = true};
}

}  // namespace

Implementations make_double_tree() {
  return make_scheduled(
      {double_tree(Collective::all_reduce, "2 log2(n) rounds, 2S bytes per rank",
                   double_tree_all_reduce),
       double_tree(Collective::broadcast, "1 + log2(n - 1) rounds, S bytes per rank",
                   double_tree_broadcast),
       double_tree(Collective::reduce, "1 + log2(n - 1) rounds, S bytes per rank",
                   double_tree_reduce)});
}

}  // namespace colltune::cpu
