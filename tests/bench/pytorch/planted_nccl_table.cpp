// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// Writes a table file in which NCCL's forced variants win as they are named, whatever their speed:
// a test of whether a program's NCCL follows a table.
//
//   planted_nccl_table FILE NODESxRANKS_PER_NODE NCCL_VERSION
//   COLLECTIVE:SIZE:ALGORITHM:PROTOCOL:CHANNELS…
//
//   planted_nccl_table cluster.ctt 2x1 2.28.3 all_reduce:64KiB:tree:ll:1
//   all_gather:1MiB:pat:simple:2

#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "colltune/table/decision_table.h"
#include "colltune/table_file/table_content.h"
#include "colltune/vocabulary/bytes.h"
#include "colltune/vocabulary/problem_form.h"

namespace colltune {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view environment = "0123456789abcdef0123456789abcdef";

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

Decision decision_of(const std::string& text, const Topology& topology) {
  const std::vector<std::string> parts = split(text, ':');
  if (parts.size() != 5)
    throw Error(StatusCode::invalid_argument,
                fmt::format("'{}' is not COLLECTIVE:SIZE:ALGORITHM:PROTOCOL:CHANNELS", text));
  const auto collective = parse_name<Collective>(parts[0]);
  Problem problem{.collective = collective};
  problem.reduce_op = shape_of(collective).reduces ? ReduceOp::sum : ReduceOp::none;
  problem.data_type = DataType::f32;
  problem.message_size = parse_bytes(parts[1]);
  Decision decision{.key = {.problem = in_its_form(problem),
                            .topology = topology,
                            .environment_digest = std::string(environment)},
                    .family = "nccl"};
  const auto rank = [&](const std::string& variant, std::chrono::nanoseconds time,
                        bool is_baseline) {
    decision.ranked.push_back({.variant = parse_variant(variant),
                               .family = "nccl",
                               .is_baseline = is_baseline,
                               .median = time,
                               .low = time,
                               .high = time,
                               .speedup_over_baseline = is_baseline ? 1.0 : 2.0});
  };
  rank(fmt::format("nccl.{}_forced{{algorithm={},channels={},protocol={}}}", parts[0], parts[2],
                   parts[4], parts[3]),
       1us, false);
  rank("nccl." + parts[0], 2us, true);
  decision.verdict = Verdict::displaced;
  return decision;
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() < 4)
    throw Error(StatusCode::invalid_argument,
                "planted_nccl_table FILE NODESxRANKS_PER_NODE NCCL_VERSION "
                "COLLECTIVE:SIZE:ALGORITHM:PROTOCOL:CHANNELS…");
  const std::vector<std::string> world = split(arguments[1], 'x');
  if (world.size() != 2)
    throw Error(StatusCode::invalid_argument,
                fmt::format("'{}' is not NODESxRANKS_PER_NODE", arguments[1]));
  Topology topology{.nodes = std::stoi(world[0]), .ranks_per_node = std::stoi(world[1])};
  topology.ranks = topology.nodes * topology.ranks_per_node;
  topology.architectures = {{.architecture = "sm_90", .ranks = topology.ranks}};
  topology.layout_digest = "uniform";
  topology.interconnect = "planted";
  DecisionSet set{.generation = {"planted", 1, "planted"}};
  for (std::size_t i = 3; i < arguments.size(); ++i)
    set.decisions.push_back(decision_of(arguments[i], topology));
  Environment facts;
  facts.nccl_version = arguments[2];
  set.environments.emplace_back(environment, facts);
  const std::string bytes = encode_table({.set = set,
                                          .environment_digest = std::string(environment),
                                          .groups = DecisionTable(set).answer_groups()});
  std::ofstream file(arguments[0], std::ios::binary);
  file << bytes << std::flush;
  if (!file)
    throw Error(StatusCode::unavailable, fmt::format("'{}' cannot be written", arguments[0]));
  return 0;
}

}  // namespace
}  // namespace colltune

int main(int argc, char** argv) {
  try {
    return colltune::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "planted_nccl_table: " << error.what() << '\n';
    return 2;
  }
}
