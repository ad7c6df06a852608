// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "scheduled_implementation.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <utility>

#include "arithmetic/numerics.h"
#include "scheduled_operation.h"
#include "shared_memory/cross_memory.h"
#include "shared_memory/shared_memory_support.h"
#include "shared_memory/slots.h"
#include "shared_memory/store_choice.h"
#include "waves.h"

namespace colltune {
namespace {

// From a fraction of the L1 cache to half of a usual L2 cache; a larger chunk that a peer has just
// written is read from memory (measured: 12 to 18 GB/s between cores, 16 MiB no faster than 1 MiB).
// A scatter of 1 MiB takes 3 to 13 % less with 256 KiB than with 64 KiB if cores are near, and up
// to 15 % more if they are distant. 128 KiB is within 4 % of the best in both cases, in five of six
// collectives.
constexpr std::array<std::int64_t, 5> chunk_sizes{16 << 10, 64 << 10, 128 << 10, 256 << 10,
                                                  1 << 20};
constexpr std::int64_t largest_chunk = std::int64_t{1} << 30;
// Two slots wait more often and use less memory: with large chunks that is sometimes faster and as
// often slower.
constexpr std::int64_t fewest_slots = 2;
constexpr std::int64_t smallest_chunk_with_fewest = 256 << 10;
/// How a variant writes: through the caches or past them.
struct Stores {
  std::string_view word;
  StoreMode mode;
  bool adapts = false;
};
// In the order in which a sweep tries them: among equal costs, the first one serves if nothing was
// measured.
constexpr std::array<Stores, 5> all_stores{
    {{"adaptive", {}, true},
     {"cached", {}},
     {"streaming", {CopyMode::non_temporal, CopyMode::cached}},
     {"streaming_staging", {CopyMode::cached, CopyMode::non_temporal}},
     {"streaming_both", {CopyMode::non_temporal, CopyMode::non_temporal}}}};
constexpr std::string_view plain_stores = "cached";  // always legal
// The first limits the symmetric memory per rank of the variants that a sweep tries, the second
// that of any call.
constexpr Bytes most_memory_tried{std::uint64_t{64} << 20};
constexpr Bytes most_memory{std::uint64_t{1} << 30};

Access access_of(const Variant& variant) { return parse_name<Access>(word(variant, "access")); }

/// The node of each rank that a topology implies; empty: all on one node.
std::vector<int> nodes_of(const Topology& topology) {
  std::vector<int> nodes;
  if (topology.nodes > 1)
    for (int rank = 0; rank < topology.ranks; ++rank)
      nodes.push_back(std::min(rank / topology.ranks_per_node, topology.nodes - 1));
  return nodes;
}

/// The ranks of a call and their places.
struct Parties {
  int ranks = 1;
  int root = 0;
  std::vector<int> nodes{};  ///< as ScheduledCall::nodes
  RankPlaces places{};
};

/// As far as a topology says. It does not say which ranks share a NUMA domain or a cache: costs
/// assume two of them on each node, with half of the ranks in each.
Parties parties_of(const Topology& topology) {
  Parties parties{.ranks = topology.ranks, .nodes = nodes_of(topology)};
  std::vector<int> halves;
  for (int rank = 0; rank < topology.ranks; ++rank) {
    const int node = parties.nodes.empty() ? 0 : parties.nodes[static_cast<std::size_t>(rank)];
    const int place = rank - node * topology.ranks_per_node;
    halves.push_back(2 * node + (2 * place < topology.ranks_per_node ? 0 : 1));
  }
  // Renumbered from 0: a node with a single rank has only one half.
  std::map<int, int> numbers;
  for (int& half : halves)
    half = numbers.try_emplace(half, static_cast<int>(numbers.size())).first->second;
  parties.places = {.node = parties.nodes, .numa = halves, .cache = halves};
  return parties;
}

ScheduledCall shape_of_call(const ScheduledAlgorithm& algorithm, const Problem& problem,
                            const Variant& variant, const Parties& parties) {
  ScheduledCall shape{.collective = algorithm.collective,
                      .ranks = parties.ranks,
                      .root = parties.root,
                      .in_place = problem.in_place,
                      .access = access_of(variant),
                      .slots = static_cast<int>(number(variant, "slots")),
                      .nodes = parties.nodes};
  if (algorithm.groups_by) shape.groups = parties.places.on(algorithm.groups_by(variant));
  if (algorithm.shares) shape.shares = algorithm.shares(shape, variant);
  return shape;
}

Schedule schedule_of(const ScheduledAlgorithm& algorithm, const ScheduledCall& shape,
                     const Variant& variant) {
  ScheduleWriter writer(shape);
  algorithm.write_wave(writer, variant);
  return writer.schedule();
}

ScheduleOptions options_of(const Variant& variant) {
  const auto* const stores = std::ranges::find(all_stores, word(variant, "stores"), &Stores::word);
  if (stores == all_stores.end())
    throw Error(StatusCode::invalid_argument, to_string(variant) + ": its stores are unknown");
  return {.chunk = static_cast<std::size_t>(number(variant, "chunk")),
          .stores = stores->mode,
          .adapts = stores->adapts};
}

/// The setting of type T named `name`; null if the variant has none.
template <class T>
const T* find_setting(const Variant& variant, std::string_view name) {
  for (const Parameter& parameter : variant.parameters)
    if (parameter.name == name) return std::get_if<T>(&parameter.value);
  return nullptr;
}

/// Empty if `variant` sets `parameter` to a legal value: one of its words, or a number of at
/// least 2.
std::string why_not(const Variant& variant, const ParameterChoices& parameter) {
  std::string allowed;
  for (const ParameterValue& setting : parameter.settings) {
    if (!std::holds_alternative<std::string>(setting)) {
      const auto* const value = find_setting<std::int64_t>(variant, parameter.name);
      if (value != nullptr && *value >= 2 && *value <= largest_chunk) return {};
      return parameter.name + " must be a number from 2 on";
    }
    const auto* const value = find_setting<std::string>(variant, parameter.name);
    if (value != nullptr && *value == std::get<std::string>(setting)) return {};
    if (!allowed.empty()) allowed += " or ";
    allowed += to_string(setting);
  }
  return parameter.name + " must be " + allowed;
}

/// The largest count over all ranks' steps, in blocks.
template <class Count>
double most_blocks(const Schedule& schedule, Count count) {
  std::ptrdiff_t most = 0;
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    std::ptrdiff_t sum = 0;
    for (const auto& steps : schedule.ranks[rank].phases)
      for (const Step& step : steps) sum += count(step, static_cast<int>(rank));
    most = std::max(most, sum);
  }
  return static_cast<double>(most);
}

std::ptrdiff_t blocks_from_others(const Step& step, int rank) {
  return std::ranges::count_if(step.from, [&](const Block& from) { return from.rank != rank; });
}

std::ptrdiff_t blocks_to_others(const Step& step, int rank) {
  return (step.to.rank != rank ? 1 : 0) + (step.also_to && step.also_to->rank != rank ? 1 : 0);
}

/// Blocks that a rank reads or writes through memory. Messages do not count: they go both ways at
/// once.
std::ptrdiff_t copied_blocks(const Step& step, int rank) {
  const bool is_message = step.kind == StepKind::send || step.kind == StepKind::receive;
  return is_message ? 0 : blocks_from_others(step, rank) + blocks_to_others(step, rank);
}
std::ptrdiff_t sent_blocks(const Step& step, int) { return step.kind == StepKind::send ? 1 : 0; }
std::ptrdiff_t received_blocks(const Step& step, int) {
  return step.kind == StepKind::receive ? 1 : 0;
}

std::ptrdiff_t combined_blocks(const Step& step, int) {
  const bool combines = step.kind == StepKind::combine || step.kind == StepKind::combine_last;
  return combines ? static_cast<std::ptrdiff_t>(step.from.size()) : 0;
}

/// Whether a rank's own stores write data that others read, in symmetric memory or at its
/// destination. Messages are written by the transport, and memory that is not mapped by the kernel.
bool writes_for_others(const Schedule& schedule, Access access) {
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    const auto is_for_others = [&](const Block& to) {
      return to.space == Space::scratch ||
             (access == Access::direct && to.rank != static_cast<int>(rank));
    };
    for (const auto& steps : schedule.ranks[rank].phases)
      for (const Step& step : steps)
        if (step.kind != StepKind::send && step.kind != StepKind::receive &&
            (is_for_others(step.to) || (step.also_to && is_for_others(*step.also_to))))
          return true;
  }
  return false;
}

