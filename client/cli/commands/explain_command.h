// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "lookup_command.h"

namespace colltune {

/// Explains the answer to a lookup: the answer, every variant that was measured for its key and
/// what became of it, what was not measured there and why, and which ranks support that. From a
/// server or a table file, which hold decisions alone, it is the answer and the ranked variants.
/// Throws what a lookup throws.
void run_explain(const LookupOptions& options, std::ostream& out);

}  // namespace colltune
