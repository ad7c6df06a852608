// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin_probe.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "colltune/machine/descriptor.h"
#include "colltune/machine/self_spawn.h"
#include "colltune/plugin/load_plugin.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view probe_role = "--colltune-probe-plugin";
// Distinguishes a probe that returned from a plug-in that called exit().
constexpr int code_came_back = 113;

[[noreturn]] void fail(const std::filesystem::path& plugin, const std::string& what) {
  throw Error(StatusCode::failed_precondition, "plug-in " + plugin.string() + ": " + what);
}

/// Whether the process ends within `limit`. If the system has no way to tell, waits without limit.
bool ends_within(pid_t process, std::chrono::milliseconds limit) {
  const Descriptor watched(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
  if (!watched) return true;
  const auto end = Clock::now() + limit;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    pollfd ended{.fd = watched.get(), .events = POLLIN, .revents = 0};
    const int found = poll(&ended, 1, static_cast<int>(std::max<std::int64_t>(0, left.count())));
    if (found < 0 && errno == EINTR) continue;
    return found != 0;
  }
}

int wait_for(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

}  // namespace

void probe_plugin(const std::filesystem::path& plugin, std::chrono::milliseconds limit) {
  sigset_t none;
  sigemptyset(&none);
  const pid_t probe = spawn_self(
      {"colltune-probe", std::string(probe_role), std::to_string(getpid()), plugin.string()},
      own_environment(), none);
  const bool has_ended = ends_within(probe, limit);
  if (!has_ended) kill(probe, SIGKILL);
  const int status = wait_for(probe);
  if (!has_ended)
    fail(plugin, fmt::format("loading it and asking for its description did not end within {} s "
                             "(--call-limit)",
                             static_cast<double>(limit.count()) / 1e3));
  if (WIFSIGNALED(status))
    fail(plugin, fmt::format("loading it or asking for its description crashes by signal {} ({})",
                             WTERMSIG(status), strsignal(WTERMSIG(status))));
  if (WEXITSTATUS(status) != code_came_back)
    fail(plugin,
         fmt::format("it ends the process that loads it, with exit code {}", WEXITSTATUS(status)));
}

std::optional<int> run_plugin_probe(int argc, char** argv) {
  if (argc < 4 || argv[1] != probe_role) return std::nullopt;
  // A plug-in that hangs must not outlive a rank that is killed meanwhile.
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (std::to_string(getppid()) != argv[2]) return code_came_back;
  // Silences the probe: the process that asked reports each problem once.
  const Descriptor nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere.get(), stream);
  try {
    (void)load_plugin(argv[3]);
  } catch (const Error&) {
  }
  _exit(code_came_back);
}

}  // namespace colltune
