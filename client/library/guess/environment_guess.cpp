// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/guess/environment_guess.h"

#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <utility>
#include <vector>

#include "colltune/table/decision_table.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

/// "6.1.0-18-amd64" is version 6.1.
std::string major_and_minor(const std::string& release) {
  const auto first = release.find('.');
  if (first == std::string::npos) return release;
  return release.substr(0, release.find_first_not_of("0123456789", first + 1));
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return {};
}

/// The kernel's fact goes on with its settings, "6.1 huge_pages=madvise", which are not compared.
bool agrees(std::string_view name, const std::string& stored, const std::string& here) {
  return stored == here || (name == "kernel" && stored.starts_with(here + " "));
}

/// How many facts agree, and what differs.
struct Likeness {
  int agreeing = 0;
  std::string differing;
};

Likeness compare(const Environment& stored, const Environment& here) {
  std::map<std::string, std::string, std::less<>> known;
  visit_facts(here, [&](std::string_view name, const std::string& fact) {
    if (!fact.empty()) known.emplace(name, fact);
  });
  Likeness found;
  visit_facts(stored, [&](std::string_view name, const std::string& fact) {
    const auto own = known.find(name);
    if (own == known.end()) return;
    if (agrees(name, fact, own->second))
      ++found.agreeing;
    else
      found.differing += (found.differing.empty() ? "" : "; ") + std::string(name) + " is '" +
                         fact + "', here '" + own->second + "'";
  });
  return found;
}

/// Leaves the environments that have one answer to `query`.
void keep_answering(LookupQuery query, DecisionSet& set) {
  const DecisionTable table(set);
  std::erase_if(set.environments, [&](const auto& environment) {
    query.environment_digest = environment.first;
    try {
      (void)table.find(query);
      return false;
    } catch (const Error&) {
      return true;
    }
  });
}

}  // namespace

Environment this_machine() {
  Environment here;
  utsname system{};
  if (::uname(&system) == 0) here.kernel = major_and_minor(system.release);
  here.cpu_model = cpu_model();
  return here;
}

std::optional<EnvironmentGuess> guess_environment(const DecisionSet& set, const Environment& here) {
  if (set.environments.size() < 2) return std::nullopt;
  const std::string* digest = nullptr;
  Likeness best;
  int equals = 0;
  for (const auto& [name, facts] : set.environments) {
    Likeness likeness = compare(facts, here);
    if (digest != nullptr && likeness.agreeing < best.agreeing) continue;
    equals = digest != nullptr && likeness.agreeing == best.agreeing ? equals + 1 : 1;
    digest = &name;
    best = std::move(likeness);
  }
  std::string why =
      "environment " + *digest + " of " + std::to_string(set.environments.size()) + " was chosen, ";
  why += equals == 1 ? "the most like this machine"
                     : "the last of those that are most like this machine";
  why += best.differing.empty() ? "; no fact that can be compared differs" : "; " + best.differing;
  return EnvironmentGuess{.digest = *digest, .why = std::move(why)};
}

GuessedAnswer ask_or_guess(const LookupQuery& query,
                           const std::function<FoundAnswer(const LookupQuery&)>& ask,
                           const std::function<DecisionSet()>& decisions) {
  try {
    return {.found = ask(query), .why = {}};
  } catch (const Error& error) {
    if (error.code() != StatusCode::invalid_argument || query.environment_digest) throw;
    LookupQuery narrowed = query;
    narrowed.at_least = std::min(query.at_least, MatchLevel::nearest_size);
    DecisionSet set = decisions();
    keep_answering(narrowed, set);
    const auto guess = guess_environment(set, this_machine());
    if (!guess) throw;
    narrowed.environment_digest = guess->digest;
    return {.found = ask(narrowed), .why = guess->why};
  }
}

}  // namespace colltune
