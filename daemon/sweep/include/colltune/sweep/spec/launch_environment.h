// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colltune {

// Environment variables that libraries read once and keep for the life of the process, so another
// value needs another launch.

/// A variable and its value.
struct Assignment {
  std::string name;
  std::string value;

  friend auto operator<=>(const Assignment&, const Assignment&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, Assignment>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("name", self.name);
  visit("value", self.value);
}

/// The environment of some launches: variables added to the inherited environment.
struct LaunchEnvironment {
  std::string name;
  std::vector<Assignment> variables;  ///< by name, each once; at least one

  friend auto operator<=>(const LaunchEnvironment&, const LaunchEnvironment&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, LaunchEnvironment>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("name", self.name);
  visit("variables", self.variables);
}

/// Which field of Environment records a variable; through it the variable enters the digest in
/// keys.
enum class RecordedIn { mpi_transport, variables, malloc_settings };

/// Prefix of Open MPI's parameters in the environment.
constexpr std::string_view mca_prefix = "OMPI_MCA_";
/// How malloc starts in a measuring process: "grown" (the default) or "fresh". The agent's own
/// variable.
constexpr const char* malloc_regime_variable = "COLLTUNE_MALLOC";

/// Empty if no field records it: two processes that differ in it alone have the same environment.
[[nodiscard]] std::optional<RecordedIn> where_recorded(std::string_view name);

/// Whether ranks of one launch may legitimately have different values of a recorded variable,
/// because it names devices or files of a node.
[[nodiscard]] bool may_differ_between_ranks(std::string_view name);

/// Why a configuration must not set this variable for the ranks of a launch; empty if it may.
/// Either rows measured with and without it could not be told apart, or a rank would find it in its
/// environment too late to read it.
[[nodiscard]] std::string why_not_set_per_process(std::string_view name);

/// Reads "NAME=value". Throws Error(invalid_argument) if there is no '=' or no name.
[[nodiscard]] Assignment parse_assignment(std::string_view text);
/// Prints an assignment as "NAME=value". A value that is empty or has blanks, quotes or control
/// characters is printed as a JSON string, so that assignments can be told apart.
[[nodiscard]] std::string to_text(const Assignment& variable);
/// For example "NCCL_BUFFSIZE=8388608 NCCL_NTHREADS=256".
[[nodiscard]] std::string to_text(const std::vector<Assignment>& variables);

}  // namespace colltune
