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

/// Where a thread of this process is, asked from another one when it hangs: until then it costs
/// nothing. The thread walks its own stack in a signal's handler; what it finds is told by the
/// object files it lies in, from the innermost call outwards.
class StackProbe {
 public:
  /// Of the thread that constructs it.
  StackProbe();
  ~StackProbe();
  StackProbe(const StackProbe&) = delete;
  StackProbe& operator=(const StackProbe&) = delete;

  /// The thread's return addresses, the innermost first; empty where it does not answer within
  /// `patience` (it is stopped, or inside the kernel). Takes no lock and allocates nothing. Not for
  /// the thread itself.
  [[nodiscard]] std::span<const std::uintptr_t> take(std::chrono::milliseconds patience);

 private:
  struct Request;
  Request* request_;
  pid_t thread_;
};

/// Which file's code lies where in this process, as the kernel lists it. Reading takes no lock and
/// allocates nothing: the memory for it is taken by the constructor.
class CodeMap {
 public:
  CodeMap();
  void read();
  /// Name of the file that holds this address, without its folders; empty where none does. Valid
  /// until the next `read`.
  [[nodiscard]] std::string_view file_at(std::uintptr_t address) const;

 private:
  std::vector<char> memory_;
  std::size_t size_ = 0;
};

}  // namespace colltune
