// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "client_impl.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/client_unary_call.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/sync_stream.h>
#include <unistd.h>

#include "colltune/wire/status.h"

namespace colltune {
namespace {

namespace pb = google::protobuf;

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

std::string path_of(std::string_view call) {
  return "/colltune.v1.TuningService/" + std::string(call);
}

/// Codes that gRPC itself returns for calls whose daemon dies, ends or disconnects, whatever the
/// state of the connection is by then.
bool is_of_the_transport(grpc::StatusCode code) {
  return code == grpc::StatusCode::UNAVAILABLE || code == grpc::StatusCode::CANCELLED ||
         code == grpc::StatusCode::UNKNOWN || code == grpc::StatusCode::INTERNAL;
}

}  // namespace

Client::Impl::Impl(const std::string& address, std::chrono::milliseconds deadline)
    : address_(address),
      deadline_(deadline),
      process_(::getpid()),
      channel_(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(),
                                         channel_arguments())) {}

bool Client::Impl::is_inherited() const { return ::getpid() != process_; }

void Client::Impl::refuse_inherited() const {
  if (is_inherited())
    throw Error(StatusCode::failed_precondition,
                "this client of " + address_ + " was made by process " + std::to_string(process_) +
                    ", before fork(); ask in a process that begins anew (exec)");
}

void Client::Impl::set_deadline(grpc::ClientContext& context) const {
  context.set_deadline(std::chrono::system_clock::now() + deadline_);
}

// Into an empty message of proto3, which has no field that must be there: the usual parsing would
// clear and check what it read, by reflection.
void Client::Impl::parse(const grpc::ByteBuffer& bytes, pb::Message& message) {
  grpc::ByteBuffer own = bytes;  // shares its slices
  grpc::ProtoBufferReader reader(&own);
  if (!reader.status().ok() ||
      !message.MergePartialFromBoundedZeroCopyStream(&reader, static_cast<int>(own.Length())))
    throw Error(StatusCode::data_loss, "it is no " + message.GetDescriptor()->name());
}

grpc::ByteBuffer Client::Impl::exchange(std::string_view call, const pb::Message& sent) const {
  const std::string path = path_of(call);
  const grpc::internal::RpcMethod method(path.c_str(), grpc::internal::RpcMethod::NORMAL_RPC);
  grpc::ClientContext context;
  set_deadline(context);
  grpc::ByteBuffer received;
  check(grpc::internal::BlockingUnaryCall<pb::Message, grpc::ByteBuffer, pb::MessageLite,
                                          grpc::ByteBuffer>(channel_.get(), method, &context, sent,
                                                            &received));
  return received;
}

void Client::Impl::stream(std::string_view call, const pb::Message& sent,
                          const std::function<void(const grpc::ByteBuffer&)>& take) const {
  const std::string path = path_of(call);
  const grpc::internal::RpcMethod method(path.c_str(), grpc::internal::RpcMethod::SERVER_STREAMING);
  grpc::ClientContext context;
  set_deadline(context);
  const std::unique_ptr<grpc::ClientReader<grpc::ByteBuffer>> reader(
      grpc::internal::ClientReaderFactory<grpc::ByteBuffer>::Create(channel_.get(), method,
                                                                    &context, sent));
  for (grpc::ByteBuffer received; reader->Read(&received);) take(received);
  check(reader->Finish());
}

void Client::Impl::check(const grpc::Status& status) const {
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

}  // namespace colltune
