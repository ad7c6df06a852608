// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

namespace colltune {

/// Yes, or no with a reason for a person.
class [[nodiscard]] Support {
 public:
  static Support yes() { return Support({}); }
  /// `reason` is not empty and reads on after "unavailable: ".
  static Support no(std::string reason) { return Support(std::move(reason)); }

  explicit operator bool() const noexcept { return reason_.empty(); }
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

 private:
  explicit Support(std::string reason) : reason_(std::move(reason)) {}
  std::string reason_;
};

}  // namespace colltune
