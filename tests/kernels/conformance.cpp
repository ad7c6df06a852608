// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "conformance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include "colltune/kernels/arithmetic/copy.h"
#include "colltune/kernels/device.h"
#include "colltune/vocabulary/problem_form.h"
#include "guarded_buffers.h"
#include "random_values.h"
#include "support/fill_bytes.h"
#include "support/full_run.h"
#include "support/run_ranks.h"
#include "support/sanitizer.h"

namespace colltune::test {
namespace {

constexpr std::byte garbage{0xEE};
// Several waves; without sanitizers as long as what is stored past the caches on both sides.
constexpr std::size_t long_message = has_sanitizer ? 64U << 10 : 512U << 10;

// ThreadSanitizer looks at who meets whom, which is the same for all types and operators: each of
// them once there. So it is under AddressSanitizer on devices, whose bodies have all pairs in their
// own test. All other builds have all pairs.
bool has_all_pairs(const Implementation& implementation) {
  return !has_thread_sanitizer && !(has_address_sanitizer && implementation.runs_on_device());
}

void be_late(int rank, int ranks, int call) {
  // A call takes microseconds.
  const int late_by = is_full_run() ? 3 + call * 3 % 8 : 1 + call % 3;
  if (call % ranks == rank) std::this_thread::sleep_for(std::chrono::milliseconds(late_by));
}

/// Of the sizes, in elements, those that every variant makes on so many ranks in a run that is not
/// full: over the worlds of a test each variant makes all of them.
std::vector<std::size_t> sizes_by_every_variant(int ranks) {
  if (ranks >= 8) return {};  // they wait for cores most of the time
  if (ranks % 4 == 1) return {0, 1};
  if (ranks % 4 == 3) return {1003};
  return {17};
}

std::string describe_fault(const std::string& what, int call) {
  return what + " (call " + std::to_string(call) + ")";
}

/// The sets of a rank's buffers that calls take in turns, if they may (Operation::bind).
constexpr std::size_t sets = 2;

/// The set of the call's buffers. Ranks of odd numbers take another set in each call, the others in
/// the second call alone: some ranks bind where others do not.
std::size_t set_of(int call, int rank) {
  return static_cast<std::size_t>(rank % 2 == 1 ? call : std::min(call, 1)) % sets;
}

/// A rank's buffers for a call, where its implementation expects them, once for each set. What
/// the test looks at and writes lies in the host's memory; on a device it is a copy.
class TestMemory {
 public:
  TestMemory(Communicator& communicator, const Implementation& implementation,
             const ConformanceCase& test)
      : device_(communicator.device()) {
    const Problem& problem = test.problem;
    const int ranks = communicator.size();
    // Sets are unlike in alignment where sizes are odd.
    const std::size_t each = guarded_size(problem, ranks);
    const std::size_t bytes = sets * each;
    if (BufferSource* const source = implementation.facts().buffer_source) {
      of_library_ = source->allocate(*device_, {bytes});
      memory_ = of_library_->bytes();
    } else if (device_ != nullptr) {
      on_device_ = DeviceMemory(*device_, {bytes});
      memory_ = on_device_.bytes();
    }
    if (device_ == nullptr && problem.registered) {
      registered_ = communicator.allocate({bytes}, soon_enough());
      whole_ = registered_->part(communicator.rank()).first(bytes);
    } else {
      plain_.resize(bytes);
      whole_ = plain_;
    }
    for (std::size_t set = 0; set < sets; ++set)
      buffers.emplace_back(whole_.subspan(set * each, each), problem, communicator.rank(), ranks,
                           communicator.rank() == test.root, test.blocks);
  }

  /// As the call takes them.
  [[nodiscard]] CallBuffers of_call(std::size_t set) const {
    const auto move = [&](std::span<std::byte> bytes) {
      if (device_ == nullptr || bytes.empty()) return bytes;
      return memory_.subspan(static_cast<std::size_t>(bytes.data() - whole_.data()), bytes.size());
    };
    return {move(buffers[set].send), move(buffers[set].receive)};
  }
  /// Makes what the test wrote the call's.
  void give() const {
    if (device_ != nullptr) device_->write(memory_.data(), whole_);
  }
  /// Makes what the call wrote the test's.
  void take() const {
    if (device_ != nullptr) device_->read(whole_, memory_.data());
  }

  std::vector<GuardedBuffers> buffers{};  ///< by set

