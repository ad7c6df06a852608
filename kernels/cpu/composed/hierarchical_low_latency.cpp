// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// By levels, as in hierarchical.cpp, for short messages: low latency inside each node, where a
// message is its own signal, and any scheduled algorithm across the nodes, among the ranks with the
// same place in their nodes. The levels are separate collectives, one after the other, on
// communicators of the ranks that take part.

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "../low_latency.h"
#include "arithmetic/numerics.h"
#include "colltune/kernels/catalogue.h"
#include "composition/joint_steps.h"
#include "node_grid.h"
#include "schedule/levels.h"
#include "shared_memory/shared_memory_support.h"

namespace colltune::cpu {
namespace {

constexpr std::string_view joint_words = "a collective by levels";
constexpr std::string_view inside_words = "its part inside the node";
constexpr std::string_view across_words = "its part across the nodes";
// For longer messages, schedules by levels work chunk by chunk. A message of this size, rounded up
// to a multiple of the ranks of a node, is still short enough for low latency.
constexpr Bytes largest_message{32 << 10};
constexpr std::string_view across_knob = "across";

/// The collectives of the levels, in order; nothing for a level without one.
struct Steps {
  std::optional<Problem> before{};  ///< inside each node
  Problem across;
  std::optional<Problem> after{};  ///< inside each node
  /// all_reduce: bytes of the message, rounded up so that each rank of a node has an equal share.
  Bytes padded{};
};

/// The steps of `problem` on nodes with `places` ranks each. An average is a sum until the end.
Steps steps_of(const Problem& problem, int places) {
  const auto step = [&](Collective collective, std::uint64_t size, bool in_place) {
    const bool reduces = shape_of(collective).reduces;
    const ReduceOp op = problem.reduce_op == ReduceOp::avg ? ReduceOp::sum : problem.reduce_op;
    return Problem{.collective = collective,
                   .data_type = problem.data_type,
                   .reduce_op = reduces ? op : ReduceOp::none,
                   .message_size = {size},
                   .in_place = in_place};
  };
  const std::uint64_t size = problem.message_size.value;
  const auto ranks = static_cast<std::uint64_t>(places);
  if (problem.collective == Collective::all_reduce) {
    const std::uint64_t element = size_of(problem.data_type);
    const std::uint64_t share = (size / element + ranks - 1) / ranks * element;
    const Bytes padded{share * ranks};
    const bool in_place = problem.in_place || padded != problem.message_size;
    return {.before = step(Collective::reduce_scatter, padded.value, in_place),
            .across = step(Collective::all_reduce, share, true),
            .after = step(Collective::all_gather, padded.value, true),
            .padded = padded};
  }
  const std::uint64_t across = size / ranks;
  if (problem.collective == Collective::reduce_scatter)
    return {.before = step(Collective::reduce_scatter, size, false),
            .across = step(Collective::reduce_scatter, across, false)};
  return {.across = step(Collective::all_gather, across, false),
          .after = step(Collective::all_gather, size, false)};
}

/// Where a rank's data lies in each step, and what it copies before and after the steps.
struct Layout {
  CallBuffers before{};
  CallBuffers across{};
  CallBuffers after{};
  Copies copies_before{};
  Copies copies_after{};
  std::span<std::byte> sum{};  ///< this rank's part of the result after the step across
};

/// Copies between two orders of all ranks' blocks: by rank, and by place and then node.
template <class Copy>
void for_each_block(const NodeGrid& grid, std::size_t block, Copy copy) {
  std::size_t ordered = 0;
  for (int place = 0; place < grid.places(); ++place)
    for (int node = 0; node < grid.nodes(); ++node, ordered += block)
      copy(ordered, static_cast<std::size_t>(grid.rank(node, place)) * block);
}

Layout lay_out(const Call& call, const NodeGrid& grid, int place, StepMemory& memory) {
  Layout layout;
  const CallBuffers& own = call.buffers;
  const auto places = static_cast<std::size_t>(grid.places());
  const auto nodes = static_cast<std::size_t>(grid.nodes());
  const auto at = static_cast<std::size_t>(place);
  const auto add = [&](std::size_t size) { return memory.add({size}, nullptr); };
  switch (call.problem.collective) {
    case Collective::all_reduce: {
      const Steps steps = steps_of(call.problem, grid.places());
      std::span<std::byte> whole = own.receive;
      std::span<const std::byte> input = own.send;
      if (steps.padded != call.problem.message_size) {
        whole = add(steps.padded.value);
        input = whole;
        layout.copies_before.add(whole.data(), own.send.data(), own.send.size());
        layout.copies_after.add(own.receive.data(), whole.data(), own.receive.size());
      }
      layout.sum = whole.subspan(at * (whole.size() / places), whole.size() / places);
      layout.before = {input, layout.sum};
      layout.across = {layout.sum, layout.sum};
      layout.after = {layout.sum, whole};
      return layout;
    }
    case Collective::reduce_scatter: {
      const std::size_t block = own.receive.size();
      const std::span<std::byte> ordered = add(block * nodes * places);
      const std::span<std::byte> sums = add(block * nodes);
      for_each_block(grid, block, [&](std::size_t to, std::size_t from) {
        layout.copies_before.add(ordered.data() + to, own.send.data() + from, block);
      });
      layout.sum = own.receive;
      layout.before = {ordered, sums};
      layout.across = {sums, own.receive};
      return layout;
    }
    case Collective::all_gather: {
      const std::size_t block = own.send.size();
      const std::span<std::byte> column = add(block * nodes);
      const std::span<std::byte> ordered = add(block * nodes * places);
      for_each_block(grid, block, [&](std::size_t from, std::size_t to) {
        layout.copies_after.add(own.receive.data() + to, ordered.data() + from, block);
      });
      layout.across = {own.send, column};
      layout.after = {column, ordered};
      return layout;
    }
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::all_to_all:
    case Collective::gather:
    case Collective::scatter:
      break;
  }
  throw Error(StatusCode::internal,
              "no levels for " + std::string(name_of(call.problem.collective)));
}

/// Runs the levels. Its communicators are destroyed after its steps.
class LevelsOperation final : public Operation {
 public:
  LevelsOperation(Communicator& communicator, const CallBuffers& buffers, int node, int place,
                  Deadline deadline)
      : inside(communicator.split(node, place, deadline)),
        across(communicator.split(place, node, deadline)),
        steps(joint_words, communicator, buffers) {}

