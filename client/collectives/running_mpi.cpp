// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/collectives/running_mpi.h"

#include <mpi.h>

#include <array>
#include <string_view>
#include <utility>

namespace colltune {

std::string running_mpi() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  PMPI_Get_library_version(text.data(), &length);
  const std::string_view all(text.data(), static_cast<std::size_t>(length));
  using Pair = std::pair<std::string_view, std::string_view>;
  for (const auto& [begin, name] :
       {Pair{"Open MPI v", "Open MPI "}, Pair{"MPICH Version:", "MPICH "}}) {
    if (!all.starts_with(begin)) continue;
    std::string_view version = all.substr(begin.size());
    version.remove_prefix(version.find_first_not_of(" \t"));
    return std::string(name) +
           std::string(
               version.substr(0, version.find_first_not_of("0123456789", version.find('.') + 1)));
  }
  return std::string(all.substr(0, all.find_first_of(",\n")));
}

}  // namespace colltune
