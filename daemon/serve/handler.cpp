// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "handler.h"

#include <algorithm>
#include <utility>

#include "colltune/wire/convert.h"
#include "colltune/wire/status.h"

namespace colltune {
namespace {

// gRPC's default limit for what a client receives; a client of another language may keep it.
constexpr std::size_t largest_response = 4U << 20U;

// A message of a streamed table: enough decisions that their number does not cost, and within a
// client's limits however long the rankings are.
constexpr std::size_t decisions_per_message = 256;
constexpr std::size_t bytes_per_message = 1U << 20U;

/// The boundary where exceptions become a status.
template <class Action>
grpc::Status guarded(Action action) {
  try {
    action();
    return grpc::Status::OK;
  } catch (const std::exception& error) {
    return status_of(error);
  }
}

template <class Action>
grpc::ServerUnaryReactor* finish(grpc::CallbackServerContext* context, Action action) {
  auto* reactor = context->DefaultReactor();
  reactor->Finish(guarded(action));
  return reactor;
}

template <class Request>
std::optional<std::uint64_t> pinned_generation(const Request& request) {
  if (!request.has_generation()) return {};
  return request.generation();
}

template <class Request>
std::size_t ranked_limit(const Request& request) {
  if (!request.has_max_ranked()) return std::numeric_limits<std::size_t>::max();
  if (request.max_ranked() == 0)
    throw Error(StatusCode::invalid_argument,
                "max_ranked: 0 is not allowed; leave it out for all, or give at least 1");
  return request.max_ranked();
}

void write_answer(LookupAnswer answer, std::size_t most_ranked, v1::LookupAnswer& message) {
  if (answer.decision.ranked.size() > most_ranked) {
    answer.decision.ranked.resize(most_ranked);
    std::erase_if(answer.compositions, [&](const Composition& composition) {
      const std::string name = parts_name(composition);
      return std::ranges::none_of(answer.decision.ranked, [&](const RankedVariant& ranked) {
        return parts_named_by(ranked.variant) == name;
      });
    });
  }
  write_message(answer, message);
}

BatchItem answer_item(const DecisionTable& table, const v1::LookupQuery& query, int index) {
  try {
    return LookupService::lookup_in(
        table, read_message<LookupQuery>(query, "queries[" + std::to_string(index) + "]"));
  } catch (const Error& error) {
    return error;
  }
}

void write_item(BatchItem item, std::size_t most_ranked, v1::BatchLookupItem& message) {
  if (auto* answer = std::get_if<LookupAnswer>(&item)) {
    write_answer(std::move(*answer), most_ranked, *message.mutable_answer());
    return;
  }
  const Error& error = std::get<Error>(item);
  message.mutable_failure()->set_code(static_cast<int>(error.code()));
  message.mutable_failure()->set_message(error.what());
}

TableFilter read_filter(const v1::TableFilter& message) {
  // The fields are those of a query; its reader validates them.
  v1::LookupQuery query;
  auto& problem = *query.mutable_problem();
  problem.set_collective(v1::COLLECTIVE_ALL_REDUCE);
  problem.set_data_type(v1::DATA_TYPE_F32);
  problem.set_reduce_op(v1::REDUCE_OP_SUM);
  if (message.has_nodes()) query.set_nodes(message.nodes());
  if (message.has_ranks_per_node()) query.set_ranks_per_node(message.ranks_per_node());
  if (message.has_architecture()) query.set_architecture(message.architecture());
  if (message.has_environment_digest()) query.set_environment_digest(message.environment_digest());
  auto read = read_message<LookupQuery>(query, "filter");
  return {read.nodes, read.ranks_per_node, std::move(read.architecture),
          std::move(read.environment_digest)};
}

/// Sends a slice message by message: the next is made when the last has left, so that a slow client
/// costs one message of memory. Deletes itself when the call is over.
class TableStream final : public grpc::ServerWriteReactor<v1::GetTableResponse> {
 public:
  TableStream(const LookupService& service, const v1::GetTableRequest& request) {
    const grpc::Status status = guarded([&] {
      slice_ = service.slice(read_filter(request.filter()), pinned_generation(request));
      write_message(slice_.table->generation(), *message_.mutable_generation());
      for (const auto* environment : slice_.environments) {
        auto& record = *message_.add_environments();
        record.set_digest(environment->first);
        write_message(environment->second, *record.mutable_environment());
      }
      for (const auto* world : slice_.members) write_message(*world, *message_.add_members());
      for (const auto* composition : slice_.compositions)
        write_message(*composition, *message_.add_compositions());
    });
    if (status.ok())
      StartWrite(&message_);
    else
      Finish(status);
  }

