// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "lookup_command.h"

namespace colltune {

/// Explains the answer to a lookup: the answer, every variant that was measured for its key and
/// what became of it, what was not measured there and why, and which ranks support that. Works on a
/// database only. Throws what a lookup throws, and Error(invalid_argument) if a server is named.
void run_explain(const LookupOptions& options, std::ostream& out);

}  // namespace colltune
