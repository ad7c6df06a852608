// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/query_words.h"

#include <array>
#include <utility>

#include "colltune/vocabulary/error.h"
#include "colltune/vocabulary/mesh.h"

namespace colltune {
namespace {

class Reader {
 public:
  Reader(const QueryWords& words, const NameOfField& name_of_field)
      : words_(words), name_of_field_(name_of_field) {}

  [[nodiscard]] LookupQuery read() const {
    LookupQuery query;
    query.problem = problem();
    query.nodes = count("nodes", words_.nodes);
    query.ranks_per_node = count("ranks_per_node", words_.ranks_per_node);
    query.architecture = if_said(words_.architecture);
    query.environment_digest = if_said(words_.environment_digest);
    query.layout_digest = if_said(words_.layout_digest);
    query.interconnect = if_said(words_.interconnect);
    if (!words_.placement.empty()) query.placement = name<Placement>("placement", words_.placement);
    if (!words_.family.empty()) query.family = words_.family;
    if (!words_.calling.empty()) query.calling = name<Calling>("calling", words_.calling);
    if (!words_.input.empty()) query.input = name<InputMode>("input", words_.input);
    if (!words_.at_least.empty()) query.at_least = name<MatchLevel>("at_least", words_.at_least);
    query.generation = words_.generation;
    query.form = form();
    return query;
  }

 private:
  [[noreturn]] void refuse(std::string_view field, const std::string& why) const {
    throw Error(StatusCode::invalid_argument, name_of_field_(field) + ": " + why);
  }

  static std::optional<std::string> if_said(std::string_view text) {
    return text.empty() ? std::nullopt : std::optional<std::string>(text);
  }

  template <NamedEnum Enum>
  [[nodiscard]] Enum name(std::string_view field, std::string_view text) const {
    try {
      return parse_name<Enum>(text);
    } catch (const Error& error) {
      refuse(field, error.what());
    }
  }

  [[nodiscard]] std::optional<int> count(std::string_view field, int value) const {
    if (value < 0) refuse(field, std::to_string(value) + " is negative; at least 1, or 0 for any");
    return value == 0 ? std::nullopt : std::optional(value);
  }

  [[nodiscard]] Problem problem() const {
    Problem problem;
    set_operation(problem);
    problem.data_type = name<DataType>("data_type", words_.data_type);
    problem.message_size = words_.message_size;
    problem.in_place = words_.in_place;
    problem.registered = words_.registered;
    problem.graph_capture = words_.graph_capture;
    if (!words_.numeric_class.empty())
      problem.numeric_class = name<NumericClass>("numeric_class", words_.numeric_class);
    try {
      check(problem);
    } catch (const Error& error) {
      refuse("reduce_op", error.what());
    }
    if (!words_.counts.empty()) problem.counts = name<Counts>("counts", words_.counts);
    try {
      check(problem);
    } catch (const Error& error) {
      refuse("counts", error.what());
    }
    return problem;
  }

  /// Sets the collective, or what is reduced over which mesh.
  void set_operation(Problem& problem) const {
    if (words_.collective == name_of(ProblemKind::mesh_reduce)) {
      if (words_.mesh_shape.empty() || words_.mesh_steps.empty())
        throw Error(StatusCode::invalid_argument,
                    "mesh_reduce needs " + name_of_field_("mesh_shape") +
                        ", the ranks along each dimension, as in 2x3, and " +
                        name_of_field_("mesh_steps") +
                        ", what is reduced in which order, as in 0:sum,1:sum");
      if (!words_.reduce_op.empty())
        refuse("reduce_op",
               "the operators of a mesh_reduce stand in " + name_of_field_("mesh_steps"));
      problem.kind = ProblemKind::mesh_reduce;
      problem.reduce_op = ReduceOp::none;
      problem.mesh = parse_mesh(words_.mesh_shape, words_.mesh_steps);
      return;
    }
    for (const auto& [field, text] :
         {std::pair("mesh_shape", words_.mesh_shape), std::pair("mesh_steps", words_.mesh_steps),
          std::pair("mesh_form", words_.mesh_form)})
      if (!text.empty())
        throw Error(StatusCode::invalid_argument, name_of_field_(field) +
                                                      " is for mesh_reduce, not for " +
                                                      std::string(words_.collective));
    problem.collective = parse_name<Collective>(words_.collective);
    problem.reduce_op = shape_of(problem.collective).reduces ? ReduceOp::sum : ReduceOp::none;
    if (!words_.reduce_op.empty())
      problem.reduce_op = name<ReduceOp>("reduce_op", words_.reduce_op);
  }

  /// The only form that may be answered; empty for "measured".
  [[nodiscard]] std::optional<CompositionMode> form() const {
    constexpr std::string_view any = "measured";
    if (words_.mesh_form.empty() || words_.mesh_form == any) return {};
    std::string allowed(any);
    for (const CompositionMode form :
         {CompositionMode::sequential, CompositionMode::merged, CompositionMode::hierarchical}) {
      if (words_.mesh_form == name_of(form)) return form;
      allowed += ", " + std::string(name_of(form));
    }
    refuse("mesh_form", "'" + std::string(words_.mesh_form) + "' is none; allowed are " + allowed);
  }

  const QueryWords& words_;
  const NameOfField& name_of_field_;
};

}  // namespace

LookupQuery read_query(const QueryWords& words, const NameOfField& name_of_field) {
  return Reader(words, name_of_field).read();
}

}  // namespace colltune
