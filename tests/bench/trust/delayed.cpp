// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "delayed.h"

#include <atomic>
#include <chrono>
#include <utility>

namespace colltune::trust {
namespace {

using Clock = std::chrono::steady_clock;

class DelayedOperation final : public Operation {
 public:
  DelayedOperation(std::unique_ptr<Operation> inner, double factor)
      : inner_(std::move(inner)), factor_(factor) {}

  void start() override {
    begin_ = Clock::now();
    inner_->start();
  }
  void wait(Deadline deadline) override {
    inner_->wait(deadline);
    const auto taken = std::chrono::duration<double, std::nano>(Clock::now() - begin_);
    const auto until =
        begin_ + std::chrono::nanoseconds(static_cast<std::int64_t>(taken.count() * factor_));
    while (Clock::now() < until) {
    }
  }

 private:
  std::unique_ptr<Operation> inner_;
  double factor_;
  Clock::time_point begin_;
};

class Delayed final : public Implementation {
 public:
  Delayed(std::shared_ptr<const Implementation> inner, Disguise disguise)
      : inner_(std::move(inner)), disguise_(std::move(disguise)) {}

  std::string_view name() const override { return disguise_.name; }
  std::string_view description() const override { return inner_->description(); }
  Collective collective() const override { return inner_->collective(); }
  std::string_view family() const override { return inner_->family(); }
  bool is_baseline() const override { return disguise_.is_baseline; }

  std::vector<Variant> variants(const Problem& problem, const Topology& topology,
                                const Capability& capability) const override {
    auto variants = inner_->variants(problem, topology, capability);
    for (Variant& variant : variants) variant.implementation = disguise_.name;
    return variants;
  }
  Support supports(const Problem& problem, const Topology& topology, const Capability& capability,
                   const Variant& variant) const override {
    return inner_->supports(problem, topology, capability, original(variant));
  }
  Limits limits(const Variant& variant) const override { return inner_->limits(original(variant)); }
  std::string protocol(const Problem& problem, const Variant& variant) const override {
    return inner_->protocol(problem, original(variant));
  }
  Cost cost(const Problem& problem, const Topology& topology,
            const Variant& variant) const override {
    return inner_->cost(problem, topology, original(variant));
  }
  Numerics numerics(const Problem& problem, const Variant& variant) const override {
    return inner_->numerics(problem, original(variant));
  }
  bool is_emulated(const Problem& problem) const override { return inner_->is_emulated(problem); }
  void detect(Communicator& communicator, Capability& capability) const override {
    inner_->detect(communicator, capability);
  }
  std::unique_ptr<Operation> prepare(Communicator& communicator, const Call& call,
                                     const Variant& variant, Deadline deadline) const override {
    return std::make_unique<DelayedOperation>(
        inner_->prepare(communicator, call, original(variant), deadline),
        disguise_.factor(++prepared_));
  }

 private:
  [[nodiscard]] Variant original(Variant variant) const {
    variant.implementation = inner_->name();
    return variant;
  }

  std::shared_ptr<const Implementation> inner_;
  Disguise disguise_;
  mutable std::atomic<int> prepared_ = 0;
};

}  // namespace

std::unique_ptr<const Implementation> make_delayed(std::shared_ptr<const Implementation> inner,
                                                   Disguise disguise) {
  return std::make_unique<Delayed>(std::move(inner), std::move(disguise));
}

}  // namespace colltune::trust
