// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// Where there is no libFuzzer: random changes of the seeds, the same in every run. It sees less,
// and finds what is near.
//
//   wire_fuzz [SECONDS]      until then, 5 s unless said otherwise
//   wire_fuzz --full         a million inputs

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "fuzz_target.h"

namespace {

constexpr std::size_t longest_input = 1U << 16U;

/// One of the seeds with some of it replaced, left out, doubled, or put together with another one.
std::string changed(const std::vector<std::string>& seeds, std::mt19937_64& random) {
  const auto below = [&](std::size_t limit) { return limit == 0 ? 0 : random() % limit; };
  std::string input = seeds[below(seeds.size())];
  for (auto changes = 1 + below(8); changes > 0; --changes) {
    const std::size_t at = below(input.size() + 1);
    const std::size_t length = std::min<std::size_t>(below(16), input.size() - at);
    switch (below(6)) {
      case 0:
        if (at < input.size()) input[at] = static_cast<char>(random());
        break;
      case 1:
        input.erase(at, length);
        break;
      case 2:
        input.insert(at, input.substr(below(input.size() + 1), below(32)));
        break;
      case 3:
        input.insert(at, 1 + below(4), static_cast<char>(random()));
        break;
      case 4: {
        constexpr const char* edges[] = {"-1", "0", "9223372036854775808", "1e999", "null", "[]"};
        input.replace(at, length, edges[below(std::size(edges))]);
        break;
      }
      default: {
        const std::string& other = seeds[below(seeds.size())];
        input.replace(at, std::string::npos, other.substr(below(other.size() + 1)));
      }
    }
  }
  input.resize(std::min(input.size(), longest_input));
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_full = argc > 1 && std::strcmp(argv[1], "--full") == 0;
  const double seconds = argc > 1 && !is_full ? std::atof(argv[1]) : 5;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  const std::vector<std::string> seeds = colltune::fuzz::seeds();
  std::mt19937_64 random(20260102);
  unsigned long inputs = 0;
  for (const std::string& seed : seeds) colltune::fuzz::run(seed);
  while (is_full ? inputs < 1'000'000 : std::chrono::steady_clock::now() < end) {
    colltune::fuzz::run(changed(seeds, random));
    ++inputs;
  }
  std::printf("%lu inputs\n", inputs);
  return inputs > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
