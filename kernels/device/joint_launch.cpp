// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "joint_launch.h"

#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "colltune/kernels/communication/bounded_wait.h"
#include "colltune/machine/keep_for_good.h"

namespace colltune {
namespace {

using namespace std::chrono_literals;

// Far more than needed: once told to end, a waiting kernel checks the flag every few microseconds.
constexpr auto time_to_end = 10s;

std::atomic_ref<std::uint64_t> atomic(std::uint64_t& word) { return std::atomic_ref(word); }

}  // namespace

JointLaunch::JointLaunch(Device& device, std::vector<Participant> members, DeviceMemory control,
                         std::unique_ptr<DeviceLaunch> launch, const device::DeviceCall& first)
    : device_(device),
      members_(std::move(members)),
      control_(std::move(control)),
      launch_(std::move(launch)),
      calls_(members_.size(), first),
      begun_(members_.size()) {}

JointLaunch::~JointLaunch() {
  if (launched_.load() > 0 && !end_kernel()) {
    // A kernel may write to its memory as long as it runs, so the memory is kept.
    keep_for_good(std::move(launch_));
    keep_for_good(std::make_unique<std::vector<Participant>>(std::move(members_)));
    keep_for_good(std::make_unique<DeviceMemory>(std::move(control_)));
    return;
  }
  for (Participant& member : members_) {
    for (std::byte* const opened : member.opened) device_.close(opened);
    if (member.multicast) device_.virtual_memory()->leave(std::move(*member.multicast));
  }
}

device::Control& JointLaunch::control() const {
  return *reinterpret_cast<device::Control*>(control_.bytes().data());
}

void JointLaunch::rebind(std::size_t place, const device::DeviceCall& call) {
  launch_->rebind(place, call);
  calls_[place] = call;
}

void JointLaunch::arrive(std::size_t place) {
  const std::uint64_t number = begun_[place].fetch_add(1) + 1;
  if (arrivals_.fetch_add(1) + 1 != number * members_.size()) return;
  const std::lock_guard lock(mutex_);
  failure_ = launch();
  launched_.store(number, std::memory_order_release);
}

std::optional<Error> JointLaunch::launch() {
  if (who_gave_up_ >= 0)
    return Error(StatusCode::aborted, "rank " + std::to_string(who_gave_up_) +
                                          " has given up waiting for this call on its device");
  for (std::size_t place = 1; place < members_.size(); ++place)
    if (!calls_[place].is_like(calls_.front()))
      return Error(StatusCode::invalid_argument,
                   "ranks " + std::to_string(members_.front().rank) + " and " +
                       std::to_string(members_[place].rank) +
                       ", which share a device, make unlike calls: they differ in size, root, type "
                       "or operator");
  // No kernel reads the flag now: all members have returned from the last call.
  atomic(control().abort).store(0);
  try {
    launch_->start();
  } catch (const Error& error) {
    return error;
  } catch (const std::exception& error) {
    return Error(StatusCode::internal, error.what());
  }
  return std::nullopt;
}

int JointLaunch::who_is_late(std::uint64_t number) const {
  for (std::size_t place = 0; place < members_.size(); ++place)
    if (begun_[place].load() < number) return members_[place].rank;
  return members_.front().rank;
}

bool JointLaunch::end_kernel() noexcept {
  try {
    if (launch_->has_ended()) return true;
    atomic(control().abort).store(1);
    const auto give_up = std::chrono::steady_clock::now() + time_to_end;
    while (!launch_->has_ended()) {
      if (std::chrono::steady_clock::now() > give_up) return false;
      std::this_thread::sleep_for(100us);
    }
    return true;
  } catch (const Error&) {
    return true;  // a device that reports a fault no longer runs anything
  }
}

void JointLaunch::wait(std::size_t place, Deadline deadline, const AbortFlag& abort_flag,
                       bool yields_at_once) {
  const std::uint64_t number = begun_[place].load();
  BoundedWait wait(deadline, abort_flag, yields_at_once);
  try {
    while (launched_.load(std::memory_order_acquire) < number)
      wait.step(who_is_late(number), "its call on the same device");
  } catch (const RankMissing&) {
    const std::lock_guard lock(mutex_);
    if (launched_.load() < number) {
      who_gave_up_ = members_[place].rank;
      throw;
    }
    // It was launched at the last moment; below, this waits for the kernel and ends it.
  }
  if (failure_) throw Error(*failure_);
  try {
    while (!launch_->has_ended()) wait.step(members_[place].rank, "the kernel");
  } catch (const RankMissing&) {
    if (!end_kernel())
      throw Error(StatusCode::internal, "the kernel of rank " +
                                            std::to_string(members_[place].rank) +
                                            " did not end within 10 s after it was told to");
  }
  // A kernel that never had to wait finishes normally even when told to end.
  check(abort_flag.is_raised());
}

void JointLaunch::submit(void* queue) {
  if (members_.size() > 1)
    throw Error(StatusCode::failed_precondition,
                std::to_string(members_.size()) +
                    " ranks share the device, and their kernels start together: no graph of one of "
                    "them can hold them");
  launch_->submit(queue);
}

void JointLaunch::end_submitted() { atomic(control().abort).store(1); }

void JointLaunch::check(bool was_aborted) const {
  if (const std::uint64_t missing = atomic(control().missing).load(); missing != 0)
    throw RankMissing(static_cast<int>(missing) - 1, "a signal on the device", was_aborted);
}

}  // namespace colltune
