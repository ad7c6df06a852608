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
#include "composition/joint_stages.h"
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
constexpr std::string_view across_parameter = "across";

/// The collectives of the levels, in order; nothing for a level without one.
struct Stages {
  std::optional<Problem> before{};  ///< inside each node
  Problem across;
  std::optional<Problem> after{};  ///< inside each node
  /// all_reduce: bytes of the message, rounded up so that each rank of a node has an equal share.
  Bytes padded{};
};

/// The stages of `problem` on nodes with `places` ranks each. An average is a sum until the end.
Stages stages_of(const Problem& problem, int places) {
  const auto stage = [&](Collective collective, std::uint64_t size, bool in_place) {
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
    return {.before = stage(Collective::reduce_scatter, padded.value, in_place),
            .across = stage(Collective::all_reduce, share, true),
            .after = stage(Collective::all_gather, padded.value, true),
            .padded = padded};
  }
  const std::uint64_t across = size / ranks;
  if (problem.collective == Collective::reduce_scatter)
    return {.before = stage(Collective::reduce_scatter, size, false),
            .across = stage(Collective::reduce_scatter, across, false)};
  return {.across = stage(Collective::all_gather, across, false),
          .after = stage(Collective::all_gather, size, false)};
}

/// Where a rank's data lies in each stage, and what it copies before and after the stages.
struct Layout {
  CallBuffers before{};
  CallBuffers across{};
  CallBuffers after{};
  Copies copies_before{};
  Copies copies_after{};
  std::span<std::byte> sum{};  ///< this rank's part of the result after the stage across
};

/// Copies between two orders of all ranks' blocks: by rank, and by place and then node.
template <class Copy>
void for_each_block(const NodeGrid& grid, std::size_t block, Copy copy) {
  std::size_t ordered = 0;
  for (int place = 0; place < grid.places(); ++place)
    for (int node = 0; node < grid.nodes(); ++node, ordered += block)
      copy(ordered, static_cast<std::size_t>(grid.rank(node, place)) * block);
}

/// The largest calls that the stages of `call` and of those that may follow it make.
struct Capacities {
  Bytes inside{};  ///< 0: no call follows
  Bytes across{};
};

Capacities capacities_of(const Call& call, int places) {
  if (call.capacity == Bytes{}) return {};
  const auto ranks = static_cast<std::uint64_t>(places);
  // Where a message is rounded up, by less than an element of the largest type for each rank.
  const std::uint64_t rounded = call.problem.collective == Collective::all_reduce ? 8 : 0;
  return {.inside = call.capacity + Bytes{rounded * ranks},
          .across = {call.capacity.value / ranks + rounded}};
}

/// Memory between the stages: what lies in the order of the one stage's blocks, and of the other's.
struct Areas {
  std::span<std::byte> whole{};
  std::span<std::byte> column{};

  Areas(const Call& call, const NodeGrid& grid, StageMemory& memory) {
    Problem problem = call.problem;
    problem.message_size = std::max(problem.message_size, call.capacity);
    const auto places = static_cast<std::uint64_t>(grid.places());
    const Bytes largest = std::max(stages_of(problem, grid.places()).padded,
                                   capacities_of(call, grid.places()).inside);
    if (problem.collective == Collective::all_reduce) {
      whole = memory.add(largest, nullptr);
    } else {
      whole = memory.add(problem.message_size, nullptr);
      column = memory.add({problem.message_size.value / places}, nullptr);
    }
  }
};

