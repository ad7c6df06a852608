// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace colltune {

/// Finds where a thread of this process is, on request from another thread when it hangs; until
/// then it costs nothing. The thread walks its own stack in a signal handler. The result is the
/// object files on the stack, from the innermost call outwards.
class StackProbe {
 public:
  /// Probes the thread that constructs it.
  StackProbe();
  ~StackProbe();
  StackProbe(const StackProbe&) = delete;
  StackProbe& operator=(const StackProbe&) = delete;

  /// The thread's return addresses, the innermost first; empty if it does not answer within
  /// `patience` (it is stopped, or inside the kernel). Takes no lock and allocates nothing. Must
  /// not be called on the probed thread.
  [[nodiscard]] std::span<const std::uintptr_t> take(std::chrono::milliseconds patience);

 private:
  struct Request;
  Request* request_;
  pid_t thread_;
};

/// Which file's code lies at which addresses of this process, as the kernel lists it. Reading takes
/// no lock and allocates nothing, since the constructor allocates the memory.
class CodeMap {
 public:
  CodeMap();
  void read();
  /// Name of the file that contains this address, without its folders; empty if none does. Valid
  /// until the next `read`.
  [[nodiscard]] std::string_view file_at(std::uintptr_t address) const;

 private:
  std::vector<char> memory_;
  std::size_t size_ = 0;
};

}  // namespace colltune
