// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "plain_calls.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>
#include <utility>

#include "colltune/collectives/executor.h"
#include "colltune/kernels/catalogue.h"
#include "colltune/vocabulary/problem.h"
#include "colltune/vocabulary/variant.h"

namespace colltune {
namespace {

// Room for any call's size: no more than the sizes of waves depends on it.
constexpr Bytes any_size{std::uint64_t{1} << 46U};

/// By collective.
constexpr std::array<std::string_view, enum_names(Collective{}).size()> thread_variants{
    "cpu.all_reduce_two_shot{access=staged,chunk=65536,flow=pull,slots=4,stores=cached}",
    "cpu.all_gather_flat{access=staged,chunk=65536,flow=pull,slots=4,stores=cached}",
    "cpu.reduce_scatter_flat{access=staged,chunk=65536,slots=4,stores=cached}",
    "cpu.broadcast_flat{access=staged,chunk=65536,flow=pull,slots=4,stores=cached}",
    "cpu.reduce_flat{access=staged,chunk=65536,slots=4,stores=cached}",
    "cpu.all_to_all_flat{access=staged,chunk=65536,flow=pull,slots=4,stores=cached}",
    "cpu.gather_flat{access=staged,chunk=65536,flow=pull,slots=4,stores=cached}",
    "cpu.scatter_flat{access=staged,chunk=65536,flow=pull,slots=4,stores=cached}"};

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

}  // namespace

PlainWay make_thread_way(std::shared_ptr<const Implementations> catalogue) {
  return {
      .prepare = [catalogue = std::move(catalogue)](Communicator& communicator, const Call& call) {
        const Variant variant = parse_variant(
            std::string(thread_variants[static_cast<std::size_t>(call.problem.collective)]));
        const Implementation* const found = find_implementation(*catalogue, variant.implementation);
        if (found == nullptr)
          throw Error(StatusCode::internal,
                      variant.implementation + " is none of this build's kernels");
        return found->prepare(communicator, call, variant, never);
      }};
}

void PlainCalls::check(const Problem& problem) const {
  const std::size_t elements = block_elements(problem, communicator_.size());
  if (way_.most_elements && elements > *way_.most_elements)
    throw Error(StatusCode::invalid_argument,
                fmt::format("{}: a block of {} elements; the MPI library takes at most {}",
                            describe(problem), elements, *way_.most_elements));
}

bool PlainCalls::needs_block(const Problem& problem) const {
  return problem.collective == Collective::reduce_scatter && !way_.scatters_in_place;
}

Operation& PlainCalls::next(const Call& call) {
  auto& operation = operations_[static_cast<std::size_t>(call.problem.collective)];
  if (operation != nullptr) {
    operation->rebind(call);
    return *operation;
  }
  Call first = call;
  first.capacity = any_size;
  operation = prepare(first);
  return *operation;
}

std::unique_ptr<Operation> PlainCalls::prepare(Call call) const {
  const auto make = [this](const Call& one) { return way_.prepare(communicator_, one); };
  if (needs_block(call.problem)) return std::make_unique<ByWayOfBlock>(call, make);
  return make(call);
}

}  // namespace colltune
