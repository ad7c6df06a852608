// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "isa.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "colltune/kernels/arithmetic/isa_names.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

std::vector<std::string> words_of(const char* variable) {
  std::vector<std::string> words;
  const char* const text = std::getenv(variable);
  std::istringstream list(text == nullptr ? "" : text);
  for (std::string word; std::getline(list, word, ',');)
    if (!word.empty()) words.push_back(word);
  return words;
}

/// The names of which a word may be a prefix: those that this processor has, and those that this
/// build has bodies for.
std::vector<std::string> known_isa_names() {
  std::vector<std::string> known = offered_isa_names();
  for (const Isa* isa : compiled_isas())
    for (const char* need : isa->needs)
      if (need != nullptr && std::ranges::find(known, need) == known.end())
        known.emplace_back(need);
  return known;
}

bool is_hidden(const std::string& name, const std::vector<std::string>& words) {
  return std::ranges::any_of(words, [&](const auto& word) { return name.starts_with(word); });
}

}  // namespace

std::vector<std::string> isa_names() {
  const std::vector<std::string> words = words_of(hidden_isas);
  const std::vector<std::string> known = words.empty() ? words : known_isa_names();
  for (const std::string& word : words)
    if (std::ranges::none_of(known, [&](const auto& name) { return name.starts_with(word); })) {
      std::string names;
      for (const auto& name : known) names += (names.empty() ? "" : ", ") + name;
      throw Error(StatusCode::invalid_argument, std::string(hidden_isas) + ": no instruction set " +
                                                    "begins with '" + word + "'; known are " +
                                                    names);
    }
  std::vector<std::string> names = offered_isa_names();
  std::erase_if(names, [&](const auto& name) { return is_hidden(name, words); });
  return names;
}

std::span<const Isa* const> supported_isas() {
  static const std::vector<const Isa*> supported = [] {
    const std::vector<std::string> names = isa_names();
    std::vector<const Isa*> found;
    for (const Isa* isa : compiled_isas())
      if (std::ranges::all_of(isa->needs, [&](const char* need) {
            return need == nullptr || std::ranges::find(names, need) != names.end();
          }))
        found.push_back(isa);
    return found;
  }();
  return supported;
}

}  // namespace colltune
