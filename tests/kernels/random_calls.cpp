// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "random_calls.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "colltune/kernels/arithmetic/copy.h"
#include "colltune/kernels/device.h"
#include "colltune/kernels/verification/oracle.h"
#include "conformance.h"
#include "guarded_buffers.h"
#include "support/full_run.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

using Random = std::mt19937_64;

constexpr std::byte garbage{0xEE};
constexpr std::array<Bytes, 3> capacities{Bytes{200}, Bytes{6 << 10}, Bytes{96 << 10}};
/// The buffers of a call begin at a random place of so many bytes more.
constexpr std::size_t play = 512;

std::uint64_t draw(Random& random, std::uint64_t below) { return random() % below; }

template <class Value>
Value draw_one(Random& random, const std::vector<Value>& from) {
  return from[draw(random, from.size())];
}

bool draws_in_place(Random& random) { return draw(random, 2) == 1; }

/// A problem of the collective as all ranks know it. Few sizes are large.
Problem draw_problem(Random& random, Collective collective, Bytes capacity, int ranks) {
  std::vector<DataType> types;
  for (const auto& named : enum_names(DataType{})) types.push_back(named.value);
  std::vector<ReduceOp> ops;
  for (const auto& named : enum_names(ReduceOp{}))
    if (shape_of(collective).reduces == (named.value != ReduceOp::none)) ops.push_back(named.value);
  Problem problem{.collective = collective,
                  .data_type = draw_one(random, types),
                  .reduce_op = draw_one(random, ops)};
  const std::uint64_t limit = std::uint64_t{1} << draw(random, std::bit_width(capacity.value) + 1);
  problem.message_size = round_message_size(
      collective, problem.data_type, {draw(random, std::min(limit, capacity.value) + 1)}, ranks);
  problem.in_place = draws_in_place(random);
  return problem;
}

/// A problem, and the bytes of each rank's block if they differ.
struct DrawnProblem {
  Problem problem;
  std::vector<std::size_t> blocks{};
};

/// Shares the message out in blocks of unlike lengths, some of which are empty.
DrawnProblem with_unequal_counts(Random& random, Problem problem, int ranks) {
  const std::size_t element = size_of(problem.data_type);
  const std::size_t elements = static_cast<std::size_t>(problem.message_size.value) / element;
  std::vector<std::size_t> ends;
  const bool has_one_full = draw(random, 4) == 0;
  const std::size_t full = draw(random, static_cast<std::uint64_t>(ranks));
  for (int rank = 0; rank + 1 < ranks; ++rank)
    ends.push_back(has_one_full ? (static_cast<std::size_t>(rank) < full ? 0 : elements)
                                : draw(random, elements + 1));
  ends.push_back(elements);
  std::ranges::sort(ends);
  DrawnProblem drawn{.problem = problem};
  std::size_t start = 0;
  for (const std::size_t end : ends) {
    drawn.blocks.push_back((end - start) * element);
    start = end;
  }
  drawn.problem.counts = counts_class(drawn.blocks);
  // Nothing depends on the class; by chance the blocks may be alike.
  if (drawn.problem.counts == Counts::equal) drawn.problem.counts = Counts::random;
  return drawn;
}

/// An operation that is bound to call after call.
struct Prepared {
  const Implementation* implementation = nullptr;
  Variant variant;
  Bytes capacity{};
  bool registered = false;
  bool takes_unequal_counts = false;
  std::unique_ptr<Operation> operation;
};

/// A rank's buffers for a call. What the test looks at and writes lies in the host's memory; for
/// calls on a device it is a copy.
class DrawnBuffers {
 public:
  DrawnBuffers(const GuardedBuffers& buffers, std::span<std::byte> copied, std::byte* on_device,
               Device* device)
      : host(buffers), copied_(copied), on_device_(on_device), device_(device) {}
  [[nodiscard]] CallBuffers of_call() const { return {move(host.send), move(host.receive)}; }
  /// Makes what the test wrote the call's.
  void give() const {
    if (device_ != nullptr) device_->write(on_device_, copied_);
  }
  /// Makes what the call wrote the test's.
  void take() const {
    if (device_ != nullptr) device_->read(copied_, on_device_);
  }

  GuardedBuffers host;

 private:
  [[nodiscard]] std::span<std::byte> move(std::span<std::byte> bytes) const {
    if (device_ == nullptr || bytes.empty()) return bytes;
    return {on_device_ + (bytes.data() - copied_.data()), bytes.size()};
  }
  std::span<std::byte> copied_;
  std::byte* on_device_;
  Device* device_;
};

