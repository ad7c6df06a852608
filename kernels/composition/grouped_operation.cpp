// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <optional>
#include <utility>

#include "colltune/vocabulary/composition.h"
#include "grouped_layout.h"
#include "joint_stages.h"

namespace colltune {
namespace {

constexpr std::string_view groups_words = "a collective by groups";
constexpr std::string_view inside_words = "its part inside the group";
constexpr std::string_view bridge_words = "its part of the bridge between groups";

/// Checks what may be wrong on this rank only.
void check_own(const Communicator& communicator, const Call& call, const Implementation& bridge) {
  const int ranks = communicator.size();
  const bool is_root = communicator.rank() == call.root;
  const std::string who = "rank " + std::to_string(communicator.rank());
  // All stages agree on this (find_implementations).
  const bool is_on_device = communicator.device() != nullptr;
  if (bridge.runs_on_device() != is_on_device)
    throw Error(StatusCode::invalid_argument,
                who + " has its buffers " +
                    (is_on_device ? "on a device" : "in the host's memory") + ", where " +
                    std::string(bridge.name()) + " does not take them");
  const auto require = [&](std::string_view which, std::size_t given, Bytes needed) {
    if (given != needed.value)
      throw Error(StatusCode::invalid_argument, who + " gives " + format_bytes({given}) + " to " +
                                                    std::string(which) + ", not " +
                                                    format_bytes(needed));
  };
  require("send", call.buffers.send.size(), send_size(call.problem, ranks, is_root));
  require("receive", call.buffers.receive.size(), receive_size(call.problem, ranks, is_root));
}

/// The limits of one stage of one group.
struct StageBound {
  Limits limits{};
  int ranks = 0;
  int group = 0;
  PartRole role = PartRole::bridge;
  std::string variant{};
};

Problem stage_in(const GroupedStages& stages, PartRole role) {
  return role == PartRole::before  ? *stages.before
         : role == PartRole::after ? *stages.after
                                   : stages.bridge;
}

/// Calls `act(implementation, variant, bound)` for the stages of all groups, in the same order on
/// all ranks; `bound` lacks its limits.
template <class Act>
void for_each_stage(const Grouping& grouping, const GroupedImplementations& found,
                    std::span<const int> sizes, Act act) {
  for (std::size_t group = 0; group < sizes.size(); ++group) {
    const auto& [before, after] = found.inside[group];
    const GroupVariants& own = grouping.inside[group];
    const auto bound = [&](PartRole role, const Variant& variant) {
      return StageBound{.ranks = sizes[group],
                        .group = static_cast<int>(group),
                        .role = role,
                        .variant = to_string(variant)};
    };
    if (before != nullptr) act(*before, *own.before, bound(PartRole::before, *own.before));
    if (after != nullptr) act(*after, *own.after, bound(PartRole::after, *own.after));
  }
  act(*found.bridge, grouping.bridge,
      StageBound{.ranks = static_cast<int>(sizes.size()), .variant = to_string(grouping.bridge)});
}

/// The leaders that some roots lead to, and what they do among themselves.
struct LeadersBridge {
  Groups groups;
  std::unique_ptr<Communicator> across{};  ///< null if this rank is no leader
  std::unique_ptr<Operation> operation{};  ///< null likewise, and while the bridge is in use
};

class GroupedOperation final : public Operation {
 public:
  GroupedOperation(Communicator& communicator, const Call& call, const Grouping& grouping,
                   const GroupedImplementations& found, Deadline deadline)
      : prepared_(call),
        rank_(communicator.rank()),
        ranks_(communicator.size()),
        has_root_(shape_of(call.problem.collective).has_root),
        stages_(groups_words, communicator, call.buffers) {
    const std::vector<int> sizes = group_sizes(grouping.group_of_rank);
    find_bounds(grouping, found, communicator.nodes(), sizes);
    choose_bridges(grouping);
    group_ = current().groups.group_of(rank_);
    // What follows in other sizes is prepared for none, and takes the first call as any other.
    Call first = call;
    if (follows()) {
      first.problem.message_size = {};
      first.buffers = {};
    }
    attempt_together(communicator, groups_words, deadline, [&] {
      check_own(communicator, call, *found.bridge);
      reserve();
      for (int stage = 0; stage < 3; ++stage) stages_.add({});
      stages_.at(0).waiting_for = stages_.at(2).waiting_for = inside_words;
      stages_.at(0).members = stages_.at(2).members = current().groups.of_group(group_);
      stages_.at(1).waiting_for = bridge_words;
      use(first);
    });
    inside_ = communicator.split(group_, rank_, deadline);
    for (LeadersBridge& bridge : bridges_)
      bridge.across = communicator.split(is_leader_in(bridge) ? 0 : -1,
                                         bridge.groups.group_of(rank_), deadline);
    // One stage after the other, each on all ranks: if a rank fails in one, no rank enters the
    // next.
    const GroupVariants& own = grouping.inside[static_cast<std::size_t>(group_)];
    const auto& [before, after] = found.inside[static_cast<std::size_t>(group_)];
    const auto prepare_inside = [&](std::size_t at, const Implementation* by,
                                    const std::optional<Variant>& variant) {
      attempt_together(communicator, groups_words, deadline, [&] {
        JointStage& stage = stages_.at(at);
        if (by != nullptr) stage.prepare(*inside_, {*by, *variant}, Call(stage.call), deadline);
      });
    };
    prepare_inside(0, before, own.before);
    for (std::size_t number = 0; number < bridges_.size(); ++number)
      attempt_together(communicator, groups_words, deadline, [&] {
        prepare_bridge(number, {*found.bridge, grouping.bridge}, deadline);
      });
    prepare_inside(2, after, own.after);
    if (!follows()) return;
    attempt_together(communicator, groups_words, deadline, [&] {
      use(call);
      stages_.rebind(call.buffers);
    });
  }

