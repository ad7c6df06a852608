// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Double binary tree: each half of the message is reduced along one in-order binary tree and sent
// back along it; the second tree is the first one mirrored, so that (for even n) who is a leaf in
// one works in the other. 2 log2 n rounds, 2 S bytes per rank (Sanders, Speck, Traeff 2009; NCCL's
// "tree"). In-order: each node combines its left subtree, itself and its right one.

#include "schedule/scheduled_implementation.h"

namespace colltune::cpu {
namespace {

/// One share along one tree over the places [first, end).
class TreeOfShare {
 public:
  TreeOfShare(ScheduleWriter& writer, int share, bool is_mirrored)
      : writer_(writer), share_(share), is_mirrored_(is_mirrored) {}

  void draw() {
    const int root = middle(0, writer_.ranks());
    reduce(0, writer_.ranks(), true);
    spread(0, writer_.ranks(), root);
  }

 private:
  static int middle(int first, int end) { return first + (end - first) / 2; }
  [[nodiscard]] int rank(int place) const {
    return is_mirrored_ ? writer_.ranks() - 1 - place : place;
  }

  /// Where the sum of [first, end) is, at its middle.
  Block reduce(int first, int end, bool is_root) {
    const int place = middle(first, end);
    std::vector<Block> sources;
    if (first < place) sources.push_back(writer_.share(reduce(first, place, false)));
    sources.push_back(writer_.input(rank(place), share_));
    if (place + 1 < end) sources.push_back(writer_.share(reduce(place + 1, end, false)));
    if (sources.size() == 1 && !is_root) return sources.front();
    const Block sum =
        is_root ? writer_.output(rank(place), share_) : writer_.temporary(rank(place));
    writer_.combine(sum, std::move(sources), is_root);
    return sum;
  }

  void spread(int first, int end, int from) {
    const int place = middle(first, end);
    if (place != from)
      writer_.move(writer_.output(rank(place), share_), writer_.output(rank(from), share_));
    if (first < place) spread(first, place, place);
    if (place + 1 < end) spread(place + 1, end, place);
  }

  ScheduleWriter& writer_;
  int share_;
  bool is_mirrored_;
};

void draw(ScheduleWriter& writer, const Variant&) {
  TreeOfShare(writer, 0, false).draw();
  TreeOfShare(writer, 1, true).draw();
}

int two_shares(const Shape&, const Variant&) { return 2; }

}  // namespace

Implementations make_double_tree() {
  return make_scheduled({{.name = "cpu.all_reduce_double_tree",
                          .description = "two mirrored binary trees, half a message each: 2 "
                                         "log2(n) rounds, 2S bytes per rank (Sanders et al., NCCL)",
                          .collective = Collective::all_reduce,
                          .draw = draw,
                          .shares = two_shares,
                          .numeric_class = NumericClass::same_bits,
                          .min_ranks = 3,
                          .is_pipeline = true}});
}

}  // namespace colltune::cpu
