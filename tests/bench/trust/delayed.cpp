// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "delayed.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <utility>

namespace colltune::trust {
namespace {

using Clock = std::chrono::steady_clock;

/// Spends time in steps of about a nanosecond: a delay of 3 % of 200 ns is less than what reading
/// the clock takes, so waiting for the clock would delay such a call by nothing or by too much.
class FineDelay {
 public:
  FineDelay() {
    constexpr std::uint64_t steps = 1 << 16;
    constexpr int tries = 15;
    double fastest = std::numeric_limits<double>::infinity();
    double read = fastest;
    for (int i = 0; i < tries; ++i) {
      const auto begin = Clock::now();
      walk(steps);
      const auto middle = Clock::now();
      const auto end = Clock::now();
      fastest = std::min(fastest, nanoseconds_of(middle - begin));
      read = std::min(read, nanoseconds_of(end - middle));
    }
    steps_per_nanosecond_ = steps / std::max(1.0, fastest - read);
    clock_read_ = read;
  }

  void spend(double nanoseconds) const {
    walk(static_cast<std::uint64_t>(std::max(0.0, nanoseconds) * steps_per_nanosecond_));
  }
  /// What one reading of the clock takes.
  [[nodiscard]] double clock_read() const { return clock_read_; }

  static double nanoseconds_of(Clock::duration duration) {
    return std::chrono::duration<double, std::nano>(duration).count();
  }

 private:
  /// Each step needs the one before.
  static void walk(std::uint64_t steps) {
    std::uint64_t state = steps;
    for (std::uint64_t i = 0; i < steps; ++i) {
      state = state * 3 + 1;
      asm volatile("" : "+r"(state));
    }
  }

  double steps_per_nanosecond_ = 1;
  double clock_read_ = 0;
};

class DelayedOperation final : public Operation {
 public:
  DelayedOperation(std::unique_ptr<Operation> inner, double factor)
      : inner_(std::move(inner)), factor_(factor) {}

  void bind(const CallBuffers& buffers) override {
    begin_ = Clock::now();
    has_begun_ = true;
    inner_->bind(buffers);
  }
  void start() override {
    if (!has_begun_) begin_ = Clock::now();
    has_begun_ = false;
    inner_->start();
  }
  void wait(Deadline deadline) override {
    static const FineDelay delay;  // of this program alone, measured once
    inner_->wait(deadline);
    // Both readings are part of the call that is made longer; one of them lies between them.
    const double taken = FineDelay::nanoseconds_of(Clock::now() - begin_) + delay.clock_read();
    delay.spend(taken * (factor_ - 1));
  }

 private:
  std::unique_ptr<Operation> inner_;
  double factor_;
  Clock::time_point begin_;
  bool has_begun_ = false;  ///< with the bind before the start
};

class Delayed final : public Implementation {
 public:
  Delayed(std::shared_ptr<const Implementation> inner, Disguise disguise)
      : Implementation({.name = disguise.name,
                        .description = inner->facts().description,
                        .collective = inner->collective(),
                        .family = inner->family(),
                        .runs_on_device = inner->runs_on_device(),
                        .is_baseline = disguise.is_baseline}),
        inner_(std::move(inner)),
        disguise_(std::move(disguise)) {}

  std::vector<Variant> variants(const Problem& problem, const Topology& topology,
                                const Capability& capability) const override {
    auto variants = inner_->variants(problem, topology, capability);
    for (Variant& variant : variants) variant.implementation = disguise_.name;
    return variants;
  }
  Support can_run(const Problem& problem, const Topology& topology, const Capability& capability,
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
  CallTraits traits(const Problem& problem, const Topology& topology,
                    const Variant& variant) const override {
    CallTraits all = inner_->traits(problem, topology, original(variant));
    all.learning_calls = 0;
    return all;
  }
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
