// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace colltune {

/// `colltune predict ctring` as typed.
struct CtringOptions {
  std::string rules;         ///< empty: default_ring_rules
  std::string architecture;  ///< "sm_90"
  std::uint64_t ranks = 0;
  std::uint64_t max_blocks = 64;    ///< as RingSetting::max_blocks
  std::uint64_t max_threads = 512;  ///< as RingSetting::max_threads
  std::uint64_t element_bytes = 4;
  std::uint64_t queue_pairs = 16;
  std::uint64_t devices_of_rank = 2;
  std::vector<std::string> settings;  ///< NAME=VALUE; they win over the environment's
  std::string bytes;                  ///< sizes, separated by commas; empty: ring_log_sizes()
  bool leaves_small_untuned = false;
  bool ignores_environment = false;
  bool json = false;
};

/// Adds the command `ctring` to `predict`. `options` and `out` must outlive it.
void add_ctring(CLI::App& predict, CtringOptions& options, std::ostream& out);

/// Prints what the rules of ctring decide for each size. Of `environment` ("NAME=value") it takes
/// the variables of ctring, and says which. Throws Error(invalid_argument) for what is not allowed.
void run_ctring(const CtringOptions& options, std::span<const std::string> environment,
                std::ostream& out);

}  // namespace colltune