  void bind(const CallBuffers& buffers) override { steps.bind(buffers); }
  void start() override { steps.start(); }
  void wait(Deadline deadline) override { steps.wait(deadline); }
  [[nodiscard]] bool is_lost() const override { return steps.is_lost(); }
  void give_up() noexcept override { steps.give_up(); }

  std::unique_ptr<Communicator> inside;
  std::unique_ptr<Communicator> across;
  JointSteps steps;
};

class HierarchicalLowLatency final : public Implementation {
 public:
  HierarchicalLowLatency(Collective collective, std::string description, const Implementations& all)
      : collective_(collective),
        name_("cpu." + std::string(name_of(collective)) + "_hierarchical_low_latency"),
        description_(std::move(description)) {
    const Steps steps = steps_of({.collective = collective}, 1);
    const auto inside = [&](const std::optional<Problem>& step) {
      if (!step) return static_cast<const Implementation*>(nullptr);
      return find_implementation(low_latency_,
                                 "cpu." + std::string(name_of(step->collective)) + "_low_latency");
    };
    before_ = inside(steps.before);
    after_ = inside(steps.after);
    levels_ = levels_for(all, steps.across.collective, true);
    for (const Level& level : *levels_)
      across_.push_back(std::move(make_scheduled({level.algorithm}).front()));
  }

  std::string_view name() const override { return name_; }
  std::string_view description() const override { return description_; }
  Collective collective() const override { return collective_; }
  std::string_view family() const override { return "colltune"; }

  std::vector<Variant> variants(const Problem& problem, const Topology& topology,
                                const Capability& capability) const override {
    const bool has_grid = why_no_grid(topology).empty();
    const int places = has_grid ? topology.ranks_per_node : 2;
    const Steps steps = steps_of(problem, places);
    const std::vector<Variant> insides = inside().variants(
        steps.before ? *steps.before : *steps.after, inside_of(topology, places), capability);
    std::vector<Variant> all;
    for (const Level& level : *levels_) {
      if (has_grid && !why_not_among(level.algorithm, topology.nodes).empty()) continue;
      for (Variant variant : insides) {
        variant.implementation = name_;
        variant.parameters.push_back({std::string(across_knob), level.word});
        std::ranges::sort(variant.parameters);
        all.push_back(std::move(variant));
      }
    }
    if (!has_grid) all.resize(1);  // so that `supports` can give the reason
    return all;
  }

