/* SPDX-FileCopyrightText: The colltune authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "ask_in_c.h"
#include "groups/group_in_c.h"

#include <colltune/client.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static colltune_query question(void) {
  colltune_query query;
  memset(&query, 0, sizeof query);
  query.struct_size = sizeof query;
  query.collective = "all_reduce";
  query.data_type = "f32";
  query.message_size_bytes = 1024;
  query.nodes = 1;
  query.ranks_per_node = 2;
  return query;
}

int ask_in_c(const char* address, const char* architecture, char* text, size_t size) {
  colltune_error error = {.struct_size = sizeof error};
  colltune_client* client = NULL;
  colltune_answer* answer = NULL;
  colltune_query query = question();
  query.architecture = architecture;
  int status = colltune_open(address, 60000, &client, &error);
  if (status == 0) status = colltune_lookup(client, &query, &answer, &error);
  colltune_close(client); /* the answer outlives it */
  if (status == 0)
    snprintf(text, size, "%s %s %s %llu %zu %lld %.1f %s %s", colltune_answer_winner(answer),
             colltune_answer_source(answer), colltune_answer_match(answer),
             (unsigned long long)colltune_answer_generation(answer), colltune_answer_count(answer),
             (long long)colltune_answer_median_ns(answer, 0),
             colltune_answer_speedup_over_baseline(answer, 0), colltune_answer_variant(answer, 1),
             colltune_answer_family(answer, 1));
  else
    snprintf(text, size, "%s", error.message);
  colltune_answer_free(answer);
  return status;
}

static const char* or_dash(const char* text) { return text != NULL ? text : "-"; }

int ask_for_members_in_c(const char* address, const char* members, char* text, size_t size) {
  colltune_error error = {.struct_size = sizeof error};
  colltune_client* client = NULL;
  colltune_answer* answer = NULL;
  colltune_query query = question();
  query.ranks_per_node = 4;
  query.members = members;
  int status = colltune_open(address, 60000, &client, &error);
  if (status == 0) status = colltune_lookup(client, &query, &answer, &error);
  colltune_close(client);
  if (status == 0)
    snprintf(text, size, "%s %s %s %s %s %s %s", colltune_answer_members(answer),
             colltune_answer_winner(answer), or_dash(colltune_answer_kind(answer, 0)),
             or_dash(colltune_answer_kind(answer, 1)), or_dash(colltune_answer_kind(answer, 2)),
             or_dash(colltune_answer_kind(answer, 3)),
             or_dash(colltune_answer_composition(answer, 0)));
  else
    snprintf(text, size, "%s", error.message);
  /* What is not composed, what does not rank, and who is no member. */
  if (status == 0 &&
      (colltune_answer_composition(answer, colltune_answer_count(answer)) != NULL ||
       colltune_answer_kind(answer, 4) != NULL ||
       (colltune_answer_count(answer) > 1 && colltune_answer_composition(answer, 1) != NULL)))
    status = -1;
  colltune_answer_free(answer);
  return status;
}