/// Whether a sweep tries `stores`, when there are other modes than `cached`, in calls that follow
/// `schedule`.
bool is_tried(const Stores& stores, const Schedule& schedule, const ScheduledCall& shape,
              const Problem& problem) {
  const std::uint64_t message = problem.message_size.value;
  const bool is_for_others = problem.message_size >= smallest_streamed_staging &&
                             writes_for_others(schedule, shape.access);
  if (stores.adapts) return is_for_others;
  // Cores may be moved while a program runs: a fixed mode cannot stay the right one (README.md).
  if (stores.mode.staging == CopyMode::non_temporal) return false;
  if (stores.mode.results == CopyMode::non_temporal) {
    // The kernel's copies ignore the store mode.
    const bool writes = shape.access != Access::cma || shape_of(problem.collective).reduces;
    // For none of eight collectives of 1 MiB was this the fastest mode with staging, with near or
    // distant cores: bypassing the caches for results leaves no room there for what others wait
    // for. The adaptive setting includes a mode in which both bypass the caches.
    return writes && !is_for_others && message >= smallest_streamed_result.value;
  }
  return true;
}

Variant with(Variant variant, std::string_view name, ParameterValue setting) {
  for (Parameter& parameter : variant.parameters)
    if (parameter.name == name) parameter.value = std::move(setting);
  return variant;
}

