// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "c_query.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "colltune/json/json.h"
#include "colltune/model/query_words.h"
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

std::string_view words(const char* text) { return text == nullptr ? "" : text; }

/// What a caller in C calls a field of QueryWords.
std::string field_in_c(std::string_view field) {
  return field == "message_size" ? "message_size_bytes" : std::string(field);
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
  LookupQuery result = read_query(
      {.collective = query->collective,
       .data_type = query->data_type,
       .message_size = {query->message_size_bytes},
       .reduce_op = words(query->reduce_op),
       .numeric_class = words(query->numeric_class),
       .counts = words(query->counts),
       .mesh_shape = words(query->mesh_shape),
       .mesh_steps = words(query->mesh_steps),
       .mesh_form = words(query->mesh_form),
       .in_place = boolean(query->in_place, "in_place"),
       .registered = boolean(query->registered, "registered"),
       .graph_capture = boolean(query->graph_capture, "graph_capture"),
       .nodes = query->nodes,
       .ranks_per_node = query->ranks_per_node,
       .architecture = words(query->architecture),
       .environment_digest = words(query->environment_digest),
       .layout_digest = words(query->layout_digest),
       .interconnect = words(query->interconnect),
       .placement = words(query->placement),
       .family = words(query->family),
       .calling = words(query->calling),
       .input = words(query->input),
       .at_least = words(query->at_least),
       .generation =
           query->generation == 0 ? std::nullopt : std::optional<std::uint64_t>(query->generation)},
      field_in_c);
  if (query->members) result.members = members_of(query->members);
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
