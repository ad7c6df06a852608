// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/serve/lookup_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <sys/stat.h>

#include "handler.h"

namespace colltune {
namespace {

// A batch of LookupService::largest_batch questions of usual length is below 200 KiB, but the
// members of as many ranks as convert.h takes are up to 2 MiB.
constexpr int largest_request = 4 << 20;
constexpr int largest_metadata = 8 << 10;
constexpr int most_streams_per_connection = 100;
// Clients may ping that often to notice a dead link; gRPC's default of 300 s closes their
// connection
// ("too_many_pings").
constexpr int least_ping_interval_ms = 10'000;

/// New files get no rights for others while it lives: a Unix socket is never open to all, not even
/// for the moment between bind and chmod. Belongs to the process, so it lives shortly.
class PrivateFiles {
 public:
  PrivateFiles() : former_(::umask(0117)) {}
  ~PrivateFiles() { ::umask(former_); }
  PrivateFiles(const PrivateFiles&) = delete;
  PrivateFiles& operator=(const PrivateFiles&) = delete;

 private:
  mode_t former_;
};

void check_addresses(const ServerOptions& options) {
  if (options.listen.empty())
    throw Error(StatusCode::invalid_argument,
                "no address to listen on; give at least one, such as unix:/run/colltune.sock");
  for (const ListenAddress& address : options.listen) {
    if (is_local(address) || options.allow_insecure_network) continue;
    throw Error(StatusCode::invalid_argument,
                "refusing to listen on " + to_string(address) +
                    ": it can be reached from other hosts, and calls are neither encrypted nor "
                    "authenticated; use a Unix socket or 127.0.0.1, or give "
                    "--allow-insecure-network");
  }
}

void set_limits(grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(largest_request);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, largest_metadata);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, most_streams_per_connection);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             least_ping_interval_ms);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // Otherwise a second daemon on one port would silently take half of the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
}

[[noreturn]] void fail_bind(const std::vector<ListenAddress>& addresses) {
  for (const ListenAddress& address : addresses) {
    if (address.is_unix()) continue;
    const std::string reason = why_not_bindable(address);
    if (reason.empty()) continue;
    const bool is_taken = reason.find("in use") != std::string::npos;
    throw Error(is_taken ? StatusCode::already_exists : StatusCode::failed_precondition,
                "cannot listen on " + to_string(address) + ": " + reason);
  }
  std::string all;
  for (const ListenAddress& address : addresses) all += ' ' + to_string(address);
  throw Error(StatusCode::failed_precondition,
              "cannot listen on one of" + all +
                  ": the folder of a socket may not be writable, or a port was taken meanwhile");
}

}  // namespace

class LookupServer::Impl {
 public:
  Impl(const TableSource& source, const ServerOptions& options)
      : service_(source), handler_(service_), addresses_(options.listen) {
    check_addresses(options);
    for (const ListenAddress& address : addresses_)
      if (address.is_unix()) clear_stale_socket(address.socket);
    start();
    set_serving(false);
  }
  ~Impl() {
    if (server_) shutdown(std::chrono::milliseconds(0));
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void set_serving(bool is_serving) {
    auto* health = server_->GetHealthCheckService();
    health->SetServingStatus("", is_serving);
    health->SetServingStatus(v1::TuningService::service_full_name(), is_serving);
  }

  void shutdown(std::chrono::milliseconds grace) {
    set_serving(false);
    server_->Shutdown(std::chrono::system_clock::now() + grace);
    server_->Wait();
    server_.reset();
  }

  [[nodiscard]] const std::vector<ListenAddress>& addresses() const { return addresses_; }

 private:
  void start() {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::ServerBuilder builder;
    set_limits(builder);
    builder.RegisterService(&handler_);
    std::vector<int> ports(addresses_.size());
    for (std::size_t i = 0; i < addresses_.size(); ++i)
      builder.AddListeningPort(to_string(addresses_[i]), grpc::InsecureServerCredentials(),
                               &ports[i]);
    {
      const PrivateFiles guard;
      server_ = builder.BuildAndStart();
    }
    if (!server_) fail_bind(addresses_);
    for (std::size_t i = 0; i < addresses_.size(); ++i) {
      if (addresses_[i].is_unix())
        ::chmod(addresses_[i].socket.c_str(), 0660);
      else
        addresses_[i].port = static_cast<std::uint16_t>(ports[i]);
    }
  }

  LookupService service_;
  TuningHandler handler_;
  std::vector<ListenAddress> addresses_;
  std::unique_ptr<grpc::Server> server_;
};

LookupServer::LookupServer(const TableSource& source, const ServerOptions& options)
    : impl_(std::make_unique<Impl>(source, options)) {}
LookupServer::~LookupServer() = default;

const std::vector<ListenAddress>& LookupServer::addresses() const { return impl_->addresses(); }
void LookupServer::set_serving(bool is_serving) { impl_->set_serving(is_serving); }
void LookupServer::shutdown(std::chrono::milliseconds grace) { impl_->shutdown(grace); }

}  // namespace colltune
