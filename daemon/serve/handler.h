// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "colltune/serve/lookup_service.h"
#include "colltune/v1/tuning_service.grpc.pb.h"

namespace colltune {

/// The gRPC side of a LookupService: each call converts, finds, converts and finishes on gRPC's
/// own thread, since nothing here blocks. Every exception ends as a status.
class TuningHandler final : public v1::TuningService::CallbackService {
 public:
  explicit TuningHandler(const LookupService& service) : service_(service) {}

  grpc::ServerUnaryReactor* Lookup(grpc::CallbackServerContext* context,
                                   const v1::LookupRequest* request,
                                   v1::LookupResponse* response) override;
  grpc::ServerUnaryReactor* BatchLookup(grpc::CallbackServerContext* context,
                                        const v1::BatchLookupRequest* request,
                                        v1::BatchLookupResponse* response) override;
  grpc::ServerWriteReactor<v1::GetTableResponse>* GetTable(
      grpc::CallbackServerContext* context, const v1::GetTableRequest* request) override;
  grpc::ServerUnaryReactor* GetGeneration(grpc::CallbackServerContext* context,
                                          const v1::GetGenerationRequest* request,
                                          v1::GetGenerationResponse* response) override;
  grpc::ServerUnaryReactor* GetServerInfo(grpc::CallbackServerContext* context,
                                          const v1::GetServerInfoRequest* request,
                                          v1::GetServerInfoResponse* response) override;

 private:
  const LookupService& service_;
};

}  // namespace colltune
