/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* A broadcast through shared memory, as an example of a colltune plug-in.
 *
 * The root copies the message chunk by chunk into two slots of its symmetric memory, in turn; each
 * other rank copies every chunk from there. Two signals keep them in step: the root's `filled` says
 * which chunk is in its slot, each rank's `taken` which chunk it has read, or sent as the root: the
 * next call may have another root. Chunks are numbered from 1 over the whole life of the operation,
 * so that nothing is ever reset.
 * 2 S bytes copied on the root, S on the others; one step, since chunks overlap. */

#include <stdlib.h>
#include <string.h>

#include "colltune/plugin.h"

enum { filled = 0, taken = 1, signals = 2, slots = 2 };

/* A plug-in's own state: everything that is not constant. */
struct colltune_operation {
  const colltune_host* host;
  colltune_communicator* communicator;
  colltune_memory* memory;
  const char* send; /* the root's message; NULL elsewhere */
  char* receive;
  size_t total;
  size_t chunk;
  int32_t root;
  uint64_t done;   /* number of the last chunk of the calls before this one */
  uint64_t posted; /* the root: number of the last chunk that it has staged */
};

static const char* describe(void) {
  return "{\"implementations\": [{"
         "  \"name\": \"broadcast_staged\","
         "  \"collective\": \"broadcast\","
         "  \"description\": \"shared memory, the root stages chunks in two slots: 1 step\","
         "  \"rounding\": \"exact\","
         "  \"numeric_class\": \"rank_order\","
         "  \"parameters\": [{\"name\": \"chunk\", \"values\": [16384, 131072]}],"
         "  \"limits\": {\"min_ranks\": 2},"
         "  \"cost\": {\"steps\": {\"constant\": 1}, \"bytes_per_rank\": {\"size\": 1}}"
         "}]}";
}

static int64_t find_number(const colltune_variant* variant, const char* name) {
  for (size_t i = 0; i < variant->parameter_count; ++i)
    if (strcmp(variant->parameter_names[i], name) == 0) return variant->parameter_numbers[i];
  return 0;
}

static void copy_text(char* to, size_t size, const char* text) {
  if (size == 0) return;
  strncpy(to, text, size - 1);
  to[size - 1] = '\0';
}

static colltune_status supports(const colltune_problem* problem, const colltune_variant* variant,
                                char* reason, size_t reason_size) {
  const int64_t chunk = find_number(variant, "chunk");
  if (problem->nodes > 1) {
    copy_text(reason, reason_size, "it works in shared memory, on one node alone");
    return colltune_unimplemented;
  }
  if (chunk < 64 || chunk > (INT64_C(1) << 30)) {
    copy_text(reason, reason_size, "chunk must lie between 64 and 1073741824 bytes");
    return colltune_unimplemented;
  }
  return colltune_ok;
}

static uint64_t capacity_of(const colltune_call* call) {
  /* A host of an earlier revision has no rebind, and passes a smaller struct. */
  const size_t needed = offsetof(colltune_call, capacity) + sizeof call->capacity;
  const uint64_t capacity = call->struct_size >= needed ? call->capacity : 0;
  return capacity > call->problem->message_size ? capacity : call->problem->message_size;
}

static void use_call(colltune_operation* operation, const colltune_call* call) {
  operation->root = call->root;
  operation->send = call->send;
  operation->receive = call->receive;
  operation->total = (size_t)call->problem->message_size;
}

static colltune_status prepare(const colltune_host* host, colltune_communicator* communicator,
                               const colltune_call* call, const colltune_variant* variant,
                               int64_t deadline_ns, colltune_operation** operation) {
  colltune_status status;
  colltune_operation* const made = calloc(1, sizeof *made);
  if (made == NULL) {
    host->fail(communicator, "no memory for the operation");
    return colltune_resource_exhausted;
  }
  made->host = host;
  made->communicator = communicator;
  use_call(made, call);
  made->chunk = (size_t)find_number(variant, "chunk");
  /* The same on all ranks, for all calls that follow. */
  if (made->chunk > capacity_of(call)) made->chunk = (size_t)capacity_of(call);
  status = host->allocate(communicator, slots * made->chunk, signals, deadline_ns, &made->memory);
  if (status != colltune_ok) {
    free(made); /* the host has kept the reason */
    return status;
  }
  *operation = made;
  return colltune_ok;
}

static void destroy(colltune_operation* operation) {
  operation->host->release(operation->memory);
  free(operation);
}

/* The message is staged: no other rank knows where these lie. */
static colltune_status bind(colltune_operation* operation, const void* send, void* receive) {
  operation->send = send;
  operation->receive = receive;
  return colltune_ok;
}

