// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The C interface's tables. Needs no daemon: also all of libcolltune_table.so.

#include <cstring>
#include <utility>

#include "c_query.h"
#include "colltune/c_guard.h"

namespace colltune {

FoundAnswer look_up(const LocalTable& table, const LookupQuery& query,
                    const std::optional<std::string>& generation_digest) {
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

namespace {

const LocalTable& table_of(const colltune_table* table) {
  if (!table) refuse("the table is NULL");
  return table->table;
}

/// A client for the answer of a table is read in C by these numbers.
static_assert(sizeof(colltune_found) == 48);

/// Returns 0, or 5 where there is no answer; then `found` is cleared but for its code and variants.
int find_in(const LocalTable& table, std::uint32_t group, std::uint64_t bytes,
            colltune_found& found) noexcept {
  const auto answer = table.find(group, Bytes{bytes});
  found = {};
  found.variant = found.baseline = TableFound::no_variant;
  if (!answer) {
    found.code = static_cast<std::int32_t>(StatusCode::not_found);
    return found.code;
  }
  found.variant = answer->variant;
  found.baseline = answer->baseline;
  found.time_ns = answer->time.count();
  found.baseline_time_ns = answer->baseline_time.count();
  found.size_bytes = answer->size.value;
  found.source = static_cast<std::uint8_t>(answer->source);
  found.verdict = static_cast<std::uint8_t>(answer->verdict);
  found.status = static_cast<std::uint8_t>(answer->status);
  found.is_baseline = answer->is_baseline ? 1 : 0;
  return 0;
}

template <class Enum>
const char* text_of(unsigned number) noexcept {
  for (const auto& named : enum_names(Enum{}))
    if (static_cast<unsigned>(named.value) == number) return named.name.data();
  return nullptr;
}

}  // namespace
}  // namespace colltune

extern "C" {

int colltune_table_open(const char* path, const char* digest, colltune_table** table,
                        colltune_error* error) {
  return colltune::guard_for_c(error, [&] {
    if (!table) colltune::refuse("there is no place for the table: it is NULL");
    *table = nullptr;
    if (!path) colltune::refuse("the path is NULL");
    *table = new colltune_table{colltune::LocalTable::open(
        path, digest ? std::optional<std::string>(digest) : std::nullopt)};
  });
}

int colltune_table_open_in_group(const char* path, const colltune_group_calls* group,
                                 colltune_table** table, colltune_error* error) {
  return colltune::guard_for_c(error, [&] {
    if (table) *table = nullptr;
    // What is wrong on this rank alone, the others get to know.
    auto opened = colltune::open_in_group(
        colltune::group_calls_of(group), [&](const std::optional<colltune::TableIdentity>& wanted) {
          if (!table) colltune::refuse("there is no place for the table: it is NULL");
          if (!path) colltune::refuse("the path is NULL");
          return colltune::LocalTable::open(
              path, wanted ? std::optional<std::string>(wanted->digest) : std::nullopt);
        });
    *table = new colltune_table{std::move(opened)};
  });
}

void colltune_table_close(colltune_table* table) { delete table; }

const char* colltune_table_digest(const colltune_table* table) {
  return table ? table->table.digest().c_str() : nullptr;
}

const char* colltune_table_environment(const colltune_table* table) {
  return table ? table->table.environment_digest().c_str() : nullptr;
}

uint64_t colltune_table_generation(const colltune_table* table) {
  return table ? table->table.generation().number : 0;
}

const char* colltune_table_generation_digest(const colltune_table* table) {
  return table ? table->table.generation().content_digest.c_str() : nullptr;
}

const char* colltune_table_store(const colltune_table* table) {
  return table ? table->table.generation().store_uuid.c_str() : nullptr;
}

size_t colltune_table_decisions(const colltune_table* table) {
  return table ? table->table.set().decisions.size() : 0;
}

int colltune_table_lookup(const colltune_table* table, const colltune_query* query,
                          colltune_answer** answer, colltune_error* error) {
  return colltune::guard_for_c(error, [&] {
    if (!answer) colltune::refuse("there is no place for the answer: it is NULL");
    *answer = nullptr;
    const colltune::LookupQuery question = colltune::query_of(query);
    *answer = colltune::make_answer(question, colltune::look_up(colltune::table_of(table), question,
                                                                colltune::pinned_digest_of(query)))
                  .release();
  });
}

int colltune_table_resolve(const colltune_table* table, const colltune_query* query,
                           uint32_t* group, colltune_error* error) {
  return colltune::guard_for_c(error, [&] {
    if (!group) colltune::refuse("there is no place for the group: it is NULL");
    *group = colltune::TableFound::no_variant;
    *group = colltune::table_of(table).resolve(colltune::query_of(query));
  });
}

int colltune_table_find(const colltune_table* table, uint32_t group, uint64_t bytes,
                        colltune_found* found) {
  constexpr int refused = static_cast<int>(colltune::StatusCode::invalid_argument);
  return table && found ? colltune::find_in(table->table, group, bytes, *found) : refused;
}

int colltune_table_find_many(const colltune_table* table, const uint32_t* groups,
                             const uint64_t* bytes, size_t count, colltune_found* found,
                             size_t found_size) {
  constexpr int refused = static_cast<int>(colltune::StatusCode::invalid_argument);
  if (!table || found_size != sizeof(colltune_found) ||
      (count > 0 && (!groups || !bytes || !found)))
    return refused;
  for (size_t i = 0; i < count; ++i)
    (void)colltune::find_in(table->table, groups[i], bytes[i], found[i]);
  return 0;
}

const char* colltune_table_variant(const colltune_table* table, uint32_t variant) {
  const std::string_view text = table ? table->table.variant(variant) : std::string_view();
  return text.empty() ? nullptr : text.data();
}

const char* colltune_source_name(unsigned source) {
  return colltune::text_of<colltune::Source>(source);
}

const char* colltune_verdict_name(unsigned verdict) {
  return colltune::text_of<colltune::Verdict>(verdict);
}

const char* colltune_status_name(unsigned status) {
  return colltune::text_of<colltune::DecisionStatus>(status);
}

}  // extern "C"