Variant with_stores(Variant variant, std::string_view stores) {
  return with(std::move(variant), "stores", std::string(stores));
}

/// What is cut into chunks: the message, or each of its blocks; of unequal ones about the longest.
std::uint64_t bytes_cut(const Problem& problem, int ranks) {
  const bool has_blocks = shape_of(problem.collective).has_block_per_rank();
  const std::uint64_t mean =
      problem.message_size.value / (has_blocks ? static_cast<std::uint64_t>(ranks) : 1);
  switch (problem.counts) {
    case Counts::equal:
      return mean;
    case Counts::one_large:
      return problem.message_size.value;
    case Counts::random:
      return 2 * mean;
  }
  return mean;  // not reached: the switch is complete
}

/// The numbers of slots that a sweep tries for waves of `chunk` bytes.
std::vector<std::int64_t> slots_of_waves(const Problem& problem, const Topology& topology,
                                         Access access, std::int64_t chunk) {
  // Without staging the slots hold nothing; between nodes they hold messages, which are in no
  // core's cache.
  if (access != Access::staged || topology.nodes > 1) return {usual_slots};
  const std::uint64_t wave =
      std::min(static_cast<std::uint64_t>(chunk), bytes_cut(problem, topology.ranks));
  std::vector<std::int64_t> all = tried_slots(wave);
  if (chunk >= smallest_chunk_with_fewest) all.push_back(fewest_slots);
  return all;
}

class ScheduledImplementation final : public Implementation {
 public:
  explicit ScheduledImplementation(ScheduledAlgorithm algorithm)
      : Implementation({.name = algorithm.name,
                        .description = algorithm.description,
                        .collective = algorithm.collective,
                        .family = "colltune",
                        .takes_unequal_counts =
                            may_have_unequal_counts({.collective = algorithm.collective})}),
        algorithm_(std::move(algorithm)) {}

  [[nodiscard]] const ScheduledAlgorithm& algorithm() const { return algorithm_; }

