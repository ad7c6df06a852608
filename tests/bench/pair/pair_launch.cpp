// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "pair_launch.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "colltune/vocabulary/error.h"
#include "process_communicator.h"

extern char** environ;

namespace colltune {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

constexpr auto pause_between_looks = 20ms;
// A rank that was killed may wait for the driver.
constexpr auto longest_kill = 5s;
constexpr std::size_t held = 1;

/// Open file, closed with the object.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  [[nodiscard]] int get() const { return descriptor_; }

 private:
  int descriptor_;
};

pid_t start(std::vector<std::string> command) {
  std::vector<char*> arguments;
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  pid_t process = 0;
  if (const int refused =
          ::posix_spawn(&process, "/proc/self/exe", nullptr, nullptr, arguments.data(), environ);
      refused != 0)
    throw Error(StatusCode::internal,
                "the program cannot start itself: " + std::string(std::strerror(refused)));
  return process;
}

/// One of the two, as its parent sees it.
class Rank {
 public:
  Rank(int rank, std::vector<std::string> command, const File& arena) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      throw Error(StatusCode::resource_exhausted, "no pipe: " + std::string(std::strerror(errno)));
    reports_ = File(ends[0]);
    const File written(ends[1]);
    ::fcntl(written.get(), F_SETFD, 0);  // this one process inherits it
    for (const auto& [option, value] :
         {std::pair{"--rank", rank}, {"--arena", arena.get()}, {"--report", written.get()}}) {
      command.emplace_back(option);
      command.push_back(std::to_string(value));
    }
    process_ = start(std::move(command));
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;
  ~Rank() { kill(); }

  [[nodiscard]] int descriptor() const { return reports_.get(); }
  [[nodiscard]] bool has_ended() const { return has_ended_; }
  [[nodiscard]] bool is_stopped() const { return is_stopped_; }
  [[nodiscard]] PairReport take_report() { return std::move(report_); }

  /// Reads what it has told; the events that are new.
  std::vector<Json> read() {
    std::vector<Json> events;
    char bytes[4096];
    for (;;) {
      pollfd ready{.fd = reports_.get(), .events = POLLIN, .revents = 0};
      if (::poll(&ready, 1, 0) <= 0) break;
      const ::ssize_t count = ::read(reports_.get(), bytes, sizeof bytes);
      if (count <= 0) break;
      text_.append(bytes, static_cast<std::size_t>(count));
    }
    for (std::size_t end = 0; (end = text_.find('\n')) != std::string::npos;
         text_.erase(0, end + 1))
      if (Json event = Json::parse(text_.substr(0, end), nullptr, false); event.is_object())
        events.push_back(std::move(event));
    report_.events.insert(report_.events.end(), events.begin(), events.end());
    return events;
  }

  /// Looks whether it has stopped, gone on or ended.
  void look() {
    int status = 0;
    while (!has_ended_ && ::waitpid(process_, &status, WNOHANG | WUNTRACED | WCONTINUED) > 0) {
      if (WIFSTOPPED(status)) is_stopped_ = true;
      if (WIFCONTINUED(status)) is_stopped_ = false;
      if (WIFEXITED(status) || WIFSIGNALED(status)) has_ended_ = true;
      if (WIFSIGNALED(status)) report_.end = "signal " + std::to_string(WTERMSIG(status));
      if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
        report_.end = "exit code " + std::to_string(WEXITSTATUS(status));
    }
  }
  void stop() const {
    if (!has_ended_) ::kill(process_, SIGSTOP);
  }
  void let_go() const {
    if (!has_ended_) ::kill(process_, SIGCONT);
  }
  void kill() {
    if (has_ended_) return;
    report_.end = "its parent: it did not end in time";
    ::kill(process_, SIGKILL);
    for (const auto end = Clock::now() + longest_kill; !has_ended_ && Clock::now() < end;) {
      if (::waitpid(process_, nullptr, WNOHANG) == process_) has_ended_ = true;
      ::usleep(1000);
    }
    has_ended_ = true;  // or left to the driver
  }

 private:
  File reports_{-1};
  pid_t process_ = 0;
  bool has_ended_ = false;
  bool is_stopped_ = false;
  std::string text_;  ///< of the line that is not whole yet
  PairReport report_;
};

}  // namespace

std::array<PairReport, pair_ranks> launch_pair(const std::vector<std::string>& command,
                                               Clock::time_point deadline) {
  const File arena(make_process_arena());
  std::array<Rank, pair_ranks> ranks{Rank(0, command, arena), Rank(1, command, arena)};
  int callers = 0;         // ranks that call until one is stopped
  bool may_go_on = false;  // the first one has told how its call ended
  const auto heed = [&](std::size_t rank, const Json& event) {
    const std::string kind = event.value("event", "");
    if (kind == "stops") may_go_on = false;
    if (kind == "calls" && ++callers == static_cast<int>(pair_ranks)) {
      may_go_on = false;
      ranks[held].stop();
    }
    if (kind == "held" && rank != held) may_go_on = true;
  };
  while (!(ranks[0].has_ended() && ranks[1].has_ended()) && Clock::now() < deadline) {
    std::array<pollfd, pair_ranks> both{};
    for (std::size_t rank = 0; rank < pair_ranks; ++rank)
      both[rank] = {.fd = ranks[rank].has_ended() ? -1 : ranks[rank].descriptor(),
                    .events = POLLIN,
                    .revents = 0};
    ::poll(both.data(), both.size(), static_cast<int>(pause_between_looks.count()));
    for (std::size_t rank = 0; rank < pair_ranks; ++rank) {
      for (const Json& event : ranks[rank].read()) heed(rank, event);
      ranks[rank].look();
    }
    // Nobody is left to tell.
    if (ranks[0].has_ended()) may_go_on = true;
    // Not before it has stopped: it would stop behind this, for ever.
    if (ranks[held].is_stopped() && may_go_on) ranks[held].let_go();
  }
  std::array<PairReport, pair_ranks> reports;
  for (Rank& rank : ranks) rank.kill();
  for (std::size_t rank = 0; rank < pair_ranks; ++rank) {
    static_cast<void>(ranks[rank].read());
    reports[rank] = ranks[rank].take_report();
  }
  return reports;
}

}  // namespace colltune
