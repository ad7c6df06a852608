// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Trees over the machine. Ranks that are near one another (on a node, next to a NUMA domain's
// memory, under a last-level cache) have a leader, and only leaders communicate across groups, so
// the links between groups carry the message once per group (Open MPI's coll/han and coll/xhc,
// MPICH's and MVAPICH2's two-level collectives). Groups may differ in size. Any scheduled algorithm
// of the catalogue may be a level.

#include <algorithm>
#include <numeric>
#include <utility>

#include "communication/rank_places.h"
#include "schedule/levels.h"

namespace colltune::cpu {
namespace {

/// The ranks of each group, in order, and each group's leader: the root in its own group, the first
/// rank in any other.
class Groups {
 public:
  explicit Groups(const ScheduledCall& shape) {
    for (int rank = 0; rank < shape.ranks; ++rank) {
      const auto group = shape.groups.empty() ? 0U : static_cast<std::size_t>(shape.groups[rank]);
      if (group >= ranks_.size()) {
        ranks_.resize(group + 1);
        leaders_.resize(group + 1);
      }
      if (ranks_[group].empty() || rank == shape.root) leaders_[group] = rank;
      if (rank == shape.root) root_group_ = static_cast<int>(group);
      ranks_[group].push_back(rank);
    }
  }
  [[nodiscard]] int count() const { return static_cast<int>(ranks_.size()); }
  [[nodiscard]] int root_group() const { return root_group_; }
  [[nodiscard]] const std::vector<int>& leaders() const { return leaders_; }
  [[nodiscard]] int leader(int group) const { return leaders_[static_cast<std::size_t>(group)]; }
  [[nodiscard]] const std::vector<int>& ranks(int group) const {
    return ranks_[static_cast<std::size_t>(group)];
  }
  [[nodiscard]] int size(int group) const { return static_cast<int>(ranks(group).size()); }
  /// The leader's index among the ranks of its group.
  [[nodiscard]] int place_of_leader(int group) const {
    const auto& all = ranks(group);
    return static_cast<int>(std::ranges::find(all, leader(group)) - all.begin());
  }

 private:
  std::vector<std::vector<int>> ranks_;
  std::vector<int> leaders_;
  int root_group_ = 0;
};

/// The levels of one composed algorithm; levels that it does not use are null.
struct LeaderLevels {
  Levels up{};    ///< reduce to the leader
  Levels across;  ///< among the leaders
  Levels down{};  ///< broadcast from the leader
};

/// How many shares a message is cut into, so that each level gets the pieces that it needs: piece a
/// of the level across and piece b of the level inside are share a * inside + b. Groups of
/// different sizes may need different numbers of pieces: `inside` is a multiple of each.
struct Cuts {
  int across = 1;
  int inside = 1;

  Cuts(const LeaderLevels& of, const Variant& variant, const Groups& groups) {
    if (groups.count() > 1)
      across = LevelWriter::pieces(level_of(of.across, variant, "across"), groups.count());
    for (int group = 0; group < groups.count(); ++group) {
      const int size = groups.size(group);
      if (of.up)
        inside = std::lcm(inside, LevelWriter::pieces(level_of(of.up, variant, "up"), size));
      if (of.down)
        inside = std::lcm(inside, LevelWriter::pieces(level_of(of.down, variant, "down"), size));
    }
  }
  [[nodiscard]] int shares() const { return across * inside; }
  [[nodiscard]] int share(int of_across, int of_inside) const {
    return of_across * inside + of_inside;
  }
};

/// Draws the levels of one call.
class LeadersWriter {
 public:
  LeadersWriter(ScheduleWriter& writer, const Variant& variant, const LeaderLevels& of)
      : writer_(writer),
        variant_(variant),
        of_(of),
        groups_(writer.shape()),
        cuts_(of, variant, groups_) {}

  /// A block of each leader, by group and share.
  using OfLeaders = std::vector<std::vector<Block>>;

  /// Each group's ranks reduce their inputs to its leader.
  OfLeaders reduce_up() {
    // With a single group this is already the final result.
    const Level& level = level_of(of_.up, variant_, "up");
    const LevelWriter up(writer_, level, groups_.count() == 1);
    OfLeaders sums;
    for (int group = 0; group < groups_.count(); ++group) {
      auto& own = sums.emplace_back();
      for (int share = 0; share < cuts_.shares(); ++share)
        own.push_back(writer_.temporary(groups_.leader(group)));
      if (groups_.size(group) == 1)
        for (int share = 0; share < cuts_.shares(); ++share)
          writer_.copy(own[static_cast<std::size_t>(share)],
                       writer_.input(groups_.leader(group), share));
    }
    for_each_call(level, [&](int group, const std::vector<int>& shares) {
      Blocks inputs;
      Blocks outputs(static_cast<std::size_t>(groups_.size(group)));
      auto& result = outputs[static_cast<std::size_t>(groups_.place_of_leader(group))];
      for (const int rank : groups_.ranks(group)) {
        auto& input = inputs.emplace_back();
        for (const int share : shares) input.push_back(writer_.input(rank, share));
      }
      for (const int share : shares) result.push_back(block_of(sums, group, share));
      up.write(groups_.ranks(group), std::move(inputs), std::move(outputs),
               groups_.place_of_leader(group));
    });
    return sums;
  }