  std::vector<Variant> variants(const Problem& problem, const Topology& topology,
                                const Capability& capability) const override;
  Support can_run(const Problem& problem, const Topology& topology, const Capability& capability,
                  const Variant& variant) const override;
  Limits limits(const Variant&) const override { return {.min_ranks = algorithm_.min_ranks}; }
  std::string protocol(const Problem& problem, const Variant& variant) const override;
  Cost cost(const Problem& problem, const Topology& topology,
            const Variant& variant) const override;
  CallTraits traits(const Problem& problem, const Topology& topology,
                    const Variant& variant) const override;
  bool covers(const Variant& wide, const Variant& narrow) const override {
    const auto fixed = with_stores(wide, plain_stores);
    return wide != fixed && narrow == fixed && options_of(wide).adapts;
  }
  Numerics numerics(const Problem& problem, const Variant& variant) const override;
  std::unique_ptr<Operation> prepare(Communicator& communicator, const Call& call,
                                     const Variant& variant, Deadline deadline) const override;

 private:
  [[nodiscard]] std::string why_not_on(const Topology& topology, const Capability& capability,
                                       const Variant& variant) const;
  [[nodiscard]] std::string why_unknown(const Variant& variant) const;
  [[nodiscard]] std::vector<std::int64_t> chunks(const Problem& problem, int ranks,
                                                 Access access) const;
  [[nodiscard]] std::vector<Variant> parameter_settings() const;

  ScheduledAlgorithm algorithm_;
};

std::vector<std::int64_t> ScheduledImplementation::chunks(const Problem& problem, int ranks,
                                                          Access access) const {
  // Everything in one wave if nothing is staged. With staging, always the smallest chunk; in both
  // cases each chunk that is not larger than the message needs.
  std::vector<std::int64_t> all;
  if (access != Access::staged) all.push_back(0);
  if (access != Access::staged && !algorithm_.is_pipeline) return all;
  const std::uint64_t message = bytes_cut(problem, ranks);
  for (std::size_t i = 0; i < chunk_sizes.size(); ++i) {
    const bool is_first = i == 0 && access == Access::staged;
    const auto smaller = static_cast<std::uint64_t>(chunk_sizes[i == 0 ? 0 : i - 1]);
    if (is_first || smaller < message) all.push_back(chunk_sizes[i]);
  }
  return all;
}

std::vector<Variant> ScheduledImplementation::parameter_settings() const {
  std::vector<Variant> all{{name(), common_parameters()}};
  for (const ParameterChoices& parameter : algorithm_.parameters) {
    std::vector<Variant> more;
    for (const Variant& variant : all)
      for (const ParameterValue& setting : parameter.settings) {
        more.push_back(variant);
        auto& parameters = more.back().parameters;
        const auto place =
            std::ranges::lower_bound(parameters, parameter.name, {}, &Parameter::name);
        parameters.insert(place, {parameter.name, setting});
      }
    all = std::move(more);
  }
  return all;
}

std::vector<Variant> ScheduledImplementation::variants(const Problem& problem,
                                                       const Topology& topology,
                                                       const Capability& capability) const {
  std::vector<Access> accesses{Access::staged};
  if (problem.registered)
    accesses = {Access::direct};
  else if (capability.has(cma_feature))
    accesses.push_back(Access::cma);
  // Algorithms by levels have hundreds of settings, few of them for these ranks.
  std::vector<Variant> settings = parameter_settings();
  const Variant first = settings.front();
  std::erase_if(settings, [&](const Variant& variant) {
    return !why_not_on(topology, capability, variant).empty() ||
           (algorithm_.is_tried && !algorithm_.is_tried(variant));
  });
  const bool is_none_for_these = settings.empty();
  if (is_none_for_these) settings.push_back(first);
  std::vector<Variant> all;
  for (const Access access : accesses)
    for (const std::int64_t chunk : chunks(problem, topology.ranks, access))
      for (const std::int64_t slots : slots_of_waves(problem, topology, access, chunk))
        for (const Variant& setting : settings)
          all.push_back(
              with(with(with(setting, "access", std::string(name_of(access))), "chunk", chunk),
                   "slots", slots));
  if (is_none_for_these) return {all.front()};
  const Variant smallest = all.front();
  const Parties parties = parties_of(topology);
  std::vector<Variant> tried;
  for (const Variant& variant : all) {
    const ScheduledCall shape = shape_of_call(algorithm_, problem, variant, parties);
    const Schedule schedule = schedule_of(algorithm_, shape, variant);
    if (variant != smallest && memory_of(schedule.scratch_blocks, shape, {.problem = problem},
                                         options_of(variant)) > most_memory_tried)
      continue;
    for (const Stores& stores : all_stores)
      if (stores.word == plain_stores ||
          (capability.has(streaming_feature) && is_tried(stores, schedule, shape, problem)))
        tried.push_back(with_stores(variant, stores.word));
  }
  return tried;
}

