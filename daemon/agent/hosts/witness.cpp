// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/hosts/witness.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>

#include "colltune/machine/self_spawn.h"
#include "colltune/vocabulary/error.h"
#include "witness_service.h"

namespace colltune {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto patience_with_start = 5s;
constexpr std::size_t longest_message = 1 << 20;  // tens of thousands of ranks

// A launcher, or a person who looks for a rank's process, finds it by these.
constexpr std::array<std::string_view, 4> variables_of_ranks{
    "OMPI_COMM_WORLD_RANK=", "PMI_RANK=", "PMIX_RANK=", "SLURM_PROCID="};

std::vector<std::string> environment_without_rank() {
  std::vector<std::string> environment = own_environment();
  std::erase_if(environment, [](const std::string& entry) {
    return std::ranges::any_of(variables_of_ranks,
                               [&](std::string_view name) { return entry.starts_with(name); });
  });
  return environment;
}

/// The task as the text that goes over the channel: a line with the token, one for each rank, and
/// an empty one.
std::string to_text(const WitnessTask& task) {
  std::ostringstream text;
  text << task.token << '\n';
  for (const WitnessedRank& rank : task.ranks)
    text << rank.rank << ' ' << rank.pid << ' ' << rank.start_ticks << '\n';
  text << '\n';
  return text.str();
}

WitnessTask to_task(const std::string& text) {
  std::istringstream lines(text);
  WitnessTask task;
  std::getline(lines, task.token);
  for (WitnessedRank rank; lines >> rank.rank >> rank.pid >> rank.start_ticks;)
    task.ranks.push_back(rank);
  return task;
}

/// Reads until `end` has come. Empty if the other side goes before, or after `patience`.
std::optional<std::string> read_until(const Descriptor& channel, std::string_view end,
                                      std::chrono::milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  std::string text;
  while (!text.ends_with(end) && text.size() < longest_message) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd polled{.fd = channel.get(), .events = POLLIN, .revents = 0};
    const int found = poll(&polled, 1, static_cast<int>(std::max<std::int64_t>(0, left.count())));
    if (found < 0 && errno == EINTR) continue;
    if (found <= 0) return std::nullopt;
    std::array<char, 4096> buffer{};
    const ssize_t size = recv(channel.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (size <= 0) return std::nullopt;
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
  return text;
}

/// Whether all of it was sent within `patience`.
bool write_all(const Descriptor& channel, std::string_view text,
               std::chrono::milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  while (!text.empty()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd polled{.fd = channel.get(), .events = POLLOUT, .revents = 0};
    const int found = poll(&polled, 1, static_cast<int>(std::max<std::int64_t>(0, left.count())));
    if (found < 0 && errno == EINTR) continue;
    if (found <= 0) return false;
    const ssize_t size = send(channel.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (size <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

/// Lets go of everything of the rank that started this process: its connections and output would
/// otherwise seem to outlive it, and its core is its own.
void leave_rank() {
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, stream);
  std::vector<int> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored))
    files.push_back(std::atoi(entry.path().filename().c_str()));
  for (const int file : files)
    if (file > STDERR_FILENO) close(file);
  cpu_set_t all;
  std::memset(&all, 0xff, sizeof all);
  sched_setaffinity(0, sizeof all, &all);  // the kernel leaves those that are allowed
}

}  // namespace

std::unique_ptr<Witness> Witness::start(const WitnessTask& task) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return nullptr;
  Descriptor channel(ends[0]);
  Descriptor its_end(ends[1]);
  sigset_t none;
  sigemptyset(&none);
  pid_t process = 0;
  try {
    process = spawn_self({"colltune-witness", witness_role, std::to_string(getpid())},
                         environment_without_rank(), none, its_end.get());
  } catch (const Error&) {
    return nullptr;
  }
  its_end = Descriptor();  // so that the channel ends with the witness
  std::unique_ptr<Witness> witness(new Witness(std::move(channel), process));
  return witness->brief(task) ? std::move(witness) : nullptr;
}

bool Witness::brief(const WitnessTask& task) {
  if (!write_all(channel_, to_text(task), patience_with_start)) return false;
  const auto answer = read_until(channel_, "\n", patience_with_start);
  if (!answer) return false;
  const char* const end = answer->data() + answer->size() - 1;
  const auto [stop, error] = std::from_chars(answer->data(), end, port_);
  return error == std::errc() && stop == end && port_ != 0;
}

Witness::~Witness() {
  channel_ = Descriptor();
  kill(process_, SIGKILL);  // it ends by itself, but not if it is stopped
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) continue;
}

int run_witness(const std::vector<std::string>& arguments) {
  if (arguments.size() != 1) return 1;
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (std::to_string(getppid()) != arguments.front()) return 1;
  leave_rank();
  const Descriptor channel(STDIN_FILENO);
  const auto text = read_until(channel, "\n\n", patience_with_start);
  auto listener = listen_for_supervisor();
  if (!text || !listener) return 1;
  if (!write_all(channel, std::to_string(listener->port) + "\n", patience_with_start)) return 1;
  serve_supervisor(to_task(*text), channel, std::move(*listener));
  return 0;
}

}  // namespace colltune
