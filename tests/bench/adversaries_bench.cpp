// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// One normal caller of the daemon beside adversarial ones: how long its health checks and lookups
// take, alone and beside them; and how long a lookup takes beside idle connections. Prints, and
// fails where a bar is missed: health within 100 ms (p99), a lookup beside 1,000 idle connections
// within 100 ms. And how much memory the tables take that callers ask for and never read.
// Adversaries and server share the machine's cores.

#include <fmt/format.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "colltune/serve/lookup_server.h"
#include "colltune/v1/tuning_service.grpc.pb.h"
#include "colltune/wire/convert.h"
#include "literals.h"
#include "temporary_folder.h"

namespace colltune {
namespace {

using namespace literals;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int worlds = 4000;
constexpr double bar_ms = 100;

TableSource::Table make_table() {
  std::vector<Decision> decisions;
  for (int nodes = 1; nodes <= worlds; ++nodes)
    decisions.push_back(decide(all_reduce(8), {{"ring", 10}, {"base", 20, true}}, world(nodes, 2)));
  return std::make_shared<const DecisionTable>(
      DecisionSet{.generation = generation(1),
                  .decisions = std::move(decisions),
                  .environments = {{"e1", {.cpu_model = "one"}}}});
}

v1::LookupRequest plain_lookup(int nodes) {
  v1::LookupRequest request;
  write_message(LookupQuery{.problem = all_reduce(8), .nodes = nodes}, *request.mutable_query());
  return request;
}

struct Attack {
  std::string method;
  std::string bytes;
};

/// Requests of up to 4 MiB that ask as much as a request may.
std::vector<Attack> attacks() {
  const std::string service = "/colltune.v1.TuningService/";
  v1::LookupRequest mesh = plain_lookup(1);
  auto& problem = *mesh.mutable_query()->mutable_problem();
  problem.set_kind(v1::PROBLEM_KIND_MESH_REDUCE);
  problem.set_reduce_op(v1::REDUCE_OP_NONE);
  for (int i = 0; i < 64; ++i) problem.mutable_mesh()->add_shape(i < 20 ? 2 : 1);
  while (problem.mesh().steps_size() < 4096) {
    auto& step = *problem.mutable_mesh()->add_steps();
    step.set_op(v1::REDUCE_OP_SUM);
    step.set_dimension(problem.mesh().steps_size() % 20);
  }
  mesh.mutable_query()->set_form(v1::COMPOSITION_MODE_MERGED);
  v1::LookupRequest members = plain_lookup(1);
  auto& ranks = *members.mutable_query()->mutable_members();
  ranks.add_kinds()->set_architecture("x86_64");
  for (int i = 0; i < 1 << 20; ++i) ranks.add_kind_of_rank(0);
  v1::BatchLookupRequest batch;
  for (int i = 0; i < 1000; ++i) *batch.add_queries() = plain_lookup(worlds + 1 + i).query();
  v1::LookupRequest features = plain_lookup(1);
  auto& kind = *features.mutable_query()->mutable_members()->add_kinds();
  for (int i = 0; i < 1'000'000; ++i) kind.add_features();
  return {{service + "Lookup", mesh.SerializeAsString()},
          {service + "Lookup", members.SerializeAsString()},
          {service + "BatchLookup", batch.SerializeAsString()},
          {service + "Lookup", features.SerializeAsString()},
          {service + "Lookup", std::string(3 << 20, '\xff')}};
}

/// One unary call by its bytes; how it ends does not matter here.
grpc::Status call(const std::shared_ptr<grpc::Channel>& channel, const Attack& attack) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 60s);
  grpc::CompletionQueue queue;
  const grpc::Slice slice(attack.bytes);
  const grpc::ByteBuffer request(&slice, 1);
  auto reader = stub.PrepareUnaryCall(&context, attack.method, request, &queue);
  reader->StartCall();
  grpc::ByteBuffer reply;
  grpc::Status status;
  reader->Finish(&reply, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  return status;
}

struct Times {
  double median = 0;
  double p99 = 0;
  double most = 0;
};

/// Milliseconds of `action`, repeated for `duration`.
template <class Action>
Times measure(std::chrono::seconds duration, Action action) {
  std::vector<double> times;
  const auto end = Clock::now() + duration;
  while (Clock::now() < end) {
    const auto begin = Clock::now();
    if (!action().ok()) throw std::runtime_error("the normal caller got no answer");
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
    std::this_thread::sleep_for(2ms);  // a caller, not a load
  }
  std::ranges::sort(times);
  return {times[times.size() / 2], times[times.size() * 99 / 100], times.back()};
}

void print(const char* what, const Times& times) {
  fmt::print("{:<36} median {:8.2f} ms   p99 {:8.2f} ms   most {:8.2f} ms\n", what, times.median,
             times.p99, times.most);
}

/// Resident memory of this process, in MiB.
double resident_mib() {
  long pages = 0;
  long resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return static_cast<double>(resident * sysconf(_SC_PAGESIZE)) / (1 << 20);
}

/// Callers that ask for the whole table and never read it, in a process of their own: what they
/// hold of it is not the server's. Made before this process uses gRPC, which does not survive fork.
class SilentReaders {
 public:
  explicit SilentReaders(int streams) : streams_(streams) {
    if (pipe(to_.data()) != 0 || pipe(from_.data()) != 0) throw std::runtime_error("no pipe");
    process_ = fork();
    if (process_ != 0) return;
    close(to_[1]);
    close(from_[0]);
    std::array<char, 256> address{};
    if (::read(to_[0], address.data(), address.size() - 1) > 0) call_from(address.data());
    _exit(0);
  }
  ~SilentReaders() { end(); }
  SilentReaders(const SilentReaders&) = delete;
  SilentReaders& operator=(const SilentReaders&) = delete;

