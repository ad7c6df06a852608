// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "colltune/sweep/plan/sweep_plan.h"

namespace colltune {

/// How a ring cuts and stages a message: its parameters `chunk` (in bytes; 0: everything in one)
/// and `slots` (chunks in flight).
struct RingPoint {
  std::int64_t chunk = 0;
  std::int64_t slots = 0;

  friend auto operator<=>(const RingPoint&, const RingPoint&) = default;
};

/// What torchcomms' rules (daemon/model/ring, the default set) make of the key: where a search
/// starts. Rings on GPUs (`cuda.`) cut each rank's shard and have the rules' values of the key's
/// architecture; those on processors cut the message, and their slots share half of a usual L2
/// cache instead of a GPU's bandwidth-delay product.
[[nodiscard]] RingPoint ring_start(const TuningKey& key, std::string_view implementation);

/// A search downhill over settings that an implementation has, from the one nearest to a start. It
/// measures one after the other: a better one becomes the centre at once, and the search ends when
/// no neighbour of the centre is left. Neighbours have the same chunk, or the next smaller or
/// larger one: first those with about as many slots, since few slots of a large chunk are like many
/// of a small one.
class RingSearch {
 public:
  /// `grid` must not be empty. `message`, in bytes, is what a chunk of 0 stands for.
  RingSearch(std::vector<RingPoint> grid, RingPoint start, std::uint64_t message);

  /// What to measure next; empty when the search is over.
  [[nodiscard]] std::optional<RingPoint> next() const;
  /// Records the time of a point of the grid, in any unit.
  void keep(const RingPoint& point, double time);

  /// The best so far, or where the search starts.
  [[nodiscard]] RingPoint centre() const { return grid_[centre_]; }
  /// Of the centre, in the order in which they are tried.
  [[nodiscard]] std::vector<RingPoint> neighbours() const;

 private:
  [[nodiscard]] double distance(const RingPoint& a, const RingPoint& b) const;
  [[nodiscard]] double bytes(const RingPoint& point) const;
  /// Throws Error(invalid_argument) for a point that is not of the grid.
  [[nodiscard]] std::size_t index_of(const RingPoint& point) const;
  /// Those that `allows`, the nearest to `to` first.
  template <class Allows>
  [[nodiscard]] std::vector<RingPoint> nearest(const RingPoint& to, Allows allows) const;

  std::vector<RingPoint> grid_;
  std::uint64_t message_;
  std::vector<std::optional<double>> times_;
  std::size_t centre_ = 0;
};

/// Takes those settings of all-reduce rings out of a cell that a search from the rules does not
/// begin with. Of an implementation's variants that differ in chunk and slots alone, the centre and
/// its neighbours stay; of its others, which differ in more, the one with the centre's chunk and
/// slots, or what is nearest to them. The centre is the one with the least forecast, where earlier
/// sweeps say anything, else the first variant with what is nearest to the rules' start: so the
/// sweeps of one configuration search on where the one before ended. Returns what was taken out, as
/// printed.
std::vector<std::string> keep_near_ring_start(Cell& cell);

}  // namespace colltune
