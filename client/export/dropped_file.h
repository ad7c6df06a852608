// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace colltune {

/// Thrown inside the checks of Open MPI's files of rules: why the library drops a file.
struct DroppedFile {
  std::string why;
};

}  // namespace colltune
