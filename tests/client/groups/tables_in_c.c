/* SPDX-FileCopyrightText: The colltune authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "tables_in_c.h"
#include "group_in_c.h"

#include <colltune/client.h>
#include <stdio.h>
#include <string.h>

static colltune_query question(void) {
  colltune_query query;
  memset(&query, 0, sizeof query);
  query.struct_size = sizeof query;
  query.collective = "all_reduce";
  query.data_type = "f32";
  query.message_size_bytes = 1024;
  return query;
}

static int is(const char* text, const char* expected) {
  return text != NULL && strcmp(text, expected) == 0;
}

static const char* ask_whole(const colltune_table* table) {
  colltune_error error = {.struct_size = sizeof error};
  colltune_answer* answer = NULL;
  colltune_query query = question();
  if (colltune_table_lookup(table, &query, &answer, &error) != 0) return "lookup";
  const char* wrong = "";
  if (!is(colltune_answer_winner(answer), "cpu.one_shot{n=2}")) wrong = "winner";
  if (!is(colltune_answer_verdict(answer), "no_baseline")) wrong = "verdict";
  if (!is(colltune_answer_status(answer), "provisional")) wrong = "status";
  if (!is(colltune_answer_environment(answer), colltune_table_environment(table)))
    wrong = "environment";
  if (!is(colltune_answer_guess(answer), "")) wrong = "guess";
  if (!is(colltune_answer_calling(answer), "each")) wrong = "calling";
  if (!is(colltune_answer_input(answer), "rewritten")) wrong = "input";
  if (strstr(colltune_answer_world(answer), "1x2") == NULL) wrong = "world";
  if (colltune_answer_reason(answer) == NULL) wrong = "reason";
  if (colltune_answer_measured_count(answer) != 1 ||
      colltune_answer_measured_bytes(answer, 0) != 1024 ||
      colltune_answer_measured_bytes(answer, 1) != 0)
    wrong = "measured sizes";
  if (colltune_answer_is_baseline(answer, 0) != 0 || colltune_answer_is_baseline(answer, 1) != 1)
    wrong = "is_baseline";
  if (colltune_answer_samples(answer, 0) != 200) wrong = "samples";
  colltune_answer_free(answer);

  answer = NULL;
  query.at_least = "exact";
  query.message_size_bytes = 1500;
  if (colltune_table_lookup(table, &query, &answer, &error) != 5 || answer != NULL)
    wrong = "at_least";
  query = question();
  query.graph_capture = 1;
  if (colltune_table_lookup(table, &query, &answer, &error) != 5) wrong = "graph_capture";
  query.graph_capture = 2;
  if (colltune_table_lookup(table, &query, &answer, &error) != 3) wrong = "graph_capture 2";
  return wrong;
}

static const char* ask_short(const colltune_table* table) {
  colltune_error error = {.struct_size = sizeof error};
  colltune_query query = question();
  uint32_t group = UINT32_MAX;
  if (colltune_table_resolve(table, &query, &group, &error) != 0) return "resolve";
  colltune_found found;
  if (colltune_table_find(table, group, 1024, &found) != 0) return "find";
  if (found.time_ns != 1000 || found.baseline_time_ns != 2000 || found.size_bytes != 1024)
    return "find's times";
  if (!is(colltune_table_variant(table, found.variant), "cpu.one_shot{n=2}")) return "variant";
  if (!is(colltune_table_variant(table, found.baseline), "mpi.default")) return "baseline";
  if (!is(colltune_source_name(found.source), "measured")) return "source_name";
  if (!is(colltune_verdict_name(found.verdict), "no_baseline")) return "verdict_name";
  if (!is(colltune_status_name(found.status), "provisional")) return "status_name";
  if (colltune_source_name(99) != NULL || colltune_table_variant(table, UINT32_MAX) != NULL)
    return "a name of nothing";

  const uint32_t groups[] = {group, UINT32_MAX, group};
  const uint64_t bytes[] = {1024, 1024, 4096};
  colltune_found all[3];
  if (colltune_table_find_many(table, groups, bytes, 3, all, sizeof all[0]) != 0)
    return "find_many";
  if (memcmp(&all[0], &found, sizeof found) != 0) return "the first of many";
  if (all[1].code != 5 || all[1].variant != UINT32_MAX) return "the second of many";
  if (all[2].time_ns != 9000 || all[2].is_baseline != 1) return "the third of many";
  if (colltune_table_find_many(table, groups, bytes, 3, all, 8) != 3) return "found_size";
  if (colltune_table_find_many(table, NULL, NULL, 0, NULL, sizeof all[0]) != 0) return "none";

  query.members =
      "{\"kind_of_rank\": [0], \"kinds\": [{\"architecture\": \"x\", \"features\": []}]}";
  if (colltune_table_resolve(table, &query, &group, &error) != 3) return "resolve with members";
  if (group != UINT32_MAX) return "the group of an error";
  return "";
}

static const char* misuse(const char* path, const colltune_table* table) {
  colltune_error error = {.struct_size = sizeof error};
  colltune_table* none = NULL;
  colltune_found found;
  uint32_t group = 0;
  colltune_query query = question();
  if (colltune_table_open(path, "0123", &none, &error) != 9 || none != NULL)
    return "another digest";
  if (strstr(error.message, "demanded is the table with digest 0123") == NULL) return "its message";
  if (colltune_table_open(NULL, NULL, &none, &error) != 3) return "open without path";
  if (colltune_table_open(path, NULL, NULL, &error) != 3) return "open without table";
  if (colltune_table_open("/nowhere", NULL, &none, NULL) != 9) return "open nothing";
  if (colltune_table_find(NULL, 0, 0, &found) != 3 || colltune_table_find(table, 0, 0, NULL) != 3)
    return "find with NULL";
  if (colltune_table_resolve(NULL, &query, &group, &error) != 3) return "resolve without table";
  if (colltune_table_resolve(table, &query, NULL, &error) != 3) return "resolve without group";
  if (colltune_table_digest(NULL) != NULL || colltune_table_generation(NULL) != 0 ||
      colltune_table_decisions(NULL) != 0)
    return "NULL for a table";
  colltune_table_close(NULL);
  return "";
}

const char* ask_tables_in_c(const char* path, const char* digest) {
  colltune_error error = {.struct_size = sizeof error};
  colltune_table* table = NULL;
  if (colltune_table_open(path, digest, &table, &error) != 0) return "open";
  const char* wrong = "";
  if (!is(colltune_table_digest(table), digest)) wrong = "digest";
  if (colltune_table_generation(table) != 7 || colltune_table_decisions(table) != 2)
    wrong = "generation";
  if (!is(colltune_table_generation_digest(table), "content") ||
      !is(colltune_table_store(table), "store"))
    wrong = "generation's digest";
  if (*wrong == 0) wrong = ask_whole(table);
  if (*wrong == 0) wrong = ask_short(table);
  if (*wrong == 0) wrong = misuse(path, table);
  colltune_table_close(table);
  return wrong;
}

int open_in_group_in_c(const char* path, int rank, int size_of_group, void* context,
                       int (*broadcast)(void*, void*, size_t),
                       int (*all_gather)(void*, const void*, void*, size_t), char* text,
                       size_t size) {
  colltune_error error = {.struct_size = sizeof error};
  colltune_table* table = NULL;
  const colltune_group_calls group = group_of(rank, size_of_group, context, broadcast, all_gather);
  const int status = colltune_table_open_in_group(path, &group, &table, &error);
  snprintf(text, size, "%s", status == 0 ? colltune_table_digest(table) : error.message);
  colltune_table_close(table);
  return status;
}
