// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/collectives/choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "choosing.h"
#include "colltune/kernels/catalogue.h"
#include "colltune/vocabulary/problem_form.h"
#include "proven_variants.h"

namespace colltune {
namespace {

std::size_t ranks_on(std::span<const int> nodes, int node) {
  return static_cast<std::size_t>(std::ranges::count(nodes, node));
}

/// The class that a variant must guarantee; nothing if such calls are left to the library.
std::optional<NumericClass> demanded(const Problem& problem, int ranks, ProgramNumerics numerics) {
  const bool order_shows = problem.reduce_op != ReduceOp::none && is_floating(problem.data_type) &&
                           problem.reduce_op != ReduceOp::min && problem.reduce_op != ReduceOp::max;
  return demanded_class(order_shows, ranks, numerics);
}

std::string describe_worlds(const TableView& view) {
  std::string all;
  for (const table_file::WorldRecord& world : view.worlds())
    all += fmt::format("{}{} node(s) x {} of {}, {}", all.empty() ? "" : "; ", world.nodes,
                       world.ranks_per_node, view.string(world.architecture),
                       name_of(static_cast<Placement>(world.placement)));
  return all.empty() ? "none" : all;
}

/// Makes the choices from one table for one set of ranks.
class Chooser {
 public:
  Chooser(const TableFile& table, const ProgramRanks& ranks, ProgramNumerics numerics,
          const Implementations& catalogue, const ProgramCalling& calling)
      : view_(table.view()),
        proven_(table, calling.library_follows_rules),
        ranks_(ranks),
        numerics_(numerics),
        catalogue_(catalogue),
        calling_(calling) {}

  Choices choose(Choices choices) && {
    choices_ = std::move(choices);
    const auto world = find_world(view_, ranks_.topology);
    if (!world) {
      choices_.left_out.push_back(
          fmt::format("everything: the table has nothing for {}; it has: {}",
                      describe(ranks_.topology), describe_worlds(view_)));
      return std::move(choices_);
    }
    const auto groups = view_.groups();
    for (TableView::Group group = 0; group < groups.size(); ++group)
      if (groups[group].key.world == *world) add_group(group);
    for (auto& [name, rows] : rows_) choices_.rows.push_back(std::move(rows));
    for (const auto& [text, sizes] : left_out_)
      choices_.left_out.push_back(fmt::format("{} ({} size classes)", text, sizes));
    return std::move(choices_);
  }

 private:
  /// Whether calls of the group are those that a program makes. Whatever class a program demands,
  /// what it has is the library's own, against which all variants are proven in the widest class.
  [[nodiscard]] bool is_asked(const Problem& problem, const Regime& regime,
                              const table_file::GroupKeyRecord& key) const {
    Problem out_of_place = problem;
    out_of_place.in_place = false;
    return view_.family(key.family) == any_family && key.mesh == table_file::none &&
           problem.kind == ProblemKind::collective &&
           regime == Regime{.calling = calling_.calling} &&
           problem.registered == calling_.registered && !problem.graph_capture &&
           problem == in_its_form(out_of_place) && problem.numeric_class == NumericClass::any;
  }

  void add_group(TableView::Group group) {
    const table_file::GroupKeyRecord& key = view_.groups()[group].key;
    const Problem problem = unpack_problem(key.problem);
    if (!is_asked(problem, unpack_regime(key.problem), key)) return;
    Choices::Row row = make_row(group, problem);
    if (std::ranges::all_of(row.choices, [](auto one) { return one == Choices::library; })) return;
    // Of several types in which a collective that moves data was measured, the one with most sizes.
    auto& kept = rows_[{row.collective, row.data_type, row.reduce_op, row.counts}];
    if (kept.choices.empty() ||
        kept.largest.value - kept.smallest.value < row.largest.value - row.smallest.value)
      kept = std::move(row);
  }

  Choices::Row make_row(TableView::Group group, const Problem& problem) {
    const bool reduces = shape_of(problem.collective).reduces;
    Choices::Row row{.collective = problem.collective,
                     .data_type = reduces ? problem.data_type : DataType::u8,
                     .reduce_op = problem.reduce_op,
                     .counts = problem.counts};
    measured_sizes(group, row);
    if (row.smallest > row.largest) return row;
    for (std::size_t bucket = 0; bucket <= bucket_of(row.largest.value); ++bucket) {
      row.choices.push_back(Choices::library);
      row.savings.emplace_back(0);
      const std::uint64_t low = std::max(first_in_bucket(bucket), row.smallest.value);
      const std::uint64_t high = std::min(first_in_bucket(bucket + 1) - 1, row.largest.value);
      if (low <= high) choose_bucket(group, row, {low}, {high});
    }
    return row;
  }

