// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/export/export_mpi_environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "colltune/export/export_scope.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

/// A variable as an environment's fact records it.
struct Recorded {
  std::string name;
  std::optional<std::string> value;  ///< empty: a word without '='
};

/// The words of a fact: `name=value`, the value in JSON's quotes where it needs them, and words
/// without '='.
std::vector<Recorded> words_of(std::string_view fact) {
  std::vector<Recorded> words;
  for (std::size_t at = 0; at < fact.size();) {
    if (fact[at] == ' ') {
      ++at;
      continue;
    }
    Recorded& word = words.emplace_back();
    while (at < fact.size() && fact[at] != ' ' && fact[at] != '=') word.name += fact[at++];
    if (at == fact.size() || fact[at] != '=') continue;
    const std::size_t begin = ++at;
    word.value.emplace();
    if (at < fact.size() && fact[at] == '"') {
      for (++at; at < fact.size() && fact[at] != '"'; ++at)
        if (fact[at] == '\\') ++at;
      at = std::min(at + 1, fact.size());
      const auto value = nlohmann::json::parse(fact.substr(begin, at - begin), nullptr, false);
      if (!value.is_string())
        throw Error(StatusCode::data_loss,
                    "the environment records '" + word.name +
                        "' in a form that cannot be read: " + std::string(fact.substr(begin)));
      word.value = value.get<std::string>();
    } else {
      while (at < fact.size() && fact[at] != ' ') ++at;
      word.value = std::string(fact.substr(begin, at - begin));
    }
  }
  return words;
}

bool is_variable(std::string_view name) {
  const auto is_letter = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
         std::ranges::all_of(name, is_letter);
}

/// For a shell: in single quotes where a shell would change it.
std::string for_shell(std::string_view value) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_-+.,:/@%^=").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!value.empty() && std::ranges::all_of(value, is_plain)) return std::string(value);
  std::string text = "'";
  for (const char letter : value) text += letter == '\'' ? "'\\''" : std::string(1, letter);
  return text + "'";
}

/// A comment stays one, whatever was recorded.
std::string one_line_comment(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  return "# " + text + '\n';
}

/// `fact` as `export` lines, and as comments what is no variable.
std::string settings(std::string_view title, std::string_view fact, std::string_view prefix) {
  std::string lines;
  std::string others;
  for (const Recorded& word : words_of(fact)) {
    const std::string name = std::string(prefix) + word.name;
    if (word.value && is_variable(name))
      lines += "export " + name + "=" + for_shell(*word.value) + '\n';
    else
      others += (others.empty() ? "" : " ") + word.name + (word.value ? "=" + *word.value : "");
  }
  std::string heading(title);
  if (!others.empty()) heading += ": " + others;
  if (lines.empty() && others.empty()) heading += ": no variable was set";
  return one_line_comment(heading) + lines;
}

/// What the regime of malloc means, which no variable sets.
std::string malloc_note(std::string_view fact) {
  const auto has = [&](std::string_view word) {
    return std::ranges::any_of(words_of(fact),
                               [&](const Recorded& one) { return one.name == word; });
  };
  if (has("grown"))
    return one_line_comment(
               "grown: the process had freed a large block before, so that malloc keeps blocks "
               "instead of mapping them anew") +
           one_line_comment(
               "in every call. A program that never frees one has other times for large "
               "messages.");
  if (has("fresh"))
    return one_line_comment(
        "fresh: the process had freed nothing large before, so that malloc maps large "
        "blocks anew in every call.");
  return {};
}

}  // namespace

std::vector<std::pair<std::string, std::string>> malloc_variables_of(
    const Environment& environment) {
  std::vector<std::pair<std::string, std::string>> variables;
  for (Recorded& word : words_of(environment.malloc_settings))
    if (word.value && is_variable(word.name))
      variables.emplace_back(std::move(word.name), std::move(*word.value));
  return variables;
}

std::string export_mpi_environment(const DecisionSet& set) {
  DecisionSet of_mpi{.generation = set.generation, .environments = set.environments};
  for (const Decision& decision : set.decisions) {
    const Environment* const environment = find_environment(set, decision.key.environment_digest);
    if (environment != nullptr && environment->mpi_library.empty()) continue;
    Decision& one = of_mpi.decisions.emplace_back(decision);
    one.family = any_family;
  }
  const ExportScope scope = scope_of(
      of_mpi, any_family, [](const Decision&) { return std::string(); },
      "there is nothing for MPI: no decision was measured with an MPI library");
  const Environment& environment = scope.environment;
  const bool is_open_mpi = environment.mpi_library.starts_with("Open MPI");
  std::string text =
      one_line_comment("The environment in which colltune measured. Source it before mpirun:");
  text +=
      one_line_comment("  . ./environment.sh && mpirun …   (other hosts: mpirun -x NAME for each)");
  for (const std::string& line : origin_lines(of_mpi, scope)) text += one_line_comment(line);
  text += one_line_comment("MPI library: " + environment.mpi_library);
  text += settings("malloc", environment.malloc_settings, "");
  text += malloc_note(environment.malloc_settings);
  // Of other libraries a digest of their control variables is recorded.
  text += is_open_mpi ? settings("transport", environment.mpi_transport, "OMPI_MCA_")
                      : one_line_comment("transport: " + (environment.mpi_transport.empty()
                                                              ? std::string("no variable was set")
                                                              : environment.mpi_transport));
  text += settings("variables that libraries read", environment.variables.value_or(""), "");
  text +=
      one_line_comment("binding: " + (environment.mpi_binding.empty() ? std::string("not recorded")
                                                                      : environment.mpi_binding));
  if (environment.limits) text += one_line_comment("limits: " + *environment.limits);
  return text;
}

}  // namespace colltune
