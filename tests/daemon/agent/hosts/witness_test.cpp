// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// A witness and who asks it, on one host. What they do between hosts: tests/deploy/hosts_test.py.

#include "colltune/hosts/witness.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "colltune/flight/process_status.h"
#include "colltune/hosts/witness_watch.h"
#include "witness_service.h"

namespace colltune {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using testing::IsEmpty;

constexpr const char* refusal = "COLLTUNE_TEST_WITNESS_REFUSES";
const std::string token = "0123456789abcdef";

bool comes_true(const std::function<bool()>& condition) {
  const auto end = Clock::now() + 60s;
  while (!condition()) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

bool is_gone(pid_t pid) {
  const auto status = read_process_status(pid);
  return !status || status->state == 'Z' || status->state == 'X';
}

/// A process that does nothing, in a rank's place.
class Idler {
 public:
  Idler() : pid_(fork()) {
    while (pid_ == 0) pause();
  }
  ~Idler() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Idler(const Idler&) = delete;
  Idler& operator=(const Idler&) = delete;

  void signal(int number) const { kill(pid_, number); }
  [[nodiscard]] WitnessedRank as_rank(int rank) const {
    return {.rank = rank, .pid = pid_, .start_ticks = read_process_status(pid_)->start_ticks};
  }

 private:
  pid_t pid_;
};

/// A TCP connection to a port of this host.
class Caller {
 public:
  explicit Caller(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_connected_ =
        connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  [[nodiscard]] bool is_connected() const { return is_connected_; }
  void say(const std::string& text) const {
    send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
  }
  /// The next line; empty where there is none within a minute, or the other side closes.
  [[nodiscard]] std::string hear() {
    std::string line;
    for (char next = 0; next != '\n'; line += next) {
      pollfd polled{.fd = socket_.get(), .events = POLLIN, .revents = 0};
      if (poll(&polled, 1, 60'000) <= 0 || recv(socket_.get(), &next, 1, 0) <= 0) return {};
    }
    return line;
  }

 private:
  Descriptor socket_;
  bool is_connected_ = false;
};

/// A witness as a thread, with short times.
class WitnessService : public testing::Test {
 protected:
  void serve(const WitnessTask& task, WitnessTimes times = {.between_looks = 10ms}) {
    std::array<int, 2> ends{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    owners_end_ = Descriptor(ends[0]);
    auto listener = listen_for_supervisor();
    ASSERT_TRUE(listener);
    port_ = listener->port;
    thread_ = std::jthread([this, task, times, channel = Descriptor(ends[1]),
                            listener = std::move(*listener)]() mutable {
      serve_supervisor(task, channel, std::move(listener), times);
      has_ended_ = true;
    });
  }
  void TearDown() override { owners_end_ = Descriptor(); }
  [[nodiscard]] bool ends() {
    return comes_true([&] { return has_ended_.load(); });
  }

  Descriptor owners_end_;
  std::uint16_t port_ = 0;
  std::atomic<bool> has_ended_ = false;
  std::jthread thread_;
};

TEST_F(WitnessService, SaysWhoIsStoppedAsLongAsSomebodyIs) {
  const Idler idler;
  const Idler other;
  serve({.token = token, .ranks = {other.as_rank(6), idler.as_rank(7)}});
  Caller supervisor(port_);
  supervisor.say(token + "\n");
  idler.signal(SIGSTOP);
  EXPECT_EQ(supervisor.hear(), "stopped 7\n");
  EXPECT_EQ(supervisor.hear(), "stopped 7\n");
  other.signal(SIGSTOP);
  EXPECT_TRUE(comes_true([&] { return supervisor.hear() == "stopped 6 7\n"; }));
  idler.signal(SIGCONT);
  other.signal(SIGCONT);
  EXPECT_TRUE(comes_true([&] { return supervisor.hear() == "stopped\n"; }));
  idler.signal(SIGSTOP);
  EXPECT_EQ(supervisor.hear(), "stopped 7\n");
}

TEST_F(WitnessService, TakesNoOtherProcessForARankThatEnded) {
  const Idler idler;
  WitnessedRank ended = idler.as_rank(0);
  ++ended.start_ticks;
  const Idler last;
  serve({.token = token, .ranks = {ended, last.as_rank(1)}});
  Caller supervisor(port_);
  supervisor.say(token + "\n");
  idler.signal(SIGSTOP);
  ASSERT_TRUE(comes_true([&] { return read_process_status(ended.pid)->state == 'T'; }));
  last.signal(SIGSTOP);
  EXPECT_EQ(supervisor.hear(), "stopped 1\n");
}

TEST_F(WitnessService, ClosesConnectionsThatDoNotBeginWithTheToken) {
  serve({.token = token});
  for (const std::string& garbage :
       {std::string("GET / HTTP/1.1\r\n\r\n"), token.substr(1) + "\n", token + "x\n",
        std::string(100'000, 'x'), std::string(token.size() + 1, '\0')}) {
    Caller stranger(port_);
    ASSERT_TRUE(stranger.is_connected());
    stranger.say(garbage);
    EXPECT_EQ(stranger.hear(), "");
  }
  { const Caller passer_by(port_); }
  const Caller supervisor(port_);
  supervisor.say(token + "\n");
  EXPECT_TRUE(comes_true([&] { return !Caller(port_).is_connected(); }))
      << "it accepts nobody after the supervisor";
  EXPECT_FALSE(has_ended_);
}

TEST_F(WitnessService, WaitsForAStrangerWhoSaysNothingOnlyForAMoment) {
  serve({.token = token}, {.introduction = 20ms});
  const Caller stranger(port_);
  const Caller slow(port_);
  slow.say(token.substr(0, 3));
  const Caller supervisor(port_);
  supervisor.say(token.substr(0, 3));
  supervisor.say(token.substr(3) + "\n");
  EXPECT_TRUE(comes_true([&] { return !Caller(port_).is_connected(); }));
}

TEST_F(WitnessService, EndsWithItsOwner) {
  serve({.token = token});
  owners_end_ = Descriptor();
  EXPECT_TRUE(ends());
}

TEST_F(WitnessService, EndsWithItsOwnerAlsoWhereAStrangerTalksOrTheSupervisorListens) {
  serve({.token = token}, {.introduction = 60s});
  const Caller stranger(port_);
  stranger.say(token.substr(0, 3));
  owners_end_ = Descriptor();
  EXPECT_TRUE(ends());
}

TEST_F(WitnessService, EndsWhenTheSupervisorGoes) {
  serve({.token = token}, {.between_looks = 60s});
  {
    const Caller supervisor(port_);
    supervisor.say(token + "\n");
  }
  EXPECT_TRUE(ends());
}

TEST_F(WitnessService, EndsWhereNoSupervisorComes) {
  serve({.token = token}, {.supervisor = 20ms});
  EXPECT_TRUE(ends());
}

TEST_F(WitnessService, IsNotHeldUpByASupervisorWhoReadsNothing) {
  const Idler idler;
  idler.signal(SIGSTOP);
  serve({.token = token, .ranks = std::vector<WitnessedRank>(500, idler.as_rank(1))},
        {.between_looks = 0ms});
  const Caller supervisor(port_);
  supervisor.say(token + "\n");
  std::this_thread::sleep_for(100ms);
  owners_end_ = Descriptor();
  EXPECT_TRUE(ends());
}

/// Lets the watch work until `condition` holds; whether it does.
bool comes_true(WitnessWatch& watch, const std::function<bool()>& condition) {
  return comes_true([&] {
    std::vector<pollfd> polled;
    watch.append_poll(polled);
    poll(polled.data(), polled.size(), 10);
    watch.take_reports(Clock::now());
    return condition();
  });
}

bool is_given_up(const WitnessWatch& watch) {
  std::vector<pollfd> polled;
  watch.append_poll(polled);
  return polled.empty();
}

WitnessWatch watch_port(std::uint16_t port, const std::string& ranks) {
  return {resolve_other_hosts({{.name = "127.0.0.1", .ranks = ranks, .witness_port = port}}),
          token};
}

TEST(Witness, TellsTheSupervisorWhoIsStopped) {
  const Idler idler;
  const auto witness = Witness::start({.token = token, .ranks = {idler.as_rank(3)}});
  ASSERT_TRUE(witness);
  WitnessWatch watch = watch_port(witness->port(), "1, 3");
  idler.signal(SIGSTOP);
  const SteadyTime before = Clock::now();
  ASSERT_TRUE(comes_true(watch, [&] { return !watch.stopped().empty(); }));
  EXPECT_EQ(watch.stopped()[0].rank, 3);
  EXPECT_EQ(watch.stopped()[0].host, "127.0.0.1");
  EXPECT_GE(watch.stopped()[0].last_seen, before);
}

TEST(Witness, EndsWithTheObjectAlsoWhileItIsStopped) {
  auto witness = Witness::start({.token = token});
  ASSERT_TRUE(witness);
  const pid_t process = witness->process();
  EXPECT_FALSE(is_gone(process));
  kill(process, SIGSTOP);
  witness.reset();
  EXPECT_TRUE(is_gone(process));
}

TEST(Witness, EndsWithAnOwnerThatIsKilledAlsoWhileItIsStopped) {
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  const pid_t owner = fork();
  if (owner == 0) {
    const auto witness = Witness::start({.token = token});
    const pid_t process = witness ? witness->process() : 0;
    if (write(pipe_ends[1], &process, sizeof process) != sizeof process) _exit(1);
    for (;;) pause();
  }
  pid_t process = 0;
  ASSERT_EQ(read(pipe_ends[0], &process, sizeof process), sizeof process);
  ASSERT_GT(process, 0);
  kill(process, SIGSTOP);
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  EXPECT_TRUE(comes_true([&] { return is_gone(process); }));
  for (const int end : pipe_ends) close(end);
}

TEST(Witness, IsNoneWhereItDoesNotStart) {
  setenv(refusal, "1", 1);
  EXPECT_FALSE(Witness::start({.token = token}));
  unsetenv(refusal);
}

TEST(Witness, IsForItsOwnerAlone) { EXPECT_NE(run_witness({}), 0); }

/// Listens in a witness's place and says what it is told to.
class Liar {
 public:
  Liar() : listener_(listen_for_supervisor()) {}
  [[nodiscard]] std::uint16_t port() const { return listener_->port; }
  void say(const std::string& text) {
    if (!connection_) {
      pollfd polled{.fd = listener_->socket.get(), .events = POLLIN, .revents = 0};
      poll(&polled, 1, 60'000);
      connection_ = Descriptor(accept(listener_->socket.get(), nullptr, nullptr));
    }
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t sent =
          send(connection_.get(), text.data() + at, text.size() - at, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent <= 0) return;
      at += static_cast<std::size_t>(sent);
    }
  }
  void close() {
    say("");
    connection_ = Descriptor();
  }

 private:
  std::optional<WitnessListener> listener_;
  Descriptor connection_;
};

class WitnessWatchLiar : public testing::TestWithParam<std::string> {};

TEST_P(WitnessWatchLiar, IsGivenUp) {
  Liar liar;
  WitnessWatch watch = watch_port(liar.port(), "1, 3");
  liar.say(GetParam());
  EXPECT_TRUE(comes_true(watch, [&] { return is_given_up(watch); }));
  EXPECT_THAT(watch.stopped(), IsEmpty());
}
INSTANTIATE_TEST_SUITE_P(Texts, WitnessWatchLiar,
                         testing::Values("hello\n", "\n", "stopped 2\n", "stopped 1 2\n",
                                         "stopped -1\n", "stopped 1x\n", "stopped  1\n",
                                         "stopped 99999999999999999999\n", "stopped1\n",
                                         std::string(1, '\0') + "\n", std::string(200'000, 'x'),
                                         std::string(200'000, '\n')));

TEST(WitnessWatch, ReadsReportsThatComeInPieces) {
  Liar liar;
  WitnessWatch watch = watch_port(liar.port(), "1, 3");
  liar.say("stop");
  EXPECT_FALSE(comes_true(watch, [] { return true; }) && is_given_up(watch));
  liar.say("ped 1");
  watch.take_reports(Clock::now());
  EXPECT_THAT(watch.stopped(), IsEmpty());
  liar.say(" 3\nstopped\n");
  EXPECT_TRUE(comes_true(watch, [&] { return watch.stopped().size() == 2; }));
  EXPECT_FALSE(is_given_up(watch));
  liar.close();
  EXPECT_TRUE(comes_true(watch, [&] { return is_given_up(watch); }));
  EXPECT_EQ(watch.stopped().size(), 2);
}

TEST(WitnessWatch, GivesUpAHostWithoutWitnessOrWhereNobodyListens) {
  std::uint16_t closed = 0;
  {
    const auto listener = listen_for_supervisor();
    ASSERT_TRUE(listener);
    closed = listener->port;
  }
  WitnessWatch watch = watch_port(closed, "1");
  EXPECT_TRUE(comes_true(watch, [&] { return is_given_up(watch); }));
  EXPECT_TRUE(is_given_up(watch_port(0, "1")));
}

TEST(WitnessWatch, RemembersWhenARankWasLastSeenStopped) {
  std::vector<StoppedRank> stopped;
  note_seen_stopped(stopped, {.rank = 1, .host = "a", .last_seen = SteadyTime(5s)});
  note_seen_stopped(stopped, {.rank = 2, .host = "a", .last_seen = SteadyTime(1s)});
  note_seen_stopped(stopped, {.rank = 1, .host = "a", .last_seen = SteadyTime(4s)});
  note_seen_stopped(stopped, {.rank = 2, .host = "a", .last_seen = SteadyTime(6s)});
  ASSERT_EQ(stopped.size(), 2);
  EXPECT_EQ(stopped[0].last_seen, SteadyTime(5s));
  EXPECT_EQ(stopped[1].last_seen, SteadyTime(6s));
}

}  // namespace
}  // namespace colltune

int main(int argc, char** argv) {
  if (argc > 1 && argv[1] == std::string(colltune::witness_role))
    return std::getenv(colltune::refusal) != nullptr
               ? 1
               : colltune::run_witness({argv + 2, argv + argc});
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