 private:
  Device* device_;
  DeviceMemory on_device_;
  std::unique_ptr<BufferMemory> of_library_;
  std::span<std::byte> memory_;  ///< of the device
  std::unique_ptr<SymmetricMemory> registered_;
  std::vector<std::byte> plain_;
  std::span<std::byte> whole_;
};

std::string run_calls(Communicator& communicator, const Implementation& implementation,
                      const Variant& variant, const ConformanceCase& test) {
  const int rank = communicator.rank();
  const int ranks = communicator.size();
  const TestMemory memory(communicator, implementation, test);
  const auto operation = [&] {
    const std::vector<std::size_t> blocks = test.blocks;  // which nobody may keep
    return implementation.prepare(communicator,
                                  {.problem = test.problem,
                                   .root = test.root,
                                   .buffers = memory.of_call(0),
                                   .blocks = blocks},
                                  variant, soon_enough());
  }();
  const bool is_bound =
      implementation.traits(test.problem, {.ranks = ranks}, variant).why_not_bound.empty();
  std::size_t set = 0;
  const Numerics numerics = implementation.numerics(test.problem, variant);
  std::string fault;
  for (int call = 0; call < test.calls; ++call) {
    const VerifiedCall verified{
        test.problem, ranks, test.root, test.pattern, static_cast<std::uint64_t>(call) + 1,
        test.blocks};
    if (is_bound && set != set_of(call, rank)) {
      set = set_of(call, rank);
      operation->bind(memory.of_call(set));
    }
    const GuardedBuffers& buffers = memory.buffers[set];
    if (!test.problem.in_place) fill_bytes(buffers.receive, garbage);
    const RandomCall random{test.problem, ranks, verified.seed};
    if (test.has_random_values)
      fill_random(random, rank, buffers.send);
    else
      fill_send(verified, rank, buffers.send);
    const std::vector<std::byte> input(buffers.send.begin(), buffers.send.end());
    memory.give();
    if (test.has_late_rank) be_late(rank, ranks, call);
    operation->start();
    operation->wait(soon_enough());
    memory.take();
    const bool kept_input = test.problem.in_place || std::ranges::equal(input, buffers.send);
    // From here on the input is the caller's again; in place, what was received is part of it.
    const std::vector<std::byte> received(buffers.receive.begin(), buffers.receive.end());
    fill_bytes(buffers.send, garbage);
    memory.give();
    const std::string broken =
        test.has_random_values
            ? find_broken_promise(communicator, random, numerics.numeric_class, received)
            : std::string();
    if (!fault.empty()) continue;
    if (!kept_input) fault = describe_fault("the input was written", call);
    if (!broken.empty()) fault = describe_fault(broken, call);
    if (test.has_random_values) continue;
    if (const auto wrong = find_mismatch(verified, rank, numerics.rounding, received))
      fault = describe_fault("element " + std::to_string(wrong->element) + " is " + wrong->got +
                                 ", not " + wrong->expected,
                             call);
  }
  // Nobody's buffers go away while another may still look at them.
  if (test.problem.registered) communicator.barrier(soon_enough());
  const bool are_whole = std::ranges::all_of(
      memory.buffers, [](const GuardedBuffers& buffers) { return buffers.are_whole(); });
  if (fault.empty() && !are_whole) fault = "bytes beside a buffer were written";
  return fault;
}

}  // namespace

std::string find_fault(Communicator& communicator, const Implementation& implementation,
                       const Variant& variant, const ConformanceCase& test) {
  try {
    return run_calls(communicator, implementation, variant, test);
  } catch (const std::exception& error) {
    return std::string("threw: ") + error.what();
  }
}

std::vector<Variant> extreme_variants(const std::vector<Variant>& all) {
  std::map<std::string, std::pair<Variant, Variant>> extremes;
  for (const Variant& variant : all) {
    std::string words;
    // A vector is a number, and the way that a kernel takes for it another one.
    for (const Parameter& parameter : variant.parameters)
      if (std::holds_alternative<std::string>(parameter.value) || parameter.name == "vector")
        words += to_string(parameter.value) + ";";
    extremes.try_emplace(words, variant, variant).first->second.second = variant;
  }
  std::vector<Variant> chosen;
  for (const auto& [words, pair] : extremes) {
    chosen.push_back(pair.first);
    if (pair.second != pair.first) chosen.push_back(pair.second);
  }
  return chosen;
}

Topology topology_of(const Communicator& communicator, const Capability& capability) {
  std::map<int, int> ranks_of_node;
  for (const int node : communicator.nodes()) ++ranks_of_node[node];
  Topology topology;
  topology.nodes = static_cast<int>(ranks_of_node.size());
  topology.ranks = communicator.size();
  topology.ranks_per_node = 0;
  for (const auto& [node, ranks] : ranks_of_node)
    topology.ranks_per_node = std::max(topology.ranks_per_node, ranks);
  topology.architectures = {{capability.architecture, communicator.size()}};
  topology.layout_digest = "uniform";
  topology.interconnect = "shared-memory";
  return topology;
}

namespace {

/// Lengths of the ranks' blocks in elements: those that a sweep measures, one empty, all but one
/// empty, and none but the first ones.
std::vector<std::vector<std::size_t>> unequal_lengths(int ranks) {
  std::vector<std::vector<std::size_t>> all;
  for (const Counts counts : {Counts::one_large, Counts::random})
    for (const std::uint64_t elements : {67UL, 20011UL})
      if (const auto typical =
              typical_blocks({.collective = Collective::all_gather,
                              .data_type = DataType::u8,
                              .message_size = {elements * static_cast<std::uint64_t>(ranks)},
                              .counts = counts},
                             ranks);
          !typical.empty())
        all.push_back(typical);
  const auto count = static_cast<std::size_t>(ranks);
  std::vector<std::size_t> one_empty(count, 17);
  one_empty[count / 2] = 0;
  std::vector<std::size_t> one_full(count, 0);
  one_full[count - 1] = 1003;
  std::vector<std::size_t> descending;
  for (std::size_t rank = 0; rank < count; ++rank) descending.push_back(3 * (count - 1 - rank));
  all.insert(all.end(), {one_empty, one_full, descending});
  return all;
}

void add_unequal_cases(std::vector<ConformanceCase>& cases, const ConformanceCase& like, int ranks,
                       std::size_t turn) {
  const auto all = unequal_lengths(ranks);
  for (std::size_t number = 0; number < all.size(); ++number) {
    const std::vector<std::size_t>& lengths = all[number];
    ConformanceCase test = like;
    // Over the worlds of a test every variant makes several of them.
    const bool is_chosen = is_full_run() || number == static_cast<std::size_t>(ranks) % all.size();
    test.by_every_variant = like.by_every_variant && is_chosen;
    test.has_late_rank = like.has_late_rank && is_chosen;
    test.blocks.clear();
    test.problem.message_size = {};
    for (const std::size_t length : lengths) {
      test.blocks.push_back(length * size_of(like.problem.data_type));
      test.problem.message_size.value += test.blocks.back();
    }
    test.problem.counts = counts_class(test.blocks);
    test.problem.in_place = turn++ % 2 == 0;
    cases.push_back(test);
  }
}

}  // namespace

std::vector<ConformanceCase> conformance_cases(const Implementation& implementation, int ranks,
                                               Usually usually) {
  std::vector<DataType> types;
  for (const auto& named : enum_names(DataType{})) types.push_back(named.value);
  std::vector<ReduceOp> ops;
  for (const auto& named : enum_names(ReduceOp{}))
    if (shape_of(implementation.collective()).reduces == (named.value != ReduceOp::none))
      ops.push_back(named.value);
  const Collective collective = implementation.collective();
  const BlockLayout shape = shape_of(collective);
  const std::size_t blocks = shape.has_block_per_rank() ? static_cast<std::size_t>(ranks) : 1;
  const auto make = [&](DataType type, ReduceOp op, std::size_t elements, bool in_place) {
    ConformanceCase test;
    test.problem = {.collective = implementation.collective(),
                    .data_type = type,
                    .reduce_op = op,
                    .message_size = {elements * blocks * size_of(type)},
                    .in_place = in_place};
    if (shape.has_root)
      test.root =
          static_cast<int>((elements + (in_place ? 1 : 0)) % static_cast<std::size_t>(ranks));
    return test;
  };

  std::vector<ConformanceCase> cases;
  const bool full = is_full_run();
  const bool has_pairs = full || has_all_pairs(implementation);
  if (ranks == 2 || full)
    for (std::size_t type = 0; type < types.size(); ++type)
      for (std::size_t op = 0; op < ops.size(); ++op) {
        if (!has_pairs && type % ops.size() != op) continue;
        cases.push_back(make(types[type], ops[op], 17, has_one_buffer({.collective = collective})));
        cases.back().by_every_variant = full;
      }
  // A run that is not full: of plain buffers in place and not every variant takes one, of
  // registered ones the other.
  const bool is_sample = !full && !has_sanitizer && usually == Usually::cases;
  const bool plain_in_place = ranks / 2 % 2 == 1;
  const std::vector<std::size_t> of_every_variant =
      is_sample ? sizes_by_every_variant(ranks) : std::vector{17UL};
  std::vector<std::size_t> registered_by_every_variant;  // numbers of cases
  std::size_t turn = static_cast<std::size_t>(ranks);
  for (const std::size_t elements : {0UL, 1UL, 17UL, 1003UL})
    for (const bool in_place : {false, true}) {
      if (full) {
        for (const DataType type : types)
          for (const ReduceOp op : ops) cases.push_back(make(type, op, elements, in_place));
        continue;
      }
      // Types and ops take turns: 12 and 5 have no common divisor, so pairs come up evenly.
      for (int i = 0; i < 2; ++i, ++turn) {
        cases.push_back(
            make(types[turn * 5 % types.size()], ops[turn % ops.size()], elements, in_place));
        const bool is_for_all = i == 0 && std::ranges::count(of_every_variant, elements) > 0;
        cases.back().by_every_variant = is_for_all && (!is_sample || in_place == plain_in_place);
        if (is_for_all && !cases.back().by_every_variant)
          registered_by_every_variant.push_back(cases.size() - 1);
      }
    }
  cases.push_back(make(DataType::f32, ops.front(), 17, false));
  cases.back().has_late_rank = true;
  cases.back().by_every_variant = full;
  std::size_t rounded = static_cast<std::size_t>(ranks);  // takes the operators in turn
  for (const DataType type : {DataType::f16, DataType::bf16, DataType::f8e4m3, DataType::f8e5m2}) {
    std::vector<ConformanceCase> of_type;
    for (const ReduceOp op : ops) {
      if (!has_pairs && type != DataType::bf16) continue;
      ConformanceCase test = make(type, op, 17, false);
      test.pattern = DataPattern::rounding;
      test.by_every_variant = full;
      if (is_meaningful({test.problem, ranks, 0, test.pattern, 0})) of_type.push_back(test);
    }
    // All pairs on two ranks; on each other number of them each type with another operator.
    if (is_sample && ranks != 2 && !of_type.empty())
      of_type = {of_type[rounded++ % of_type.size()]};
    cases.insert(cases.end(), of_type.begin(), of_type.end());
  }
  const bool has_promise =
      shape.reduces || collective == Collective::all_gather || collective == Collective::broadcast;
  if (has_promise && ranks >= 3)  // two ranks have one order
    for (const DataType type : {DataType::f32, DataType::f64, DataType::bf16, DataType::f16}) {
      const ReduceOp op = !shape.reduces           ? ReduceOp::none
                          : type == DataType::f64  ? ReduceOp::prod
                          : type == DataType::bf16 ? ReduceOp::avg
                                                   : ReduceOp::sum;
      cases.push_back(make(type, op, 1003, false));
      cases.back().has_random_values = true;
      cases.back().by_every_variant =
          full || (collective == Collective::all_reduce && type == DataType::f32);
    }
  cases.push_back(make(DataType::f32, ops.front(), long_message / 4 / blocks, false));
  cases.back().by_every_variant = full || ranks == 2;
  if (implementation.facts().takes_unequal_counts && ranks >= 2)
    for (std::size_t i = 0; i < (full ? 4 : 2); ++i, ++turn) {
      ConformanceCase like = make(types[turn * 5 % types.size()], ops[turn % ops.size()], 0, false);
      like.by_every_variant = i == 0;
      like.has_late_rank = i == 1;
      add_unequal_cases(cases, like, ranks, i);
    }
  // Registered buffers: who reads and writes them directly takes other ways.
  const std::size_t plain = cases.size();
  for (std::size_t i = 0; i < plain; ++i) {
    const bool is_for_all = std::ranges::count(registered_by_every_variant, i) > 0;
    if (!full && i % 3 != 0 && !cases[i].has_late_rank && i + 1 != plain && !is_for_all) continue;
    cases.push_back(cases[i]);
    cases.back().problem.registered = true;
    if (is_sample) cases.back().by_every_variant = is_for_all;
  }
  // Calls that the caller captures, of what can be captured: some of the plain and registered ones.
  if (!implementation.runs_on_device()) return cases;
  const std::size_t uncaptured = cases.size();
  for (std::size_t i = 0; i < uncaptured; i += full ? 1 : 5) {
    cases.push_back(cases[i]);
    cases.back().problem.graph_capture = true;
  }
  return cases;
}

std::vector<ConformanceCase> covering_sample(const std::vector<ConformanceCase>& cases,
                                             UnderSanitizer amount) {
  std::set<std::string> shown;
  const bool by_buffers = amount == UnderSanitizer::each_variant_by_buffers;
  std::set<bool> had_every_variant;  // with registered buffers or not
  std::vector<ConformanceCase> sample;
  for (const ConformanceCase& test : cases) {
    const Problem& problem = test.problem;
    const DataType type = problem.data_type;
    const std::uint64_t elements = problem.message_size.value / size_of(type);
    const std::string size = elements == 0       ? "none"
                             : elements == 1     ? "one"
                             : elements < 100    ? "few"
                             : elements < 10'000 ? "many"
                                                 : "long";
    const bool is_registered = by_buffers && problem.registered;
    const bool is_by_every_variant = (test.by_every_variant || (is_registered && size == "few")) &&
                                     had_every_variant.insert(is_registered).second;
    bool is_new = is_by_every_variant;
    for (const std::string& what :
         {"type " + std::to_string(size_of(type)) + (is_floating(type) ? "f" : "i"),
          "op " + std::string(name_of(problem.reduce_op)), "size " + size,
          std::string(problem.message_size.value >= (64U << 10) ? "64 KiB" : "shorter"),
          std::string(problem.in_place ? "in place" : "apart"),
          std::string(name_of(problem.counts)) + (problem.registered ? " registered" : ""),
          std::string(problem.registered ? "registered" : "plain"),
          std::string(problem.graph_capture ? "captured" : "called"),
          std::string(test.pattern == DataPattern::rounding ? "rounding" : "exact"),
          std::string(test.has_random_values ? "random" : "known"),
          std::string(test.has_late_rank ? "late" : "in time")})
      is_new = shown.insert(what).second || is_new;
    if (!is_new) continue;
    sample.push_back(test);
    sample.back().by_every_variant = is_by_every_variant;
  }
  return sample;
}

const std::vector<Variant>& ChosenVariants::of(const Implementation& implementation,
                                               const Problem& problem,
                                               const std::vector<Topology>& topologies,
                                               const Capability& capability) {
  const std::lock_guard lock(mutex_);
  const auto [place, is_new] = known_.try_emplace({&implementation, problem, topologies});
  if (is_new)
    for (const Variant& variant :
         extreme_variants(implementation.variants(problem, topologies.front(), capability)))
      if (std::ranges::all_of(topologies, [&](const Topology& topology) {
            return static_cast<bool>(
                implementation.supports(problem, topology, capability, variant));
          }))
        place->second.push_back(variant);
  return place->second;
}

int run_conformance(Communicator& communicator, const Implementations& catalogue, Usually usually) {
  ChosenVariants own;
  return run_conformance(communicator, catalogue, own, UnderSanitizer::each_variant_by_buffers,
                         usually);
}

int run_conformance(Communicator& communicator, const Implementations& catalogue,
                    ChosenVariants& chosen, UnderSanitizer amount, Usually usually) {
  const bool is_covering = (has_sanitizer || usually == Usually::covering_sample) && !is_full_run();
  Capability capability = detect_capability(catalogue, communicator);
  // Where nothing is stored past the caches, what would be is right all the same.
  capability.features[std::string(streaming_feature)] = "";
  const std::vector<Topology> topologies{topology_of(communicator, capability)};
  int run = 0;
  std::size_t turn = 0;
  std::set<std::string> reported;
  for (const auto& implementation : catalogue) {
    if (implementation->runs_on_device() != (communicator.device() != nullptr)) continue;
    std::vector<ConformanceCase> cases =
        conformance_cases(*implementation, communicator.size(), usually);
    if (is_covering) cases = covering_sample(cases, amount);
    for (const ConformanceCase& test : cases) {
      std::vector<Variant> variants =
          chosen.of(*implementation, test.problem, topologies, capability);
      if (variants.empty()) continue;
      if (!test.by_every_variant) variants = {variants[turn++ % variants.size()]};
      for (const Variant& variant : variants) {
        ++run;
        const std::string fault = find_fault(communicator, *implementation, variant, test);
        if (!fault.empty() && reported.insert(to_string(variant)).second)
          ADD_FAILURE() << "rank " << communicator.rank() << " of " << communicator.size() << ", "
                        << to_string(variant) << ", " << describe(test.problem) << ", root "
                        << test.root << ": " << fault;
      }
    }
  }
  return run;
}

}  // namespace colltune::test
