// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The C interface's clients: converts arguments, calls Client, and catches all exceptions.

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include "c_query.h"
#include "colltune/c_guard.h"
#include "colltune/client/client.h"

struct colltune_client {
  std::variant<colltune::Client, colltune::LocalTable> source;
};

struct colltune_batch {
  colltune::Generation generation;
  std::vector<std::variant<std::unique_ptr<colltune_answer>, colltune::Error>> items;
};

struct colltune_generation_list {
  colltune::Generation newest;
  std::vector<std::uint64_t> pinnable;
};

namespace colltune {
namespace {

/// The size of the structure's first version.
constexpr std::size_t smallest_fetch = offsetof(colltune_fetch, nodes);

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

/// What is to be fetched; the texts are the caller's.
colltune_fetch fetch_of(const colltune_fetch* what) {
  if (!what) return {};
  const auto own = current_form(*what, smallest_fetch, "colltune_fetch");
  if (own.generation == 0 && own.generation_digest)
    refuse("generation_digest: stands beside a generation's number");
  return own;
}

WorldFilter filter_of(const colltune_fetch& what) {
  return {.nodes = positive_or_open(what.nodes, "nodes"),
          .ranks_per_node = positive_or_open(what.ranks_per_node, "ranks_per_node"),
          .architecture = text_or_open(what.architecture),
          .environment_digest = text_or_open(what.environment_digest)};
}

/// A generation's number and content; `digest` is NULL where any content is allowed.
Generation pinned(std::uint64_t number, const char* digest) {
  return {.store_uuid = {}, .number = number, .content_digest = digest};
}

LocalTable fetch(const Client& client, const colltune_fetch& what) {
  LocalTable table =
      what.generation_digest
          ? client.fetch_table(filter_of(what), pinned(what.generation, what.generation_digest))
          : client.fetch_table(filter_of(what), what.generation == 0
                                                    ? std::nullopt
                                                    : std::optional(what.generation));
  if (what.digest) demand_digest(table, what.digest, "the daemon's table");
  return table;
}

/// The table that rank 0 of a group has, if it is what this rank names too.
LocalTable fetch(const Client& client, const colltune_fetch& what, const TableIdentity& wanted) {
  const auto demand = [](const char* name, const std::string& own, const std::string& of_rank_0) {
    if (own != of_rank_0)
      throw Error(StatusCode::failed_precondition, std::string("colltune_fetch.") + name + " is " +
                                                       own + ", rank 0's is " + of_rank_0);
  };
  if (what.environment_digest)
    demand("environment_digest", what.environment_digest, wanted.environment_digest);
  if (what.generation != 0)
    demand("generation", std::to_string(what.generation), std::to_string(wanted.generation.number));
  if (what.generation_digest)
    demand("generation_digest", what.generation_digest, wanted.generation.content_digest);
  if (what.digest) demand("digest", what.digest, wanted.digest);
  return client.fetch_table(filter_of(what), wanted);
}

/// The questions; the error of a malformed one names its number.
std::vector<LookupQuery> queries_of(const colltune_query* queries, std::size_t count,
                                    std::size_t size) {
  if (count > 0 && !queries) refuse("the queries are NULL");
  if (size % alignof(colltune_query) != 0)
    refuse("query_size is " + std::to_string(size) + "; it is sizeof(colltune_query)");
  std::vector<LookupQuery> found;
  found.reserve(std::min<std::size_t>(count, 1000));
  const auto* const bytes = reinterpret_cast<const unsigned char*>(queries);
  for (std::size_t i = 0; i < count; ++i) {
    const auto* const query = reinterpret_cast<const colltune_query*>(bytes + i * size);
    try {
      if (query->struct_size > size)
        refuse("struct_size is " + std::to_string(query->struct_size) + ", and query_size " +
               std::to_string(size));
      found.push_back(query_of(query));
      if (pinned_digest_of(query)) refuse("generation_digest is the batch's, not a query's");
    } catch (const Error& error) {
      throw Error(error.code(), "queries[" + std::to_string(i) + "]: " + error.what());
    }
  }
  return found;
}

std::unique_ptr<colltune_batch> ask(const Client& client, const std::vector<LookupQuery>& queries,
                                    std::uint64_t generation, const char* generation_digest) {
  BatchAnswer answer =
      generation_digest ? client.lookup_batch(queries, pinned(generation, generation_digest))
                        : client.lookup_batch(
                              queries, generation == 0 ? std::nullopt : std::optional(generation));
  auto batch = std::make_unique<colltune_batch>();
  batch->generation = std::move(answer.generation);
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (auto* const found = std::get_if<LookupAnswer>(&answer.items[i]))
      batch->items.emplace_back(
          make_answer(queries[i], {.answer = std::move(*found), .environment = {}}));
    else
      batch->items.emplace_back(std::get<Error>(answer.items[i]));
  }
  return batch;
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
    *table =
        new colltune_table{colltune::fetch(colltune::daemon_of(client), colltune::fetch_of(what))};
  });
}

