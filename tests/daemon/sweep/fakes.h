// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "colltune/kernels/communication/thread_communicator.h"
#include "colltune/kernels/implementation.h"
#include "colltune/sweep/control/control_plane.h"

/// Implementations whose support, results and faults a test chooses.
namespace colltune::fakes {

/// What operations of several fakes run on, as on a library's communicator: it may end on a rank,
/// and all with it.
struct Ground {
  std::array<std::atomic<int>, 8> ended{};  ///< by rank, how often
};

/// Memory of which each prepared operation takes a unit on each rank.
struct Memory {
  int units = 0;
  std::array<std::atomic<int>, 8> used{};  ///< by rank
};
/// Throws Error(resource_exhausted) if none is left on `rank`. The unit is given back with the last
/// copy of what is returned.
inline std::shared_ptr<void> take_unit(const std::shared_ptr<Memory>& memory, int rank) {
  if (memory == nullptr) return nullptr;
  auto& used = memory->used[static_cast<std::size_t>(rank)];
  if (++used > memory->units) {
    --used;
    throw Error(StatusCode::resource_exhausted, "no unit is left");
  }
  return {memory.get(), [memory, &used](void*) { --used; }};
}

/// What a fake answers and does. Every rank of a test shares it.
struct Behaviour {
  std::string name = "fake.base";
  Collective collective = Collective::all_reduce;
  std::string family = "fake";
  bool is_baseline = false;
  /// Of a plan of one cell: others wait in vain for a rank of it, so its calls have no more time
  /// than the policy gives every call. Those of the rest have plenty, however busy the machine is.
  bool is_waited_for = false;
  bool is_emulated = false;
  bool meets_other_builds = false;
  std::vector<Variant> variants;  ///< empty: one without parameters
  /// Where they are others for each problem.
  std::function<std::vector<Variant>(const Problem&)> variants_for;
  std::string protocol;  ///< of all variants; empty: each has its own
  Limits limits{.min_ranks = 1};
  std::function<Support(const Problem&, const Topology&, const Capability&, const Variant&)>
      supports = [](const auto&, const auto&, const auto&, const auto&) { return Support::yes(); };
  bool keeps_buffers = false;  ///< Implementation::why_not_bound
  std::function<void(int rank, const CallBuffers&)> at_bind = [](int, const CallBuffers&) {};
  /// Called on each rank for each call, with the number of the call: before the exchange, and on
  /// the result.
  std::function<void(int rank, int call)> at_prepare = [](int, int) {};
  std::shared_ptr<Ground> ground;  ///< null: nobody ends it
  std::shared_ptr<Memory> memory;  ///< null: there is enough
  std::function<void(int rank, int call)> at_start = [](int, int) {};
  std::function<void(int rank, int call)> at_wait = [](int, int) {};
  std::function<void(int rank, int call, std::span<std::byte> result)> spoil =
      [](int, int, std::span<std::byte>) {};
  std::function<void(int rank, int call, std::span<std::byte> input)> spoil_input =
      [](int, int, std::span<std::byte>) {};
};

/// A right all-reduce of f32 sums: every rank reads every input between two bounded barriers.
class SumOperation final : public Operation {
 public:
  SumOperation(const Behaviour& behaviour, Communicator& parent, const Call& call,
               Deadline deadline)
      : behaviour_(behaviour),
        unit_(take_unit(behaviour.memory, parent.rank())),
        communicator_(parent.duplicate(deadline)),
        board_(communicator_->allocate({call.buffers.send.size() + 1}, deadline)),
        buffers_(call.buffers),
        ended_before_(ended()) {}

  [[nodiscard]] bool is_lost() const override { return ended() != ended_before_; }
  void give_up() noexcept override {
    if (behaviour_.ground != nullptr && !is_lost())
      ++behaviour_.ground->ended[static_cast<std::size_t>(communicator_->rank())];
  }

  void bind(const CallBuffers& buffers) override {
    behaviour_.at_bind(communicator_->rank(), buffers);
    check_bound_sizes(buffers_, buffers);
    buffers_ = buffers;
  }

  void start() override {
    if (is_lost()) throw OperationLost("the ground is gone");
    behaviour_.at_start(communicator_->rank(), calls_);
    std::memcpy(board_->part(communicator_->rank()).data(), buffers_.send.data(),
                buffers_.send.size());
  }