  /// From the smallest to the largest size that was measured.
  void measured_sizes(TableView::Group group, Choices::Row& row) const {
    row.smallest = Bytes{std::numeric_limits<std::uint64_t>::max()};
    for (const table_file::RangeRecord& range : view_.ranges_of(group)) {
      const auto source = static_cast<Source>(range.source);
      if (range.variant == table_file::none ||
          (source != Source::measured && source != Source::interpolated))
        continue;
      row.smallest = std::min(row.smallest, Bytes{range.from});
      row.largest = std::max(row.largest, Bytes{range.to});
    }
  }

  void choose_bucket(TableView::Group group, Choices::Row& row, Bytes low, Bytes high) {
    const Bytes middle{low.value + (high.value - low.value) / 2};
    std::vector<TableAnswer> answers;
    for (const Bytes size : {low, high, middle}) {
      const auto answer = view_.find(group, size);
      if (!answer || answer->baseline == table_file::none) return;
      if (answer->source != Source::measured && answer->source != Source::interpolated) return;
      // Where fits choose, another variant may be proven.
      if (!is_faster(*answer) && answer->fit_choice() == FitChoice::none) return;
      answers.push_back(*answer);
    }
    const TableAnswer& at_middle = answers.back();
    if (at_middle.is_baseline) {
      (void)choose_next_best(group, row, low, high, answers);
      return;
    }
    const std::string text(view_.variant(at_middle.variant).text);
    const Variant variant = parse_variant(text);
    std::string why = why_not_between(row, low, high, variant);
    if (why.empty() && !are_shown(answers))
      why =
          "it is expected to be faster than the library's own, but not shown to be at the "
          "measured sizes around";
    if (why.empty())
      add_choice(row, high, variant, at_middle.baseline_time() - at_middle.time());
    else if (!choose_next_best(group, row, low, high, answers))
      ++left_out_[fmt::format("{} of {} {}: {}", text, name_of(row.collective),
                              name_of(row.data_type), why)];
  }

  static bool is_faster(const TableAnswer& answer) {
    return answer.verdict == Verdict::displaced && !answer.is_baseline;
  }

  /// Whether the variant of the last answer was shown to be faster at all the measured sizes that
  /// the answers are based on: by proof or, where fits chose it, at one size clearly.
  static bool are_shown(const std::vector<TableAnswer>& answers) {
    const TableAnswer& last = answers.back();
    return std::ranges::all_of(answers, [&](const TableAnswer& answer) {
      const bool is_of_others =
          answer.range->from < last.range->from || answer.range->to > last.range->to;
      return is_faster(answer) && answer.fit_choice() != FitChoice::expected &&
             (last.fit_choice() == FitChoice::none || !is_of_others);
    });
  }

  /// The same with the fastest of the other variants that were proven at all the measured sizes
  /// that the answers are based on. Returns whether there is one.
  bool choose_next_best(TableView::Group group, Choices::Row& row, Bytes low, Bytes high,
                        const std::vector<TableAnswer>& answers) {
    std::vector<Bytes> sizes;
    for (const TableAnswer& answer : answers)
      for (const std::uint64_t size : {answer.range->from, answer.range->to})
        if (std::ranges::find(sizes, Bytes{size}) == sizes.end()) sizes.push_back({size});
    for (const ProvenVariant& one : proven_.at(group, sizes)) {
      if (low < one.smallest || (one.largest.value != 0 && high > one.largest) ||
          !why_not_between(row, low, high, one.variant).empty())
        continue;
      TableAnswer answer = answers.back();
      table_file::RangeRecord range = *answer.range;
      range.time_from = one.times.at({range.from}).count();
      range.time_to = one.times.at({range.to}).count();
      answer.range = &range;
      answer.prediction = nullptr;  // it is of another variant
      add_choice(row, high, one.variant, answer.baseline_time() - answer.time());
      return true;
    }
    return false;
  }

  /// Chooses the variant in the last bucket of `row`, which ends at `high`.
  void add_choice(Choices::Row& row, Bytes high, const Variant& variant,
                  std::chrono::nanoseconds saved) {
    auto& entries = choices_.entries;
    const bool has_unequal_counts = row.counts != Counts::equal;
    auto entry = std::ranges::find_if(entries, [&](const Choices::Entry& one) {
      return one.variant == variant && one.has_unequal_counts == has_unequal_counts;
    });
    if (entry == entries.end())
      entry = entries.insert(
          entry, {.variant = variant, .capacity = high, .has_unequal_counts = has_unequal_counts});
    entry->capacity = std::max(entry->capacity, high);
    row.choices.back() = static_cast<std::uint16_t>(entry - entries.begin() + 1);
    row.savings.back() = saved;
  }

