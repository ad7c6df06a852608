// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "handler.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "colltune/apply/settings.h"
#include "colltune/model/library/predictors.h"
#include "colltune/wire/convert.h"
#include "colltune/wire/status.h"
#include "message_bytes.h"
#include "table_stream.h"

namespace colltune {
namespace {

// gRPC's default limit for what a client receives; a client of another language may keep it.
constexpr std::size_t largest_response = 4U << 20U;

// Collectives of one annotation: a tenth of a second by the slowest model.
constexpr int largest_annotation = 10'000;

// A request up to here is answered on gRPC's own thread, within a millisecond or two; a lookup
// takes some hundred bytes.
constexpr std::size_t largest_short_request = 16U << 10U;
// Requests that wait in a lane: four of the largest.
constexpr std::size_t most_lane_bytes = 16U << 20U;

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

/// One call that is counted while it runs. Deletes itself when it is over.
class UnaryCall final : public grpc::ServerUnaryReactor {
 public:
  explicit UnaryCall(CallGate& calls) : calls_(calls), is_admitted_(calls.enter()) {}
  [[nodiscard]] bool is_admitted() const { return is_admitted_; }

 private:
  void OnDone() override {
    if (is_admitted_) calls_.leave();
    delete this;
  }

  CallGate& calls_;
  const bool is_admitted_;
};

/// A call that ends at once. Deletes itself when it is over.
class RefusedStream final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  explicit RefusedStream(const grpc::Status& status) { Finish(status); }