/// Random places for a rank's buffers: plain memory, or one of two symmetric allocations. Those of
/// ranks on devices lie on the device, be they registered or not.
class Places {
 public:
  explicit Places(Communicator& communicator)
      : rank_(communicator.rank()), ranks_(communicator.size()), device_(communicator.device()) {
    const std::size_t size =
        guarded_size({.collective = Collective::all_to_all, .message_size = capacities.back()},
                     ranks_) +
        play;
    plain_.resize(size);
    if (device_ != nullptr)
      on_device_ = DeviceMemory(*device_, {size});
    else
      for (auto& one : registered_) one = communicator.allocate({size}, soon_enough());
  }
  /// For this rank's part in a call of `problem`, whose `in_place` is what this rank knows.
  [[nodiscard]] DrawnBuffers draw_buffers(Random& own, const Problem& problem, bool is_root,
                                          std::span<const std::size_t> blocks) {
    std::span<std::byte> memory = plain_;
    if (problem.registered && device_ == nullptr)
      memory = registered_[draw(own, registered_.size())]->part(rank_);
    // Devices load and store elements where elements may lie.
    constexpr std::size_t widest_element = 8;
    const std::size_t step = device_ == nullptr ? 1 : widest_element;
    const std::size_t offset = draw(own, play / step) * step;
    const std::span<std::byte> drawn = memory.subspan(offset, guarded_size(problem, ranks_));
    return {GuardedBuffers(drawn, problem, rank_, ranks_, is_root, blocks), drawn,
            device_ == nullptr ? nullptr : on_device_.bytes().data() + offset, device_};
  }

 private:
  int rank_;
  int ranks_;
  Device* device_;
  std::vector<std::byte> plain_;
  DeviceMemory on_device_;
  std::array<std::unique_ptr<SymmetricMemory>, 2> registered_;
};

class Caller {
 public:
  Caller(Communicator& communicator, const Implementations& catalogue, const RandomCalls& calls)
      : communicator_(communicator),
        rank_(communicator.rank()),
        ranks_(communicator.size()),
        calls_(calls),
        shared_(calls.seed),
        own_(calls.seed * 1000 + static_cast<std::uint64_t>(rank_)),
        places_(communicator),
        capability_(detect_capability(catalogue, communicator)) {
    // Where nothing is stored past the caches, what would be is right all the same.
    capability_.features[std::string(streaming_feature)] = "";
    topology_ = topology_of(communicator, capability_);
    std::vector<const Implementation*> all;
    for (const auto& one : catalogue)
      if (one->runs_on_device() == (communicator.device() != nullptr)) all.push_back(one.get());
    constexpr int most_draws = 10'000;
    for (int drawn = 0; static_cast<int>(prepared_.size()) < calls.operations; ++drawn) {
      if (without_memory_ > calls.most_without_memory && !prepared_.empty()) break;
      if (drawn == most_draws) throw std::logic_error("no variant takes part in random calls");
      prepare_one(*draw_one(shared_, all));
    }
  }

