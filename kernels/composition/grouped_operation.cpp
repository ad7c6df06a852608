// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <chrono>
#include <optional>
#include <utility>

#include "grouped_layout.h"
#include "joint_stages.h"

namespace colltune {
namespace {

constexpr std::string_view joint_words = "a collective by groups";
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

class GroupedOperation final : public Operation {
 public:
  GroupedOperation(Communicator& communicator, const Call& call, const Grouping& grouping,
                   const GroupedImplementations& implementations, Deadline deadline)
      : stages_(joint_words, communicator, call.buffers) {
    const Groups groups(grouping.group_of_rank, shape_of(call.problem.collective).has_root
                                                    ? std::optional(call.root)
                                                    : std::nullopt);
    const int rank = communicator.rank();
    const int group = groups.group_of(rank);
    GroupedLayout layout;
    attempt_together(communicator, joint_words, deadline, [&] {
      check_own(communicator, call, *implementations.bridge);
      layout = make_grouped_layout(call, groups, rank, stages_.device(), stages_.memory());
    });
    inside_ = communicator.split(group, rank, deadline);
    const bool is_leader = groups.leader(group) == rank;
    across_ = communicator.split(is_leader ? 0 : -1, group, deadline);

    const GroupedStages problems = grouped_stages(call.problem, groups.sizes, group);
    const auto at = static_cast<std::size_t>(group);
    const GroupVariants& own = grouping.inside[at];
    const Implementation* const before = implementations.inside[at].before;
    const Implementation* const after = implementations.inside[at].after;
    const int place = groups.place_of_leader(group);
    // One group after the other, each on all ranks: if a rank fails in one, no rank enters the
    // next.
    attempt_together(communicator, joint_words, deadline, [&] {
      JointStage stage{.members = groups.of_group(group),
                       .waiting_for = inside_words,
                       .copies = std::move(layout.before.copies)};
      if (before != nullptr)
        stage.prepare(*inside_, {*before, *own.before},
                      {*problems.before, place, layout.before.buffers, call.longest_wait},
                      deadline);
      stages_.add(std::move(stage));
    });
    attempt_together(communicator, joint_words, deadline, [&] {
      JointStage stage{.members = groups.leaders,
                       .waiting_for = bridge_words,
                       .copies = std::move(layout.bridge.copies)};
      if (is_leader)
        stage.prepare(
            *across_, {*implementations.bridge, grouping.bridge},
            {problems.bridge, groups.root_group, layout.bridge.buffers, call.longest_wait},
            deadline);
      stages_.add(std::move(stage));
    });
    attempt_together(communicator, joint_words, deadline, [&] {
      JointStage stage{.members = groups.of_group(group),
                       .waiting_for = inside_words,
                       .division = std::move(layout.division),
                       .copies = std::move(layout.after.copies)};
      if (after != nullptr)
        stage.prepare(*inside_, {*after, *own.after},
                      {*problems.after, place, layout.after.buffers, call.longest_wait}, deadline);
      stages_.add(std::move(stage));
    });
  }

  void bind(const CallBuffers& buffers) override { stages_.bind(buffers); }
  void start() override { stages_.start(); }
  void wait(Deadline deadline) override { stages_.wait(deadline); }
  [[nodiscard]] std::optional<std::chrono::nanoseconds> device_time() const override {
    return stages_.device_time();
  }
  [[nodiscard]] std::optional<Executed> executed() const override { return stages_.executed(); }
  [[nodiscard]] bool is_lost() const override { return stages_.is_lost(); }
  void give_up() noexcept override { stages_.give_up(); }

 private:
  std::unique_ptr<Communicator> inside_{};
  std::unique_ptr<Communicator> across_{};  ///< null if this rank leads no group
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
