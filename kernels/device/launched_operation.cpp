// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "launched_operation.h"

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "device_implementation.h"

namespace colltune {
namespace {

class LaunchedOperation final : public Operation {
 public:
  LaunchedOperation(std::shared_ptr<JointLaunch> launch, std::size_t place,
                    const Communicator& communicator, const Call& call, const DevicePlan& plan)
      : launch_(std::move(launch)),
        place_(place),
        rank_(communicator.rank()),
        ranks_(communicator.size()),
        prepared_(call),
        buffers_(call.buffers),
        why_not_rebound_(plan.why_not_rebound),
        sums_in_the_network_(plan.algorithm.needs_multicast),
        is_captured_(plan.is_captured),
        is_registered_(plan.call.registered),
        abort_flag_(communicator.abort_flag()),
        yields_at_once_(communicator.is_oversubscribed()) {}

  void bind(const CallBuffers& buffers) override {
    // Peers know the addresses of registered buffers, and a graph holds those of all.
    if (is_registered_ || is_captured_) return Operation::bind(buffers);
    check_bound_sizes(buffers_, buffers);
    launch_->bind(place_, buffers);
  }
  void rebind(const Call& call) override {
    if (!why_not_rebound_.empty()) throw Error(StatusCode::failed_precondition, why_not_rebound_);
    check_rebound(prepared_, call, rank_, ranks_);
    if (sums_in_the_network_ && shape_of(call.problem.collective).reduces &&
        !has_typed_kernel(call.problem))
      throw Error(StatusCode::invalid_argument,
                  describe(call.problem) + ": " + std::string(why_not_summed));
    device::DeviceCall next = describe_device_call(call.problem, ranks_, call.root);
    next.send = call.buffers.send.data();
    next.receive = call.buffers.receive.data();
    launch_->rebind(place_, next);
    buffers_ = call.buffers;
    // Not launched: ranks without a message would not learn from it that their peers have begun.
    is_empty_ = next.bytes == 0;
  }
  void start() override {
    if (!is_empty_) launch_->arrive(place_);
  }
  void wait(Deadline deadline) override {
    if (!is_empty_) launch_->wait(place_, deadline, abort_flag_, yields_at_once_);
  }
  void submit(void* queue) override {
    if (!is_captured_) return Operation::submit(queue);
    launch_->submit(queue);
  }
  void end_submitted() override { launch_->end_submitted(); }
  void check_submitted() const override { launch_->check(abort_flag_.is_raised()); }
  std::optional<std::chrono::nanoseconds> device_time() const override {
    if (is_empty_) return std::nullopt;
    return launch_->duration();
  }

 private:
  std::shared_ptr<JointLaunch> launch_;
  std::size_t place_;
  int rank_;
  int ranks_;
  Call prepared_;
  CallBuffers buffers_;  ///< of the last call
  std::string why_not_rebound_;
  bool sums_in_the_network_;
  bool is_empty_ = false;
  bool is_captured_;
  bool is_registered_;
  const AbortFlag& abort_flag_;
  bool yields_at_once_;
};

}  // namespace

std::unique_ptr<Operation> make_launched_operation(std::shared_ptr<JointLaunch> launch,
                                                   std::size_t place,
                                                   const Communicator& communicator,
                                                   const Call& call, const DevicePlan& plan) {
  return std::make_unique<LaunchedOperation>(std::move(launch), place, communicator, call, plan);
}

}  // namespace colltune
