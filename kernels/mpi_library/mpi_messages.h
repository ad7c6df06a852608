// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "colltune/kernels/messages.h"
#include "mpi_handles.h"

namespace colltune {

/// Messages over MPI point-to-point; nothing else uses `comm`.
[[nodiscard]] std::unique_ptr<Messages> make_mpi_messages(MpiComm comm, std::size_t numbers);

}  // namespace colltune