  void OnWriteDone(bool is_sent) override {
    if (!is_sent) {
      Finish({grpc::StatusCode::CANCELLED, "the caller is gone, or the server shuts down"});
    } else if (next_ == slice_.decisions.size()) {
      Finish(grpc::Status::OK);
    } else {
      send_next();
    }
  }
  void OnDone() override { delete this; }

 private:
  void send_next() {
    const grpc::Status status = guarded([&] {
      message_.Clear();
      std::size_t bytes = 0;
      for (std::size_t count = 0; next_ < slice_.decisions.size() &&
                                  count < decisions_per_message && bytes < bytes_per_message;
           ++count, ++next_) {
        auto& decision = *message_.add_decisions();
        write_message(*slice_.decisions[next_], decision);
        bytes += decision.ByteSizeLong();
      }
    });
    if (status.ok())
      StartWrite(&message_);
    else
      Finish(status);
  }

  TableSlice slice_;
  std::size_t next_ = 0;
  v1::GetTableResponse message_;
};

}  // namespace

grpc::ServerUnaryReactor* TuningHandler::Lookup(grpc::CallbackServerContext* context,
                                                const v1::LookupRequest* request,
                                                v1::LookupResponse* response) {
  return finish(context, [&] {
    if (!request->has_query()) throw Error(StatusCode::invalid_argument, "query: is missing");
    const auto query = read_message<LookupQuery>(request->query(), "query");
    write_answer(service_.lookup(query), ranked_limit(*request), *response->mutable_answer());
  });
}

grpc::ServerUnaryReactor* TuningHandler::BatchLookup(grpc::CallbackServerContext* context,
                                                     const v1::BatchLookupRequest* request,
                                                     v1::BatchLookupResponse* response) {
  return finish(context, [&] {
    check_batch_size(static_cast<std::size_t>(request->queries_size()));
    const std::size_t most_ranked = ranked_limit(*request);
    const TableSource::Table table = service_.pin(pinned_generation(*request));
    write_message(table->generation(), *response->mutable_generation());
    std::size_t bytes = 0;
    for (int i = 0; i < request->queries_size(); ++i) {
      auto& item = *response->add_items();
      write_item(answer_item(*table, request->queries(i), i), most_ranked, item);
      bytes += item.ByteSizeLong();
      if (bytes > largest_response - 1024 * 16)
        throw Error(StatusCode::resource_exhausted,
                    "the answers to the first " + std::to_string(i + 1) + " of " +
                        std::to_string(request->queries_size()) +
                        " questions exceed 4 MiB; ask fewer at once, or set max_ranked");
    }
  });
}

grpc::ServerWriteReactor<v1::GetTableResponse>* TuningHandler::GetTable(
    grpc::CallbackServerContext*, const v1::GetTableRequest* request) {
  return new TableStream(service_, *request);
}

grpc::ServerUnaryReactor* TuningHandler::GetGeneration(grpc::CallbackServerContext* context,
                                                       const v1::GetGenerationRequest*,
                                                       v1::GetGenerationResponse* response) {
  return finish(context, [&] {
    write_message(service_.source().get()->generation(), *response->mutable_newest());
    for (const std::uint64_t number : service_.source().generations())
      response->add_pinnable(number);
  });
}

grpc::ServerUnaryReactor* TuningHandler::GetServerInfo(grpc::CallbackServerContext* context,
                                                       const v1::GetServerInfoRequest*,
                                                       v1::GetServerInfoResponse* response) {
  return finish(context, [&] {
    response->set_colltune_version(COLLTUNE_VERSION);
    const TableSource::Table table = service_.source().newest();
    if (!table) return;
    write_message(table->generation(), *response->mutable_newest());
    response->set_decisions(table->decisions().size());
  });
}

}  // namespace colltune