  void bind(const CallBuffers& buffers) override { stages_.bind(buffers); }
  void rebind(const Call& call) override {
    if (!why_not_rebound_.empty())
      throw Error(StatusCode::failed_precondition,
                  "this collective by groups keeps the size and the root it was prepared for: " +
                      why_not_rebound_);
    check_rebound(prepared_, call, rank_, ranks_);
    check_bounds(call.problem);
    use(call);
    stages_.rebind(call.buffers);
  }
  void start() override { stages_.start(); }
  void wait(Deadline deadline) override { stages_.wait(deadline); }
  [[nodiscard]] std::optional<std::chrono::nanoseconds> device_time() const override {
    return stages_.device_time();
  }
  [[nodiscard]] std::optional<Executed> executed() const override { return stages_.executed(); }
  [[nodiscard]] bool is_lost() const override {
    for (const LeadersBridge& bridge : bridges_)
      if (bridge.operation != nullptr && bridge.operation->is_lost()) return true;
    return stages_.is_lost();
  }
  void give_up() noexcept override {
    stages_.give_up();
    for (const LeadersBridge& bridge : bridges_)
      if (bridge.operation != nullptr) bridge.operation->give_up();
  }

 private:
  /// Whether calls of other sizes and roots may follow.
  [[nodiscard]] bool follows() const {
    return prepared_.capacity != Bytes{} && why_not_rebound_.empty();
  }
  [[nodiscard]] LeadersBridge& current() { return bridges_[current_]; }
  [[nodiscard]] bool is_leader_in(const LeadersBridge& bridge) const {
    return bridge.groups.leader(bridge.groups.group_of(rank_)) == rank_;
  }

