// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "joint_steps.h"

#include <algorithm>
#include <utility>

#include "colltune/machine/keep_for_good.h"

namespace colltune {

void JointStep::prepare(Communicator& communicator, const ImplementedBy& by, const Call& first,
                        Deadline deadline) {
  call = first;
  operation = with_ranks_of_all(members, waiting_for, [&] {
    return by.implementation.prepare(communicator, first, by.variant, deadline);
  });
}

JointSteps::JointSteps(std::string_view what, const Communicator& communicator,
                       const CallBuffers& buffers)
    : what_(what),
      is_one_node_(communicator.is_one_node()),
      device_(communicator.device()),
      bound_(buffers) {}

JointSteps::~JointSteps() {
  // To the steps, the memory between them is like a caller's buffers: after a failed call, a
  // message that the library does not release may still touch it (operation.h).
  if (is_under_way_ && !is_one_node_) keep_for_good(std::move(memory_));
}

void JointSteps::bind(const CallBuffers& buffers) {
  const Move move(bound_, buffers);
  for (JointStep& step : steps_) {
    step.copies.follow(move);
    step.division.follow(move);
    if (step.operation == nullptr) continue;
    step.call.buffers = move(step.call.buffers);
    step.operation->bind(step.call.buffers);
  }
  bound_ = buffers;
}

void JointSteps::rebind(const CallBuffers& buffers) {
  for (JointStep& step : steps_)
    if (step.operation != nullptr) step.operation->rebind(step.call);
  bound_ = buffers;
}

void JointSteps::start() {
  if (is_under_way_)
    throw Error(StatusCode::failed_precondition,
                std::string(what_) + " cannot start again: its last call has not completed");
  is_under_way_ = true;
  at_ = 0;
  begin_next();
}

void JointSteps::wait(Deadline deadline) {
  while (at_ < steps_.size()) {
    const JointStep& step = steps_[at_];
    with_ranks_of_all(step.members, step.waiting_for, [&] { step.operation->wait(deadline); });
    ++at_;
    begin_next();
  }
  is_under_way_ = false;
}

std::optional<std::chrono::nanoseconds> JointSteps::device_time() const {
  std::optional<std::chrono::nanoseconds> sum;
  for (const JointStep& step : steps_)
    if (const auto own = step.operation ? step.operation->device_time() : std::nullopt)
      sum = sum.value_or(std::chrono::nanoseconds{}) + *own;
  return sum;
}

std::optional<Executed> JointSteps::executed() const {
  std::optional<Executed> all;
  for (const JointStep& step : steps_) {
    const auto own = step.operation ? step.operation->executed() : std::nullopt;
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

bool JointSteps::is_lost() const {
  return std::ranges::any_of(steps_, [](const JointStep& step) {
    return step.operation != nullptr && step.operation->is_lost();
  });
}

void JointSteps::give_up() noexcept {
  for (const JointStep& step : steps_)
    if (step.operation != nullptr) step.operation->give_up();
}

void JointSteps::begin_next() {
  for (; at_ < steps_.size(); ++at_) {
    JointStep& step = steps_[at_];
    step.division.run(device_);
    step.copies.run(device_);
    if (step.operation == nullptr) continue;
    step.operation->start();
    return;
  }
}

}  // namespace colltune
