// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// By levels: one algorithm inside each node, another one across the nodes, among the ranks with the
// same place in their nodes. An all-reduce is a reduce-scatter inside, an all-reduce across and an
// all-gather inside, so that 1 / (ranks per node) of the message goes through each rank's link and
// all links work at once (Thakur, Rabenseifner, Gropp 2005, section 5; NCCL and Open MPI's coll/han
// compose in the same way). Any scheduled algorithm of the catalogue may be any level. The version
// with low latency inside is in hierarchical_low_latency.cpp.

#include <utility>

#include "node_grid.h"
#include "schedule/levels.h"

namespace colltune::cpu {
namespace {

NodeGrid grid_of(const ScheduledCall& shape) { return {shape.ranks, shape.groups}; }

/// The levels of one composed algorithm.
struct HierarchyLevels {
  Levels inside;
  Levels across;
  Levels gather{};  ///< all_reduce: the all-gather inside
};

void hierarchical_all_reduce(ScheduleWriter& writer, const Variant& variant,
                             const HierarchyLevels& of) {
  const NodeGrid grid = grid_of(writer.shape());
  const LevelWriter inside(writer, level_of(of.inside, variant, "inside"), false);
  const Level& across_level = level_of(of.across, variant, "across");
  const LevelWriter across(writer, across_level, true);
  const LevelWriter gather(writer, level_of(of.gather, variant, "gather"), false);
  const int pieces = LevelWriter::pieces(across_level, grid.nodes());
  const int places = grid.places();
  const auto share = [&](int place, int piece) { return place * pieces + piece; };

  std::vector<Blocks> sums(static_cast<std::size_t>(places),
                           Blocks(static_cast<std::size_t>(grid.nodes())));  // place, node, piece
  for (int piece = 0; piece < pieces; ++piece)
    for (int node = 0; node < grid.nodes(); ++node) {
      Blocks inputs(static_cast<std::size_t>(places));
      Blocks outputs;
      for (int place = 0; place < places; ++place) {
        const int rank = grid.rank(node, place);
        for (int of_place = 0; of_place < places; ++of_place)
          inputs[static_cast<std::size_t>(place)].push_back(
              writer.input(rank, share(of_place, piece)));
        const Block sum = writer.temporary(rank);
        outputs.push_back({sum});
        sums[static_cast<std::size_t>(place)][static_cast<std::size_t>(node)].push_back(sum);
      }
      inside.write(grid.of_node(node), std::move(inputs), std::move(outputs));
    }
  for (int place = 0; place < places; ++place) {
    Blocks outputs(static_cast<std::size_t>(grid.nodes()));
    for (int node = 0; node < grid.nodes(); ++node)
      for (int piece = 0; piece < pieces; ++piece)
        outputs[static_cast<std::size_t>(node)].push_back(
            writer.output(grid.rank(node, place), share(place, piece)));
    across.write(grid.of_place(place), sums[static_cast<std::size_t>(place)], std::move(outputs));
  }
  for (int piece = 0; piece < pieces; ++piece)
    for (int node = 0; node < grid.nodes(); ++node) {
      Blocks inputs;
      Blocks outputs(static_cast<std::size_t>(places));
      for (int place = 0; place < places; ++place) {
        const int rank = grid.rank(node, place);
        inputs.push_back({writer.output(rank, share(place, piece))});
        for (int of_place = 0; of_place < places; ++of_place)
          outputs[static_cast<std::size_t>(place)].push_back(
              writer.output(rank, share(of_place, piece)));
      }
      gather.write(grid.of_node(node), std::move(inputs), std::move(outputs));
    }
}

void hierarchical_reduce_scatter(ScheduleWriter& writer, const Variant& variant,
                                 const HierarchyLevels& of) {
  const NodeGrid grid = grid_of(writer.shape());
  const LevelWriter inside(writer, level_of(of.inside, variant, "inside"), false);
  const LevelWriter across(writer, level_of(of.across, variant, "across"), true);
  const int places = grid.places();
  std::vector<Blocks> sums(
      static_cast<std::size_t>(places),
      Blocks(static_cast<std::size_t>(grid.nodes())));  // place, node, destination node
  for (int target = 0; target < grid.nodes(); ++target)
    for (int node = 0; node < grid.nodes(); ++node) {
      Blocks inputs(static_cast<std::size_t>(places));
      Blocks outputs;
      for (int place = 0; place < places; ++place) {
        const int rank = grid.rank(node, place);
        for (const int of_rank : grid.of_node(target))
          inputs[static_cast<std::size_t>(place)].push_back(writer.input(rank, of_rank));
        const Block sum = writer.temporary(rank);
        outputs.push_back({sum});
        sums[static_cast<std::size_t>(place)][static_cast<std::size_t>(node)].push_back(sum);
      }
      inside.write(grid.of_node(node), std::move(inputs), std::move(outputs));
    }
  for (int place = 0; place < places; ++place) {
    Blocks outputs;
    for (const int rank : grid.of_place(place)) outputs.push_back({writer.output(rank)});
    across.write(grid.of_place(place), sums[static_cast<std::size_t>(place)], std::move(outputs));
  }
}

void hierarchical_all_gather(ScheduleWriter& writer, const Variant& variant,
                             const HierarchyLevels& of) {
  const NodeGrid grid = grid_of(writer.shape());
  const LevelWriter inside(writer, level_of(of.inside, variant, "inside"), false);
  const LevelWriter across(writer, level_of(of.across, variant, "across"), false);
  for (int place = 0; place < grid.places(); ++place) {
    const std::vector<int> ranks = grid.of_place(place);
    Blocks inputs;
    Blocks outputs(ranks.size());
    for (std::size_t node = 0; node < ranks.size(); ++node) {
      inputs.push_back({writer.input(ranks[node])});
      for (const int of_rank : ranks) outputs[node].push_back(writer.output(ranks[node], of_rank));
    }
    across.write(ranks, std::move(inputs), std::move(outputs));
  }
  for (int source = 0; source < grid.nodes(); ++source)
    for (int node = 0; node < grid.nodes(); ++node) {
      Blocks inputs;
      Blocks outputs(static_cast<std::size_t>(grid.places()));
      for (int place = 0; place < grid.places(); ++place) {
        const int rank = grid.rank(node, place);
        inputs.push_back({writer.output(rank, grid.rank(source, place))});
        for (const int of_rank : grid.of_node(source))
          outputs[static_cast<std::size_t>(place)].push_back(writer.output(rank, of_rank));
      }
      inside.write(grid.of_node(node), std::move(inputs), std::move(outputs));
    }
}

std::string why_not(const Topology& topology, const Variant& variant, const HierarchyLevels& of) {
  if (std::string why = why_no_grid(topology); !why.empty()) return why;
  std::string why =
      why_not_among(level_of(of.inside, variant, "inside").algorithm, topology.ranks_per_node);
  if (why.empty() && of.gather)
    why = why_not_among(level_of(of.gather, variant, "gather").algorithm, topology.ranks_per_node);
  if (!why.empty()) return "inside a node: " + why;
  why = why_not_among(level_of(of.across, variant, "across").algorithm, topology.nodes);
  return why.empty() ? why : "across nodes: " + why;
}

/// A sweep tries the algorithms that scatter and gather inside only in pairs that move data alike.
bool is_hierarchy_pair(const Variant& variant) {
  const std::string inside = word(variant, "inside");
  const std::string gather = word(variant, "gather");
  if (inside == "recursive_halving") return gather == "recursive_doubling";
  if (inside == "pairwise") return gather == "bruck";
  return gather.starts_with(inside);
}

using WriteHierarchyWave = void (*)(ScheduleWriter&, const Variant&, const HierarchyLevels&);

ScheduledAlgorithm by_hierarchy(Collective collective, std::string description,
                                WriteHierarchyWave write, const HierarchyLevels& of) {
  ScheduledAlgorithm made{
      .name = "cpu." + std::string(name_of(collective)) + "_hierarchical",
      .description = std::move(description),
      .collective = collective,
      .min_ranks = 4,
      .is_pipeline = true,
      .parameters = {choices_of("inside", of.inside), choices_of("across", of.across)}};
  made.write_wave = [write, of](ScheduleWriter& writer, const Variant& variant) {
    write(writer, variant, of);
  };
  made.why_not = [of](const Topology& topology, const Capability&, const Variant& variant) {
    return why_not(topology, variant, of);
  };
  made.groups_by = [](const Variant&) { return Locality::node; };
  if (shape_of(collective).reduces) made.numeric_class = NumericClass::same_bits;
  return made;
}

}  // namespace

Implementations compose_hierarchical(const Implementations& all) {
  const auto same_levels = [&all](Collective collective) {
    return HierarchyLevels{.inside = levels_for(all, collective, false),
                           .across = levels_for(all, collective, true)};
  };
  std::vector<ScheduledAlgorithm> made;

  const HierarchyLevels of_all_reduce{.inside = levels_for(all, Collective::reduce_scatter, false),
                                      .across = levels_for(all, Collective::all_reduce, true),
                                      .gather = levels_for(all, Collective::all_gather, false)};
  made.push_back(
      by_hierarchy(Collective::all_reduce,
                   "reduce-scatter in each node, all-reduce across, all-gather in each node: "
                   "S / (ranks per node) bytes through each link, times the across level's",
                   hierarchical_all_reduce, of_all_reduce));
  made.back().parameters.push_back(choices_of("gather", of_all_reduce.gather));
  made.back().is_tried = is_hierarchy_pair;
  made.back().shares = [of_all_reduce](const ScheduledCall& shape, const Variant& variant) {
    const NodeGrid grid = grid_of(shape);
    return grid.places() *
           LevelWriter::pieces(level_of(of_all_reduce.across, variant, "across"), grid.nodes());
  };

  made.push_back(by_hierarchy(
      Collective::reduce_scatter, "reduce-scatter in each node for each node, then across nodes",
      hierarchical_reduce_scatter, same_levels(Collective::reduce_scatter)));
  made.push_back(by_hierarchy(Collective::all_gather, "all-gather across nodes, then in each node",
                              hierarchical_all_gather, same_levels(Collective::all_gather)));
  return make_scheduled(std::move(made));
}

}  // namespace colltune::cpu