  void wait(Deadline deadline) override {
    behaviour_.at_wait(communicator_->rank(), calls_);
    communicator_->barrier(deadline);
    for (std::size_t at = 0; at < buffers_.receive.size(); at += sizeof(float)) {
      float sum = 0;
      for (int rank = 0; rank < communicator_->size(); ++rank) {
        float value = 0;
        std::memcpy(&value, board_->part(rank).data() + at, sizeof value);
        sum += value;
      }
      std::memcpy(buffers_.receive.data() + at, &sum, sizeof sum);
    }
    communicator_->barrier(deadline);
    // A fault that no type system stops.
    behaviour_.spoil_input(communicator_->rank(), calls_,
                           {const_cast<std::byte*>(buffers_.send.data()), buffers_.send.size()});
    behaviour_.spoil(communicator_->rank(), calls_++, buffers_.receive);
  }

 private:
  [[nodiscard]] int ended() const {
    return behaviour_.ground == nullptr
               ? 0
               : behaviour_.ground->ended[static_cast<std::size_t>(communicator_->rank())].load();
  }

  const Behaviour& behaviour_;
  std::shared_ptr<void> unit_;
  std::unique_ptr<Communicator> communicator_;
  std::unique_ptr<SymmetricMemory> board_;
  CallBuffers buffers_;
  int ended_before_;
  int calls_ = 0;
};

class Fake final : public Implementation {
 public:
  explicit Fake(Behaviour behaviour)
      : Implementation({.name = behaviour.name,
                        .description = "for tests",
                        .collective = behaviour.collective,
                        .family = behaviour.family,
                        .is_baseline = behaviour.is_baseline,
                        .meets_other_builds = behaviour.meets_other_builds}),
        behaviour_(std::move(behaviour)) {}

  /// Or for the rank on which its ground has ended.
  [[nodiscard]] bool is_waited_for() const {
    return behaviour_.is_waited_for || behaviour_.ground != nullptr;
  }
  [[nodiscard]] std::vector<Variant> variants(const Problem& problem, const Topology&,
                                              const Capability&) const override {
    if (behaviour_.variants_for) return behaviour_.variants_for(problem);
    return behaviour_.variants.empty() ? std::vector<Variant>{{behaviour_.name, {}}}
                                       : behaviour_.variants;
  }
  [[nodiscard]] Support can_run(const Problem& problem, const Topology& topology,
                                const Capability& capability,
                                const Variant& variant) const override {
    return behaviour_.supports(problem, topology, capability, variant);
  }
  [[nodiscard]] Limits limits(const Variant&) const override { return behaviour_.limits; }
  [[nodiscard]] std::string protocol(const Problem&, const Variant& variant) const override {
    return behaviour_.protocol.empty() ? "protocol of " + to_string(variant) : behaviour_.protocol;
  }
  [[nodiscard]] Cost cost(const Problem&, const Topology&, const Variant&) const override {
    return {.steps = 1};
  }
  [[nodiscard]] Numerics numerics(const Problem&, const Variant&) const override {
    return {.rounding = Rounding::once, .numeric_class = NumericClass::rank_order};
  }
  [[nodiscard]] CallTraits traits(const Problem&, const Topology&, const Variant&) const override {
    return {.is_emulated = behaviour_.is_emulated,
            .why_not_bound = behaviour_.keeps_buffers ? "it keeps its buffers" : ""};
  }
  [[nodiscard]] std::unique_ptr<Operation> prepare(Communicator& communicator, const Call& call,
                                                   const Variant&,
                                                   Deadline deadline) const override {
    behaviour_.at_prepare(communicator.rank(), 0);
    return std::make_unique<SumOperation>(behaviour_, communicator, call, deadline);
  }

 private:
  Behaviour behaviour_;
};

inline Implementations make(std::vector<Behaviour> behaviours) {
  Implementations all;
  for (auto& behaviour : behaviours) all.push_back(std::make_unique<Fake>(std::move(behaviour)));
  return all;
}

/// The ranks of a launch as threads: each runs `body` with its own control plane and communicator.
inline void on_ranks(int ranks, std::chrono::milliseconds time_out,
                     const std::function<void(ControlPlane&, Communicator&)>& body,
                     const std::vector<int>& node_of_rank = {},
                     std::span<Device* const> devices = {}) {
  AbortFlag abort;
  const auto planes = make_thread_control_planes(ranks, time_out);
  const auto world = make_thread_world(ranks, abort, {.node = node_of_rank}, devices);
  std::vector<std::jthread> threads;
  for (std::size_t rank = 0; rank < planes.size(); ++rank)
    threads.emplace_back([&, rank] { body(*planes[rank], *world[rank]); });
}

}  // namespace colltune::fakes
