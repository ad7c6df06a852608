// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "running_open_mpi.h"

#include <mpi.h>

#include <array>
#include <string_view>

namespace colltune {

std::string running_open_mpi() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  PMPI_Get_library_version(text.data(), &length);
  const std::string_view all(text.data(), static_cast<std::size_t>(length));
  constexpr std::string_view name = "Open MPI v";
  if (!all.starts_with(name)) return std::string(all.substr(0, all.find(',')));
  const std::string_view version = all.substr(name.size());
  return std::string(version.substr(0, version.find('.', version.find('.') + 1)));
}

}  // namespace colltune
