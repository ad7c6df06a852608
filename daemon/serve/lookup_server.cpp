// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/serve/lookup_server.h"

#include <grpc/grpc.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/resource_quota.h>
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "acceptor.h"
#include "handler.h"

namespace colltune {
namespace {

// A batch of LookupService::largest_batch questions of usual length is below 200 KiB, but the
// members of as many ranks as convert.h takes are up to 2 MiB.
constexpr int largest_request = 4 << 20;
constexpr int largest_metadata = 8 << 10;
constexpr int most_streams_per_connection = 100;
// Clients may ping that often to notice a dead link; gRPC's default of 300 s closes their
// connection ("too_many_pings").
constexpr int least_ping_interval_ms = 10'000;
// For the last status to leave, once the grace is over.
constexpr std::chrono::milliseconds wind_up_limit{300};

void check_addresses(const ServerOptions& options) {
  if (options.listen.empty())
    throw Error(StatusCode::invalid_argument,
                "no address to listen on; give at least one, such as unix:/run/colltune.sock");
  for (std::size_t i = 0; i < options.listen.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (options.listen[i] == options.listen[j] &&
          (options.listen[i].is_unix() || options.listen[i].port != 0))
        throw Error(StatusCode::invalid_argument, "the address " + to_string(options.listen[i]) +
                                                      " is given twice; give each once");
  for (const ListenAddress& address : options.listen) {
    if (is_local(address) || options.allow_insecure_network) continue;
    throw Error(StatusCode::invalid_argument,
                "refusing to listen on " + to_string(address) +
                    ": it can be reached from other hosts, and calls are neither encrypted nor "
                    "authenticated; use a Unix socket or 127.0.0.1, or give "
                    "--allow-insecure-network");
  }
}

/// What gRPC may hold of requests and responses: a quarter of what the process may, at most this.
std::size_t transport_bytes() {
  constexpr std::size_t usual = std::size_t{128} << 20U;
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return usual;
  return std::min<std::size_t>(usual, limit.rlim_cur / 4);
}

/// Where the address space is bounded, glibc's arenas (64 MiB of it for each thread) would take it.
void spare_address_space() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    ::mallopt(M_ARENA_MAX, 1);
}

/// gRPC's end, with the last of its objects, waits for its threads, and one that looks after unsent
/// bytes of closed connections looks for up to 10 s. So gRPC goes on until the process ends.
void keep_transport() {
  static const bool is_kept = (::grpc_init(), true);
  (void)is_kept;
}

void set_limits(grpc::ServerBuilder& builder, const ServerOptions& options) {
  builder.SetResourceQuota(grpc::ResourceQuota("colltuned").Resize(transport_bytes()));
  builder.SetMaxReceiveMessageSize(largest_request);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, largest_metadata);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, most_streams_per_connection);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             least_ping_interval_ms);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             static_cast<int>(options.handshake_limit.count()));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                             static_cast<int>(options.idle_limit.count()));
}

/// Calls `task` every so often, on a thread of its own.
class Housekeeper {
 public:
  Housekeeper(std::chrono::milliseconds interval, std::function<void()> task)
      : thread_([this, interval, task = std::move(task)](const std::stop_token& stop) {
          std::unique_lock lock(mutex_);
          while (!stop.stop_requested()) {
            wake_.wait_for(lock, stop, interval, [] { return false; });
            if (!stop.stop_requested()) task();
          }
        }) {}

 private:
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

}  // namespace

class LookupServer::Impl {
 public:
  Impl(const TableSource& source, const ServerOptions& options)
      : service_(source),
        handler_(service_, {.stall = options.stall_limit}),
        warn_(options.warn) {
    check_addresses(options);
    raise_descriptor_limit();
    spare_address_space();
    keep_transport();
    std::vector<Listener> listeners;
    for (const ListenAddress& address : options.listen) {
      listeners.emplace_back(address);
      addresses_.push_back(listeners.back().address());
    }
    start(options);
    set_serving(false);
    set_snapshot_read(true);
    acceptor_ = std::make_unique<Acceptor>(
        std::move(listeners),
        options.most_connections != 0 ? options.most_connections : room_for_connections(),
        Acceptor::Callbacks{.hand_over = [this](int descriptor) { hand_over(descriptor); },
                            .warn = warn_});
    housekeeper_ = std::make_unique<Housekeeper>(
        std::min(options.stall_limit, std::chrono::milliseconds(1000)),
        [this] { cancel_late_streams(); });
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

  void set_snapshot_read(bool is_read) {
    server_->GetHealthCheckService()->SetServingStatus(snapshot_health_name, is_read);
  }

  void shutdown(std::chrono::milliseconds grace) {
    const auto deadline = std::chrono::steady_clock::now() + grace;
    set_serving(false);
    if (acceptor_) acceptor_->stop();
    handler_.calls().close();
    if (!handler_.calls().wait_until_empty(deadline)) {
      handler_.streams().wind_up();
      (void)handler_.calls().wait_until_empty(std::chrono::steady_clock::now() + wind_up_limit);
    }
    housekeeper_.reset();
    if (acceptor_) acceptor_->hang_up();
    server_->Shutdown(std::chrono::system_clock::now() + wind_up_limit);
    server_->Wait();
    server_.reset();
  }

  [[nodiscard]] const std::vector<ListenAddress>& addresses() const { return addresses_; }

 private:
  void start(const ServerOptions& options) {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::ServerBuilder builder;
    set_limits(builder, options);
    builder.RegisterService(&handler_);
    connections_ = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
        grpc::InsecureServerCredentials());
    server_ = builder.BuildAndStart();
    if (!server_) throw Error(StatusCode::internal, "gRPC cannot start its server");
  }

  void hand_over(int descriptor) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.fd = descriptor;
    connections_->HandleNewConnection(&connection);
  }

  void cancel_late_streams() {
    const std::size_t late = handler_.streams().cancel_late(StreamGate::Clock::now());
    if (late > 0 && warn_)
      warn_(std::to_string(late) + " callers of GetTable did not read: their calls are ended");
  }

  LookupService service_;
  TuningHandler handler_;
  std::function<void(const std::string& text)> warn_;
  std::vector<ListenAddress> addresses_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> connections_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Acceptor> acceptor_;        // hands over to the server
  std::unique_ptr<Housekeeper> housekeeper_;  // looks at the handler's calls
};

LookupServer::LookupServer(const TableSource& source, const ServerOptions& options)
    : impl_(std::make_unique<Impl>(source, options)) {}
LookupServer::~LookupServer() = default;

const std::vector<ListenAddress>& LookupServer::addresses() const { return impl_->addresses(); }
void LookupServer::set_serving(bool is_serving) { impl_->set_serving(is_serving); }
void LookupServer::set_snapshot_read(bool is_read) { impl_->set_snapshot_read(is_read); }
void LookupServer::shutdown(std::chrono::milliseconds grace) { impl_->shutdown(grace); }

}  // namespace colltune
