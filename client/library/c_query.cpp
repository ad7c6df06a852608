// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "c_query.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "colltune/json/json.h"
#include "colltune/vocabulary/canonical.h"

namespace colltune {
namespace {

/// The size of the structure's first version.
constexpr std::size_t smallest_query = offsetof(colltune_query, members);

bool boolean(int value, const char* name) {
  if (value != 0 && value != 1) refuse(std::string(name) + " is neither 0 nor 1");
  return value == 1;
}

colltune_query current_query(const colltune_query* asked) {
  if (!asked) refuse("the query is NULL");
  return current_form(*asked, smallest_query, "colltune_query");
}

Members members_of(const char* text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) refuse("the query's members are no JSON");
  auto members = from_json_value<Members>(json, "members");
  check(members);
  return members;
}

/// Sets the collective, or what is reduced over which mesh.
void set_operation(const colltune_query& query, Problem& problem) {
  const bool is_mesh = query.collective == name_of(ProblemKind::mesh_reduce);
  if (is_mesh != (query.mesh_shape != nullptr) || is_mesh != (query.mesh_steps != nullptr))
    refuse(
        "a mesh_reduce, and nothing else, has mesh_shape, the ranks along each dimension, and "
        "mesh_steps, what is reduced over it");
  if (is_mesh) {
    if (query.reduce_op)
      refuse("the operators of a mesh_reduce stand in mesh_steps; reduce_op is NULL");
    problem.kind = ProblemKind::mesh_reduce;
    problem.reduce_op = ReduceOp::none;
    problem.mesh = parse_mesh(query.mesh_shape, query.mesh_steps);
    return;
  }
  problem.collective = parse_name<Collective>(query.collective);
  if (query.reduce_op)
    problem.reduce_op = parse_name<ReduceOp>(query.reduce_op);
  else
    problem.reduce_op = shape_of(problem.collective).reduces ? ReduceOp::sum : ReduceOp::none;
}

}  // namespace

[[noreturn]] void refuse(const std::string& what) {
  throw Error(StatusCode::invalid_argument, what);
}

std::optional<int> positive_or_open(int value, const char* name) {
  if (value < 0) refuse(std::string(name) + " is negative; write 0 for 'left open'");
  return value == 0 ? std::nullopt : std::optional(value);
}

std::optional<std::string> text_or_open(const char* value) {
  return value ? std::optional<std::string>(value) : std::nullopt;
}

GroupCalls group_calls_of(const colltune_group_calls* given) {
  if (!given) refuse("the group is NULL");
  const auto group = current_form(*given, sizeof(colltune_group_calls), "colltune_group_calls");
  if (!group.broadcast || !group.all_gather)
    refuse("colltune_group_calls: broadcast and all_gather must not be NULL");
  const auto check = [](int status, const char* name) {
    if (status != 0)
      throw Error(StatusCode::aborted,
                  std::string("the group's ") + name + " returned " + std::to_string(status));
  };
  return {.rank = group.rank,
          .size = group.size,
          .broadcast =
              [=](void* data, std::size_t bytes) {
                check(group.broadcast(group.context, data, bytes), "broadcast");
              },
          .all_gather =
              [=](const void* own, void* all, std::size_t bytes) {
                check(group.all_gather(group.context, own, all, bytes), "all_gather");
              }};
}

LookupQuery query_of(const colltune_query* asked) {
  const colltune_query own = current_query(asked);
  const colltune_query* const query = &own;
  if (!query->collective) refuse("the query's collective is NULL");
  if (!query->data_type) refuse("the query's data_type is NULL");
  LookupQuery result;
  Problem& problem = result.problem;
  set_operation(*query, problem);
  problem.data_type = parse_name<DataType>(query->data_type);
  problem.message_size = {query->message_size_bytes};
  problem.in_place = boolean(query->in_place, "in_place");
  problem.registered = boolean(query->registered, "registered");
  if (query->numeric_class) problem.numeric_class = parse_name<NumericClass>(query->numeric_class);
  result.nodes = positive_or_open(query->nodes, "nodes");
  result.ranks_per_node = positive_or_open(query->ranks_per_node, "ranks_per_node");
  result.architecture = text_or_open(query->architecture);
  result.environment_digest = text_or_open(query->environment_digest);
  result.layout_digest = text_or_open(query->layout_digest);
  result.interconnect = text_or_open(query->interconnect);
  if (query->placement) result.placement = parse_name<Placement>(query->placement);
  if (query->family) result.family = query->family;
  if (query->generation != 0) result.generation = query->generation;
  if (query->members) result.members = members_of(query->members);
  if (query->calling) result.calling = parse_name<Calling>(query->calling);
  if (query->input) result.input = parse_name<InputMode>(query->input);
  if (query->mesh_form) result.form = parse_name<CompositionMode>(query->mesh_form);
  problem.graph_capture = boolean(query->graph_capture, "graph_capture");
  if (query->at_least) result.at_least = parse_name<MatchLevel>(query->at_least);
  return result;
}

/// The content digest of the pinned generation.
std::optional<std::string> pinned_digest_of(const colltune_query* asked) {
  return text_or_open(current_query(asked).generation_digest);
}

namespace {

/// Adds the texts that the answer's functions point to.
void add_texts(const LookupQuery& question, colltune_answer& answer) {
  for (const RankedVariant& ranked : answer.answer.decision.ranked) {
    answer.variants.push_back(to_string(ranked.variant));
    std::string& composition = answer.compositions.emplace_back();
    const std::string_view name = parts_named_by(ranked.variant);
    for (const Composition& one : answer.answer.compositions)
      if (!name.empty() && parts_name(one) == name) composition = to_json_value(one).dump();
  }
  for (const ApplySettings& settings : answer.apply) {
    auto& variables = answer.variables.emplace_back();
    for (const std::string& variable : settings.variables) variables.push_back(variable.c_str());
    variables.push_back(nullptr);
  }
  if (!question.members) return;
  for (const MemberKind& kind : question.members->kinds)
    answer.kinds.push_back(digest_of_value(kind));
  answer.kind_of_member = question.members->kind_of_rank;
}

}  // namespace

std::unique_ptr<colltune_answer> make_answer(const LookupQuery& question, FoundAnswer&& found) {
  auto answer = std::make_unique<colltune_answer>();
  answer->apply = apply_settings_of(found);
  answer->answer = std::move(found.answer);
  answer->regime = regime_of(answer->answer.decision.key);
  answer->world = describe(answer->answer.decision.key.topology);
  add_texts(question, *answer);
  return answer;
}

}  // namespace colltune
