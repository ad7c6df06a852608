// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "supervised_launch.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

namespace colltune::literals {
namespace {

using namespace std::chrono_literals;

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

bool comes_true(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + 60s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

SupervisedLaunch::SupervisedLaunch(const std::vector<std::string>& launcher,
                                   const std::vector<std::string>& fault)
    : database_((folder_ / "tuning.db").string()) {
  start_fake_agent(launcher, fault);
}

SupervisedLaunch::SupervisedLaunch(const SupervisedLaunch& other,
                                   const std::vector<std::string>& fault)
    : database_(other.database_) {
  start_fake_agent({}, fault);
}

void SupervisedLaunch::start_fake_agent(const std::vector<std::string>& launcher,
                                        const std::vector<std::string>& fault) {
  std::vector<std::string> command = launcher;
  command.insert(command.end(), {COLLTUNE_FAKE_AGENT, database_});
  command.insert(command.end(), fault.begin(), fault.end());
  start(std::move(command));
}

SupervisedLaunch::SupervisedLaunch(const std::vector<std::string>& command)
    : database_((folder_ / "tuning.db").string()) {
  start(command);
}

void SupervisedLaunch::start(std::vector<std::string> command) {
  mark_ = "COLLTUNE_TEST_MARK=" + folder_.path().string();
  command.insert(command.begin(), {COLLTUNE_DRIVER, database_});
  std::vector<char*> arguments;
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  std::vector<char*> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  environment.push_back(mark_.data());
  environment.push_back(nullptr);

  const std::string log = database_ + ".log";
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  if (posix_spawn(&driver_, COLLTUNE_DRIVER, &files, nullptr, arguments.data(),
                  environment.data()) != 0)
    driver_ = -1;
  posix_spawn_file_actions_destroy(&files);
}

SupervisedLaunch::~SupervisedLaunch() {
  for (const pid_t pid : processes()) kill(pid, SIGKILL);
  if (driver_ > 0) waitpid(driver_, nullptr, 0);
}

int SupervisedLaunch::wait() {
  int status = 0;
  if (!comes_true([&] { return waitpid(driver_, &status, WNOHANG) == driver_; })) return -1;
  driver_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void SupervisedLaunch::signal(int number) const { kill(driver_, number); }

std::vector<std::string> SupervisedLaunch::lines(const std::string& what) const {
  std::ifstream file(database_ + "." + what);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::string SupervisedLaunch::log() const { return content_of(database_ + ".log"); }

bool SupervisedLaunch::has(const std::string& what) const {
  return std::filesystem::exists(database_ + "." + what);
}

void SupervisedLaunch::touch(const std::string& what) const {
  std::ofstream(database_ + "." + what) << "\n";
}

std::vector<pid_t> SupervisedLaunch::processes() const {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    // Of a dead process the environment is empty.
    const std::string environment = '\0' + content_of(entry.path() / "environ");
    if (environment.find('\0' + mark_ + '\0') != std::string::npos)
      found.push_back(std::stoi(name));
  }
  return found;
}

pid_t SupervisedLaunch::child_of(pid_t parent) const {
  const std::string line = "\nPPid:\t" + std::to_string(parent) + "\n";
  for (const pid_t pid : processes())
    if (content_of("/proc/" + std::to_string(pid) + "/status").find(line) != std::string::npos)
      return pid;
  return 0;
}

}  // namespace colltune::literals