  /// Draws the leaders' call, from `inputs` to `outputs` (by group and share; a group that receives
  /// nothing has none).
  void write_across(const OfLeaders& inputs, const OfLeaders& outputs, bool is_last) {
    if (groups_.count() == 1) {
      for (int share = 0; share < cuts_.shares(); ++share)
        if (!outputs.front().empty())
          writer_.copy(block_of(outputs, 0, share), block_of(inputs, 0, share));
      return;
    }
    const LevelWriter across(writer_, level_of(of_.across, variant_, "across"), is_last);
    for (int b = 0; b < cuts_.inside; ++b) {
      Blocks from;
      Blocks to;
      for (int group = 0; group < groups_.count(); ++group) {
        auto& input = from.emplace_back();
        auto& output = to.emplace_back();
        for (int a = 0; a < cuts_.across; ++a) {
          if (!inputs[static_cast<std::size_t>(group)].empty())
            input.push_back(block_of(inputs, group, cuts_.share(a, b)));
          if (!outputs[static_cast<std::size_t>(group)].empty())
            output.push_back(block_of(outputs, group, cuts_.share(a, b)));
        }
      }
      across.write(groups_.leaders(), std::move(from), std::move(to), groups_.root_group());
    }
  }

  /// Each leader broadcasts `from` to the outputs of its group.
  void broadcast_down(const OfLeaders& from) {
    const Level& level = level_of(of_.down, variant_, "down");
    const LevelWriter down(writer_, level, false);
    for_each_call(level, [&](int group, const std::vector<int>& shares) {
      Blocks blocks;
      for (const int rank : groups_.ranks(group)) {
        auto& own = blocks.emplace_back();
        for (const int share : shares)
          own.push_back(rank == groups_.leader(group) ? block_of(from, group, share)
                                                      : writer_.output(rank, share));
      }
      down.write(groups_.ranks(group), blocks, blocks, groups_.place_of_leader(group));
    });
  }

  /// `block(rank, share)` for each leader.
  template <class BlockOf>
  [[nodiscard]] OfLeaders of_leaders(BlockOf block) const {
    OfLeaders blocks;
    for (int group = 0; group < groups_.count(); ++group) {
      auto& own = blocks.emplace_back();
      for (int share = 0; share < cuts_.shares(); ++share)
        own.push_back(block(groups_.leader(group), share));
    }
    return blocks;
  }

  /// The same for the root only.
  template <class BlockOf>
  [[nodiscard]] OfLeaders of_root(BlockOf block) const {
    OfLeaders blocks = of_leaders(std::move(block));
    for (int group = 0; group < groups_.count(); ++group)
      if (group != groups_.root_group()) blocks[static_cast<std::size_t>(group)].clear();
    return blocks;
  }

 private:
  [[nodiscard]] static const Block& block_of(const OfLeaders& blocks, int group, int share) {
    return blocks[static_cast<std::size_t>(group)].at(static_cast<std::size_t>(share));
  }

  /// Draws the calls of a level inside each group of several ranks, with as many shares per call as
  /// the level needs.
  template <class Call>
  void for_each_call(const Level& level, Call call) {
    for (int a = 0; a < cuts_.across; ++a)
      for (int group = 0; group < groups_.count(); ++group) {
        if (groups_.size(group) == 1) continue;
        const int pieces = LevelWriter::pieces(level, groups_.size(group));
        for (int first = 0; first < cuts_.inside; first += pieces) {
          std::vector<int> shares;
          for (int piece = 0; piece < pieces; ++piece)
            shares.push_back(cuts_.share(a, first + piece));
          call(group, shares);
        }
      }
  }

