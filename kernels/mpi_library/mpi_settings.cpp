// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/mpi_library/mpi_settings.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "colltune/vocabulary/canonical.h"
#include "control_variable.h"
#include "mpi_handles.h"

namespace colltune {
namespace {

constexpr const char* dynamic_rules = "coll_tuned_use_dynamic_rules";
constexpr const char* rules_file = "coll_tuned_dynamic_rules_filename";

/// Open MPI's function that tells where a variable's value came from (mca_base_var.h, 1.7 to 5.0);
/// MPI_T has none. Source number 0 is the default; negative results are errors.
using ValueSource = int (*)(int index, const void* value, int* source, const char** file);

ValueSource find_value_source() {
  return reinterpret_cast<ValueSource>(::dlsym(RTLD_DEFAULT, "mca_base_var_get_value"));
}

/// Whether the variable's value differs from its default. A variable of a component that is not
/// loaded has none.
bool is_set(ValueSource value_source, int index) {
  int source = 0;
  return value_source(index, nullptr, &source, nullptr) >= 0 && source != 0;
}

MpiSettings read_in_this_process() {
  MpiSettings settings;
  const MpiToolSession session;
  const ValueSource value_source = find_value_source();
  int count = 0;
  check_mpi(MPI_T_cvar_get_num(&count), "MPI_T_cvar_get_num");
  std::map<std::string, std::string> all;
  for (int index = 0; index < count; ++index) {
    if (value_source != nullptr && !is_set(value_source, index)) continue;
    const auto variable = ControlVariable::at(index);
    if (!variable) continue;
    if (value_source != nullptr)
      settings.in_force.emplace(variable->name(), variable->read_text());
    else
      all.emplace(variable->name(), variable->read_text());
  }
  if (!all.empty()) {
    std::string text;
    for (const auto& [name, value] : all) text += name + "=" + value + "\n";
    settings.in_force.emplace(all_variables, digest_of_text(text));
  }
  if (const auto rules = ControlVariable::find(dynamic_rules))
    settings.uses_dynamic_rules = rules->read() != 0;
  if (const auto file = ControlVariable::find(rules_file))
    settings.names_rules_file = !file->read_text().empty();
  return settings;
}

// The settings as bytes for the parent: a word that says what follows, the two flags, then names
// and values, each closed by a zero.
constexpr char said_settings = 'S';
constexpr char said_error = 'E';

std::string to_bytes(const MpiSettings& settings) {
  std::string bytes{said_settings, static_cast<char>(settings.uses_dynamic_rules),
                    static_cast<char>(settings.names_rules_file)};
  for (const auto& [name, value] : settings.in_force) {
    bytes.append(name).push_back('\0');
    bytes.append(value).push_back('\0');
  }
  return bytes;
}

MpiSettings settings_from(std::string_view bytes) {
  MpiSettings settings{
      .in_force = {}, .uses_dynamic_rules = bytes[1] != 0, .names_rules_file = bytes[2] != 0};
  bytes.remove_prefix(3);
  const auto take = [&] {
    std::string text(bytes.substr(0, bytes.find('\0')));
    bytes.remove_prefix(text.size() + 1);
    return text;
  };
  while (!bytes.empty()) {
    std::string name = take();
    settings.in_force.emplace(std::move(name), take());
  }
  return settings;
}

/// What the child says, until it closes its end or the limit has passed.
std::string read_until_end(int end, std::chrono::steady_clock::time_point limit) {
  std::string bytes;
  std::array<char, 4096> part{};
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        limit - std::chrono::steady_clock::now());
    pollfd ready{.fd = end, .events = POLLIN, .revents = 0};
    const int polled = left.count() > 0 ? ::poll(&ready, 1, static_cast<int>(left.count())) : 0;
    if (polled < 0 && errno == EINTR) continue;
    if (polled <= 0) return {};
    const ssize_t got = ::read(end, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return bytes;
    bytes.append(part.data(), static_cast<std::size_t>(got));
  }
}

[[noreturn]] void say_settings(int end) {
  std::string bytes;
  try {
    bytes = to_bytes(read_in_this_process());
  } catch (const std::exception& error) {
    bytes = said_error + std::string(error.what());
  }
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t put = ::write(end, bytes.data() + at, bytes.size() - at);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) break;
    at += static_cast<std::size_t>(put);
  }
  ::_exit(0);
}

}  // namespace

MpiSettings read_mpi_settings() {
  // A running library has its heap already, and threads, whose locks a child would find taken.
  int is_running = 0;
  PMPI_Initialized(&is_running);
  if (is_running != 0) return read_in_this_process();
  constexpr std::chrono::seconds patience{60};
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw Error(StatusCode::internal,
                "the MPI library's settings: pipe: " + std::string(std::strerror(errno)));
  const pid_t child = ::fork();
  if (child == 0) say_settings(ends[1]);
  ::close(ends[1]);
  const std::string bytes =
      child < 0 ? "" : read_until_end(ends[0], std::chrono::steady_clock::now() + patience);
  ::close(ends[0]);
  if (child > 0) {
    if (bytes.empty()) ::kill(child, SIGKILL);
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (bytes.size() >= 3 && bytes[0] == said_settings) return settings_from(bytes);
  throw Error(StatusCode::internal,
              "the MPI library's settings: " +
                  (bytes.empty() ? std::string("a process that asked MPI_T for them said nothing")
                                 : bytes.substr(1)));
}

void prepare_mpi_environment(const MpiSettings& user) {
  // Without it, coll/tuned accepts writes to its control variables and ignores them.
  ::setenv((std::string("OMPI_MCA_") + dynamic_rules).c_str(), "1", 0);
  // The component reads the file once, in MPI_Init. The environment takes precedence over parameter
  // files, and an empty name means no file.
  if (user.names_rules_file && !user.uses_dynamic_rules)
    ::setenv((std::string("OMPI_MCA_") + rules_file).c_str(), "", 1);
}

}  // namespace colltune
