// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "colltune/kernels/execution/call_path.h"
#include "colltune/kernels/operation.h"

namespace colltune {

/// What was prepared for a call, so that its calls go through what a program's calls go through:
/// CallPath. It is bound to other buffers and never rebound.
class CalledAsInPrograms : public Operation {
 public:
  CalledAsInPrograms(std::unique_ptr<Operation> prepared, const Call& call);

  void bind(const CallBuffers& buffers) override { buffers_ = buffers; }
  void start() override;
  void wait(Deadline deadline) override;
  [[nodiscard]] std::optional<std::chrono::nanoseconds> device_time() const override {
    return prepared_.device_time();
  }
  [[nodiscard]] std::optional<Executed> executed() const override { return prepared_.executed(); }
  [[nodiscard]] bool is_lost() const override { return prepared_.is_lost(); }
  void give_up() noexcept override { prepared_.give_up(); }
  [[nodiscard]] std::optional<std::chrono::nanoseconds> communicators_time() const override {
    return prepared_.communicators_time();
  }

 protected:
  /// The call as a program's, and its data type and operator.
  [[nodiscard]] const ProgramCall& program_call() const { return call_; }
  /// Returns the choice that runs `call`: none (CallPath::library) unless it is the prepared one.
  [[nodiscard]] std::uint16_t begin(const ProgramCall& call) noexcept {
    return path_.begin(call, [this](const ProgramCall& other) {
      return CallPath::Found{.call = other,
                             .entry = CallLog::entry_of(other),
                             .choice = other == call_ ? only : CallPath::library};
    });
  }
  /// As CallPath's, in place where the prepared call is.
  void start(std::uint16_t choice, const CallBuffers& buffers,
             std::span<const std::size_t> blocks) {
    const auto prepare = [](std::uint16_t, const Call&) { return std::unique_ptr<Operation>(); };
    (void)path_.start(choice, call_, in_place_, buffers, blocks, prepare);
  }
  void complete(Deadline deadline) { path_.wait(deadline); }
  void finish() noexcept { path_.finish(); }

 private:
  static constexpr std::uint16_t only = 1;

  ProgramCall call_;
  bool in_place_;
  CallBuffers buffers_;
  std::vector<std::size_t> blocks_;
  Operation& prepared_;  ///< of `path_`
  CallPath path_;
};

}  // namespace colltune