  ScheduleWriter& writer_;
  const Variant& variant_;
  const LeaderLevels& of_;
  Groups groups_;
  Cuts cuts_;
};

void leaders_broadcast(ScheduleWriter& writer, const Variant& variant, const LeaderLevels& of) {
  LeadersWriter levels(writer, variant, of);
  const auto input = [&](int rank, int share) { return writer.input(rank, share); };
  const auto output = [&](int rank, int share) { return writer.output(rank, share); };
  levels.write_across(levels.of_leaders(input), levels.of_leaders(output), false);
  // The root has its copy already.
  levels.broadcast_down(levels.of_leaders([&](int rank, int share) {
    return rank == writer.shape().root ? input(rank, share) : output(rank, share);
  }));
}

void leaders_reduce(ScheduleWriter& writer, const Variant& variant, const LeaderLevels& of) {
  LeadersWriter levels(writer, variant, of);
  const auto sums = levels.reduce_up();
  levels.write_across(
      sums, levels.of_root([&](int rank, int share) { return writer.output(rank, share); }), true);
}

void leaders_all_reduce(ScheduleWriter& writer, const Variant& variant, const LeaderLevels& of) {
  LeadersWriter levels(writer, variant, of);
  const auto sums = levels.reduce_up();
  const auto results =
      levels.of_leaders([&](int rank, int share) { return writer.output(rank, share); });
  levels.write_across(sums, results, true);
  levels.broadcast_down(results);
}

ParameterChoices level_choices() {
  ParameterChoices parameter{"level", {}};
  for (const auto& named : enum_names(Locality{}))
    parameter.settings.emplace_back(std::string(named.name));
  return parameter;
}

Locality level_of_groups(const Variant& variant) {
  return parse_name<Locality>(word(variant, "level"));
}

std::string why_not_leaders(const Topology& topology, const Capability& capability,
                            const Variant& variant, const LeaderLevels& of) {
  const Locality level = level_of_groups(variant);
  int groups = topology.nodes;
  if (level == Locality::node) {
    if (topology.nodes < 2 || topology.ranks_per_node < 2)
      return "it needs several nodes, and several ranks on one";
  } else {
    const std::string place = level == Locality::numa ? "NUMA domain" : "last-level cache";
    const int places = count_places(capability, level);
    if (places < 2)
      return "the ranks of the node have one " + place + ", or are not bound to cores of one each";
    if (topology.ranks_per_node <= places) return "no " + place + " has several of the ranks";
    groups *= places;
  }
  const int members = (topology.ranks + groups - 1) / groups;
  std::string why;
  if (of.up) why = why_not_among(level_of(of.up, variant, "up").algorithm, members);
  if (why.empty() && of.down)
    why = why_not_among(level_of(of.down, variant, "down").algorithm, members);
  if (!why.empty()) return "inside a group: " + why;
  why = why_not_among(level_of(of.across, variant, "across").algorithm, groups);
  return why.empty() ? why : "across groups: " + why;
}

/// A sweep tries the algorithms that reduce up and broadcast down only in pairs that move data
/// alike.
bool is_leaders_pair(const Variant& variant) {
  const std::string up = word(variant, "up");
  const std::string down = word(variant, "down");
  return up == "two_shot" ? down.starts_with("scatter_all_gather") : down.starts_with(up);
}

using WriteLeadersWave = void (*)(ScheduleWriter&, const Variant&, const LeaderLevels&);

ScheduledAlgorithm by_leaders(Collective collective, std::string description,
                              WriteLeadersWave write, const LeaderLevels& of) {
  ScheduledAlgorithm made{.name = "cpu." + std::string(name_of(collective)) + "_leaders",
                          .description = std::move(description),
                          .collective = collective,
                          .min_ranks = 3,
                          .is_pipeline = true,
                          .parameters = {level_choices(), choices_of("across", of.across)}};
  if (of.up) made.parameters.push_back(choices_of("up", of.up));
  if (of.down) made.parameters.push_back(choices_of("down", of.down));
  if (of.up && of.down) made.is_tried = is_leaders_pair;
  if (shape_of(collective).reduces) made.numeric_class = NumericClass::same_bits;
  made.write_wave = [write, of](ScheduleWriter& writer, const Variant& variant) {
    write(writer, variant, of);
  };
  made.shares = [of](const ScheduledCall& shape, const Variant& variant) {
    return Cuts(of, variant, Groups(shape)).shares();
  };
  made.why_not = [of](const Topology& topology, const Capability& capability,
                      const Variant& variant) {
    return why_not_leaders(topology, capability, variant, of);
  };
  made.groups_by = level_of_groups;
  return made;
}

}  // namespace

Implementations compose_leaders(const Implementations& all) {
  const auto levels = [&all](Collective collective, bool across) {
    return levels_for(all, collective, across);
  };
  std::vector<ScheduledAlgorithm> made;
  made.push_back(by_leaders(Collective::broadcast,
                            "broadcast among the groups' leaders, then in each group",
                            leaders_broadcast,
                            {.across = levels(Collective::broadcast, true),
                             .down = levels(Collective::broadcast, false)}));
  made.push_back(by_leaders(
      Collective::reduce, "reduce to each group's leader, then among the leaders", leaders_reduce,
      {.up = levels(Collective::reduce, false), .across = levels(Collective::reduce, true)}));
  made.push_back(
      by_leaders(Collective::all_reduce,
                 "reduce to each group's leader, all-reduce among the leaders, broadcast "
                 "in each group: S bytes between groups for each leader",
                 leaders_all_reduce,
                 {.up = levels(Collective::reduce, false),
                  .across = levels(Collective::all_reduce, true),
                  .down = levels(Collective::broadcast, false)}));
  return make_scheduled(std::move(made));
}

}  // namespace colltune::cpu
