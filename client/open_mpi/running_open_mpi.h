// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace colltune {

/// "4.1" of the Open MPI that this process runs; what the library says of itself if it is none.
[[nodiscard]] std::string running_open_mpi();

}  // namespace colltune