int colltune_table_fetch_in_group(const colltune_client* client, const colltune_fetch* what,
                                  const colltune_group_calls* group, colltune_table** table,
                                  colltune_error* error) {
  return colltune::guard_for_c(error, [&] {
    if (table) *table = nullptr;
    // What is wrong on this rank alone, the others get to know.
    auto fetched = colltune::open_in_group(
        colltune::group_calls_of(group), [&](const std::optional<colltune::TableIdentity>& wanted) {
          if (!table) colltune::refuse("there is no place for the table: it is NULL");
          const colltune::Client& daemon = colltune::daemon_of(client);
          const colltune_fetch own = colltune::fetch_of(what);
          return wanted ? colltune::fetch(daemon, own, *wanted) : colltune::fetch(daemon, own);
        });
    *table = new colltune_table{std::move(fetched)};
  });
}

int colltune_lookup_batch(const colltune_client* client, const colltune_query* queries,
                          size_t count, size_t query_size, uint64_t generation,
                          const char* generation_digest, colltune_batch** batch,
                          colltune_error* error) {
  return colltune::guard_for_c(error, [&] {
    if (!batch) colltune::refuse("there is no place for the batch: it is NULL");
    *batch = nullptr;
    if (generation == 0 && generation_digest)
      colltune::refuse("generation_digest: stands beside a generation's number");
    const colltune::Client& daemon = colltune::daemon_of(client);
    *batch = colltune::ask(daemon, colltune::queries_of(queries, count, query_size), generation,
                           generation_digest)
                 .release();
  });
}

uint64_t colltune_batch_generation(const colltune_batch* batch) {
  return batch ? batch->generation.number : 0;
}

const char* colltune_batch_generation_digest(const colltune_batch* batch) {
  return batch ? batch->generation.content_digest.c_str() : nullptr;
}

size_t colltune_batch_count(const colltune_batch* batch) { return batch ? batch->items.size() : 0; }

int colltune_batch_answer(const colltune_batch* batch, size_t number,
                          const colltune_answer** answer, colltune_error* error) {
  return colltune::guard_for_c(error, [&] {
    if (!answer) colltune::refuse("there is no place for the answer: it is NULL");
    *answer = nullptr;
    if (!batch) colltune::refuse("the batch is NULL");
    if (number >= batch->items.size())
      colltune::refuse("there is no answer " + std::to_string(number) + "; the batch has " +
                       std::to_string(batch->items.size()));
    const auto& item = batch->items[number];
    if (const auto* const wrong = std::get_if<colltune::Error>(&item)) throw *wrong;
    *answer = std::get<std::unique_ptr<colltune_answer>>(item).get();
  });
}

void colltune_batch_free(colltune_batch* batch) { delete batch; }

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
