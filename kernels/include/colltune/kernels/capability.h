// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace colltune {

/// What one rank can do. Each rank detects its own and sends it to the others as data.
/// `Implementation::supports` uses nothing else about a rank, so any rank can answer for any other.
///
/// `features` maps dotted names to values: "isa.avx2" = "", "mpi.library" = "Open MPI 4.1.4",
/// "mpi.tuned.all_reduce.ring" = "4", "memory.bytes" = "…". The rank lacks every feature that is
/// absent.
struct Capability {
  std::string architecture;  ///< "x86_64-avx2", "sm_90"
  std::map<std::string, std::string, std::less<>> features;

  [[nodiscard]] bool has(std::string_view feature) const { return features.contains(feature); }
  /// The value of `feature`; empty if the rank lacks it.
  [[nodiscard]] std::string_view value(std::string_view feature) const {
    const auto found = features.find(feature);
    return found == features.end() ? std::string_view{} : std::string_view(found->second);
  }
  /// The whole number at the start of the value of `feature`; 0 if there is none.
  [[nodiscard]] std::int64_t number(std::string_view feature) const {
    const std::string_view text = value(feature);
    std::int64_t found = 0;
    std::from_chars(text.data(), text.data() + text.size(), found);
    return found;
  }
  /// Whether the rank's buffers lie on a device (Communicator::device).
  [[nodiscard]] bool is_on_device() const { return has("device.processors"); }

  friend auto operator<=>(const Capability&, const Capability&) = default;
};

}  // namespace colltune
