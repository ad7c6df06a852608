// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// colltune-agent with a catalogue whose truth is known: of each collective the MPI library's own
// choice twice, as the baseline `mpi.<collective>` and as its rival `trust.<collective>`, both
// wrapped alike. The environment says what is planted:
//
//   COLLTUNE_TRUST=delay:5   the baseline takes 5 % longer than its rival
//   COLLTUNE_TRUST=trap      the rival is 4 times as fast, but the first operation that a process
//                            prepares of it is 16 times as slow (too slow to be a contender): it
//                            wins in sweeps of several sizes, and loses in fresh launches
//   COLLTUNE_TRUST=stall:F   the baseline takes 3 times as long; the process that creates the file
//                            F stands still for 3 s before it first prepares the rival

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "agent_main.h"
#include "colltune/kernels/catalogue.h"
#include "delayed.h"

namespace {

using colltune::Implementations;
using colltune::trust::Factor;

struct Planted {
  Factor baseline;
  Factor rival;
};

Factor always(double factor) {
  return [factor](int /*number*/) { return factor; };
}

Planted planted() {
  const char* text = std::getenv("COLLTUNE_TRUST");
  const std::string what = text == nullptr ? "" : text;
  constexpr std::string_view delay = "delay:";
  constexpr std::string_view stall = "stall:";
  if (what.starts_with(stall)) {
    const std::string marker = what.substr(stall.size());
    return {always(3), [marker](int number) {
              // Whoever creates the file.
              if (number == 1 && !std::filesystem::exists(marker) && std::ofstream(marker).good())
                std::this_thread::sleep_for(std::chrono::seconds(3));
              return 1.0;
            }};
  }
  if (what == "trap") return {always(4), [](int number) { return number == 1 ? 64.0 : 1.0; }};
  if (what.starts_with(delay)) {
    char* end = nullptr;
    const double percent = std::strtod(what.c_str() + delay.size(), &end);
    if (*end == '\0' && percent >= 0 && percent <= 1000)
      return {always(1 + percent / 100), always(1)};
  }
  std::fprintf(
      stderr,
      "trust_agent: COLLTUNE_TRUST is '%s'; allowed are delay:PERCENT, trap and stall:FILE\n",
      what.c_str());
  std::exit(2);
}

Implementations make_planted_catalogue(const Planted& plants) {
  Implementations made;
  for (auto& implementation : colltune::make_catalogue()) {
    if (!implementation->is_baseline() || implementation->runs_on_device()) continue;
    const std::shared_ptr<const colltune::Implementation> inner = std::move(implementation);
    const std::string collective(colltune::name_of(inner->collective()));
    made.push_back(colltune::trust::make_delayed(
        inner, {.name = "mpi." + collective, .is_baseline = true, .factor = plants.baseline}));
    made.push_back(colltune::trust::make_delayed(
        inner, {.name = "trust." + collective, .is_baseline = false, .factor = plants.rival}));
  }
  std::ranges::sort(made, {}, [](const auto& item) { return item->name(); });
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  const Planted plants = planted();
  return colltune::run_agent(argc, argv, [&] { return make_planted_catalogue(plants); });
}