  Support supports(const Problem& problem, const Topology& topology, const Capability& capability,
                   const Variant& variant) const override {
    if (std::string why = why_not_on_processors(collective_, problem); !why.empty())
      return Support::no(std::move(why));
    if (std::string why = why_no_grid(topology); !why.empty()) return Support::no(std::move(why));
    if (std::string why = why_outside(limits(variant), problem, topology.ranks); !why.empty())
      return Support::no(std::move(why));
    const Level* const level = find_level(variant);
    if (level == nullptr)
      return Support::no(std::string(across_knob) + " must be one of " + words());
    if (std::string why = why_not_among(level->algorithm, topology.nodes); !why.empty())
      return Support::no("across nodes: " + why);
    Support support = Support::yes();
    for_each_inside(steps_of(problem, topology.ranks_per_node), [&](const Problem& step,
                                                                    const Implementation& by) {
      if (support)
        support = by.supports(step, node_of(topology), capability, inside_variant(variant, by));
    });
    return support ? support : Support::no("inside a node: " + support.reason());
  }

  Limits limits(const Variant&) const override {
    return {.min_ranks = 4, .max_message = largest_message};
  }

  std::string protocol(const Problem& problem, const Variant& variant) const override {
    // The protocol inside is that of low latency; the sizes follow from the problem.
    return "levels;" + name_ + ";" + word(variant, across_knob) + ";" +
           inside().protocol(problem, inside_variant(variant, inside()));
  }

  Cost cost(const Problem& problem, const Topology& topology,
            const Variant& variant) const override {
    const Steps steps = steps_of(problem, topology.ranks_per_node);
    Topology across = topology;
    across.ranks = topology.nodes;
    across.ranks_per_node = 1;
    const Level& level = level_of(levels_, variant, across_knob);
    Cost sum = across_of(level).cost(steps.across, across, variant_of(level));
    for_each_inside(steps, [&](const Problem& step, const Implementation& by) {
      const Cost own = by.cost(step, node_of(topology), inside_variant(variant, by));
      sum.steps += own.steps;
      sum.bytes_per_rank += own.bytes_per_rank;
      sum.reduced_bytes += own.reduced_bytes;
    });
    return sum;
  }

  Numerics numerics(const Problem& problem, const Variant&) const override {
    return {.rounding = rounding_handed_on(problem),
            .numeric_class =
                shape_of(collective_).reduces ? NumericClass::same_bits : NumericClass::rank_order};
  }

  std::string why_not_bound(const Problem&, const Variant&) const override { return {}; }

  bool covers(const Variant& wide, const Variant& narrow) const override {
    return word(wide, across_knob) == word(narrow, across_knob) &&
           inside().covers(inside_variant(wide, inside()), inside_variant(narrow, inside()));
  }
  int settling_calls(const Problem& problem, const Topology& topology,
                     const Variant& variant) const override {
    int most = 0;
    for_each_inside(steps_of(problem, topology.ranks_per_node), [&](const Problem& step,
                                                                    const Implementation& by) {
      most =
          std::max(most, by.settling_calls(step, node_of(topology), inside_variant(variant, by)));
    });
    return most;
  }

  std::unique_ptr<Operation> prepare(Communicator& communicator, const Call& call,
                                     const Variant& variant, Deadline deadline) const override;

