// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>

#include "source/origin.h"

namespace colltune {

/// `colltune show trace` as typed.
struct TraceOptions {
  std::string trace;  ///< the file
  Origin origin;      ///< nothing given: the calls alone
  bool is_wide = false;
  bool json = false;
};

/// Which collectives a program called, how long they took, and, where decisions are named, what of
/// it they serve and what that is worth: by the table's times, not by the program's.
void run_show_trace(const TraceOptions& options, std::ostream& out);

}  // namespace colltune
