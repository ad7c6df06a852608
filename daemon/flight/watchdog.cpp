// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/flight/watchdog.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "bounded_text.h"
#include "colltune/flight/flight_board.h"
#include "colltune/vocabulary/error.h"
#include "stack_probe.h"

namespace colltune {
namespace {

using namespace std::chrono_literals;

// A look costs a microsecond, so ten per second do not disturb a measurement.
constexpr auto shortest_interval = 100ms;
// A report is one write if the reader accepts it at once, so that lines of several ranks do not
// mix.
constexpr std::size_t longest_report = 1 << 20;

// A thread that runs, or is in a system call that a signal interrupts, answers within microseconds
// once it has a core.
constexpr auto patience_with_thread = 100ms;
// Gives the watchdogs of ranks in the same step, or behind, time to look too: as long as one of
// their intervals, and less than the supervisor's grace.
constexpr auto patience_with_peers = 300ms;
constexpr auto look_at_peers = 10ms;

/// Blocks all signals, so that no handler of the process runs on the watchdog's thread.
std::jthread start_without_signals(auto body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::jthread thread(std::move(body));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

/// Its address identifies the file that contains this code.
void anchor() {}

}  // namespace

Watchdog::Watchdog(FlightRecorder& recorder, WatchdogOptions options)
    : recorder_(recorder),
      options_(std::move(options)),
      text_(std::min(longest_report,
                     text_per_rank * (1 + options_.board.size() / flight_region_size))),
      probe_(std::make_unique<StackProbe>()),
      code_(std::make_unique<CodeMap>()),
      wake_up_(eventfd(0, EFD_CLOEXEC)) {
  if (wake_up_ < 0)
    throw Error(StatusCode::resource_exhausted,
                std::string("the watchdog cannot start: eventfd: ") + std::strerror(errno));
  options_.interval = std::max(options_.interval, std::chrono::milliseconds(shortest_interval));
  code_->read();
  own_file_ = code_->file_at(reinterpret_cast<std::uintptr_t>(&anchor));
  for (const void* address : options_.peer_libraries)
    if (const auto file = code_->file_at(reinterpret_cast<std::uintptr_t>(address));
        !file.empty() && file != own_file_)
      peer_files_.emplace_back(file);
  thread_ = start_without_signals([this](const std::stop_token& stop) { watch(stop); });
}

Watchdog::~Watchdog() {
  thread_.request_stop();
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(wake_up_, &one, sizeof one);
  thread_.join();
  close(wake_up_);
}

void Watchdog::watch(const std::stop_token& stop) {
  std::uint64_t reported = 0;
  bool is_located = false;
  while (!stop.stop_requested()) {
    pollfd wake_up{.fd = wake_up_, .events = POLLIN, .revents = 0};
    poll(&wake_up, 1, static_cast<int>(options_.interval.count()));
    if (stop.stop_requested()) return;
    const auto step = read_current_step(recorder_.region());
    const SteadyTime now = std::chrono::steady_clock::now();
    const bool is_late = step && step->deadline && now > *step->deadline + options_.grace;
    // Another rank is late: this rank's whereabouts help to tell which rank waits for which.
    if (!is_late && !is_located && is_claimed(options_.board)) is_located = (locate_thread(), true);
    if (!is_late || step->sequence == reported) continue;
    reported = step->sequence;
    recorder_.mark(Fate::late);
    report(*step, now);
    if (!options_.on_late) _exit(late_exit_code);
    options_.on_late(*step);
  }
}

void Watchdog::locate_thread() {
  const auto stack = probe_->take(patience_with_thread);
  if (stack.empty()) return recorder_.locate(Whereabouts::silent, {});
  code_->read();
  std::array<char, 256> memory{};
  BoundedText text(memory);
  Whereabouts whereabouts = Whereabouts::elsewhere;
  std::string_view last;
  for (const std::uintptr_t address : stack) {
    const std::string_view file = code_->file_at(address);
    if (file.empty() || file == last) continue;
    text << (last.empty() ? "" : " < ") << file;
    last = file;
    if (file == own_file_) break;
    if (is_peer_library(file)) whereabouts = Whereabouts::at_peers;
  }
  recorder_.locate(whereabouts, text.view());
}

bool Watchdog::is_peer_library(std::string_view file) const {
  return std::ranges::find(peer_files_, file) != peer_files_.end();
}

void Watchdog::await_peers(const FlightStepRecord& late) const {
  const auto is_to_come = [&](std::span<std::byte> region) {
    const auto peer = read_position(region);
    if (!peer || peer->whereabouts != Whereabouts::unknown || peer->current() == nullptr ||
        peer->current()->collective_steps > late.collective_steps ||
        (peer->fate != Fate::running && peer->fate != Fate::late))
      return false;
    const std::string_view condition = process_condition(*peer);
    if (condition == "stopped") note_stopped(region);
    return condition != "stopped" && condition != "gone";
  };
  const auto is_anyone_to_come = [&] {
    bool is_any = false;
    for (std::span<std::byte> left = options_.board; left.size() >= flight_region_size;
         left = left.subspan(flight_region_size))
      is_any = is_to_come(left.first(flight_region_size)) || is_any;
    return is_any;
  };
  const auto end = std::chrono::steady_clock::now() + patience_with_peers;
  while (is_anyone_to_come() && std::chrono::steady_clock::now() < end)
    poll(nullptr, 0, static_cast<int>(look_at_peers / 1ms));
}

void Watchdog::report(const FlightStepRecord& late, SteadyTime now) {
  const bool prints_all = !options_.board.empty() && claim_board(options_.board);
  locate_thread();
  await_peers(late);
  const std::span<const std::byte> shown =
      prints_all ? std::span<const std::byte>(options_.board) : recorder_.region();
  std::array<char, 1024> first_line{};
  BoundedText text(first_line);
  text << "colltune-agent: ";
  if (const auto own = read_position(recorder_.region()))
    text << "rank " << own->rank << " on " << own->host.view() << ": ";
  text << late.activity.view();
  if (late.variant.size > 0) text << " of " << late.variant.view();
  text << " did not end within its limit of "
       << std::chrono::nanoseconds(*late.deadline - late.begin)
       << (prints_all ? "; who is where on this node:\n" : "\n");
  write_all(text.view());
  const std::size_t size = render_board(shown, now, options_.history, text_);
  write_all({text_.data(), size});
}

void Watchdog::write_all(std::string_view text) const {
  // A reader that takes nothing (a full pipe) must not keep the process from ending.
  constexpr int patience_ms = 500;
  while (!text.empty()) {
    pollfd sink{.fd = options_.report_to, .events = POLLOUT, .revents = 0};
    if (poll(&sink, 1, patience_ms) <= 0) return;
    const ssize_t written = write(options_.report_to, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace colltune