int ask_how_to_apply_in_c(const char* address, size_t rank, char* text, size_t size) {
  colltune_error error = {.struct_size = sizeof error};
  colltune_client* client = NULL;
  colltune_answer* answer = NULL;
  colltune_query query = question();
  query.collective = "gather";
  int status = colltune_open(address, 60000, &client, &error);
  if (status == 0) status = colltune_lookup(client, &query, &answer, &error);
  colltune_close(client);
  if (status != 0) {
    snprintf(text, size, "%s", error.message);
    return status;
  }
  /* A caller of a later version has more fields, which stay as they are. */
  struct {
    colltune_apply known;
    int later;
  } larger = {.known = {.struct_size = sizeof larger}, .later = 7};
  colltune_apply* const apply = &larger.known;
  status = colltune_answer_apply(answer, rank, apply);
  if (status == 0) {
    int used = snprintf(text, size, "%s %zu ", apply->by, apply->variable_count);
    for (const char* const* one = apply->variables; *one != NULL; ++one)
      used += snprintf(text + used, size - (size_t)used, "%s ", *one);
    snprintf(text + used, size - (size_t)used, "%s", apply->how);
    if (larger.later != 7 || apply->struct_size != sizeof larger) status = -1;
  }
  /* What does not rank, what is not there, and a structure that is too small. */
  colltune_apply untouched = {.struct_size = sizeof untouched, .how = "as it was"};
  if (colltune_answer_apply(answer, colltune_answer_count(answer), &untouched) != 3 ||
      colltune_answer_apply(NULL, 0, &untouched) != 3 ||
      colltune_answer_apply(answer, 0, NULL) != 3 || strcmp(untouched.how, "as it was") != 0)
    status = -2;
  untouched.struct_size = sizeof untouched - 1;
  if (colltune_answer_apply(answer, 0, &untouched) != 3) status = -3;
  colltune_answer_free(answer);
  return status;
}

int ask_about_mesh_in_c(const char* address, const char* shape, const char* steps, const char* form,
                        char* text, size_t size) {
  colltune_error error = {.struct_size = sizeof error};
  colltune_client* client = NULL;
  colltune_answer* answer = NULL;
  colltune_query query = question();
  query.collective = "mesh_reduce";
  query.ranks_per_node = 0;
  query.mesh_shape = shape;
  query.mesh_steps = steps;
  query.mesh_form = form;
  int status = colltune_open(address, 60000, &client, &error);
  if (status == 0) status = colltune_lookup(client, &query, &answer, &error);
  colltune_close(client);
  if (status == 0)
    snprintf(text, size, "%s %s", colltune_answer_winner(answer),
             or_dash(colltune_answer_composition(answer, 0)));
  else
    snprintf(text, size, "%s", error.message);
  colltune_answer_free(answer);
  return status;
}

int ask_in_regime_in_c(const char* address, size_t struct_size, const char* calling,
                       const char* input, char* text, size_t size) {
  colltune_error error = {.struct_size = sizeof error};
  colltune_client* client = NULL;
  colltune_answer* answer = NULL;
  colltune_query query = question();
  query.struct_size = struct_size;
  query.architecture = "x86_64-avx2";
  query.calling = calling;
  query.input = input;
  int status = colltune_open(address, 60000, &client, &error);
  if (status == 0) status = colltune_lookup(client, &query, &answer, &error);
  colltune_close(client);
  snprintf(text, size, "%s", status == 0 ? colltune_answer_winner(answer) : error.message);
  colltune_answer_free(answer);
  return status;
}

size_t query_without_regime(void) { return offsetof(colltune_query, calling); }
size_t query_with_regime(void) { return sizeof(colltune_query); }

/* The message of a lookup that must be refused as an invalid argument; NULL where it is not. */
static const char* refused(const colltune_client* client, const colltune_query* query) {
  static char message[2048];
  colltune_error error = {.struct_size = sizeof error};
  colltune_answer* answer = NULL;
  if (colltune_lookup(client, query, &answer, &error) != 3 || error.code != 3 || answer != NULL)
    return NULL;
  snprintf(message, sizeof message, "%s", error.message);
  return message;
}

static int refused_with(const colltune_client* client, const colltune_query* query,
                        const char* part) {
  const char* message = refused(client, query);
  return message != NULL && strstr(message, part) != NULL;
}

int ask_table_in_c(const char* path, unsigned long long generation, const char* digest, char* text,
                   size_t size) {
  colltune_error error = {.struct_size = sizeof error};
  colltune_client* client = NULL;
  colltune_answer* answer = NULL;
  colltune_query query = question();
  query.generation = generation;
  query.generation_digest = digest;
  int status = colltune_open_table(path, &client, &error);
  if (status == 0) status = colltune_lookup(client, &query, &answer, &error);
  colltune_close(client); /* the answer outlives it */
  if (status == 0)
    snprintf(text, size, "%s %llu", colltune_answer_winner(answer),
             (unsigned long long)colltune_answer_generation(answer));
  else
    snprintf(text, size, "%s", error.message);
  colltune_answer_free(answer);
  return status;
}

