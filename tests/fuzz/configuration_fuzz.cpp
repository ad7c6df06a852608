// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// The configuration of a sweep.

#include <fstream>
#include <sstream>

#include "colltune/sweep/spec/sweep_spec.h"
#include "colltune/vocabulary/error.h"
#include "fuzz_target.h"

namespace colltune::fuzz {

std::vector<std::string> seeds() {
  std::vector<std::string> texts{
      R"({"version": 1, "collectives": ["all_reduce"], "sizes": "1KiB..64KiB x2, 8",
          "types": ["f32", "i8"], "ops": ["sum"], "worlds": [{"nodes": 1, "ranks_per_node": 2}],
          "parameters": {"cpu.*": {"chunk": [0, 4096]}}, "precision": 0.02})",
      R"({"version": 1, "meshes": [{"shape": "2x3", "reduce": "0:sum,{0-2|3-5}:sum"}],
          "sizes": [8, "1M"], "launch_environments": [{"name": "a", "variables": {"X": "1"}}]})",
      R"({"version": 1, "calls": [{"collective": "all_reduce", "type": "f64", "op": "sum",
          "size": "64KiB", "nodes": 1, "ranks_per_node": 2, "weight": 12.5},
          {"collective": "gather", "type": "u8", "size": 77}]})"};
  for (const char* name : {"quick.json", "mesh.json"}) {
    std::ostringstream text;
    text << std::ifstream(std::string(COLLTUNE_CONFIGS) + "/" + name).rdbuf();
    texts.push_back(text.str());
  }
  return texts;
}

void run(std::string_view input) {
  try {
    (void)parse_sweep_spec(input, "input");
  } catch (const Error&) {  // what is expected of bad input
  }
}

}  // namespace colltune::fuzz