/// Fills `layout`, whose copies are empty.
void lay_out(const Call& call, const NodeGrid& grid, int place, const Areas& areas,
             Layout& layout) {
  const CallBuffers& own = call.buffers;
  const auto places = static_cast<std::size_t>(grid.places());
  const auto nodes = static_cast<std::size_t>(grid.nodes());
  const auto at = static_cast<std::size_t>(place);
  switch (call.problem.collective) {
    case Collective::all_reduce: {
      const Stages stages = stages_of(call.problem, grid.places());
      std::span<std::byte> whole = own.receive;
      std::span<const std::byte> input = own.send;
      if (stages.padded != call.problem.message_size) {
        whole = areas.whole.first(stages.padded.value);
        input = whole;
        layout.copies_before.add(whole.data(), own.send.data(), own.send.size());
        layout.copies_after.add(own.receive.data(), whole.data(), own.receive.size());
      }
      layout.sum = whole.subspan(at * (whole.size() / places), whole.size() / places);
      layout.before = {input, layout.sum};
      layout.across = {layout.sum, layout.sum};
      layout.after = {layout.sum, whole};
      return;
    }
    case Collective::reduce_scatter: {
      const std::size_t block = own.receive.size();
      const std::span<std::byte> ordered = areas.whole.first(block * nodes * places);
      const std::span<std::byte> sums = areas.column.first(block * nodes);
      for_each_block(grid, block, [&](std::size_t to, std::size_t from) {
        layout.copies_before.add(ordered.data() + to, own.send.data() + from, block);
      });
      layout.sum = own.receive;
      layout.before = {ordered, sums};
      layout.across = {sums, own.receive};
      return;
    }
    case Collective::all_gather: {
      const std::size_t block = own.send.size();
      const std::span<std::byte> column = areas.column.first(block * nodes);
      const std::span<std::byte> ordered = areas.whole.first(block * nodes * places);
      for_each_block(grid, block, [&](std::size_t from, std::size_t to) {
        layout.copies_after.add(own.receive.data() + to, ordered.data() + from, block);
      });
      layout.across = {own.send, column};
      layout.after = {column, ordered};
      return;
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

/// Runs the levels. Its communicators are destroyed after its stages.
class LevelsOperation final : public Operation {
 public:
  LevelsOperation(Communicator& communicator, const Call& call, NodeGrid grid, Deadline deadline)
      : rank(communicator.rank()),
        ranks(communicator.size()),
        node(communicator.nodes()[static_cast<std::size_t>(rank)]),
        place(place_in(grid.of_node(node), rank)),
        inside(communicator.split(node, place, deadline)),
        across(communicator.split(place, node, deadline)),
        stages(joint_words, communicator, call.buffers),
        prepared_(call),
        grid_(std::move(grid)) {}

  /// Local, and may throw on this rank only.
  void make_areas() { areas_.emplace(prepared_, grid_, stages.memory()); }

  void bind(const CallBuffers& buffers) override { stages.bind(buffers); }
  void rebind(const Call& call) override {
    check_rebound(prepared_, call, rank, ranks);
    use(call);
    stages.rebind(call.buffers);
  }
  void start() override { stages.start(); }
  void wait(Deadline deadline) override { stages.wait(deadline); }
  [[nodiscard]] bool is_lost() const override { return stages.is_lost(); }
  void give_up() noexcept override { stages.give_up(); }

  /// Sets what each stage does in `call`.
  void use(const Call& call) {
    const Stages next = stages_of(call.problem, grid_.places());
    const Capacities capacities = capacities_of(prepared_, grid_.places());
    // The lists of copies keep their memory from call to call.
    Layout layout;
    const std::size_t last = stages.size() - 1;
    std::swap(layout.copies_before, stages.at(0).copies);
    std::swap(layout.copies_after, stages.at(last).copies);
    layout.copies_before.reset(static_cast<std::size_t>(ranks));
    layout.copies_after.reset(static_cast<std::size_t>(ranks));
    lay_out(call, grid_, place, *areas_, layout);
    std::size_t at = 0;
    const auto set = [&](const Problem& problem, const CallBuffers& buffers, Bytes capacity) {
      stages.at(at++).call = {.problem = problem, .buffers = buffers, .capacity = capacity};
    };
    stages.at(at++).copies = std::move(layout.copies_before);
    if (next.before) set(*next.before, layout.before, capacities.inside);
    set(next.across, layout.across, capacities.across);
    if (call.problem.reduce_op == ReduceOp::avg)
      stages.at(at).division = Division(layout.sum, call.problem.data_type, ranks, nullptr);
    else
      stages.at(at).division = {};
    ++at;
    if (next.after) set(*next.after, layout.after, capacities.inside);
    stages.at(last).copies = std::move(layout.copies_after);
  }

  const int rank;
  const int ranks;
  const int node;
  const int place;
  std::unique_ptr<Communicator> inside;
  std::unique_ptr<Communicator> across;
  JointStages stages;

 private:
  [[nodiscard]] static int place_in(const std::vector<int>& members, int rank) {
    return static_cast<int>(std::ranges::find(members, rank) - members.begin());
  }

  Call prepared_;
  NodeGrid grid_;
  std::optional<Areas> areas_;
};

class HierarchicalLowLatency final : public Implementation {
 public:
  HierarchicalLowLatency(Collective collective, std::string description, const Implementations& all)
      : Implementation(
            {.name = "cpu." + std::string(name_of(collective)) + "_hierarchical_low_latency",
             .description = std::move(description),
             .collective = collective,
             .family = "colltune"}) {
    const Stages stages = stages_of({.collective = collective}, 1);
    const auto inside = [&](const std::optional<Problem>& stage) {
      if (!stage) return static_cast<const Implementation*>(nullptr);
      return find_implementation(low_latency_,
                                 "cpu." + std::string(name_of(stage->collective)) + "_low_latency");
    };
    before_ = inside(stages.before);
    after_ = inside(stages.after);
    levels_ = levels_for(all, stages.across.collective, true);
    for (const Level& level : *levels_)
      across_.push_back(std::move(make_scheduled({level.algorithm}).front()));
  }

  std::vector<Variant> variants(const Problem& problem, const Topology& topology,
                                const Capability& capability) const override {
    const bool has_grid = why_no_grid(topology).empty();
    const int places = has_grid ? topology.ranks_per_node : 2;
    const Stages stages = stages_of(problem, places);
    const std::vector<Variant> insides = inside().variants(
        stages.before ? *stages.before : *stages.after, inside_of(topology, places), capability);
    std::vector<Variant> all;
    for (const Level& level : *levels_) {
      if (has_grid && !why_not_among(level.algorithm, topology.nodes).empty()) continue;
      for (Variant variant : insides) {
        variant.implementation = name();
        variant.parameters.push_back({std::string(across_parameter), level.word});
        std::ranges::sort(variant.parameters);
        all.push_back(std::move(variant));
      }
    }
    if (!has_grid) all.resize(1);  // so that `supports` can give the reason
    return all;
  }

  Support can_run(const Problem& problem, const Topology& topology, const Capability& capability,
                  const Variant& variant) const override {
    if (std::string why = why_not_on_processors(collective(), problem); !why.empty())
      return Support::no(std::move(why));
    if (std::string why = why_no_grid(topology); !why.empty()) return Support::no(std::move(why));
    if (std::string why = why_outside(limits(variant), problem, topology.ranks); !why.empty())
      return Support::no(std::move(why));
    const Level* const level = find_level(variant);
    if (level == nullptr)
      return Support::no(std::string(across_parameter) + " must be one of " + words());
    if (std::string why = why_not_among(level->algorithm, topology.nodes); !why.empty())
      return Support::no("across nodes: " + why);
    Support support = Support::yes();
    for_each_inside(stages_of(problem, topology.ranks_per_node), [&](const Problem& stage,
                                                                     const Implementation& by) {
      if (support)
        support = by.supports(stage, node_of(topology), capability, inside_variant(variant, by));
    });
    return support ? support : Support::no("inside a node: " + support.reason());
  }

  Limits limits(const Variant&) const override {
    return {.min_ranks = 4, .max_message = largest_message};
  }

  std::string protocol(const Problem& problem, const Variant& variant) const override {
    // The protocol inside is that of low latency; the sizes follow from the problem.
    return "levels;" + name() + ";" + word(variant, across_parameter) + ";" +
           inside().protocol(problem, inside_variant(variant, inside()));
  }

  Cost cost(const Problem& problem, const Topology& topology,
            const Variant& variant) const override {
    const Stages stages = stages_of(problem, topology.ranks_per_node);
    Topology across = topology;
    across.ranks = topology.nodes;
    across.ranks_per_node = 1;
    const Level& level = level_of(levels_, variant, across_parameter);
    Cost sum = across_of(level).cost(stages.across, across, variant_of(level));
    for_each_inside(stages, [&](const Problem& stage, const Implementation& by) {
      const Cost own = by.cost(stage, node_of(topology), inside_variant(variant, by));
      sum.steps += own.steps;
      sum.bytes_per_rank += own.bytes_per_rank;
      sum.reduced_bytes += own.reduced_bytes;
    });
    return sum;
  }

  Numerics numerics(const Problem& problem, const Variant&) const override {
    return {.rounding = rounding_handed_on(problem),
            .numeric_class = shape_of(collective()).reduces ? NumericClass::same_bits
                                                            : NumericClass::rank_order};
  }

  bool covers(const Variant& wide, const Variant& narrow) const override {
    return word(wide, across_parameter) == word(narrow, across_parameter) &&
           inside().covers(inside_variant(wide, inside()), inside_variant(narrow, inside()));
  }
  CallTraits traits(const Problem& problem, const Topology& topology,
                    const Variant& variant) const override {
    CallTraits all{.why_not_bound = {}, .why_not_rebound = {}};
    for_each_inside(stages_of(problem, topology.ranks_per_node), [&](const Problem& stage,
                                                                     const Implementation& by) {
      const CallTraits own = by.traits(stage, node_of(topology), inside_variant(variant, by));
      all.learning_calls = std::max(all.learning_calls, own.learning_calls);
    });
    return all;
  }

  std::unique_ptr<Operation> prepare(Communicator& communicator, const Call& call,
                                     const Variant& variant, Deadline deadline) const override;

 private:
  /// What runs inside a node; if that is two collectives, they have equal settings.
  [[nodiscard]] const Implementation& inside() const {
    return before_ != nullptr ? *before_ : *after_;
  }
  template <class Act>
  void for_each_inside(const Stages& stages, Act act) const {
    if (stages.before) act(*stages.before, *before_);
    if (stages.after) act(*stages.after, *after_);
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
    std::erase_if(variant.parameters,
                  [](const Parameter& one) { return one.name == across_parameter; });
    variant.implementation = by.name();
    return variant;
  }
  /// Null if the variant names none.
  [[nodiscard]] const Level* find_level(const Variant& variant) const {
    for (const Parameter& parameter : variant.parameters) {
      if (parameter.name != across_parameter) continue;
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

  Implementations low_latency_ = make_low_latency();
  const Implementation* before_ = nullptr;  ///< of low_latency_; null if there is no such stage
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
  const Stages stages = stages_of(call.problem, grid.places());
  auto operation = std::make_unique<LevelsOperation>(communicator, call, grid, deadline);
  JointStages& joint = operation->stages;
  // What this rank does in each stage; what its collective is, `use` sets.
  joint.add({});
  if (stages.before)
    joint.add({.members = grid.of_node(operation->node), .waiting_for = inside_words});
  joint.add({.members = grid.of_place(operation->place), .waiting_for = across_words});
  joint.add({});  // the division
  if (stages.after)
    joint.add({.members = grid.of_node(operation->node), .waiting_for = inside_words});
  joint.add({});
  attempt_together(communicator, joint_words, deadline, [&] {
    operation->make_areas();
    operation->use(call);
  });
  std::size_t at = 1;
  const auto prepare_stage = [&](Communicator& level, const Implementation& by,
                                 const Variant& own) {
    // One level after the other, each on all ranks: if a rank fails in one, no rank enters the
    // next.
    attempt_together(communicator, joint_words, deadline, [&] {
      JointStage& stage = joint.at(at++);
      stage.prepare(level, {by, own}, stage.call, deadline);
    });
  };
  if (stages.before) prepare_stage(*operation->inside, *before_, inside_variant(variant, *before_));
  const Level& level = level_of(levels_, variant, across_parameter);
  prepare_stage(*operation->across, across_of(level), variant_of(level));
  ++at;  // the division
  if (stages.after) prepare_stage(*operation->inside, *after_, inside_variant(variant, *after_));
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