/* Bytes are moved alike, whatever the type. A new root's slots are free when all ranks have taken
 * the chunks that it sent before: they wait for that as in any other call. */
static colltune_status rebind(colltune_operation* operation, const colltune_call* call) {
  use_call(operation, call);
  return colltune_ok;
}

static uint64_t count_chunks(const colltune_operation* operation) {
  return operation->total == 0 ? 0 : (operation->total - 1) / operation->chunk + 1;
}

/* Bytes of the chunk that begins at `offset`: the last one is shorter. */
static size_t size_of_chunk_at(const colltune_operation* operation, size_t offset) {
  const size_t left = operation->total - offset;
  return left < operation->chunk ? left : operation->chunk;
}

static char* slot_of(const colltune_operation* operation, uint64_t number) {
  char* const part = operation->host->part(operation->memory, operation->root);
  return part + (number % slots) * operation->chunk;
}

/* The number that `taken` of every rank must have reached before chunk `number` may be staged:
 * then its slot is free. */
static uint64_t must_be_taken_before(uint64_t number) {
  return number > slots ? number - slots : 0;
}

static int is_slot_free(const colltune_operation* operation, uint64_t number) {
  const colltune_host* const host = operation->host;
  const int32_t ranks = host->size(operation->communicator);
  for (int32_t rank = 0; rank < ranks; ++rank)
    if (rank != operation->root &&
        host->signal_get(operation->memory, rank, taken) < must_be_taken_before(number))
      return 0;
  return 1;
}

static void stage_next_chunk(colltune_operation* operation) {
  const uint64_t number = operation->posted + 1;
  const size_t offset = (size_t)(number - operation->done - 1) * operation->chunk;
  memcpy(slot_of(operation, number), operation->send + offset, size_of_chunk_at(operation, offset));
  operation->host->signal_set(operation->memory, filled, number);
  operation->posted = number;
}

/* Never waits: the root stages what there is room for. */
static colltune_status start(colltune_operation* operation) {
  const uint64_t last = operation->done + count_chunks(operation);
  if (operation->host->rank(operation->communicator) != operation->root) return colltune_ok;
  while (operation->posted < last && is_slot_free(operation, operation->posted + 1))
    stage_next_chunk(operation);
  return colltune_ok;
}

static colltune_status send_rest(colltune_operation* operation, uint64_t last,
                                 int64_t deadline_ns) {
  const colltune_host* const host = operation->host;
  const int32_t ranks = host->size(operation->communicator);
  while (operation->posted < last) {
    for (int32_t rank = 0; rank < ranks; ++rank) {
      colltune_status status;
      if (rank == operation->root) continue;
      status = host->signal_wait(operation->memory, rank, taken,
                                 must_be_taken_before(operation->posted + 1), deadline_ns,
                                 "the copy of the last chunk but one");
      if (status != colltune_ok) return status;
    }
    stage_next_chunk(operation);
  }
  /* Out of place, the root receives too. Its input is free now: nobody but itself has read it. */
  if (operation->receive != operation->send && operation->total > 0)
    memcpy(operation->receive, operation->send, operation->total);
  host->signal_set(operation->memory, taken, last);
  return colltune_ok;
}

static colltune_status receive_all(colltune_operation* operation, uint64_t last,
                                   int64_t deadline_ns) {
  const colltune_host* const host = operation->host;
  size_t offset = 0;
  for (uint64_t number = operation->done + 1; number <= last; ++number) {
    const size_t size = size_of_chunk_at(operation, offset);
    const colltune_status status = host->signal_wait(operation->memory, operation->root, filled,
                                                     number, deadline_ns, "the staged chunk");
    if (status != colltune_ok) return status;
    memcpy(operation->receive + offset, slot_of(operation, number), size);
    host->signal_set(operation->memory, taken, number);
    offset += size;
  }
  return colltune_ok;
}

static colltune_status wait(colltune_operation* operation, int64_t deadline_ns) {
  const uint64_t last = operation->done + count_chunks(operation);
  const colltune_status status = operation->host->rank(operation->communicator) == operation->root
                                     ? send_rest(operation, last, deadline_ns)
                                     : receive_all(operation, last, deadline_ns);
  if (status == colltune_ok) operation->done = operation->posted = last;
  return status;
}

const colltune_plugin* colltune_plugin_entry(uint32_t host_abi_version) {
  static const colltune_plugin plugin = {sizeof(colltune_plugin),
                                         colltune_plugin_abi_version,
                                         "example",
                                         describe,
                                         supports,
                                         prepare,
                                         start,
                                         wait,
                                         destroy,
                                         bind,
                                         rebind};
  return host_abi_version == colltune_plugin_abi_version ? &plugin : NULL;
}
