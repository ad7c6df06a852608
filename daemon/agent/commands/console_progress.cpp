// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "console_progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <string>

namespace colltune {
namespace {

constexpr std::size_t bar_width = 30;
constexpr auto between_lines = std::chrono::seconds(5);

std::string seconds(std::chrono::nanoseconds time) {
  return fmt::format("{} s", std::chrono::round<std::chrono::seconds>(time).count());
}

std::string time_left(const SweepProgress& progress) {
  return progress.left.count() > 0 ? ", about " + seconds(progress.left) + " left" : std::string();
}

/// "12 of 32 keys", or, if a sweep visits each key several times, "40 of 128 visits, pass 2 of 4".
std::string place(const SweepProgress& progress) {
  if (progress.passes == 1)
    return fmt::format("{} of {} keys", progress.visits_done, progress.visits);
  return fmt::format("{} of {} visits, pass {} of {}", progress.visits_done, progress.visits,
                     progress.pass + 1, progress.passes);
}

}  // namespace

ConsoleProgress::ConsoleProgress(std::FILE* out)
    : out_(out), is_terminal_(isatty(fileno(out)) != 0) {}

void ConsoleProgress::begin_cell(const SweepProgress& progress, const Cell& cell) {
  const std::string what = describe(cell.key.problem) + " on " + describe(cell.key.topology);
  if (is_terminal_) {
    const std::size_t filled =
        progress.visits == 0 ? bar_width : bar_width * progress.visits_done / progress.visits;
    fmt::print(out_, "\r\033[K[{:#<{}}{:.<{}}] {}{}: {}", "", filled, "", bar_width - filled,
               place(progress), time_left(progress), what);
    std::fflush(out_);
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  if (now - last_line_ < between_lines) return;
  last_line_ = now;
  fmt::print(out_, "{} after {}{}: {}\n", place(progress), seconds(progress.elapsed),
             time_left(progress), what);
  std::fflush(out_);
}

void ConsoleProgress::end_cell(const SweepProgress& progress, const Cell& cell,
                               std::span<const Measurement> measurements) {
  for (const Measurement& measurement : measurements) {
    if (measurement.outcome == Outcome::ok) continue;
    fmt::print(out_, "{}{} is {} for {}: {}\n", is_terminal_ ? "\r\033[K" : "",
               to_string(measurement.variant), name_of(measurement.outcome),
               describe(cell.key.problem), measurement.detail);
  }
  if (is_terminal_ && progress.visits_done == progress.visits) fmt::print(out_, "\r\033[K");
  std::fflush(out_);
}

}  // namespace colltune
