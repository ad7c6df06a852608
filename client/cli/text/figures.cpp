// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "figures.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace colltune {

std::string microseconds(std::chrono::nanoseconds time) {
  return fmt::format("{:.2f}", static_cast<double>(time.count()) / 1000.0);
}

std::string speedup(const RankedVariant& ranked) {
  return ranked.speedup_over_baseline > 0 ? fmt::format("{:.2f}x", ranked.speedup_over_baseline)
                                          : "-";
}

std::string note_of(const RankedVariant& ranked) {
  if (!ranked.is_baseline) return ranked.is_emulated ? "emulated" : "";
  return ranked.is_emulated ? "emulated baseline" : "baseline";
}

std::string verdict_text(const Decision& decision) {
  return decision.verdict == Verdict::no_baseline ? "fastest"
                                                  : std::string(name_of(decision.verdict));
}

std::string status_text(const Decision& decision) {
  std::string text = fmt::format("{}, {}",
                                 decision.verdict == Verdict::no_baseline
                                     ? "the fastest of its family, which has no baseline"
                                     : name_of(decision.verdict),
                                 name_of(decision.status));
  if (decision.status != DecisionStatus::confirmed) return text;
  const Confirmation& by = decision.confirmation;
  text += fmt::format(" by {} launches", by.launches);
  return by.speedup > 0 ? text + fmt::format(" ({:.2f}x, at least {:.2f}x)", by.speedup, by.low)
                        : text;
}

double algorithm_bandwidth(Bytes size, std::chrono::nanoseconds time) {
  return time.count() > 0 ? static_cast<double>(size.value) / static_cast<double>(time.count())
                          : 0.0;
}

std::string short_form(const std::string& digest) { return digest.substr(0, 8); }

std::string now_utc() { return utc_after(std::chrono::seconds(0)); }

std::string utc_after(std::chrono::seconds wait) {
  return fmt::format(
      "{:%Y-%m-%dT%H:%M:%SZ}",
      fmt::gmtime(std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()) +
                  wait));
}

}  // namespace colltune