  /// Why the ranks cannot run the variant in calls of all these sizes; empty if they can.
  [[nodiscard]] std::string why_not_between(const Choices::Row& row, Bytes low, Bytes high,
                                            const Variant& variant) const {
    Problem problem{.collective = row.collective,
                    .data_type = row.data_type,
                    .reduce_op = row.reduce_op,
                    .message_size = low,
                    .registered = calling_.registered,
                    .counts = row.counts};
    std::string why = why_not(problem, variant);
    problem.message_size = high;
    return why.empty() ? why_not(problem, variant) : why;
  }

  /// Why the ranks cannot run the variant in calls of this size; empty if they can.
  [[nodiscard]] std::string why_not(const Problem& problem, const Variant& variant) const {
    const Implementation* const found = find_implementation(catalogue_, variant.implementation);
    if (found == nullptr) return "no kernel of ours for processors";
    if (const Support support =
            found->supports(problem, ranks_.topology, ranks_.capability, variant);
        !support)
      return support.reason();
    const auto least = demanded(problem, ranks_.topology.ranks, numerics_);
    if (!least) return "its order of adding would not be the library's (COLLTUNE_NUMERICS=library)";
    if (found->numerics(problem, variant).numeric_class < *least)
      return fmt::format("it does not guarantee {}", name_of(*least));
    if (calling_.calling == Calling::persistent) return {};
    return found->traits(problem, ranks_.topology, variant).why_not_rebound;
  }

  const TableView& view_;
  ProvenVariants proven_;
  const ProgramRanks& ranks_;
  ProgramNumerics numerics_;
  const Implementations& catalogue_;
  ProgramCalling calling_;
  Choices choices_;
  std::map<std::tuple<Collective, DataType, ReduceOp, Counts>, Choices::Row> rows_;
  std::map<std::string, int> left_out_;  ///< and in how many buckets
};

}  // namespace

std::optional<NumericClass> demanded_class(bool order_shows, int ranks, ProgramNumerics numerics) {
  if (!order_shows || ranks < 3) return NumericClass::any;
  switch (numerics) {
    case ProgramNumerics::library:
      return {};
    case ProgramNumerics::any:
      return NumericClass::any;
    case ProgramNumerics::same_bits:
      return NumericClass::same_bits;
    case ProgramNumerics::rank_order:
      return NumericClass::rank_order;
  }
  return {};
}

std::optional<std::uint32_t> find_world(const TableView& view, const Topology& asked) {
  const auto worlds = view.worlds();
  for (std::uint32_t number = 0; number < worlds.size(); ++number) {
    const table_file::WorldRecord& world = worlds[number];
    if (world.nodes == asked.nodes && world.ranks_per_node == asked.ranks_per_node &&
        world.ranks == asked.ranks &&
        world.placement == static_cast<std::uint32_t>(asked.placement) &&
        view.string(world.architecture) == architecture_name(asked) &&
        view.string(world.layout_digest) == asked.layout_digest &&
        view.string(world.interconnect) == asked.interconnect)
      return number;
  }
  return {};
}

ProgramRanks ranks_of(const Communicator& communicator, Capability capability) {
  const std::span<const int> nodes = communicator.nodes();
  Topology topology{.nodes = *std::ranges::max_element(nodes) + 1, .ranks = communicator.size()};
  bool is_even = std::ranges::is_sorted(nodes);
  for (int node = 0; node < topology.nodes; ++node)
    topology.ranks_per_node =
        std::max(topology.ranks_per_node, static_cast<int>(ranks_on(nodes, node)));
  is_even = is_even && topology.nodes * topology.ranks_per_node == topology.ranks;
  topology.architectures = {{.architecture = capability.architecture, .ranks = topology.ranks}};
  if (is_even) topology.layout_digest = "uniform";
  topology.interconnect = topology.nodes == 1 ? "shared-memory" : "network";
  const std::int64_t cores = capability.number("cpu.cores");
  if (cores > 0 && topology.ranks_per_node > cores) topology.placement = Placement::oversubscribed;
  return {.topology = std::move(topology), .capability = std::move(capability)};
}

Choices choose_from(const TableFile& table, const ProgramRanks& ranks, ProgramNumerics numerics,
                    const Implementations& catalogue, const ProgramCalling& calling) {
  const Generation generation = table.generation();
  return Chooser(table, ranks, numerics, catalogue, calling)
      .choose({.source = fmt::format("generation {}, table {}", generation.number,
                                     table.digest().substr(0, 12))});
}

}  // namespace colltune