int ask_batch_in_c(const char* address, unsigned long long generation, const char* digest,
                   char* text, size_t size) {
  colltune_error error = {.struct_size = sizeof error};
  colltune_error of_one = {.struct_size = sizeof of_one};
  colltune_client* client = NULL;
  colltune_batch* batch = NULL;
  colltune_query queries[3] = {question(), question(), question()};
  for (int i = 0; i < 3; ++i) queries[i].architecture = "x86_64-avx2";
  queries[1].data_type = "f64";
  queries[2].message_size_bytes = 4096;
  int status = colltune_open(address, 60000, &client, &error);
  if (status == 0)
    status = colltune_lookup_batch(client, queries, 3, sizeof queries[0], generation, digest,
                                   &batch, &error);
  colltune_close(client); /* the answers outlive it */
  if (status == 0) {
    const colltune_answer* answers[3] = {NULL, NULL, NULL};
    int codes[3];
    for (size_t i = 0; i < 3; ++i) codes[i] = colltune_batch_answer(batch, i, &answers[i], &of_one);
    snprintf(text, size, "%zu %llu %s %d %s", colltune_batch_count(batch),
             (unsigned long long)colltune_batch_generation(batch),
             codes[0] == 0 ? colltune_answer_winner(answers[0]) : "-",
             of_one.code == codes[1] && answers[1] == NULL ? codes[1] : -1,
             codes[2] == 0 ? colltune_answer_winner(answers[2]) : "-");
    if (colltune_batch_answer(batch, 3, &answers[0], NULL) != 3 || answers[0] != NULL) status = -1;
    if (digest != NULL && strcmp(colltune_batch_generation_digest(batch), digest) != 0) status = -2;
  } else {
    snprintf(text, size, "%s", error.message);
  }
  colltune_batch_free(batch);
  return status;
}

int fetch_worlds_in_c(const char* address, size_t struct_size, int ranks_per_node,
                      const char* architecture, char* text, size_t size) {
  colltune_error error = {.struct_size = sizeof error};
  colltune_client* client = NULL;
  colltune_table* table = NULL;
  colltune_fetch what;
  memset(&what, 0, sizeof what);
  what.struct_size = struct_size;
  what.ranks_per_node = ranks_per_node;
  what.architecture = architecture;
  int status = colltune_open(address, 60000, &client, &error);
  if (status == 0) status = colltune_table_fetch(client, &what, &table, &error);
  if (status == 0)
    snprintf(text, size, "%zu", colltune_table_decisions(table));
  else
    snprintf(text, size, "%s", error.message);
  colltune_table_close(table);
  colltune_close(client);
  return status;
}

size_t fetch_without_worlds(void) { return offsetof(colltune_fetch, nodes); }
size_t fetch_with_worlds(void) { return sizeof(colltune_fetch); }

int fetch_in_group_in_c(const char* address, int rank, int size_of_group, void* context,
                        int (*broadcast)(void*, void*, size_t),
                        int (*all_gather)(void*, const void*, void*, size_t),
                        unsigned long long generation, char* text, size_t size) {
  colltune_error error = {.struct_size = sizeof error};
  colltune_client* client = NULL;
  colltune_table* table = NULL;
  const colltune_group_calls group = group_of(rank, size_of_group, context, broadcast, all_gather);
  const colltune_fetch what = {.struct_size = sizeof what, .generation = generation};
  int status = colltune_open(address, 60000, &client, &error);
  if (status == 0) status = colltune_table_fetch_in_group(client, &what, &group, &table, &error);
  snprintf(text, size, "%s", status == 0 ? colltune_table_digest(table) : error.message);
  colltune_table_close(table);
  colltune_close(client);
  return status;
}

