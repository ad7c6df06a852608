// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/supervise/launch_helper.h"

#include <string>
#include <string_view>
#include <vector>

#include "colltune/hosts/witness.h"
#include "keeper.h"

namespace colltune {

std::optional<int> run_launch_helper(int argc, char** argv) {
  if (argc < 2) return std::nullopt;
  const std::string_view role = argv[1];
  const std::vector<std::string> arguments(argv + 2, argv + argc);
  if (role == keep_launch_role) return keep_launch(arguments);
  if (role == exec_launch_role) return exec_launch(arguments);
  if (role == witness_role) return run_witness(arguments);
  return std::nullopt;
}

}  // namespace colltune
