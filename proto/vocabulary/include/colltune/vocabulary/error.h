// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace colltune {

/// What went wrong, in gRPC's canonical codes (same names, same numbers).
enum class StatusCode {
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  already_exists = 6,
  permission_denied = 7,
  resource_exhausted = 8,
  failed_precondition = 9,
  aborted = 10,
  out_of_range = 11,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  data_loss = 15,
};

/// Ends an operation. The message says what was wrong, where it was found and what is allowed.
class Error : public std::runtime_error {
 public:
  Error(StatusCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] StatusCode code() const noexcept { return code_; }

 private:
  StatusCode code_;
};

/// The exit code that every program of the project uses for an error, as documented in README.md: 2
/// wrong usage or input, 3 nothing found, 4 something was unreachable or late, 5 damaged data, 1
/// anything else.
[[nodiscard]] int exit_code_of(StatusCode code) noexcept;

}  // namespace colltune