static const char* misuse_of_batches(const colltune_client* client) {
  colltune_error error = {.struct_size = sizeof error};
  colltune_query queries[2] = {question(), question()};
  colltune_batch* batch = NULL;
  if (colltune_lookup_batch(NULL, queries, 2, sizeof queries[0], 0, NULL, &batch, &error) != 3)
    return "batch without client";
  if (colltune_lookup_batch(client, NULL, 2, sizeof queries[0], 0, NULL, &batch, &error) != 3)
    return "batch without queries";
  if (colltune_lookup_batch(client, queries, 2, sizeof queries[0], 0, NULL, NULL, &error) != 3)
    return "batch without place";
  if (colltune_lookup_batch(client, queries, 2, sizeof queries[0], 0, "digest", &batch, &error) !=
      3)
    return "a digest without its generation";
  if (colltune_lookup_batch(client, queries, 2, 8, 0, NULL, &batch, &error) != 3)
    return "batch of small queries";
  if (colltune_lookup_batch(client, queries, 2, 9, 0, NULL, &batch, &error) != 3)
    return "batch of odd queries";
  queries[1].collective = "all_redcue";
  if (colltune_lookup_batch(client, queries, 2, sizeof queries[0], 0, NULL, &batch, &error) != 3 ||
      strstr(error.message, "queries[1]: ") == NULL)
    return "batch with an unknown collective";
  queries[1] = question();
  queries[1].generation = 1;
  queries[1].generation_digest = "digest";
  if (colltune_lookup_batch(client, queries, 2, sizeof queries[0], 0, NULL, &batch, &error) != 3)
    return "batch with a digest of its own";
  if (colltune_lookup_batch(client, queries, 1, sizeof queries[0], 0, NULL, &batch, &error) != 14)
    return "unreachable batch";
  if (batch != NULL) return "the batch of an error";
  const colltune_answer* answer = NULL;
  if (colltune_batch_answer(NULL, 0, &answer, &error) != 3 || colltune_batch_count(NULL) != 0 ||
      colltune_batch_generation(NULL) != 0 || colltune_batch_generation_digest(NULL) != NULL)
    return "batch NULL";
  colltune_batch_free(NULL);

  struct {
    colltune_fetch fetch;
    size_t newer;
  } larger = {.fetch = {.struct_size = sizeof larger}, .newer = 1};
  colltune_table* table = NULL;
  if (colltune_table_fetch(client, &larger.fetch, &table, &error) != 3 ||
      strstr(error.message, "does not know") == NULL)
    return "a fetch with a newer field";
  larger.fetch = (colltune_fetch){.struct_size = sizeof larger.fetch, .nodes = -1};
  if (colltune_table_fetch(client, &larger.fetch, &table, &error) != 3) return "negative nodes";
  if (colltune_table_fetch_in_group(client, NULL, NULL, &table, &error) != 3)
    return "fetch in no group";
  const colltune_group_calls mute = {.struct_size = sizeof mute, .size = 1};
  if (colltune_table_fetch_in_group(client, NULL, &mute, &table, &error) != 3 || table != NULL)
    return "fetch in a group without functions";
  return "";
}