 private:
  /// What runs inside a node; if that is two collectives, they have equal settings.
  [[nodiscard]] const Implementation& inside() const {
    return before_ != nullptr ? *before_ : *after_;
  }
  template <class Act>
  void for_each_inside(const Steps& steps, Act act) const {
    if (steps.before) act(*steps.before, *before_);
    if (steps.after) act(*steps.after, *after_);
  }
  [[nodiscard]] static Topology inside_of(Topology topology, int places) {
    topology.nodes = 1;
    topology.ranks = topology.ranks_per_node = places;
    return topology;
  }
  [[nodiscard]] static Topology node_of(const Topology& topology) {
    return inside_of(topology, topology.ranks_per_node);
  }
  [[nodiscard]] static Variant inside_variant(Variant variant, const Implementation& by) {
    std::erase_if(variant.parameters, [](const Parameter& one) { return one.name == across_knob; });
    variant.implementation = by.name();
    return variant;
  }
  /// Null if the variant names none.
  [[nodiscard]] const Level* find_level(const Variant& variant) const {
    for (const Parameter& parameter : variant.parameters) {
      if (parameter.name != across_knob) continue;
      const auto found = std::ranges::find(*levels_, to_string(parameter.value), &Level::word);
      if (found != levels_->end()) return &*found;
    }
    return nullptr;
  }
  [[nodiscard]] const Implementation& across_of(const Level& level) const {
    return *across_[static_cast<std::size_t>(&level - levels_->data())];
  }
  [[nodiscard]] std::string words() const {
    std::string all;
    for (const Level& level : *levels_) all += (all.empty() ? "" : ", ") + level.word;
    return all;
  }

  Collective collective_;
  std::string name_;
  std::string description_;
  Implementations low_latency_ = make_low_latency();
  const Implementation* before_ = nullptr;  ///< of low_latency_; null if there is no such step
  const Implementation* after_ = nullptr;
  Levels levels_;
  Implementations across_;  ///< by level
};

std::unique_ptr<Operation> HierarchicalLowLatency::prepare(Communicator& communicator,
                                                           const Call& call, const Variant& variant,
                                                           Deadline deadline) const {
  const NodeGrid grid(communicator.size(), communicator.nodes());
  if (!grid.is_even())  // all ranks reach the same result
    throw Error(StatusCode::failed_precondition,
                std::string(joint_words) + " needs as many ranks on each node");
  const int rank = communicator.rank();
  const int node = communicator.nodes()[static_cast<std::size_t>(rank)];
  const std::vector<int>& members = grid.of_node(node);
  const auto place = static_cast<int>(std::ranges::find(members, rank) - members.begin());
  const Steps steps = steps_of(call.problem, grid.places());
  auto operation = std::make_unique<LevelsOperation>(communicator, call.buffers, node, place, deadline);
  JointSteps& joint = operation->steps;
  Layout layout;
  attempt_together(communicator, joint_words, deadline,
                   [&] { layout = lay_out(call, grid, place, joint.memory()); });
  const auto add = [&](Communicator& level, const ImplementedBy& by, const Problem& problem,
                       const CallBuffers& buffers, JointStep step) {
    // One level after the other, each on all ranks: if a rank fails in one, no rank enters the
    // next.
    attempt_together(communicator, joint_words, deadline, [&] {
      step.prepare(level, by, {.problem = problem, .root = 0, .buffers = buffers}, deadline);
      joint.add(std::move(step));
    });
  };
  joint.add({.copies = std::move(layout.copies_before)});
  if (steps.before) {
    const Variant own = inside_variant(variant, *before_);
    add(*operation->inside, {*before_, own}, *steps.before, layout.before,
        {.members = members, .waiting_for = inside_words});
  }
  const Level& level = level_of(levels_, variant, across_knob);
  const Variant own_across = variant_of(level);
  add(*operation->across, {across_of(level), own_across}, steps.across, layout.across,
      {.members = grid.of_place(place), .waiting_for = across_words});
  if (call.problem.reduce_op == ReduceOp::avg)
    joint.add(
        {.division = Division(layout.sum, call.problem.data_type, communicator.size(), nullptr)});
  if (steps.after) {
    const Variant own = inside_variant(variant, *after_);
    add(*operation->inside, {*after_, own}, *steps.after, layout.after,
        {.members = members, .waiting_for = inside_words});
  }
  joint.add({.copies = std::move(layout.copies_after)});
  return operation;
}

}  // namespace

Implementations compose_hierarchical_low_latency(const Implementations& all) {
  Implementations made;
  const auto add = [&](Collective collective, std::string description) {
    made.push_back(
        std::make_unique<HierarchicalLowLatency>(collective, std::move(description), all));
  };
  add(Collective::all_reduce,
      "short messages: low-latency reduce-scatter in each node, all-reduce across, low-latency "
      "all-gather in each node");
  add(Collective::reduce_scatter,
      "short messages: low-latency reduce-scatter in each node for each node, then across nodes");
  add(Collective::all_gather,
      "short messages: all-gather across nodes, then low latency in each node");
  return made;
}

}  // namespace colltune::cpu
