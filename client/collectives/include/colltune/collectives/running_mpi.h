// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace colltune {

/// The MPI library that this process runs, with its minor release: "Open MPI 4.1", "MPICH 4.0";
/// what it says of itself if it is another one. May be called before MPI_Init.
[[nodiscard]] std::string running_mpi();

}  // namespace colltune
