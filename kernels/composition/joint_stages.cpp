// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "joint_stages.h"

#include <algorithm>
#include <utility>

#include "colltune/machine/keep_for_good.h"

namespace colltune {

void JointStage::prepare(Communicator& communicator, const ImplementedBy& by, const Call& first,
                         Deadline deadline) {
  call = first;
  operation = with_ranks_of_all(members, waiting_for, [&] {
    return by.implementation.prepare(communicator, first, by.variant, deadline);
  });
}

JointStages::JointStages(std::string_view what, const Communicator& communicator,
                         const CallBuffers& buffers)
    : what_(what),
      is_one_node_(communicator.is_one_node()),
      device_(communicator.device()),
      bound_(buffers) {}

JointStages::~JointStages() {
  // To the stages, the memory between them is like a caller's buffers: after a failed call, a
  // message that the library does not release may still touch it (operation.h).
  if (is_under_way_ && !is_one_node_) keep_for_good(std::move(memory_));
}

void JointStages::bind(const CallBuffers& buffers) {
  const Move move(bound_, buffers);
  for (JointStage& stage : stages_) {
    stage.copies.follow(move);
    stage.division.follow(move);
    if (stage.operation == nullptr) continue;
    stage.call.buffers = move(stage.call.buffers);
    stage.operation->bind(stage.call.buffers);
  }
  bound_ = buffers;
}

void JointStages::rebind(const CallBuffers& buffers) {
  for (JointStage& stage : stages_)
    if (stage.operation != nullptr) stage.operation->rebind(stage.call);
  bound_ = buffers;
}

void JointStages::start() {
  if (is_under_way_)
    throw Error(StatusCode::failed_precondition,
                std::string(what_) + " cannot start again: its last call has not completed");
  is_under_way_ = true;
  at_ = 0;
  begin_next();
}

void JointStages::wait(Deadline deadline) {
  while (at_ < stages_.size()) {
    const JointStage& stage = stages_[at_];
    with_ranks_of_all(stage.members, stage.waiting_for, [&] { stage.operation->wait(deadline); });
    ++at_;
    begin_next();
  }
  is_under_way_ = false;
}

std::optional<std::chrono::nanoseconds> JointStages::device_time() const {
  std::optional<std::chrono::nanoseconds> sum;
  for (const JointStage& stage : stages_)
    if (const auto own = stage.operation ? stage.operation->device_time() : std::nullopt)
      sum = sum.value_or(std::chrono::nanoseconds{}) + *own;
  return sum;
}

std::optional<Executed> JointStages::executed() const {
  std::optional<Executed> all;
  for (const JointStage& stage : stages_) {
    const auto own = stage.operation ? stage.operation->executed() : std::nullopt;
    if (!own) continue;
    if (!all) {
      all = own;
      continue;
    }
    all->choice += "; " + own->choice;
    all->is_what_was_named = all->is_what_was_named && own->is_what_was_named;
  }
  return all;
}

bool JointStages::is_lost() const {
  return std::ranges::any_of(stages_, [](const JointStage& stage) {
    return stage.operation != nullptr && stage.operation->is_lost();
  });
}

void JointStages::give_up() noexcept {
  for (const JointStage& stage : stages_)
    if (stage.operation != nullptr) stage.operation->give_up();
}

void JointStages::begin_next() {
  for (; at_ < stages_.size(); ++at_) {
    JointStage& stage = stages_[at_];
    stage.division.run(device_);
    stage.copies.run(device_);
    if (stage.operation == nullptr) continue;
    stage.operation->start();
    return;
  }
}

}  // namespace colltune