  /// What bounds all stages, and whether all of them take other sizes: the same on all ranks.
  void find_bounds(const Grouping& grouping, const GroupedImplementations& found,
                   std::span<const int> nodes, std::span<const int> sizes) {
    const GroupTopologies topologies =
        grouped_topologies(nodes, grouping.group_of_rank, prepared_.problem.collective);
    for_each_stage(
        grouping, found, sizes,
        [&](const Implementation& implementation, const Variant& variant, StageBound bound) {
          bound.limits = implementation.limits(variant);
          const Topology& topology = bound.role == PartRole::bridge
                                         ? topologies.bridge
                                         : topologies.inside[static_cast<std::size_t>(bound.group)];
          const Problem stage =
              stage_in(grouped_stages(prepared_.problem, sizes, bound.group), bound.role);
          const std::string why = implementation.traits(stage, topology, variant).why_not_rebound;
          if (why_not_rebound_.empty() && !why.empty())
            why_not_rebound_ = bound.variant + ": " + why;
          bounds_.push_back(std::move(bound));
        });
  }

  /// Throws Error(invalid_argument), on all ranks alike, if a stage of `problem` is outside the
  /// limits of its variant.
  void check_bounds(const Problem& problem) {
    for (const StageBound& bound : bounds_) {
      const Problem stage =
          stage_in(grouped_stages(problem, current().groups.sizes, bound.group), bound.role);
      if (const std::string why = why_outside(bound.limits, stage, bound.ranks); !why.empty())
        throw Error(StatusCode::invalid_argument, "a collective by groups: " + bound.variant +
                                                      " for " + describe(stage) + ": " + why);
    }
  }

  /// The bridges of all roots that may come: one for the lowest ranks of the groups, and one for
  /// each other rank, which leads its group if it is the root.
  void choose_bridges(const Grouping& grouping) {
    const std::vector<int>& group_of_rank = grouping.group_of_rank;
    if (!has_root_ || !follows()) {
      bridges_.push_back({.groups = Groups(group_of_rank, has_root_ ? std::optional(prepared_.root)
                                                                    : std::nullopt)});
      bridge_of_root_.assign(static_cast<std::size_t>(ranks_), 0);
      return;
    }
    bridges_.push_back({.groups = Groups(group_of_rank, std::nullopt)});
    for (int root = 0; root < ranks_; ++root) {
      const Groups& lowest = bridges_.front().groups;
      const bool is_lowest = lowest.leader(lowest.group_of(root)) == root;
      bridge_of_root_.push_back(is_lowest ? 0 : bridges_.size());
      if (!is_lowest) bridges_.push_back({.groups = Groups(group_of_rank, root)});
    }
    current_ = bridge_of_root_[static_cast<std::size_t>(prepared_.root)];
  }

  void reserve() {
    if (!follows()) return;
    // Any rank leads its group when it is the root.
    const bool may_lead = has_root_ || is_leader_in(current());
    stages_.memory().reserve(may_lead ? grouped_reserve(prepared_.problem.collective,
                                                        prepared_.capacity, current().groups)
                                      : Bytes{},
                             stages_.device());
  }

  /// The largest messages of the stages of calls that may follow.
  [[nodiscard]] GroupedStages largest_stages() {
    Problem largest = prepared_.problem;
    largest.data_type = DataType::u8;  // of any type, a block has no more bytes
    largest.message_size = prepared_.capacity;
    return grouped_stages(largest, current().groups.sizes, group_);
  }

