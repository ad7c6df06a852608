// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "library_log.h"

#include <google/protobuf/stubs/logging.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace colltune {
namespace {

constexpr int most_lines_per_second = 5;

/// Whether one more line may be written in this second. The library takes a plain function, so that
/// the count lives here.
bool may_write() {
  static std::atomic<std::int64_t> second{0};
  static std::atomic<int> lines{0};
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(
                       std::chrono::steady_clock::now().time_since_epoch())
                       .count();
  if (second.exchange(now) != now) lines = 0;
  return ++lines <= most_lines_per_second;
}

void write_line(google::protobuf::LogLevel, const char*, int, const std::string& text) {
  if (spdlog::should_log(spdlog::level::debug) && may_write()) spdlog::debug("protobuf: {}", text);
}

}  // namespace

void limit_library_log() { google::protobuf::SetLogHandler(write_line); }

}  // namespace colltune
