// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/vocabulary/mesh.h"

#include <algorithm>
#include <charconv>

#include "colltune/vocabulary/error.h"
#include "colltune/vocabulary/number_ranges.h"

namespace colltune {
namespace {

[[noreturn]] void refuse_mesh(const std::string& what) {
  throw Error(StatusCode::invalid_argument, "mesh: " + what);
}

/// "sum, prod, …": the operators that a step may have.
std::string allowed_operators() {
  std::string all;
  for (const auto& named : enum_names(ReduceOp{}))
    if (named.value != ReduceOp::none) all += (all.empty() ? "" : ", ") + std::string(named.name);
  return all;
}

/// Renumbers groups in the order of their first ranks.
std::vector<int> renumbered(const std::vector<int>& groups) {
  std::vector<int> number(groups.size(), -1);
  int next = 0;
  std::vector<int> out;
  for (const int group : groups) {
    int& own = number.at(static_cast<std::size_t>(group));
    if (own < 0) own = next++;
    out.push_back(own);
  }
  return out;
}

void check_step(const MeshReduction& mesh, const MeshStep& step, int ranks) {
  if (step.op == ReduceOp::none)
    refuse_mesh("a step has the operator 'none'; allowed are " + allowed_operators());
  if (step.dimension.has_value() == !step.groups.empty())
    refuse_mesh("a step has either a dimension or groups");
  if (step.dimension) {
    if (*step.dimension < 0 || static_cast<std::size_t>(*step.dimension) >= mesh.shape.size())
      refuse_mesh("there is no dimension " + std::to_string(*step.dimension) + "; " +
                  shape_text(mesh) + " has the dimensions 0 to " +
                  std::to_string(mesh.shape.size() - 1));
    return;
  }
  if (step.groups.size() != static_cast<std::size_t>(ranks))
    refuse_mesh("a step has groups for " + std::to_string(step.groups.size()) + " ranks, where " +
                shape_text(mesh) + " has " + std::to_string(ranks));
  for (const int group : step.groups)
    if (group < 0 || group >= ranks)
      refuse_mesh("there is a group " + std::to_string(group) + " among " + std::to_string(ranks) +
                  " ranks");
  if (renumbered(step.groups) != step.groups)
    refuse_mesh("groups are numbered from 0 on in the order of their first ranks");
}

/// The integer that all of `text` forms; -1 if it is not one.
int read_number(std::string_view text) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? number : -1;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto found = text.find(at);
    parts.push_back(text.substr(0, found));
    if (found == std::string_view::npos) return parts;
    text.remove_prefix(found + 1);
  }
}

/// Reads "0-2|3,5" as the group of each of `ranks` ranks.
std::vector<int> parse_groups(std::string_view text, int ranks) {
  std::vector<int> groups(static_cast<std::size_t>(ranks), -1);
  int next = 0;
  for (const std::string_view group : split(text, '|')) {
    for (const std::string_view range : split(group, ',')) {
      const auto dash = range.find('-');
      const int first = read_number(range.substr(0, dash));
      const int last = dash == std::string_view::npos ? first : read_number(range.substr(dash + 1));
      if (first < 0 || last < first || last >= ranks)
        refuse_mesh("'" + std::string(range) + "' in {" + std::string(text) +
                    "} is no rank or range of ranks from 0 to " + std::to_string(ranks - 1));
      for (int rank = first; rank <= last; ++rank) {
        int& own = groups[static_cast<std::size_t>(rank)];
        if (own >= 0)
          refuse_mesh("rank " + std::to_string(rank) + " stands twice in {" + std::string(text) +
                      "}");
        own = next;
      }
    }
    ++next;
  }
  // A rank in no group forms one of its own; numbers stay below the number of ranks.
  std::vector<int> out = groups;
  for (int& own : out)
    if (own < 0) own = next++;
  return renumbered(out);
}

/// The operator after the colon of `step`.
ReduceOp parse_operator(std::string_view text, std::string_view step) {
  for (const auto& named : enum_names(ReduceOp{}))
    if (named.value != ReduceOp::none && named.name == text) return named.value;
  refuse_mesh("'" + std::string(text) + "' in '" + std::string(step) +
              "' is no operator; allowed are " + allowed_operators());
}

