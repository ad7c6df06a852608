// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The C interface: converts arguments, calls Client, and catches all exceptions.

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "colltune/c_guard.h"
#include "colltune/client.h"
#include "colltune/client/client.h"
#include "colltune/json/json.h"
#include "colltune/vocabulary/canonical.h"

struct colltune_client {
  std::variant<colltune::Client, colltune::LocalTable> source;
};

struct colltune_answer {
  colltune::LookupAnswer answer;
  std::vector<std::string> variants;      ///< as long as answer.decision.ranked
  std::vector<std::string> compositions;  ///< JSON; one per variant; empty: not composed
  std::vector<std::string> kinds;         ///< digests of the kinds that `kind_of_member` refers to
  std::vector<int> kind_of_member;        ///< copied from the query
  std::vector<colltune::ApplySettings> apply;         ///< one per variant
  std::vector<std::vector<const char*>> variables{};  ///< of `apply`, each with NULL at the end
};

namespace colltune {
namespace {

/// The sizes of the structures' first versions.
constexpr std::size_t smallest_apply = sizeof(colltune_apply);
constexpr std::size_t smallest_query = offsetof(colltune_query, members);

[[noreturn]] void refuse(const std::string& what) {
  throw Error(StatusCode::invalid_argument, what);
}

std::optional<int> positive(int value, const char* name) {
  if (value < 0) refuse(std::string(name) + " is negative; write 0 for 'left open'");
  return value == 0 ? std::nullopt : std::optional(value);
}

bool boolean(int value, const char* name) {
  if (value != 0 && value != 1) refuse(std::string(name) + " is neither 0 nor 1");
  return value == 1;
}

std::optional<std::string> text(const char* value) {
  return value ? std::optional<std::string>(value) : std::nullopt;
}

/// The caller's query in the current form. Fields that an older caller's structure lacks stay
/// unset. Refuses a query that is larger than ours and sets fields that we do not know.
colltune_query current_form(const colltune_query* asked) {
  if (!asked) refuse("the query is NULL");
  // The caller's structure may be shorter than ours; no more of it is read than its size says.
  std::size_t size = 0;
  std::memcpy(&size, asked, sizeof size);
  if (size < smallest_query)
    refuse("colltune_query.struct_size is " + std::to_string(size) +
           "; set it to sizeof(colltune_query)");
  colltune_query query{};
  const auto* bytes = reinterpret_cast<const unsigned char*>(asked);
  std::memcpy(&query, bytes, std::min(size, sizeof query));
  if (size > sizeof query &&
      std::any_of(bytes + sizeof query, bytes + size, [](unsigned char byte) { return byte != 0; }))
    refuse("the query uses a field that this libcolltune_client does not know; update it");
  return query;
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

LookupQuery query_of(const colltune_query* asked) {
  const colltune_query own = current_form(asked);
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
  result.nodes = positive(query->nodes, "nodes");
  result.ranks_per_node = positive(query->ranks_per_node, "ranks_per_node");
  result.architecture = text(query->architecture);
  result.environment_digest = text(query->environment_digest);
  result.layout_digest = text(query->layout_digest);
  result.interconnect = text(query->interconnect);
  if (query->placement) result.placement = parse_name<Placement>(query->placement);
  if (query->family) result.family = query->family;
  if (query->generation != 0) result.generation = query->generation;
  if (query->members) result.members = members_of(query->members);
  if (query->calling) result.calling = parse_name<Calling>(query->calling);
  if (query->input) result.input = parse_name<InputMode>(query->input);
  if (query->mesh_form) result.form = parse_name<CompositionMode>(query->mesh_form);
  return result;
}

/// The content digest of the pinned generation.
std::optional<std::string> pinned_digest_of(const colltune_query* asked) {
  return text(current_form(asked).generation_digest);
}

FoundAnswer look_up(const std::variant<Client, LocalTable>& source, const LookupQuery& query,
                    const std::optional<std::string>& generation_digest) {
  if (const auto* const client = std::get_if<Client>(&source))
    return client->lookup_with_environment(query, generation_digest);
  const auto& table = std::get<LocalTable>(source);
  if (generation_digest && !query.generation)
    refuse("generation_digest: stands beside a generation's number");
  LookupAnswer answer = table.find(query);
  if (generation_digest && *generation_digest != answer.generation.content_digest)
    throw Error(StatusCode::failed_precondition,
                "generation " + std::to_string(answer.generation.number) +
                    " of the table has another content: " + answer.generation.content_digest +
                    ", not " + *generation_digest);
  FoundAnswer found{.answer = std::move(answer), .environment = {}};
  if (const Environment* const known =
          find_environment(table.set(), found.answer.decision.key.environment_digest))
    found.environment = *known;
  return found;
}

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

const RankedVariant* ranked_at(const colltune_answer* answer, std::size_t rank) noexcept {
  return answer && rank < answer->answer.decision.ranked.size()
             ? &answer->answer.decision.ranked[rank]
             : nullptr;
}

}  // namespace
}  // namespace colltune

extern "C" {

int colltune_open(const char* address, unsigned timeout_ms, colltune_client** client,
                  colltune_error* error) {
  return colltune::guard_for_c(error, [&] {
    if (!client) colltune::refuse("there is no place for the client: it is NULL");
    *client = nullptr;
    if (!address) colltune::refuse("the address is NULL");
    const std::chrono::milliseconds deadline(timeout_ms == 0 ? 2000 : timeout_ms);
    *client = new colltune_client{colltune::Client(address, deadline)};
  });
}

int colltune_open_table(const char* path, colltune_client** client, colltune_error* error) {
  return colltune::guard_for_c(error, [&] {
    if (!client) colltune::refuse("there is no place for the client: it is NULL");
    *client = nullptr;
    if (!path) colltune::refuse("the path is NULL");
    *client = new colltune_client{colltune::LocalTable::open(path)};
  });
}

void colltune_close(colltune_client* client) { delete client; }

int colltune_lookup(const colltune_client* client, const colltune_query* query,
                    colltune_answer** answer, colltune_error* error) {
  return colltune::guard_for_c(error, [&] {
    if (!answer) colltune::refuse("there is no place for the answer: it is NULL");
    *answer = nullptr;
    if (!client) colltune::refuse("the client is NULL");
    auto found = std::make_unique<colltune_answer>();
    const colltune::LookupQuery question = colltune::query_of(query);
    colltune::FoundAnswer answered =
        colltune::look_up(client->source, question, colltune::pinned_digest_of(query));
    found->apply = colltune::apply_settings_of(answered);
    found->answer = std::move(answered.answer);
    colltune::add_texts(question, *found);
    *answer = found.release();
  });
}

void colltune_answer_free(colltune_answer* answer) { delete answer; }

const char* colltune_answer_winner(const colltune_answer* answer) {
  return colltune_answer_variant(answer, 0);
}

const char* colltune_answer_source(const colltune_answer* answer) {
  return answer ? colltune::name_of(answer->answer.source).data() : nullptr;
}

const char* colltune_answer_match(const colltune_answer* answer) {
  return answer ? colltune::name_of(answer->answer.match).data() : nullptr;
}

const char* colltune_answer_members(const colltune_answer* answer) {
  return answer ? colltune::name_of(answer->answer.members).data() : nullptr;
}

uint64_t colltune_answer_generation(const colltune_answer* answer) {
  return answer ? answer->answer.generation.number : 0;
}

const char* colltune_answer_generation_digest(const colltune_answer* answer) {
  return answer ? answer->answer.generation.content_digest.c_str() : nullptr;
}

size_t colltune_answer_count(const colltune_answer* answer) {
  return answer ? answer->variants.size() : 0;
}

const char* colltune_answer_variant(const colltune_answer* answer, size_t rank) {
  return colltune::ranked_at(answer, rank) ? answer->variants[rank].c_str() : nullptr;
}

const char* colltune_answer_family(const colltune_answer* answer, size_t rank) {
  const auto* ranked = colltune::ranked_at(answer, rank);
  return ranked ? ranked->family.c_str() : nullptr;
}

int64_t colltune_answer_median_ns(const colltune_answer* answer, size_t rank) {
  const auto* ranked = colltune::ranked_at(answer, rank);
  return ranked ? ranked->median.count() : -1;
}

double colltune_answer_speedup_over_baseline(const colltune_answer* answer, size_t rank) {
  const auto* ranked = colltune::ranked_at(answer, rank);
  return ranked ? ranked->speedup_over_baseline : 0;
}

const char* colltune_answer_composition(const colltune_answer* answer, size_t rank) {
  return colltune::ranked_at(answer, rank) && !answer->compositions[rank].empty()
             ? answer->compositions[rank].c_str()
             : nullptr;
}

int colltune_answer_apply(const colltune_answer* answer, size_t rank, colltune_apply* apply) {
  constexpr int refused = static_cast<int>(colltune::StatusCode::invalid_argument);
  if (!colltune::ranked_at(answer, rank) || !apply) return refused;
  // The caller's structure may be shorter or longer than ours.
  std::size_t size = 0;
  std::memcpy(&size, apply, sizeof size);
  if (size < colltune::smallest_apply) return refused;
  const colltune::ApplySettings& settings = answer->apply[rank];
  const colltune_apply own{.struct_size = size,
                           .by = colltune::name_of(settings.by).data(),
                           .variables = answer->variables[rank].data(),
                           .variable_count = settings.variables.size(),
                           .how = settings.how.c_str()};
  std::memcpy(apply, &own, std::min(size, sizeof own));
  return 0;
}

const char* colltune_answer_kind(const colltune_answer* answer, size_t member) {
  return answer && member < answer->kind_of_member.size()
             ? answer->kinds[static_cast<std::size_t>(answer->kind_of_member[member])].c_str()
             : nullptr;
}

}  // extern "C"
