// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/client/client.h"

#include <algorithm>
#include <iterator>
#include <thread>

#include "address.h"
#include "client_impl.h"
#include "colltune/guess/environment_guess.h"
#include "colltune/wire/calls.h"
#include "colltune/wire/status.h"

namespace colltune {
namespace {

/// A daemon from before members were part of queries ignores them, and may answer from members that
/// can do more.
void check_members(const LookupQuery& query, const LookupAnswer& answer) {
  if (query.members && answer.members == MembersMatch::not_asked)
    throw Error(StatusCode::unimplemented,
                "the daemon does not compare what members can do: it is older than this client");
}

}  // namespace

Client::Client(const std::string& address, std::chrono::milliseconds deadline) {
  check_address(address);
  impl_ = std::make_unique<Impl>(address, deadline);
}

// In a forked process the connection belongs to the parent: closing it would shut it down for both.
Client::~Client() {
  if (impl_ && impl_->is_inherited()) (void)impl_.release();
}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&& other) noexcept {
  if (this == &other) return *this;
  if (impl_ && impl_->is_inherited()) (void)impl_.release();
  impl_ = std::move(other.impl_);
  return *this;
}

/// A generation's number, and its content digest if known.
struct Client::Pinned {
  std::optional<std::uint64_t> number;
  std::optional<std::string> digest{};

  template <class Request>
  void write(Request& request) const {
    request.generation = number;
    request.generation_digest = digest;
  }
};

OnceAnswer Client::lookup_once(const LookupQuery& query,
                               const std::optional<std::string>& generation_digest) const {
  const auto ask = [&](const LookupQuery& asked) {
    calls::LookupRequest request;
    request.query = asked;
    request.generation_digest = generation_digest;
    request.with_environment = true;
    auto response = impl_->call(request);
    check_members(asked, response.answer);
    return FoundAnswer{.answer = std::move(response.answer),
                       .environment = std::move(response.environment)};
  };
  const auto decisions = [&] {
    return fetch({.nodes = query.nodes,
                  .ranks_per_node = query.ranks_per_node,
                  .architecture = query.architecture},
                 {query.generation, generation_digest});
  };
  GuessedAnswer answer = ask_or_guess(query, ask, decisions);
  return {std::move(answer.found), std::move(answer.why)};
}

BatchAnswer Client::lookup_batch(std::span<const LookupQuery> queries,
                                 const std::optional<std::uint64_t>& generation) const {
  return batch(queries, {generation});
}

BatchAnswer Client::lookup_batch(std::span<const LookupQuery> queries,
                                 const Generation& generation) const {
  return batch(queries, {generation.number, generation.content_digest});
}

LocalTable Client::fetch_table(const WorldFilter& filter,
                               const std::optional<std::uint64_t>& generation) const {
  return LocalTable::of(fetch(filter, {generation}));
}

LocalTable Client::fetch_table(const WorldFilter& filter, const Generation& generation) const {
  return LocalTable::of(fetch(filter, {generation.number, generation.content_digest}));
}

LocalTable Client::fetch_table(const WorldFilter& filter, const TableIdentity& table) const {
  WorldFilter of_it = filter;
  of_it.environment_digest = table.environment_digest;
  LocalTable fetched = fetch_table(of_it, table.generation);
  demand_digest(fetched, table.digest, "the table of " + impl_->address());
  return fetched;
}

LocalTable Client::fetch_table(const WorldFilter& filter, const GroupCalls& group) const {
  return open_in_group(group, [&](const std::optional<TableIdentity>& wanted) {
    return wanted ? fetch_table(filter, *wanted) : fetch_table(filter);
  });
}

DecisionSet Client::fetch_decisions(const WorldFilter& filter,
                                    const std::optional<std::uint64_t>& generation) const {
  return fetch(filter, {generation});
}

BatchAnswer Client::batch(std::span<const LookupQuery> queries, const Pinned& pin) const {
  calls::BatchLookupRequest request;
  request.queries.assign(queries.begin(), queries.end());
  pin.write(request);
  calls::BatchLookupResponse response = impl_->call(request);
  if (response.items.size() != queries.size())
    throw Error(StatusCode::data_loss, "the daemon answered " +
                                           std::to_string(response.items.size()) + " of " +
                                           std::to_string(queries.size()) + " queries");
  BatchAnswer answer{.generation = std::move(response.generation), .items = {}};
  answer.items.reserve(queries.size());
  for (std::size_t i = 0; i < queries.size(); ++i) {
    calls::BatchLookupItem& item = response.items[i];
    if (item.answer) {
      check_members(queries[i], *item.answer);
      answer.items.emplace_back(*std::move(item.answer));
    } else if (item.failure) {
      answer.items.emplace_back(error_of(
          grpc::Status(static_cast<grpc::StatusCode>(item.failure->code), item.failure->message)));
    } else {
      throw Error(StatusCode::data_loss, "the daemon's answer is malformed: items[" +
                                             std::to_string(i) +
                                             "]: is neither an answer nor a failure");
    }
  }
  return answer;
}

Generation Client::newest_generation() const {
  return impl_->call(calls::GetGenerationRequest()).newest;
}

std::vector<std::uint64_t> Client::generations() const {
  return impl_->call(calls::GetGenerationRequest()).pinnable;
}

Generation Client::wait_for_generation(const Generation& known,
                                       std::chrono::steady_clock::time_point until,
                                       std::chrono::milliseconds pause) const {
  while (true) {
    Generation newest = newest_generation();
    const auto now = std::chrono::steady_clock::now();
    if (newest != known || now >= until) return newest;
    std::this_thread::sleep_until(std::min(until, now + pause));
  }
}

std::vector<Annotation> Client::annotate(const AnnotatedProgram& program) const {
  calls::AnnotateRequest request;
  request.program = program;
  std::vector<Annotation> annotations = impl_->call(request).annotations;
  if (annotations.size() != program.collectives.size())
    throw Error(StatusCode::data_loss,
                "the daemon annotated " + std::to_string(annotations.size()) + " of " +
                    std::to_string(program.collectives.size()) + " collectives");
  return annotations;
}

DecisionSet Client::fetch(const WorldFilter& filter, const Pinned& pin) const {
  calls::GetTableRequest request;
  request.filter.worlds = filter;
  pin.write(request);
  std::optional<Generation> answered;
  DecisionSet set;
  const auto append = [](auto& all, auto&& more) {
    all.insert(all.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
  };
  impl_->call(request, [&](calls::GetTableResponse&& chunk) {
    if (chunk.generation) answered = std::move(chunk.generation);
    for (calls::EnvironmentRecord& record : chunk.environments)
      set.environments.emplace_back(std::move(record.digest), std::move(record.environment));
    append(set.members, chunk.members);
    append(set.compositions, chunk.compositions);
    append(set.fits, chunk.fits);
    append(set.decisions, chunk.decisions);
  });
  if (!answered) throw Error(StatusCode::data_loss, "the daemon's table names no generation");
  set.generation = *std::move(answered);
  return set;
}

}  // namespace colltune
