// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

// Open MPI's component coll/han of 4.1: its collectives, and the components that its rules name.
// This is the only list.

namespace colltune {

/// A collective that coll/han knows rules for.
struct HanCollective {
  int number = 0;                   ///< as in files of rules
  std::string_view name;            ///< "allreduce": in files of rules and in variables
  std::string_view call;            ///< "MPI_Allreduce"
  std::string_view implementation;  ///< that forces it: "mpi.all_reduce_han"; empty: none does
  /// Whether a rule's size is that of one rank's block, not of the whole message.
  bool is_by_block = false;
  /// Whether it has algorithms between the ranks of several hosts; else it serves inside alone.
  bool is_between_hosts = true;
};

/// All, by number.
[[nodiscard]] std::span<const HanCollective> han_collectives();
/// Null if coll/han has no rules for it.
[[nodiscard]] const HanCollective* find_han_collective(int number);
/// The collective that the variants of `implementation` force; null if there is none.
[[nodiscard]] const HanCollective* find_han_collective(std::string_view implementation);

/// The components that a rule may name, by number.
enum class HanComponent { self, basic, libnbc, tuned, sm, adapt, han };
constexpr std::array<std::string_view, 7> han_component_names{"self", "basic", "libnbc", "tuned",
                                                              "sm",   "adapt", "han"};
[[nodiscard]] constexpr std::string_view name_of(HanComponent component) {
  return han_component_names[static_cast<std::size_t>(component)];
}
[[nodiscard]] std::optional<HanComponent> find_han_component(std::string_view name);

/// Before coll/tuned, whose priority is 30.
constexpr int han_priority_to_use = 40;

}  // namespace colltune
