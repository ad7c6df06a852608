// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "grouped_layout.h"
#include "joint_steps.h"

namespace colltune {
namespace {

constexpr std::string_view joint_words = "a collective by groups";
constexpr std::size_t behind_bridge = 2;  ///< the step inside the group
constexpr std::string_view inside_words = "its part inside the group";
constexpr std::string_view bridge_words = "its part of the bridge between groups";

/// What does not fit on this rank; others may have no such fault.
void check_own(const Communicator& communicator, const Call& call, const Implementation& bridge) {
  const int ranks = communicator.size();
  const bool is_root = communicator.rank() == call.root;
  const std::string who = "rank " + std::to_string(communicator.rank());
  // All steps are alike in this (find_implementations).
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

/// Runs this rank's steps one after the other: `start` begins the first, `wait` does the rest.
class GroupedOperation final : public Operation {
 public:
  GroupedOperation(Communicator& communicator, const Call& call, const Grouping& grouping,
                   const GroupedImplementations& implementations, Deadline deadline)
      : groups_(grouping.group_of_rank, shape_of(call.problem.collective).has_root
                                            ? std::optional(call.root)
                                            : std::nullopt),
        is_one_node_(communicator.is_one_node()),
        device_(communicator.device()) {
    const int rank = communicator.rank();
    const int group = groups_.group_of(rank);
    attempt_together(communicator, joint_words, deadline, [&] {
      check_own(communicator, call, *implementations.bridge);
      layout_ = std::make_unique<GroupedLayout>(make_grouped_layout(call, groups_, rank, device_));
    });
    inside_ = communicator.split(group, rank, deadline);
    const bool is_leader = groups_.leader(group) == rank;
    across_ = communicator.split(is_leader ? 0 : -1, group, deadline);

    const GroupedSteps steps = grouped_steps(call.problem, groups_.sizes, group);
    const auto at = static_cast<std::size_t>(group);
    const GroupVariants& own = grouping.inside[at];
    const Implementation* const before = implementations.inside[at].before;
    const Implementation* const after = implementations.inside[at].after;
    steps_[0] = {groups_.of_group(group), inside_words, std::move(layout_->before.copies)};
    steps_[1] = {groups_.leaders, bridge_words, std::move(layout_->bridge.copies)};
    steps_[2] = {groups_.of_group(group), inside_words, std::move(layout_->after.copies)};
    division_ = std::move(layout_->division);
    const int place = groups_.place_of_leader(group);
    // One after the other, each on all ranks: a rank that fails in one leaves nobody in the next.
    attempt_together(communicator, joint_words, deadline, [&] {
      if (before != nullptr)
        prepare(steps_[0], *inside_, {*before, *own.before},
                {*steps.before, place, layout_->before.buffers}, deadline);
    });
    attempt_together(communicator, joint_words, deadline, [&] {
      if (is_leader)
        prepare(steps_[1], *across_, {*implementations.bridge, grouping.bridge},
                {steps.bridge, groups_.root_group, layout_->bridge.buffers}, deadline);
    });
    attempt_together(communicator, joint_words, deadline, [&] {
      if (after != nullptr)
        prepare(steps_[2], *inside_, {*after, *own.after},
                {*steps.after, place, layout_->after.buffers}, deadline);
    });
  }

  GroupedOperation(const GroupedOperation&) = delete;
  GroupedOperation& operator=(const GroupedOperation&) = delete;
  ~GroupedOperation() override {
    // What lies between the steps is to them as a caller's buffers: after a call that failed, a
    // message that the library does not let go of may still touch it (operation.h).
    if (is_under_way_ && !is_one_node_) static_cast<void>(layout_.release());
  }

  void start() override {
    if (is_under_way_)
      throw Error(StatusCode::failed_precondition,
                  "a collective by groups cannot start again: its last call has not completed");
    is_under_way_ = true;
    at_ = 0;
    begin_next();
  }

  void wait(Deadline deadline) override {
    while (at_ < steps_.size()) {
      const Step& step = steps_[at_];
      with_ranks_of_all(step.members, step.waiting_for, [&] { step.operation->wait(deadline); });
      ++at_;
      begin_next();
    }
    is_under_way_ = false;
  }

  [[nodiscard]] std::optional<std::chrono::nanoseconds> device_time() const override {
    std::optional<std::chrono::nanoseconds> sum;
    for (const Step& step : steps_)
      if (const auto own = step.operation ? step.operation->device_time() : std::nullopt)
        sum = sum.value_or(std::chrono::nanoseconds{}) + *own;
    return sum;
  }

 private:
  struct Step {
    std::vector<int> members{};
    std::string_view waiting_for{};
    Copies copies{};
    std::unique_ptr<Operation> operation{};  ///< null where this rank has no part in it
  };
  struct Prepared {
    const Implementation& implementation;
    const Variant& variant;
  };

  static void prepare(Step& step, Communicator& communicator, const Prepared& by, const Call& call,
                      Deadline deadline) {
    step.operation = with_ranks_of_all(step.members, step.waiting_for, [&] {
      return by.implementation.prepare(communicator, call, by.variant, deadline);
    });
  }

  /// Divides and copies what comes before the next step that this rank has a part in, and begins
  /// that.
  void begin_next() {
    for (; at_ < steps_.size(); ++at_) {
      if (at_ == behind_bridge) division_.run(device_);
      steps_[at_].copies.run(device_);
      if (steps_[at_].operation == nullptr) continue;
      steps_[at_].operation->start();
      return;
    }
  }

  Groups groups_;
  bool is_one_node_;  ///< so that the steps send no messages
  Device* device_;    ///< where the buffers lie; null: in the host's memory
  std::unique_ptr<GroupedLayout> layout_{};
  std::unique_ptr<Communicator> inside_;
  std::unique_ptr<Communicator> across_;  ///< null where this rank leads no group
  std::array<Step, 3> steps_;             ///< gone before what they stand on
  Division division_;
  std::size_t at_ = 0;
  bool is_under_way_ = false;  ///< for good after a call that failed
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
