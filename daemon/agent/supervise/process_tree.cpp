// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "process_tree.h"

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <memory>
#include <set>
#include <thread>
#include <utility>

#include "colltune/flight/process_status.h"

namespace colltune {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// A killed process is gone within a millisecond; its parent needs about another to notice.
constexpr auto pause_between_walks = 10ms;

struct CloseDirectory {
  void operator()(DIR* directory) const noexcept { closedir(directory); }
};

std::vector<std::pair<pid_t, pid_t>> list_processes_with_parents() {
  std::vector<std::pair<pid_t, pid_t>> processes;
  const std::unique_ptr<DIR, CloseDirectory> directory(opendir("/proc"));
  if (!directory) return processes;
  while (const dirent* entry = readdir(directory.get())) {
    pid_t pid = 0;
    const char* end = entry->d_name + std::strlen(entry->d_name);
    const auto parsed = std::from_chars(entry->d_name, end, pid);
    if (parsed.ec != std::errc() || parsed.ptr != end) continue;
    if (const auto status = read_process_status(pid)) processes.emplace_back(pid, status->parent);
  }
  return processes;
}

}  // namespace

void adopt_orphans() { prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

std::vector<pid_t> find_descendants() {
  const auto processes = list_processes_with_parents();
  std::set<pid_t> family{getpid()};
  std::vector<pid_t> descendants;
  for (bool grew = true; grew;) {
    grew = false;
    for (const auto& [pid, parent] : processes)
      if (family.contains(parent) && family.insert(pid).second) {
        descendants.push_back(pid);
        grew = true;
      }
  }
  return descendants;
}

void reap_children(const std::function<void(pid_t, int)>& tell) {
  int status = 0;
  for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) tell(pid, status);
}

std::vector<pid_t> kill_descendants(std::chrono::milliseconds patience,
                                    const std::function<void(pid_t, int)>& tell) {
  const auto end = Clock::now() + patience;
  for (;;) {
    reap_children(tell);
    std::vector<pid_t> left = find_descendants();
    if (left.empty() || Clock::now() > end) return left;
    for (const pid_t pid : left) kill(pid, SIGKILL);
    std::this_thread::sleep_for(pause_between_walks);
  }
}

void await_descendants(std::chrono::milliseconds patience,
                       const std::function<void(pid_t, int)>& tell) {
  const auto end = Clock::now() + patience;
  for (;;) {
    reap_children(tell);
    if (find_descendants().empty() || Clock::now() > end) return;
    std::this_thread::sleep_for(pause_between_walks);
  }
}

}  // namespace colltune