  /// Sets what each stage does in `call`. The lists of copies keep their memory from call to call.
  void use(const Call& call) {
    const std::size_t next =
        has_root_ ? bridge_of_root_[static_cast<std::size_t>(call.root)] : current_;
    if (next != current_) {
      bridges_[current_].operation = std::move(stages_.at(1).operation);
      stages_.at(1).operation = std::move(bridges_[next].operation);
      current_ = next;
    }
    Groups& groups = current().groups;
    if (has_root_) groups.root_group = groups.group_of(call.root);
    stages_.at(1).members = groups.leaders;

    GroupedLayout layout;
    const std::size_t most = most_grouped_copies(call.problem.collective, groups);
    for (const auto& [copies, stage] : {std::pair(&layout.before.copies, std::size_t{0}),
                                        std::pair(&layout.bridge.copies, std::size_t{1}),
                                        std::pair(&layout.after.copies, std::size_t{2})}) {
      *copies = std::move(stages_.at(stage).copies);
      copies->reset(most);
    }
    stages_.memory().rewind();
    lay_out_groups(call, groups, rank_, stages_.device(), stages_.memory(), layout);

    const GroupedStages problems = grouped_stages(call.problem, groups.sizes, group_);
    const GroupedStages largest = largest_stages();
    const int place = groups.place_of_leader(group_);
    const auto set = [&](std::size_t at, GroupedLayout::Stage& laid_out,
                         const std::optional<Problem>& problem, Bytes most_bytes, int root) {
      JointStage& stage = stages_.at(at);
      stage.copies = std::move(laid_out.copies);
      if (!problem) return;
      stage.call = {.problem = *problem,
                    .root = root,
                    .buffers = laid_out.buffers,
                    .longest_wait = prepared_.longest_wait,
                    .capacity = follows() ? std::max(most_bytes, Bytes{1}) : Bytes{}};
    };
    set(0, layout.before, problems.before, largest.before ? largest.before->message_size : Bytes{},
        place);
    set(1, layout.bridge, problems.bridge, largest.bridge.message_size, groups.root_group);
    stages_.at(2).division = std::move(layout.division);
    set(2, layout.after, problems.after, largest.after ? largest.after->message_size : Bytes{},
        place);
  }

  /// Prepares bridge `number` on its leaders; that of other leaders than the first call's for calls
  /// that follow.
  void prepare_bridge(std::size_t number, const ImplementedBy& by, Deadline deadline) {
    LeadersBridge& bridge = bridges_[number];
    if (bridge.across == nullptr) return;
    JointStage& stage = stages_.at(1);
    if (number == current_) {
      stage.prepare(*bridge.across, by, Call(stage.call), deadline);
      return;
    }
    // Of no bytes, like the first call.
    Call call = stage.call;
    call.root = bridge.groups.root_group;
    call.buffers = {};
    bridge.operation = with_ranks_of_all(bridge.groups.leaders, bridge_words, [&] {
      return by.implementation.prepare(*bridge.across, call, by.variant, deadline);
    });
  }

  Call prepared_;
  int rank_;
  int ranks_;
  bool has_root_;
  int group_ = 0;
  std::string why_not_rebound_{};
  std::vector<StageBound> bounds_{};
  std::unique_ptr<Communicator> inside_{};
  std::vector<LeadersBridge> bridges_{};
  std::vector<std::size_t> bridge_of_root_{};
  std::size_t current_ = 0;  ///< the bridge that is in use
  JointStages stages_;
};

}  // namespace

std::unique_ptr<Operation> prepare_grouped(Communicator& communicator, const Call& call,
                                           const Grouping& grouping,
                                           const Implementations& catalogue, Deadline deadline) {
  const int ranks = communicator.size();
  if (grouping.group_of_rank.size() != static_cast<std::size_t>(ranks))
    throw Error(StatusCode::invalid_argument, "a collective by groups: a group each for " +
                                                  std::to_string(grouping.group_of_rank.size()) +
                                                  " ranks, not for the " + std::to_string(ranks) +
                                                  " of the communicator");
  const GroupedImplementations found = find_implementations(call.problem, grouping, catalogue);
  check_limits(call.problem, grouping, found);
  if (shape_of(call.problem.collective).has_root && (call.root < 0 || call.root >= ranks))
    throw Error(StatusCode::invalid_argument, "a collective by groups: the root is " +
                                                  std::to_string(call.root) + ", not one of 0 to " +
                                                  std::to_string(ranks - 1));
  return std::make_unique<GroupedOperation>(communicator, call, grouping, found, deadline);
}

}  // namespace colltune
