// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// Writes a table file in which kernels of ours win everywhere, or are next: planted_table.h.
//
//   planted_table FILE SEED [library_wins] NODESxRANKS_PER_NODE...

#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "planted_table.h"

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: planted_table FILE SEED [library_wins] NODESxRANKS_PER_NODE...\n";
    return 2;
  }
  try {
    std::vector<colltune::test::PlantedWorld> worlds;
    const colltune::test::PlantedCalls calls{.library_wins =
                                                 std::string(argv[3]) == "library_wins"};
    for (int i = calls.library_wins ? 4 : 3; i < argc; ++i) {
      const std::string world = argv[i];
      worlds.push_back({std::atoi(world.c_str()), std::atoi(world.c_str() + world.find('x') + 1)});
    }
    std::ofstream(argv[1], std::ios::binary)
        << colltune::test::planted_table(static_cast<unsigned>(std::atoi(argv[2])), worlds, calls);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
