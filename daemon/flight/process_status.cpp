// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/flight/process_status.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstring>
#include <string_view>

namespace colltune {
namespace {

constexpr int state_field = 3;
constexpr int parent_field = 4;
constexpr int start_field = 22;  // of /proc/PID/stat, counted from 1 as proc(5) does

template <class Number>
bool parse(std::string_view text, Number& value) {
  return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc();
}

}  // namespace

std::optional<ProcessStatus> read_process_status(pid_t pid) noexcept {
  std::array<char, 32> path{};
  constexpr std::string_view begin = "/proc/";
  constexpr std::string_view end = "/stat";
  std::memcpy(path.data(), begin.data(), begin.size());
  char* digits = path.data() + begin.size();
  digits = std::to_chars(digits, path.data() + path.size() - end.size() - 1, pid).ptr;
  std::memcpy(digits, end.data(), end.size());

  const int file = open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::array<char, 1024> buffer{};
  const ssize_t length = read(file, buffer.data(), buffer.size());
  close(file);
  if (length <= 0) return std::nullopt;

  // The second field is the program's name in parentheses, which may itself contain any character;
  // the last ')' ends it.
  std::string_view text(buffer.data(), static_cast<std::size_t>(length));
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  text.remove_prefix(name_end + 1);

  ProcessStatus status;
  for (int field = state_field; field <= start_field; ++field) {
    const std::size_t at = text.find_first_not_of(' ');
    if (at == std::string_view::npos) return std::nullopt;
    text.remove_prefix(at);
    const std::string_view word = text.substr(0, text.find(' '));
    if (field == state_field) status.state = word.front();
    if (field == parent_field && !parse(word, status.parent)) return std::nullopt;
    if (field == start_field && !parse(word, status.start_ticks)) return std::nullopt;
    text.remove_prefix(word.size());
  }
  return status;
}

}  // namespace colltune
