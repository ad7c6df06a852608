// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "lookup_command.h"

namespace colltune {

/// Says why a lookup is answered as it is: the answer, every variant that was measured for its key
/// and what became of it, what was not measured there and why, and who has that. From a database
/// alone. Throws what a lookup throws; Error(invalid_argument) where a server is asked.
void run_explain(const LookupOptions& options, std::ostream& out);

}  // namespace colltune
