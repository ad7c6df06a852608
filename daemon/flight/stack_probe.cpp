// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "stack_probe.h"

#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <thread>

namespace colltune {
namespace {

using namespace std::chrono_literals;

constexpr int most_frames = 64;
// The handler itself, and the kernel's frame that returns from it.
constexpr int frames_of_handler = 2;
// Several times the size of /proc/self/maps in an MPI process. Addresses beyond it have no name.
constexpr std::size_t map_size = 512 << 10;

// A real-time signal carries the request's address, so that no global variable is needed. This one
// is away from the ends of the range, where debuggers and profilers take theirs.
int probe_signal() { return SIGRTMIN + 7; }

}  // namespace

struct StackProbe::Request {
  std::array<void*, most_frames> frames{};
  std::array<std::uintptr_t, most_frames> addresses{};
  std::atomic<int> count{-1};  ///< -1: no answer yet
  std::atomic<bool> is_pending{false};

  static void answer(int, siginfo_t* info, void*) {
    const int error = errno;
    if (info->si_code == SI_QUEUE && info->si_value.sival_ptr != nullptr) {
      auto* request = static_cast<Request*>(info->si_value.sival_ptr);
      const int count = backtrace(request->frames.data(), most_frames);
      request->count.store(count, std::memory_order_release);
      request->is_pending.store(false, std::memory_order_release);
    }
    errno = error;
  }
};

StackProbe::StackProbe() : request_(new Request), thread_(static_cast<pid_t>(syscall(SYS_gettid))) {
  // The first call loads the unwinder, which a signal handler must not do.
  (void)backtrace(request_->frames.data(), most_frames);
  struct sigaction action {};
  action.sa_sigaction = &Request::answer;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  // The handler is never removed: a late signal must not end the process.
  sigaction(probe_signal(), &action, nullptr);
  sigset_t own;
  sigemptyset(&own);
  sigaddset(&own, probe_signal());
  pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
}

StackProbe::~StackProbe() {
  // A thread that has not answered may still answer, and then writes here.
  if (!request_->is_pending.load(std::memory_order_acquire)) delete request_;
}

std::span<const std::uintptr_t> StackProbe::take(std::chrono::milliseconds patience) {
  if (request_->is_pending.exchange(true, std::memory_order_acq_rel)) return {};
  request_->count.store(-1, std::memory_order_relaxed);
  siginfo_t info{};
  info.si_code = SI_QUEUE;
  info.si_pid = getpid();
  info.si_uid = getuid();
  info.si_value.sival_ptr = request_;
  if (syscall(SYS_rt_tgsigqueueinfo, getpid(), thread_, probe_signal(), &info) != 0) {
    request_->is_pending.store(false, std::memory_order_release);
    return {};
  }
  const auto end = std::chrono::steady_clock::now() + patience;
  int count = -1;
  while ((count = request_->count.load(std::memory_order_acquire)) < 0 &&
         std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(1ms);
  if (count <= frames_of_handler) return {};
  const auto found =
      std::span(request_->frames).first(static_cast<std::size_t>(count)).subspan(frames_of_handler);
  std::ranges::transform(found, request_->addresses.begin(), [](const void* address) {
    return reinterpret_cast<std::uintptr_t>(address);
  });
  return std::span(request_->addresses).first(found.size());
}

CodeMap::CodeMap() : memory_(map_size) {}

void CodeMap::read() {
  size_ = 0;
  const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  while (size_ < memory_.size()) {
    const ssize_t count = ::read(file, memory_.data() + size_, memory_.size() - size_);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    size_ += static_cast<std::size_t>(count);
  }
  close(file);
}

std::string_view CodeMap::file_at(std::uintptr_t address) const {
  constexpr int base = 16;
  std::string_view left(memory_.data(), size_);
  while (!left.empty()) {
    // "7f12a000-7f12b000 r-xp 00000000 fe:01 1234       /usr/lib/libmpi.so.40"
    const std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(left.size(), line.size() + 1));
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    const char* const last = line.data() + line.size();
    const auto [dash, bad_begin] = std::from_chars(line.data(), last, begin, base);
    if (bad_begin != std::errc() || dash == last) continue;
    if (std::from_chars(dash + 1, last, end, base).ec != std::errc()) continue;
    if (address < begin || address >= end) continue;
    const std::size_t path = line.find('/');
    return path == std::string_view::npos ? std::string_view{} : line.substr(line.rfind('/') + 1);
  }
  return {};
}

}  // namespace colltune
