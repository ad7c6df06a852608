// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "../programs/launches.h"

/// Programs that are launched with a planted table and the component for Open MPI.
namespace colltune::testing {

class Component : public Launches {
 protected:
  /// A setting of some ranks, for the launcher.
  static std::vector<std::string> set(const std::string& name, const std::string& value) {
    return {"-x", name + "=" + value};
  }
  /// What switches the component on.
  static std::vector<std::string> on(int seed = 1) {
    return with(
        with(set("COLLTUNE_TABLE", table(seed)), set("COLLTUNE_REPORT", "1")),
        {"--mca", "mca_base_component_path", COMPONENT_FOLDER ":SYSTEM_DEFAULT:USER_DEFAULT"});
  }
};

}  // namespace colltune::testing
