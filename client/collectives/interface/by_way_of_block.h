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

/// A reduce_scatter in place by one that is not: MPI's in place leaves the result in block 0 and
/// overwrites the others.
class ByWayOfBlock final : public Operation {
 public:
  /// `make` prepares a call that is not in place.
  template <class Make>
  ByWayOfBlock(Call call, const Make& make) {
    redirect(call);
    operation_ = make(call);
  }
  void bind(const CallBuffers& buffers) override {
    if (own_.empty()) return operation_->bind(buffers);
    CallBuffers redirected = buffers;
    redirected.receive = std::span(block_).first(own_.size());
    check_bound_sizes({buffers.send, own_}, buffers);
    operation_->bind(redirected);
    own_ = buffers.receive;
  }
  void rebind(const Call& call) override {
    Call redirected = call;
    redirect(redirected);
    operation_->rebind(redirected);
  }
  void start() override { operation_->start(); }
  void wait(Deadline deadline) override {
    operation_->wait(deadline);
    if (!own_.empty()) std::memcpy(own_.data(), block_.data(), own_.size());
  }

 private:
  void redirect(Call& call) {
    own_ = {};
    if (!call.problem.in_place) return;
    own_ = call.buffers.receive;
    if (block_.size() < own_.size()) block_.resize(own_.size());
    call.problem.in_place = false;
    call.buffers.receive = std::span(block_).first(own_.size());
  }

  std::vector<std::byte> block_;
  std::span<std::byte> own_;  ///< where the result belongs; empty unless in place
  std::unique_ptr<Operation> operation_;
};

}  // namespace colltune