  /// Returns when all calls were made.
  void begin(const std::string& address) {
    char word = 0;
    if (::write(to_[1], address.data(), address.size()) < 0 || ::read(from_[0], &word, 1) != 1)
      throw std::runtime_error("the silent readers did not begin");
  }
  void end() {
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    process_ = 0;
  }
  [[nodiscard]] int streams() const { return streams_; }

 private:
  [[noreturn]] void call_from(const std::string& address) {
    struct Reader {
      std::unique_ptr<v1::TuningService::Stub> stub;
      grpc::ClientContext context;
      std::unique_ptr<grpc::ClientReader<v1::GetTableResponse>> stream;
    };
    std::vector<std::unique_ptr<Reader>> readers;
    grpc::ChannelArguments own;
    own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    for (int i = 0; i < streams_; ++i) {
      auto reader = std::make_unique<Reader>();
      reader->stub = v1::TuningService::NewStub(
          grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), own));
      reader->stream = reader->stub->GetTable(&reader->context, v1::GetTableRequest());
      readers.push_back(std::move(reader));
    }
    [[maybe_unused]] const auto written = ::write(from_[1], "+", 1);
    for (;;) pause();
  }

  int streams_;
  std::array<int, 2> to_{};
  std::array<int, 2> from_{};
  pid_t process_ = 0;
};

class Bench {
 public:
  explicit Bench(SilentReaders& readers) : readers_(readers) {
    source_.replace(make_table());
    server_ = std::make_unique<LookupServer>(
        source_,
        ServerOptions{.listen = {parse_listen_address("unix:" + (folder_ / "s").string())}});
    server_->set_serving(true);
  }

