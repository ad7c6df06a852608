// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The C interface's clients: converts arguments, calls Client, and catches all exceptions.

#include <algorithm>
#include <cstring>
#include <utility>
#include <variant>

#include "c_query.h"
#include "colltune/c_guard.h"
#include "colltune/client/client.h"

struct colltune_client {
  std::variant<colltune::Client, colltune::LocalTable> source;
};

struct colltune_generation_list {
  colltune::Generation newest;
  std::vector<std::uint64_t> pinnable;
};

namespace colltune {
namespace {

/// The size of the structure's first version.
constexpr std::size_t smallest_fetch = sizeof(colltune_fetch);

const Client& daemon_of(const colltune_client* client) {
  if (!client) refuse("the client is NULL");
  const auto* const found = std::get_if<Client>(&client->source);
  if (!found) refuse("this client is of a table file, and a daemon is asked for");
  return *found;
}

/// The answer of a client, and how its environment was chosen.
OnceAnswer look_up_once(const colltune_client& client, const LookupQuery& query,
                        const std::optional<std::string>& generation_digest) {
  if (const auto* const daemon = std::get_if<Client>(&client.source))
    return daemon->lookup_once(query, generation_digest);
  return {look_up(std::get<LocalTable>(client.source), query, generation_digest), {}};
}

/// The caller's structure in the current form.
colltune_fetch current_form(const colltune_fetch* what) {
  colltune_fetch own{};
  if (!what) return own;
  std::size_t size = 0;
  std::memcpy(&size, what, sizeof size);
  if (size < smallest_fetch) refuse("colltune_fetch.struct_size is " + std::to_string(size));
  std::memcpy(&own, what, std::min(size, sizeof own));
  return own;
}

LocalTable fetch(const Client& client, const colltune_fetch& what) {
  WorldFilter filter;
  if (what.environment_digest) filter.environment_digest = what.environment_digest;
  if (what.generation == 0 && what.generation_digest)
    refuse("generation_digest: stands beside a generation's number");
  LocalTable table =
      what.generation_digest
          ? client.fetch_table(filter, Generation{.store_uuid = {},
                                                  .number = what.generation,
                                                  .content_digest = what.generation_digest})
          : client.fetch_table(
                filter, what.generation == 0 ? std::nullopt : std::optional(what.generation));
  if (what.digest) demand_digest(table, what.digest, "the daemon's table");
  return table;
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

int colltune_lookup_once(const colltune_client* client, const colltune_query* query,
                         colltune_answer** answer, colltune_error* error) {
  return colltune::guard_for_c(error, [&] {
    if (!answer) colltune::refuse("there is no place for the answer: it is NULL");
    *answer = nullptr;
    if (!client) colltune::refuse("the client is NULL");
    const colltune::LookupQuery question = colltune::query_of(query);
    colltune::OnceAnswer found =
        colltune::look_up_once(*client, question, colltune::pinned_digest_of(query));
    auto made = colltune::make_answer(question, std::move(found));
    made->guess = std::move(found.guess);
    *answer = made.release();
  });
}

int colltune_lookup(const colltune_client* client, const colltune_query* query,
                    colltune_answer** answer, colltune_error* error) {
  return colltune_lookup_once(client, query, answer, error);
}

int colltune_table_fetch(const colltune_client* client, const colltune_fetch* what,
                         colltune_table** table, colltune_error* error) {
  return colltune::guard_for_c(error, [&] {
    if (!table) colltune::refuse("there is no place for the table: it is NULL");
    *table = nullptr;
    *table = new colltune_table{
        colltune::fetch(colltune::daemon_of(client), colltune::current_form(what))};
  });
}

int colltune_generations(const colltune_client* client, colltune_generation_list** list,
                         colltune_error* error) {
  return colltune::guard_for_c(error, [&] {
    if (!list) colltune::refuse("there is no place for the list: it is NULL");
    *list = nullptr;
    const colltune::Client& daemon = colltune::daemon_of(client);
    *list = new colltune_generation_list{daemon.newest_generation(), daemon.generations()};
  });
}

int colltune_wait_for_generation(const colltune_client* client, uint64_t known,
                                 const char* known_digest, unsigned timeout_ms,
                                 colltune_generation_list** list, colltune_error* error) {
  return colltune::guard_for_c(error, [&] {
    if (!list) colltune::refuse("there is no place for the list: it is NULL");
    *list = nullptr;
    if (!known_digest) colltune::refuse("known_digest is NULL");
    const colltune::Client& daemon = colltune::daemon_of(client);
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
    colltune::Generation old = daemon.newest_generation();
    if (old.number == known && old.content_digest == known_digest)
      old = daemon.wait_for_generation(old, until);
    *list = new colltune_generation_list{std::move(old), daemon.generations()};
  });
}

uint64_t colltune_generations_newest(const colltune_generation_list* list) {
  return list ? list->newest.number : 0;
}

const char* colltune_generations_newest_digest(const colltune_generation_list* list) {
  return list ? list->newest.content_digest.c_str() : nullptr;
}

size_t colltune_generations_count(const colltune_generation_list* list) {
  return list ? list->pinnable.size() : 0;
}

uint64_t colltune_generations_at(const colltune_generation_list* list, size_t number) {
  return list && number < list->pinnable.size() ? list->pinnable[number] : 0;
}

void colltune_generations_free(colltune_generation_list* list) { delete list; }

}  // extern "C"
