// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "colltune/kernels/operation.h"

namespace colltune {

/// Memory for a rank's own block, so that an all_gather or a reduce_scatter in place can run as one
/// that is not.
class OwnBlock {
 public:
  /// The buffers of that call, for those of a call in place. Refer to this.
  [[nodiscard]] CallBuffers instead_of(Collective collective, CallBuffers in_place) {
    sent_ = {};
    received_ = {};
    const bool receives = collective == Collective::reduce_scatter;
    const std::size_t size = receives ? in_place.receive.size() : in_place.send.size();
    if (memory_.size() < size) memory_.resize(size);
    const std::span<std::byte> block = std::span(memory_).first(size);
    if (receives) {
      received_ = in_place.receive;
      in_place.receive = block;
    } else {
      sent_ = in_place.send;
      in_place.send = block;
    }
    return in_place;
  }
  /// Around each such call.
  void before_start() {
    if (!sent_.empty()) std::memcpy(memory_.data(), sent_.data(), sent_.size());
  }
  void after_wait() const {
    if (!received_.empty()) std::memcpy(received_.data(), memory_.data(), received_.size());
  }
  /// The next call is not in place.
  void be_unused() {
    sent_ = {};
    received_ = {};
  }

 private:
  std::vector<std::byte> memory_;
  std::span<const std::byte> sent_;  ///< of an all_gather
  std::span<std::byte> received_;    ///< of a reduce_scatter
};

/// A call in place by one that is not: a reduce_scatter, since MPI's in place leaves the result in
/// block 0 and overwrites the others; either, where a rank cannot tell whether the call is in
/// place.
class ByWayOfBlock final : public Operation {
 public:
  /// `make` prepares a call that is not in place.
  template <class Make>
  ByWayOfBlock(Call call, const Make& make) {
    redirect(call);
    operation_ = make(call);
  }
  void bind(const CallBuffers& buffers) override {
    check_bound_sizes(given_, buffers);
    operation_->bind(is_in_place_ ? own_.instead_of(collective_, buffers) : buffers);
    given_ = buffers;
  }
  void rebind(const Call& call) override {
    Call redirected = call;
    redirect(redirected);
    operation_->rebind(redirected);
  }
  void start() override {
    own_.before_start();
    operation_->start();
  }
  void wait(Deadline deadline) override {
    operation_->wait(deadline);
    own_.after_wait();
  }

 private:
  void redirect(Call& call) {
    collective_ = call.problem.collective;
    is_in_place_ = call.problem.in_place;
    given_ = call.buffers;
    own_.be_unused();
    if (!is_in_place_) return;
    call.problem.in_place = false;
    call.buffers = own_.instead_of(collective_, call.buffers);
  }

  Collective collective_ = Collective::reduce_scatter;
  bool is_in_place_ = false;
  CallBuffers given_;  ///< by the caller
  OwnBlock own_;
  std::unique_ptr<Operation> operation_;
};

}  // namespace colltune