const char* misuse_in_c(void) {
  colltune_error error = {.struct_size = sizeof error};
  colltune_client* client = NULL;
  if (colltune_open("nonsense", 0, &client, &error) != 3 || client != NULL) return "open";
  if (strstr(error.message, "nonsense") == NULL) return "open's message";
  if (colltune_open(NULL, 0, &client, NULL) != 3) return "open without address";
  if (colltune_open("unix:/nowhere", 0, NULL, &error) != 3) return "open without client";
  if (colltune_open_table(NULL, &client, &error) != 3) return "open_table without path";
  if (colltune_open_table("/nowhere", NULL, &error) != 3) return "open_table without client";
  if (colltune_open_table("/nowhere", &client, &error) != 9 || client != NULL) return "open_table";
  if (colltune_open("unix:/nowhere/socket", 0, &client, &error) != 0) return "open later";

  colltune_query query = question();
  if (!refused_with(NULL, &query, "client is NULL")) return "lookup without client";
  if (!refused_with(client, NULL, "query is NULL")) return "lookup without query";
  if (colltune_lookup(client, &query, NULL, &error) != 3) return "lookup without answer";
  query.struct_size = 8;
  if (!refused_with(client, &query, "struct_size is 8")) return "small struct_size";
  struct {
    colltune_query query;
    int newer;
  } larger = {.query = question(), .newer = 1};
  larger.query.struct_size = sizeof larger;
  if (!refused_with(client, &larger.query, "does not know")) return "newer field in use";
  query = question();
  query.collective = "all_redcue";
  if (!refused_with(client, &query, "all_reduce, all_gather")) return "unknown collective";
  query = question();
  query.data_type = NULL;
  if (!refused_with(client, &query, "data_type is NULL")) return "no data type";
  query = question();
  query.in_place = 2;
  if (!refused_with(client, &query, "in_place")) return "in_place 2";
  query = question();
  query.nodes = -1;
  if (!refused_with(client, &query, "-1 is negative")) return "negative nodes";
  query = question();
  query.mesh_shape = "2x2";
  if (!refused_with(client, &query, "mesh_shape is for mesh_reduce")) return "a mesh for all";
  query.collective = "mesh_reduce";
  if (!refused_with(client, &query, "mesh_steps")) return "a mesh without steps";
  query.mesh_steps = "2:sum";
  if (!refused_with(client, &query, "dimensions 0 to 1")) return "a dimension too many";
  query.mesh_steps = "1:sum";
  query.reduce_op = "sum";
  if (!refused_with(client, &query, "stand in mesh_steps")) return "an op beside the mesh's";
  query.reduce_op = NULL;
  query.mesh_form = "fused";
  if (!refused_with(client, &query, "fused")) return "an unknown form";
  query = question();
  query.members = "{";
  if (!refused_with(client, &query, "members are no JSON")) return "members that are no JSON";
  query.members = "{\"kinds\": []}";
  if (!refused_with(client, &query, "kind_of_rank")) return "members without ranks";
  query.members =
      "{\"kind_of_rank\": [0, 2], \"kinds\": [{\"architecture\": \"x\", \"features\": []}]}";
  if (!refused_with(client, &query, "members")) return "a member of no kind";
  /* A caller that was built before there were members, with something else behind its structure. */
  query = question();
  query.struct_size = offsetof(colltune_query, members);
  query.members = (const char*)1;
  colltune_answer* answer = NULL;
  if (colltune_lookup(client, &query, &answer, &error) != 14) return "an older caller";
  query.struct_size -= 1;
  if (!refused_with(client, &query, "struct_size is")) return "a structure cut short";
  query = question();
  if (colltune_lookup(client, &query, &answer, &error) != 14) return "unreachable";
  if (strstr(error.message, "unix:/nowhere/socket") == NULL) return "unreachable's message";
  const char* const wrong = misuse_of_batches(client);
  if (*wrong != 0) return wrong;
  colltune_close(client);

  if (colltune_answer_winner(NULL) != NULL || colltune_answer_count(NULL) != 0 ||
      colltune_answer_median_ns(NULL, 0) != -1 || colltune_answer_source(NULL) != NULL ||
      colltune_answer_members(NULL) != NULL || colltune_answer_composition(NULL, 0) != NULL ||
      colltune_answer_kind(NULL, 0) != NULL)
    return "answer NULL";
  colltune_answer_free(NULL);
  colltune_close(NULL);
  return "";
}
