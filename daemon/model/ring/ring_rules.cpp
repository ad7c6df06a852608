// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/ring/ring_rules.h"

#include <bit>
#include <charconv>
#include <string>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

/// A name's number is the compute capability times ten. From this one on the default values hold.
constexpr int first_default = 100;

[[noreturn]] void fail(std::string_view architecture) {
  throw Error(StatusCode::invalid_argument,
              "the rules of ctring have no values for architecture '" + std::string(architecture) +
                  "'; allowed are NVIDIA's, as in sm_80, sm_90, sm_100a");
}

}  // namespace

RingArchitecture ring_architecture_of(std::string_view architecture) {
  constexpr std::string_view prefix = "sm_";
  if (!architecture.starts_with(prefix)) fail(architecture);
  const std::string_view digits = architecture.substr(prefix.size());
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || number < 10 || digits.front() == '0') fail(architecture);
  // "a" and "f" name features of the same device.
  const std::string_view rest = digits.substr(static_cast<std::size_t>(end - digits.data()));
  if (!rest.empty() && rest != "a" && rest != "f") fail(architecture);
  return number < first_default ? RingArchitecture::hopper : RingArchitecture::default_values;
}

std::uint64_t nearest_power_of_two(std::uint64_t number) {
  if (number <= 1) return 1;
  const std::uint64_t low = std::bit_floor(number);
  if (low == number || number - low < low - (number - low)) return low;
  if (low > (std::uint64_t{1} << 62))
    throw Error(StatusCode::out_of_range, std::to_string(number) +
                                              " has no nearest power of two in 64 bits; at most "
                                              "13835058055282163711 has");
  return low * 2;
}

}  // namespace colltune
