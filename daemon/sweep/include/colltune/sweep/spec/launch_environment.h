// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colltune {

// Variables of a process's environment that libraries read once and keep for its life, so that
// another value needs another launch.

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

/// The environment of some launches: what is set besides what is there.
struct LaunchEnvironment {
  std::string name;
  std::vector<Assignment> variables;  ///< by name, each once, at least one

  friend auto operator<=>(const LaunchEnvironment&, const LaunchEnvironment&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, LaunchEnvironment>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("name", self.name);
  visit("variables", self.variables);
}

/// Which field of Environment, and with it the digest in keys, records a variable.
enum class RecordedIn { mpi_transport, variables, malloc_settings };

/// Before the names of Open MPI's parameters in the environment.
constexpr std::string_view mca_prefix = "OMPI_MCA_";
/// How malloc begins in a measuring process: "grown" (the default) or "fresh". The agent's own.
constexpr const char* malloc_regime_variable = "COLLTUNE_MALLOC";

/// Empty where none does: two processes that differ in it alone have the same environment.
[[nodiscard]] std::optional<RecordedIn> where_recorded(std::string_view name);

/// Whether ranks that work together may rightly have unlike values of a recorded variable: it names
/// devices or files of a node.
[[nodiscard]] bool may_differ_between_ranks(std::string_view name);

/// Why a configuration must not set the variable for the ranks of a launch: rows measured with and
/// without it could not be told apart, or a rank that finds it in its environment is too late to
/// read it. Empty where it may.
[[nodiscard]] std::string why_not_set_per_process(std::string_view name);

/// "NAME=value". Throws Error(invalid_argument) where there is no '=' or no name.
[[nodiscard]] Assignment parse_assignment(std::string_view text);
/// The same, to tell one from the next: a value that is empty, or has blanks, quotes or control
/// characters in it, as a JSON text.
[[nodiscard]] std::string to_text(const Assignment& variable);
/// "NCCL_BUFFSIZE=8388608 NCCL_NTHREADS=256".
[[nodiscard]] std::string to_text(const std::vector<Assignment>& variables);

}  // namespace colltune
