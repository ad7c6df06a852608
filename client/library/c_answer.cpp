// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The C interface's answers.

#include <algorithm>
#include <cstring>

#include "c_query.h"

namespace colltune {
namespace {

/// The sizes of the structures' first versions.
constexpr std::size_t smallest_apply = sizeof(colltune_apply);
constexpr std::size_t smallest_prediction = sizeof(colltune_prediction);

const RankedVariant* ranked_at(const colltune_answer* answer, std::size_t rank) noexcept {
  return answer && rank < answer->answer.decision.ranked.size()
             ? &answer->answer.decision.ranked[rank]
             : nullptr;
}

}  // namespace
}  // namespace colltune

extern "C" {

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

int colltune_answer_prediction(const colltune_answer* answer, colltune_prediction* prediction) {
  constexpr int refused = static_cast<int>(colltune::StatusCode::invalid_argument);
  if (!answer || !prediction) return refused;
  // The caller's structure may be shorter or longer than ours.
  std::size_t size = 0;
  std::memcpy(&size, prediction, sizeof size);
  if (size < colltune::smallest_prediction) return refused;
  const auto& found = answer->answer.prediction;
  if (!found) return static_cast<int>(colltune::StatusCode::not_found);
  const colltune_prediction own{.struct_size = size,
                                .low_ns = found->low.count(),
                                .high_ns = found->high.count(),
                                .model = found->model.c_str()};
  std::memcpy(prediction, &own, std::min(size, sizeof own));
  return 0;
}

const char* colltune_answer_kind(const colltune_answer* answer, size_t member) {
  return answer && member < answer->kind_of_member.size()
             ? answer->kinds[static_cast<std::size_t>(answer->kind_of_member[member])].c_str()
             : nullptr;
}

const char* colltune_answer_reason(const colltune_answer* answer) {
  return answer ? answer->answer.decision.reason.c_str() : nullptr;
}

const char* colltune_answer_verdict(const colltune_answer* answer) {
  return answer ? colltune::name_of(answer->answer.decision.verdict).data() : nullptr;
}

const char* colltune_answer_status(const colltune_answer* answer) {
  return answer ? colltune::name_of(answer->answer.decision.status).data() : nullptr;
}

const char* colltune_answer_environment(const colltune_answer* answer) {
  return answer ? answer->answer.decision.key.environment_digest.c_str() : nullptr;
}

const char* colltune_answer_guess(const colltune_answer* answer) {
  return answer ? answer->guess.c_str() : nullptr;
}

const char* colltune_answer_calling(const colltune_answer* answer) {
  return answer ? colltune::name_of(answer->regime.calling).data() : nullptr;
}

const char* colltune_answer_input(const colltune_answer* answer) {
  return answer ? colltune::name_of(answer->regime.input).data() : nullptr;
}

const char* colltune_answer_world(const colltune_answer* answer) {
  return answer ? answer->world.c_str() : nullptr;
}

size_t colltune_answer_measured_count(const colltune_answer* answer) {
  return answer ? answer->answer.measured_sizes.size() : 0;
}

uint64_t colltune_answer_measured_bytes(const colltune_answer* answer, size_t number) {
  return answer && number < answer->answer.measured_sizes.size()
             ? answer->answer.measured_sizes[number].value
             : 0;
}

int colltune_answer_is_baseline(const colltune_answer* answer, size_t rank) {
  const auto* ranked = colltune::ranked_at(answer, rank);
  return ranked && ranked->is_baseline ? 1 : 0;
}

uint64_t colltune_answer_samples(const colltune_answer* answer, size_t rank) {
  const auto* ranked = colltune::ranked_at(answer, rank);
  return ranked ? ranked->samples : 0;
}

}  // extern "C"
