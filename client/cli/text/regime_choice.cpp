// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "text/regime_choice.h"

#include <set>
#include <string_view>

namespace colltune {
namespace {

template <NamedEnum Enum>
std::optional<Enum> chosen(const char* option, const std::string& text,
                           std::optional<Enum> otherwise) {
  if (text.empty()) return otherwise;
  if (text == "all") return {};
  try {
    return parse_name<Enum>(text);
  } catch (const Error& error) {
    throw Error(error.code(), std::string(option) + ": " + error.what() + ", all");
  }
}

}  // namespace

bool RegimeChoice::admits(const TuningKey& key) const {
  return (!calling || calling_for(key.problem, *calling) == key.calling) &&
         (!input || *input == key.input);
}

RegimeChoice regime_choice(const RegimeOptions& options, const RegimeChoice& otherwise) {
  return {.calling = chosen("--calling", options.calling, otherwise.calling),
          .input = chosen("--input", options.input, otherwise.input)};
}

std::string regimes_text(std::span<const Decision> decisions) {
  std::set<Regime> regimes;
  for (const Decision& decision : decisions) regimes.insert(regime_of(decision.key));
  std::string text;
  for (const Regime& regime : regimes) text += (text.empty() ? "" : "; ") + describe(regime);
  return text;
}

}  // namespace colltune
