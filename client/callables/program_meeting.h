// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <chrono>
#include <string>

namespace colltune {

/// How long ranks wait for each other in a program before it is ended, where nothing longer is
/// said.
inline constexpr auto meeting_limit = std::chrono::seconds(60);

/// Ends all ranks of the program, since some cannot go on and others wait for them; `message` is
/// for a person.
[[noreturn]] void end_program(MPI_Comm comm, const std::string& message);

/// Collective: returns when all ranks of `comm` have come, before something collective that nothing
/// bounds. After `meeting_limit` it ends the program with a message that names `what` they did not
/// come to. The waiting ranks sleep.
void meet_in_program(MPI_Comm comm, const char* what);

}  // namespace colltune