Support ScheduledImplementation::can_run(const Problem& problem, const Topology& topology,
                                         const Capability& capability,
                                         const Variant& variant) const {
  if (std::string why = why_not_on_processors(collective(), problem); !why.empty())
    return Support::no(std::move(why));
  if (std::string why = why_unknown(variant); !why.empty()) return Support::no(std::move(why));
  const Access access = access_of(variant);
  if (access == Access::direct && !problem.registered)
    return Support::no("direct access needs registered buffers");
  if (access == Access::cma && !capability.has(cma_feature))
    return Support::no("the kernel does not let the ranks read each other's memory (CMA)");
  if (std::string why = why_not_on(topology, capability, variant); !why.empty())
    return Support::no(std::move(why));
  if (std::string why = why_outside(limits(variant), problem, topology.ranks); !why.empty())
    return Support::no(std::move(why));
  return Support::yes();
}

std::string ScheduledImplementation::why_not_on(const Topology& topology,
                                                const Capability& capability,
                                                const Variant& variant) const {
  if (std::string why = why_not_among(algorithm_, topology.ranks); !why.empty()) return why;
  return algorithm_.why_not ? algorithm_.why_not(topology, capability, variant) : std::string{};
}

std::string ScheduledImplementation::why_unknown(const Variant& variant) const {
  const auto* const access = find_setting<std::string>(variant, "access");
  const auto names = enum_names(Access{});
  if (access == nullptr ||
      std::ranges::none_of(names, [&](const auto& named) { return named.name == *access; }))
    return "access must be one of " + allowed_names<Access>();
  const auto* const chunk = find_setting<std::int64_t>(variant, "chunk");
  if (chunk == nullptr || *chunk < 0 || *chunk % 8 != 0 || *chunk > largest_chunk)
    return "chunk must be 0 (all) or a multiple of 8 bytes up to 1GiB";
  const auto* const slots = find_setting<std::int64_t>(variant, "slots");
  if (slots == nullptr || *slots < fewest_slots || *slots > most_slots)
    return "slots must be a number from " + std::to_string(fewest_slots) + " to " +
           std::to_string(most_slots);
  ParameterChoices stores{"stores", {}};
  for (const Stores& some : all_stores) stores.settings.emplace_back(std::string(some.word));
  if (std::string why = why_not(variant, stores); !why.empty()) return why;
  for (const ParameterChoices& parameter : algorithm_.parameters)
    if (std::string why = why_not(variant, parameter); !why.empty()) return why;
  const std::vector<Parameter> common = common_parameters();
  if (variant.parameters.size() != common.size() + algorithm_.parameters.size()) {
    std::string all;
    for (const Parameter& parameter : common) all += (all.empty() ? "" : ", ") + parameter.name;
    for (const ParameterChoices& parameter : algorithm_.parameters) all += ", " + parameter.name;
    return "its parameters are " + all;
  }
  return {};
}

std::string ScheduledImplementation::protocol(const Problem& problem,
                                              const Variant& variant) const {
  // Everything except the store mode decides where data lies and how often ranks meet.
  Variant on_wire = variant;
  std::erase_if(on_wire.parameters, [](const Parameter& one) { return one.name == "stores"; });
  return "schedule;" + to_string(on_wire) + ";" + std::string(name_of(problem.data_type)) + ";" +
         std::string(name_of(problem.reduce_op));
}

