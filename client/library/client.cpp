// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/client/client.h"

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "address.h"
#include "colltune/table/decision_table.h"
#include "colltune/v1/tuning_service.grpc.pb.h"
#include "colltune/wire/convert.h"
#include "colltune/wire/status.h"
#include "environment_guess.h"

namespace colltune {
namespace {

/// A chunk of a table has at least 100 decisions of some kilobytes each.
constexpr int largest_message = 64 << 20;

grpc::ChannelArguments channel_arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(largest_message);
  // The daemon is on this machine or in this cluster, so the site's proxy must not be used.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // A new client connects at once, whatever happened to other clients of this process.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // A restarted daemon is found within a second (gRPC's default goes up to two minutes).
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  return arguments;
}

/// Reads a part of the daemon's answer: if it is malformed, the caller is not to blame.
template <class T>
T read_answer(const message_of<T>& message, std::string_view where) {
  try {
    return read_message<T>(message, where);
  } catch (const Error& error) {
    throw Error(StatusCode::data_loss,
                std::string("the daemon's answer is malformed: ") + error.what());
  }
}

/// A daemon from before members were part of queries ignores them, and may answer from members that
/// can do more.
void check_members(const LookupQuery& query, const LookupAnswer& answer) {
  if (query.members && answer.members == MembersMatch::not_asked)
    throw Error(StatusCode::unimplemented,
                "the daemon does not compare what members can do: it is older than this client");
}

/// Leaves the environments that have one answer to `query`.
void keep_answering(LookupQuery query, DecisionSet& set) {
  const DecisionTable table(set);
  query.at_least = std::min(query.at_least, MatchLevel::nearest_size);
  std::erase_if(set.environments, [&](const auto& environment) {
    query.environment_digest = environment.first;
    try {
      (void)table.find(query);
      return false;
    } catch (const Error&) {
      return true;
    }
  });
}

/// Codes that gRPC itself returns for calls whose daemon dies, ends or disconnects, whatever the
/// state of the connection is by then.
bool is_of_the_transport(grpc::StatusCode code) {
  return code == grpc::StatusCode::UNAVAILABLE || code == grpc::StatusCode::CANCELLED ||
         code == grpc::StatusCode::UNKNOWN || code == grpc::StatusCode::INTERNAL;
}

}  // namespace

class Client::Impl {
 public:
  Impl(const std::string& address, std::chrono::milliseconds deadline)
      : address_(address),
        deadline_(deadline),
        channel_(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(),
                                           channel_arguments())),
        stub_(v1::TuningService::NewStub(channel_)) {}

  /// Throws in a process that was forked from the one that made this client. Both would read from
  /// one connection, and the parent's answers would be lost.
  [[nodiscard]] v1::TuningService::Stub& stub() const {
    if (is_inherited())
      throw Error(StatusCode::failed_precondition,
                  "this client of " + address_ + " was made by process " +
                      std::to_string(process_) +
                      ", before fork(); ask in a process that begins anew (exec)");
    return *stub_;
  }
  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] bool is_inherited() const { return ::getpid() != process_; }

  void set_deadline(grpc::ClientContext& context) const {
    context.set_deadline(std::chrono::system_clock::now() + deadline_);
  }

  /// `query` is the query that `request` carries.
  [[nodiscard]] FoundAnswer ask(const v1::LookupRequest& request, const LookupQuery& query) const {
    v1::LookupResponse response;
    grpc::ClientContext context;
    set_deadline(context);
    check(stub().Lookup(&context, request, &response));
    FoundAnswer found{.answer = read_answer<LookupAnswer>(response.answer(), "answer"),
                      .environment = {}};
    check_members(query, found.answer);
    if (response.has_environment())
      found.environment = read_answer<Environment>(response.environment(), "environment");
    return found;
  }

  [[nodiscard]] v1::GetGenerationResponse generations() const {
    v1::GetGenerationResponse response;
    grpc::ClientContext context;
    set_deadline(context);
    check(stub().GetGeneration(&context, {}, &response));
    return response;
  }

  /// Throws the error that `status` carries; if the daemon itself sent no message, with the
  /// address.
  void check(const grpc::Status& status) const {
    if (status.ok()) return;
    const bool is_connected = channel_->GetState(false) == GRPC_CHANNEL_READY;
    const Error error = error_of(status);
    if (status.error_code() == grpc::StatusCode::UNAVAILABLE && !is_connected)
      throw Error(error.code(), "no colltuned answers at " + address_ + " (" + error.what() +
                                    "); start one with: colltuned --db FILE --listen " + address_);
    if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED)
      throw Error(error.code(), "the colltuned at " + address_ + " did not answer within " +
                                    std::to_string(deadline_.count()) + " ms");
    if (is_of_the_transport(status.error_code()))
      throw Error(error.code(), std::string(error.what()) + " (colltuned at " + address_ + ")");
    throw error;
  }

 private:
  std::string address_;
  std::chrono::milliseconds deadline_;
  pid_t process_ = ::getpid();
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::TuningService::Stub> stub_;
};

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
    if (number) request.set_generation(*number);
    if (digest) request.set_generation_digest(*digest);
  }
};