  /// False where a bar is missed.
  bool run(int adversaries, std::chrono::seconds duration) {
    measure_silent_readers();
    fmt::print("{} cores, gRPC {}, {} decisions, {} adversaries\n",
               std::thread::hardware_concurrency(), grpc::Version(), worlds, adversaries);
    for (const Attack& attack : attacks()) {
      const auto begin = Clock::now();
      const grpc::Status status = call(channel(), attack);
      fmt::print("{:<40} {:>8} bytes {:8.2f} ms  status {}\n", attack.method, attack.bytes.size(),
                 std::chrono::duration<double, std::milli>(Clock::now() - begin).count(),
                 static_cast<int>(status.error_code()));
    }
    measure_normal("alone", duration);
    Times health;
    {
      std::atomic<bool> done = false;
      std::atomic<long> calls = 0;
      std::vector<std::jthread> threads;
      for (int i = 0; i < adversaries; ++i)
        threads.emplace_back([&, i] {
          const auto own = channel();
          const auto all = attacks();
          for (std::size_t next = static_cast<std::size_t>(i); !done; ++next, ++calls)
            (void)call(own, all[next % all.size()]);
        });
      health = measure_normal("beside adversaries", duration);
      done = true;
      fmt::print("the adversaries made {} calls\n", calls.load());
    }
    const double idle_ms = lookup_beside_idle_connections(1000);
    fmt::print("first lookup beside 1000 idle connections {:8.2f} ms\n", idle_ms);
    return health.p99 <= bar_ms && idle_ms <= bar_ms;
  }

 private:
  std::shared_ptr<grpc::Channel> channel() {
    grpc::ChannelArguments own;
    own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
    return grpc::CreateCustomChannel(to_string(server_->addresses()[0]),
                                     grpc::InsecureChannelCredentials(), own);
  }

  void measure_silent_readers() {
    const double before = resident_mib();
    readers_.begin(to_string(server_->addresses()[0]));
    double most = before;
    for (const auto end = Clock::now() + 5s; Clock::now() < end; std::this_thread::sleep_for(10ms))
      most = std::max(most, resident_mib());
    readers_.end();
    std::this_thread::sleep_for(2s);
    fmt::print("{} tables that nobody reads: {:.1f} MiB more at most, {:.1f} when they are gone\n",
               readers_.streams(), most - before, resident_mib() - before);
  }

  Times measure_normal(const char* when, std::chrono::seconds duration) {
    const auto own = channel();
    const Times health = measure(duration, [&] {
      return call(own, {"/grpc.health.v1.Health/Check", ""});
    });
    print(fmt::format("health, {}", when).c_str(), health);
    const Attack lookup{"/colltune.v1.TuningService/Lookup", plain_lookup(3).SerializeAsString()};
    print(fmt::format("lookup, {}", when).c_str(),
          measure(duration, [&] { return call(own, lookup); }));
    return health;
  }

  double lookup_beside_idle_connections(int connections) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, (folder_ / "s").c_str());
    std::vector<int> idle;
    for (int i = 0; i < connections; ++i) {
      idle.push_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (::connect(idle.back(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
        throw std::runtime_error("cannot connect");
    }
    std::this_thread::sleep_for(2s);  // all are accepted, and none is closed yet
    const auto begin = Clock::now();
    const auto status =
        call(channel(), {"/colltune.v1.TuningService/Lookup", plain_lookup(3).SerializeAsString()});
    const double time = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    for (const int descriptor : idle) ::close(descriptor);
    if (!status.ok()) throw std::runtime_error(status.error_message());
    return time;
  }

  SilentReaders& readers_;
  TemporaryFolder folder_;
  TableSource source_;
  std::unique_ptr<LookupServer> server_;
};

}  // namespace
}  // namespace colltune

int main(int argc, char** argv) {
  CLI::App app("One normal caller of the daemon beside adversarial ones");
  int adversaries = 8;
  int seconds = 5;
  app.add_option("--adversaries", adversaries)->capture_default_str();
  app.add_option("--seconds", seconds, "for each of the four figures")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    colltune::SilentReaders readers(200);
    return colltune::Bench(readers).run(adversaries, std::chrono::seconds(seconds)) ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "adversaries_bench: {}\n", error.what());
    return 1;
  }
}