Cost ScheduledImplementation::cost(const Problem& problem, const Topology& topology,
                                   const Variant& variant) const {
  const ScheduledCall shape = shape_of_call(algorithm_, problem, variant, parties_of(topology));
  const Schedule schedule = schedule_of(algorithm_, shape, variant);
  const bool has_blocks = shape_of(problem.collective).has_block_per_rank();
  const double block = static_cast<double>(problem.message_size.value) /
                       (has_blocks ? topology.ranks : shape.shares);
  return {.steps = static_cast<double>(schedule.depth),
          .bytes_per_rank = block * (most_blocks(schedule, copied_blocks) +
                                     std::max(most_blocks(schedule, sent_blocks),
                                              most_blocks(schedule, received_blocks))),
          .reduced_bytes = block * most_blocks(schedule, combined_blocks)};
}

CallTraits ScheduledImplementation::traits(const Problem& problem, const Topology& topology,
                                           const Variant& variant) const {
  CallTraits traits{.why_not_bound = {}, .why_not_rebound = {}};
  const ScheduleOptions options = options_of(variant);
  if (!options.adapts) return traits;
  const ScheduledCall shape = shape_of_call(algorithm_, problem, variant, parties_of(topology));
  const Waves waves(problem, shape, options.chunk);
  traits.learning_calls = static_cast<int>(
      StoreChoice::rhythm_of(waves.count(), shape.slots, problem.message_size).probe());
  return traits;
}

Numerics ScheduledImplementation::numerics(const Problem& problem, const Variant&) const {
  const bool at_once = algorithm_.numeric_class == NumericClass::rank_order;
  return {.rounding = at_once ? rounding_at_once(problem) : rounding_handed_on(problem),
          .numeric_class = algorithm_.numeric_class};
}

std::unique_ptr<Operation> ScheduledImplementation::prepare(Communicator& communicator,
                                                            const Call& call,
                                                            const Variant& variant,
                                                            Deadline deadline) const {
  check_blocks(call, communicator.size());
  Parties parties{.ranks = communicator.size(), .root = call.root, .places = communicator.places()};
  if (!communicator.is_one_node())
    parties.nodes.assign(communicator.nodes().begin(), communicator.nodes().end());
  const ScheduledCall shape = shape_of_call(algorithm_, call.problem, variant, parties);
  const ScheduleOptions options = options_of(variant);
  auto plans = std::make_unique<RootPlans>(
      call, shape, communicator.rank(),
      [this, variant](const ScheduledCall& one) { return schedule_of(algorithm_, one, variant); });
  const Bytes memory = memory_of(plans->needs().scratch_blocks, shape, call, options);
  if (memory > most_memory)
    throw Error(StatusCode::resource_exhausted,
                to_string(variant) + " would take " + format_bytes(memory) +
                    " of symmetric memory on each rank, more than " + format_bytes(most_memory) +
                    "; take a smaller chunk");
  return make_scheduled_operation(communicator, call, shape, std::move(plans), options, deadline);
}

}  // namespace

ParameterChoices flow_choices() { return {"flow", {"pull", "push"}}; }

bool pushes(const Variant& variant) { return word(variant, "flow") == "push"; }

std::vector<Parameter> common_parameters() {
  return {{"access", std::string(name_of(Access::staged))},
          {"chunk", std::int64_t{0}},
          {"slots", usual_slots},
          {"stores", std::string(plain_stores)}};
}

std::string why_not_among(const ScheduledAlgorithm& algorithm, int ranks) {
  if (ranks < algorithm.min_ranks)
    return "it needs at least " + std::to_string(algorithm.min_ranks) + " ranks, not " +
           std::to_string(ranks);
  return {};
}

const ScheduledAlgorithm* scheduled_algorithm_of(const Implementation& implementation) {
  const auto* const scheduled = dynamic_cast<const ScheduledImplementation*>(&implementation);
  return scheduled == nullptr ? nullptr : &scheduled->algorithm();
}

Implementations make_scheduled(std::vector<ScheduledAlgorithm> algorithms) {
  Implementations made;
  for (ScheduledAlgorithm& algorithm : algorithms)
    made.push_back(std::make_unique<ScheduledImplementation>(std::move(algorithm)));
  return made;
}

}  // namespace colltune