 private:
  void OnDone() override { delete this; }
};

/// The digest that goes with a pinned number.
template <class Request>
std::optional<std::string> pinned_digest(const Request& request, bool has_number) {
  if (!request.has_generation_digest()) return {};
  if (!has_number || request.generation_digest().empty())
    throw Error(StatusCode::invalid_argument,
                "generation_digest: stands beside a generation's number, and is not empty");
  return request.generation_digest();
}

template <class Request>
std::optional<Pin> pinned_generation(const Request& request) {
  auto digest = pinned_digest(request, request.has_generation());
  if (!request.has_generation()) return {};
  return Pin(request.generation(), std::move(digest));
}

template <class Request>
std::size_t ranked_limit(const Request& request) {
  if (!request.has_max_ranked()) return std::numeric_limits<std::size_t>::max();
  if (request.max_ranked() == 0)
    throw Error(StatusCode::invalid_argument,
                "max_ranked: 0 is not allowed; leave it out for all, or give at least 1");
  return request.max_ranked();
}

void keep_first(std::size_t most_ranked, LookupAnswer& answer) {
  if (answer.decision.ranked.size() <= most_ranked) return;
  answer.decision.ranked.resize(most_ranked);
  std::erase_if(answer.compositions, [&](const Composition& composition) {
    const std::string name = parts_name(composition);
    return std::ranges::none_of(answer.decision.ranked, [&](const RankedVariant& ranked) {
      return parts_named_by(ranked.variant) == name;
    });
  });
}

/// Writes what makes the variants of `decision` run into the field of a response or an item.
template <class Message>
void write_apply(const Decision& decision, const Environment* environment, Message& message) {
  for (const ApplySettings& settings : settings_to_apply(decision, environment))
    write_message(settings, *message.add_apply());
}

BatchItem answer_item(const DecisionTable& table, const v1::LookupQuery& query, int index) {
  try {
    return LookupService::lookup_in(
        table, read_message<LookupQuery>(query, "queries[" + std::to_string(index) + "]"));
  } catch (const Error& error) {
    return error;
  }
}

/// What every item of a batch has.
struct ItemForm {
  std::size_t most_ranked = 0;
  bool with_apply = false;
};

void write_item(BatchItem item, const ItemForm& form, const DecisionTable& table,
                v1::BatchLookupItem& message) {
  if (auto* answer = std::get_if<LookupAnswer>(&item)) {
    keep_first(form.most_ranked, *answer);
    write_message(*answer, *message.mutable_answer());
    const Decision& decision = answer->decision;
    if (form.with_apply)
      write_apply(decision, find_environment(table.set(), decision.key.environment_digest),
                  message);
    return;
  }
  const Error& error = std::get<Error>(item);
  message.mutable_failure()->set_code(static_cast<int>(error.code()));
  message.mutable_failure()->set_message(error.what());
}

WorldFilter read_filter(const v1::TableFilter& message) {
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

}  // namespace

TuningHandler::TuningHandler(const LookupService& service, StreamLimits streams)
    : service_(service),
      streams_(streams),
      batches_(most_lane_bytes),
      large_(most_lane_bytes),
      tables_(most_lane_bytes) {}

template <class Request, class Response, class Answer>
grpc::ServerUnaryReactor* TuningHandler::serve(const Call& from, Length length, Answer answer) {
  auto* const call = new UnaryCall(calls_);
  if (!call->is_admitted()) {
    call->Finish({grpc::StatusCode::UNAVAILABLE, "the daemon shuts down"});
    return call;
  }
  const auto work = [from, call, answer = std::move(answer)] {
    if (from.context->IsCancelled())
      return call->Finish({grpc::StatusCode::CANCELLED, "the caller is gone"});
    call->Finish(guarded([&] {
      Request request;
      parse_request(*from.request, request);
      Response response;
      answer(request, response);
      *from.response = serialize(response);
    }));
  };
  const std::size_t bytes = from.request->Length();
  const bool is_large = bytes > largest_short_request;
  if (!is_large && length == Length::short_work) {
    work();
  } else if (!(is_large ? large_ : batches_).submit(bytes, work)) {
    call->Finish({grpc::StatusCode::RESOURCE_EXHAUSTED,
                  "too many large requests wait already; try again later"});
  }
  return call;
}

grpc::ServerUnaryReactor* TuningHandler::Lookup(grpc::CallbackServerContext* context,
                                                const grpc::ByteBuffer* request,
                                                grpc::ByteBuffer* response) {
  return serve<v1::LookupRequest, v1::LookupResponse>(
      {context, request, response}, Length::short_work, [this](const auto& asked, auto& answer) {
        if (!asked.has_query()) throw Error(StatusCode::invalid_argument, "query: is missing");
        const auto query = read_message<LookupQuery>(asked.query(), "query");
        const auto digest = pinned_digest(asked, query.generation.has_value());
        FoundAnswer found =
            service_.lookup(query, digest, asked.with_environment() || asked.with_apply());
        const Environment* const environment = found.environment ? &*found.environment : nullptr;
        if (asked.with_environment() && environment != nullptr)
          write_message(*environment, *answer.mutable_environment());
        keep_first(ranked_limit(asked), found.answer);
        write_message(found.answer, *answer.mutable_answer());
        if (asked.with_apply()) write_apply(found.answer.decision, environment, answer);
      });
}

grpc::ServerUnaryReactor* TuningHandler::BatchLookup(grpc::CallbackServerContext* context,
                                                     const grpc::ByteBuffer* request,
                                                     grpc::ByteBuffer* response) {
  return serve<v1::BatchLookupRequest, v1::BatchLookupResponse>(
      {context, request, response}, Length::long_work, [this](const auto& asked, auto& answers) {
        check_batch_size(static_cast<std::size_t>(asked.queries_size()));
        const ItemForm form{.most_ranked = ranked_limit(asked), .with_apply = asked.with_apply()};
        const TableSource::Table table = service_.pin(pinned_generation(asked));
        write_message(table->generation(), *answers.mutable_generation());
        std::size_t bytes = 0;
        for (int i = 0; i < asked.queries_size(); ++i) {
          auto& item = *answers.add_items();
          write_item(answer_item(*table, asked.queries(i), i), form, *table, item);
          bytes += item.ByteSizeLong();
          if (bytes > largest_response - 1024 * 16)
            throw Error(StatusCode::resource_exhausted,
                        "the answers to the first " + std::to_string(i + 1) + " of " +
                            std::to_string(asked.queries_size()) +
                            " questions exceed 4 MiB; ask fewer at once, or set max_ranked");
        }
      });
}

grpc::ServerUnaryReactor* TuningHandler::Annotate(grpc::CallbackServerContext* context,
                                                  const grpc::ByteBuffer* request,
                                                  grpc::ByteBuffer* response) {
  return serve<v1::AnnotateRequest, v1::AnnotateResponse>(
      {context, request, response}, Length::long_work, [](const auto& asked, auto& answers) {
        if (!asked.has_program()) throw Error(StatusCode::invalid_argument, "program: is missing");
        if (const int count = asked.program().collectives_size(); count > largest_annotation)
          throw Error(StatusCode::invalid_argument,
                      "program.collectives: has " + std::to_string(count) + " entries; at most " +
                          std::to_string(largest_annotation) + " are allowed at once");
        const auto program = read_message<AnnotatedProgram>(asked.program(), "program");
        std::size_t bytes = 0;
        for (const Annotation& one : library_models::annotate(program, {nullptr, "program"})) {
          auto& written = *answers.add_annotations();
          write_message(one, written);
          bytes += written.ByteSizeLong();
          if (bytes > largest_response - 1024 * 16)
            throw Error(StatusCode::resource_exhausted,
                        "the answers to the first " + std::to_string(answers.annotations_size()) +
                            " of " + std::to_string(program.collectives.size()) +
                            " collectives exceed 4 MiB; ask for fewer at once, or shorten names");
        }
      });
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* TuningHandler::GetTable(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request) {
  // Read at once, so that nothing of the caller's is kept while it waits for its turn.
  WorldFilter filter;
  std::optional<Pin> pin;
  const grpc::Status status = guarded([&] {
    if (request->Length() > largest_short_request)
      throw Error(StatusCode::invalid_argument,
                  "request: has " + std::to_string(request->Length()) + " bytes; at most " +
                      std::to_string(largest_short_request) + " are allowed");
    v1::GetTableRequest asked;
    parse_request(*request, asked);
    filter = read_filter(asked.filter());
    pin = pinned_generation(asked);
  });
  if (!status.ok()) return new RefusedStream(status);
  return new TableStream(
      *context, [this, filter, pin] { return service_.slice(filter, pin); }, calls_, streams_,
      tables_);
}

grpc::ServerUnaryReactor* TuningHandler::GetGeneration(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request,
                                                       grpc::ByteBuffer* response) {
  return serve<v1::GetGenerationRequest, v1::GetGenerationResponse>(
      {context, request, response}, Length::short_work, [this](const auto&, auto& answer) {
        write_message(service_.source().get()->generation(), *answer.mutable_newest());
        for (const std::uint64_t number : service_.source().generations())
          answer.add_pinnable(number);
      });
}

grpc::ServerUnaryReactor* TuningHandler::GetServerInfo(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request,
                                                       grpc::ByteBuffer* response) {
  return serve<v1::GetServerInfoRequest, v1::GetServerInfoResponse>(
      {context, request, response}, Length::short_work, [this](const auto&, auto& answer) {
        answer.set_colltune_version(COLLTUNE_VERSION);
        const TableSource::Table table = service_.source().newest();
        if (!table) return;
        write_message(table->generation(), *answer.mutable_newest());
        answer.set_decisions(table->set().decisions.size());
      });
}

}  // namespace colltune