MeshStep parse_step(const MeshReduction& mesh, std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos)
    refuse_mesh("'" + std::string(text) +
                "' is no reduction; write DIMENSION:OP, as in 0:sum, or {GROUPS}:OP, as in "
                "{0-2|3-5}:sum");
  MeshStep step{.op = parse_operator(text.substr(colon + 1), text)};
  const std::string_view who = text.substr(0, colon);
  if (who.size() > 1 && who.front() == '{' && who.back() == '}') {
    step.groups = parse_groups(who.substr(1, who.size() - 2), ranks_of(mesh));
    for (int dimension = 0; static_cast<std::size_t>(dimension) < mesh.shape.size(); ++dimension) {
      const MeshStep regular{.op = step.op, .dimension = dimension, .groups = {}};
      if (groups_of(mesh, regular) == step.groups) return regular;
    }
    return step;
  }
  step.dimension = read_number(who);
  if (*step.dimension < 0)
    refuse_mesh("'" + std::string(who) + "' is no dimension; " + shape_text(mesh) +
                " has the dimensions 0 to " + std::to_string(mesh.shape.size() - 1));
  return step;
}

void check_shape(const MeshReduction& mesh) {
  if (mesh.shape.empty()) refuse_mesh("its shape has no dimension");
  if (mesh.shape.size() > most_mesh_dimensions)
    refuse_mesh("its shape has " + std::to_string(mesh.shape.size()) + " dimensions; at most " +
                std::to_string(most_mesh_dimensions) + " are allowed");
  std::int64_t ranks = 1;
  for (const int extent : mesh.shape) {
    if (extent < 1)
      refuse_mesh("a dimension has " + std::to_string(extent) + " ranks; it has at least 1");
    ranks *= extent;
    if (ranks > most_mesh_ranks)
      refuse_mesh("it has more than " + std::to_string(most_mesh_ranks) + " ranks");
  }
}

}  // namespace

void check(const MeshReduction& mesh) {
  check_shape(mesh);
  if (mesh.steps.empty()) refuse_mesh("nothing is reduced");
  // Computed once: the cost of a step depends on its own size, not on the shape's.
  const int ranks = ranks_of(mesh);
  for (const MeshStep& step : mesh.steps) check_step(mesh, step, ranks);
}

int ranks_of(const MeshReduction& mesh) {
  int ranks = 1;
  for (const int extent : mesh.shape) ranks *= extent;
  return ranks;
}

std::string shape_text(const MeshReduction& mesh) {
  std::string text;
  for (const int extent : mesh.shape) text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text;
}

std::string steps_text(const MeshReduction& mesh) {
  std::string text;
  for (const MeshStep& step : mesh.steps) {
    if (!text.empty()) text += ',';
    if (step.dimension) {
      text += std::to_string(*step.dimension);
    } else {
      std::string groups;
      for (const std::vector<int>& ranks : ranks_by_group(step.groups))
        if (ranks.size() > 1) groups += (groups.empty() ? "" : "|") + render_ranges(ranks);
      // If every rank is alone in its group, one group stands for all.
      text += '{' + (groups.empty() ? "0" : groups) + '}';
    }
    text += ':';
    text += name_of(step.op);
  }
  return text;
}

MeshReduction parse_mesh(std::string_view shape, std::string_view steps) {
  MeshReduction mesh;
  for (const std::string_view extent : split(shape, 'x')) {
    mesh.shape.push_back(read_number(extent));
    if (mesh.shape.back() < 1)
      refuse_mesh("'" + std::string(shape) +
                  "' is no shape; write the ranks along each dimension, as in 2x3");
  }
  check_shape(mesh);
  // Commas inside braces separate ranks, not steps.
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t at = 0; at <= steps.size(); ++at) {
    if (at < steps.size() && steps[at] == '{') ++depth;
    if (at < steps.size() && steps[at] == '}') --depth;
    if (at < steps.size() && (steps[at] != ',' || depth > 0)) continue;
    mesh.steps.push_back(parse_step(mesh, steps.substr(begin, at - begin)));
    begin = at + 1;
  }
  check(mesh);
  return mesh;
}

}  // namespace colltune
