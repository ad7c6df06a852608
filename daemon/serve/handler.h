// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "call_gate.h"
#include "colltune/serve/lookup_service.h"
#include "colltune/v1/tuning_service.grpc.pb.h"
#include "stream_gate.h"
#include "work_lane.h"

namespace colltune {

/// The service with requests and responses as bytes: what a peer sends is looked over before
/// anything is allocated for it, and what cannot be parsed is answered by us.
using RawTuningService = v1::TuningService::WithRawCallbackMethod_Lookup<
    v1::TuningService::WithRawCallbackMethod_BatchLookup<
        v1::TuningService::WithRawCallbackMethod_GetTable<
            v1::TuningService::WithRawCallbackMethod_GetGeneration<
                v1::TuningService::WithRawCallbackMethod_Annotate<
                    v1::TuningService::WithRawCallbackMethod_GetServerInfo<
                        v1::TuningService::Service>>>>>>;

/// The gRPC side of a LookupService: each call parses, converts, finds, converts and finishes. What
/// is short runs on gRPC's own thread, what may take longer on threads of its own, so that nobody's
/// requests hold up another's. Every exception ends as a status.
class TuningHandler final : public RawTuningService {
 public:
  explicit TuningHandler(const LookupService& service, StreamLimits streams = {});

  grpc::ServerUnaryReactor* Lookup(grpc::CallbackServerContext* context,
                                   const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* BatchLookup(grpc::CallbackServerContext* context,
                                        const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* GetTable(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request) override;
  grpc::ServerUnaryReactor* GetGeneration(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Annotate(grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetServerInfo(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;

  /// The calls that run, and the tables among them.
  [[nodiscard]] CallGate& calls() { return calls_; }
  [[nodiscard]] StreamGate& streams() { return streams_; }

 private:
  struct Call {
    grpc::CallbackServerContext* context = nullptr;
    const grpc::ByteBuffer* request = nullptr;
    grpc::ByteBuffer* response = nullptr;
  };
  enum class Length { short_work, long_work };

  template <class Request, class Response, class Answer>
  grpc::ServerUnaryReactor* serve(const Call& from, Length length, Answer answer);

  const LookupService& service_;
  CallGate calls_;
  StreamGate streams_;
  WorkLane batches_;  ///< short requests that ask much
  WorkLane large_;
  WorkLane tables_;
};

}  // namespace colltune