OnceAnswer Client::lookup_once(const LookupQuery& query,
                               const std::optional<std::string>& generation_digest) const {
  const auto ask = [&](const LookupQuery& asked) {
    v1::LookupRequest request;
    write_message(asked, *request.mutable_query());
    if (generation_digest) request.set_generation_digest(*generation_digest);
    request.set_with_environment(true);
    return impl_->ask(request, asked);
  };
  try {
    return {ask(query), {}};
  } catch (const Error& error) {
    if (error.code() != StatusCode::invalid_argument || query.environment_digest) throw;
    DecisionSet set = fetch({.nodes = query.nodes,
                             .ranks_per_node = query.ranks_per_node,
                             .architecture = query.architecture},
                            {query.generation, generation_digest});
    keep_answering(query, set);
    const auto guess = guess_environment(set, this_machine());
    if (!guess) throw;
    LookupQuery narrowed = query;
    narrowed.environment_digest = guess->digest;
    narrowed.at_least = std::min(query.at_least, MatchLevel::nearest_size);
    return {ask(narrowed), guess->why};
  }
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
  v1::BatchLookupRequest request;
  for (const auto& query : queries) write_message(query, *request.add_queries());
  pin.write(request);
  v1::BatchLookupResponse response;
  grpc::ClientContext context;
  impl_->set_deadline(context);
  impl_->check(impl_->stub().BatchLookup(&context, request, &response));
  if (response.items_size() != static_cast<int>(queries.size()))
    throw Error(StatusCode::data_loss, "the daemon answered " +
                                           std::to_string(response.items_size()) + " of " +
                                           std::to_string(queries.size()) + " queries");
  BatchAnswer answer{.generation = read_answer<Generation>(response.generation(), "generation"),
                     .items = {}};
  for (const auto& item : response.items()) {
    if (item.has_answer()) {
      auto read = read_answer<LookupAnswer>(item.answer(), "items.answer");
      check_members(queries[answer.items.size()], read);
      answer.items.emplace_back(std::move(read));
    } else {
      answer.items.emplace_back(error_of(grpc::Status(
          static_cast<grpc::StatusCode>(item.failure().code()), item.failure().message())));
    }
  }
  return answer;
}

Generation Client::newest_generation() const {
  return read_answer<Generation>(impl_->generations().newest(), "newest");
}

std::vector<std::uint64_t> Client::generations() const {
  const v1::GetGenerationResponse response = impl_->generations();
  return {response.pinnable().begin(), response.pinnable().end()};
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
  v1::AnnotateRequest request;
  write_message(program, *request.mutable_program());
  v1::AnnotateResponse response;
  grpc::ClientContext context;
  impl_->set_deadline(context);
  impl_->check(impl_->stub().Annotate(&context, request, &response));
  if (response.annotations_size() != static_cast<int>(program.collectives.size()))
    throw Error(StatusCode::data_loss,
                "the daemon annotated " + std::to_string(response.annotations_size()) + " of " +
                    std::to_string(program.collectives.size()) + " collectives");
  std::vector<Annotation> annotations;
  annotations.reserve(program.collectives.size());
  for (const auto& one : response.annotations())
    annotations.push_back(read_answer<Annotation>(one, "annotations"));
  return annotations;
}

DecisionSet Client::fetch(const WorldFilter& filter, const Pinned& pin) const {
  v1::GetTableRequest request;
  auto& wanted = *request.mutable_filter();
  if (filter.nodes) wanted.set_nodes(*filter.nodes);
  if (filter.ranks_per_node) wanted.set_ranks_per_node(*filter.ranks_per_node);
  if (filter.architecture) wanted.set_architecture(*filter.architecture);
  if (filter.environment_digest) wanted.set_environment_digest(*filter.environment_digest);
  pin.write(request);

  grpc::ClientContext context;
  impl_->set_deadline(context);
  const auto stream = impl_->stub().GetTable(&context, request);
  std::optional<Generation> answered;
  DecisionSet set;
  for (v1::GetTableResponse chunk; stream->Read(&chunk);) {
    if (chunk.has_generation())
      answered = read_answer<Generation>(chunk.generation(), "generation");
    for (const auto& record : chunk.environments())
      set.environments.emplace_back(record.digest(),
                                    read_answer<Environment>(record.environment(), "environments"));
    for (const auto& world : chunk.members())
      set.members.push_back(read_answer<WorldMembers>(world, "members"));
    for (const auto& composition : chunk.compositions())
      set.compositions.push_back(read_answer<Composition>(composition, "compositions"));
    for (const auto& decision : chunk.decisions())
      set.decisions.push_back(read_answer<Decision>(decision, "decisions"));
  }
  impl_->check(stream->Finish());
  if (!answered) throw Error(StatusCode::data_loss, "the daemon's table names no generation");
  set.generation = *std::move(answered);
  return set;
}

}  // namespace colltune