  std::string make_call(int number) {
    Prepared& by = prepared_[draw(shared_, prepared_.size())];
    const bool is_unequal = by.takes_unequal_counts && draw(shared_, 3) != 0;
    const DrawnProblem call = draw_call(by.implementation->collective(), by.capacity, is_unequal);
    Problem problem = call.problem;
    problem.registered = by.registered;
    const int root = draw_root();
    const std::uint64_t late = draw(shared_, 40);
    if (!by.implementation->supports(problem, topology_, capability_, by.variant)) return {};
    const VerifiedCall verified{
        problem,    ranks_, root, DataPattern::exact, static_cast<std::uint64_t>(number) + 1,
        call.blocks};
    const Problem own = as_known_here(problem, root);
    const DrawnBuffers drawn = places_.draw_buffers(own_, own, rank_ == root, call.blocks);
    const GuardedBuffers& buffers = drawn.host;
    fill_bytes(buffers.receive, garbage);
    fill_send(verified, rank_, buffers.send);
    const std::vector<std::byte> input(buffers.send.begin(), buffers.send.end());
    drawn.give();
    if (late == static_cast<std::uint64_t>(rank_))
      std::this_thread::sleep_for(std::chrono::microseconds(draw(own_, 2000)));
    try {
      by.operation->rebind(
          {.problem = own, .root = root, .buffers = drawn.of_call(), .blocks = call.blocks});
      by.operation->start();
      if (draw(own_, 100) == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
      by.operation->wait(soon_enough());
    } catch (const std::exception& error) {
      throw std::runtime_error("rank " + std::to_string(rank_) + ", " +
                               describe(by, verified, own) + ": " + error.what());
    }
    drawn.take();
    std::string fault = find_fault(by, verified, own, buffers, input);
    // From here on the input is the caller's again.
    fill_bytes(buffers.send, garbage);
    drawn.give();
    return fault;
  }

 private:
  DrawnProblem draw_call(Collective collective, Bytes capacity, bool is_unequal) {
    Problem problem = draw_problem(shared_, collective, capacity, ranks_);
    if (is_unequal) return with_unequal_counts(shared_, problem, ranks_);
    if (!calls_.mesh) return {problem};
    problem.kind = ProblemKind::mesh_reduce;
    problem.reduce_op = ReduceOp::none;
    problem.mesh = calls_.mesh;
    return {problem};
  }

  int draw_root() { return static_cast<int>(draw(shared_, static_cast<std::uint64_t>(ranks_))); }

  /// Arguments that say whether the call is in place are the root's alone in some collectives.
  [[nodiscard]] Problem as_known_here(Problem problem, int root) const {
    const BlockLayout shape = shape_of(problem.collective);
    if (shape.has_root && problem.collective != Collective::broadcast && rank_ != root)
      problem.in_place = false;
    return problem;
  }

  void prepare_one(const Implementation& implementation) {
    Prepared made{.implementation = &implementation,
                  .capacity = capacities[draw(shared_, capacities.size())],
                  .registered = draw(shared_, 3) == 0,
                  .takes_unequal_counts = implementation.facts().takes_unequal_counts &&
                                          ranks_ > 1 && draw(shared_, 2) == 0};
    const DrawnProblem call =
        draw_call(implementation.collective(), made.capacity, made.takes_unequal_counts);
    Problem problem = call.problem;
    problem.registered = made.registered;
    Problem largest = problem;
    largest.message_size = made.capacity;
    std::vector<Variant> variants =
        extreme_variants(implementation.variants(largest, topology_, capability_));
    std::erase_if(variants, [&](const Variant& one) { return !calls_.takes(implementation, one); });
    if (variants.empty()) return;
    made.variant = draw_one(shared_, variants);
    const int root = draw_root();
    if (!implementation.traits(problem, topology_, made.variant).why_not_rebound.empty() ||
        !implementation.supports(problem, topology_, capability_, made.variant))
      return;
    const Problem own = as_known_here(problem, root);
    const DrawnBuffers drawn = places_.draw_buffers(own_, own, rank_ == root, call.blocks);
    try {
      made.operation = implementation.prepare(communicator_,
                                              {.problem = own,
                                               .root = root,
                                               .buffers = drawn.of_call(),
                                               .capacity = made.capacity,
                                               .blocks = call.blocks},
                                              made.variant, soon_enough());
    } catch (const UnavailableHere&) {
      return;  // on all ranks, as below
    } catch (const Error& error) {
      if (error.code() != StatusCode::resource_exhausted || calls_.most_without_memory == 0) throw;
      ++without_memory_;
      return;
    }
    prepared_.push_back(std::move(made));
  }

  [[nodiscard]] static std::string describe(const Prepared& by, const VerifiedCall& verified,
                                            const Problem& own) {
    return "call " + std::to_string(verified.seed) + ", " + to_string(by.variant) + ", " +
           colltune::describe(own) + ", capacity " + format_bytes(by.capacity) + ", root " +
           std::to_string(verified.root);
  }

  [[nodiscard]] std::string find_fault(const Prepared& by, const VerifiedCall& verified,
                                       const Problem& own, const GuardedBuffers& buffers,
                                       const std::vector<std::byte>& input) const {
    const auto fault = [&](const std::string& what) {
      return describe(by, verified, own) + ": " + what;
    };
    if (!own.in_place && !std::ranges::equal(input, buffers.send))
      return fault("the input was written");
    if (!buffers.are_whole()) return fault("bytes beside a buffer were written");
    const Numerics numerics = by.implementation->numerics(own, by.variant);
    if (const auto wrong = find_mismatch(verified, rank_, numerics.rounding, buffers.receive))
      return fault("element " + std::to_string(wrong->element) + " is " + wrong->got + ", not " +
                   wrong->expected);
    return {};
  }

  Communicator& communicator_;
  int rank_;
  int ranks_;
  const RandomCalls& calls_;
  Random shared_;  ///< the same on all ranks
  Random own_;
  Places places_;
  Capability capability_;
  Topology topology_;
  std::vector<Prepared> prepared_;
  int without_memory_ = 0;  ///< variants that were passed over
};

}  // namespace

std::string find_fault_in_random_calls(Communicator& communicator, const Implementations& catalogue,
                                       const RandomCalls& calls) {
  Caller caller(communicator, catalogue, calls);
  std::string first;
  for (int number = 0; number < calls.calls; ++number) {
    std::string fault = caller.make_call(number);
    if (fault.empty() && number % 50 == 0) fault = calls.inspect();
    if (first.empty()) first = std::move(fault);
  }
  // Nobody's buffers go away while another may still look at them.
  communicator.barrier(soon_enough());
  return first;
}

int number_of_random_calls() {
  if (is_full_run()) return 100'000;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  return 600;
#else
  return 2'000;
#endif
}

}  // namespace colltune::test
