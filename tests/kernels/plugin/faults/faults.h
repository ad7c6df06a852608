// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "all_reduce.h"

namespace faults {

/// One implementation of this plug-in.
struct Fault {
  const char* name;
  const char* description;
  const char* parameters;  ///< as JSON
  /// Whether it can show out of place alone.
  bool needs_own_input = false;
  std::unique_ptr<AllReduce> (*make)(const Request& request);
};

/// Every implementation of this plug-in.
[[nodiscard]] std::span<const Fault> all_faults();

}  // namespace faults
