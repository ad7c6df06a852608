// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "generations_command.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>
#include <vector>

#include "colltune/json/json.h"
#include "colltune/model/fitted/variant_fits.h"
#include "source/database.h"
#include "text/figures.h"

namespace colltune {
namespace {

/// A decision that is in both generations, or in only one of them.
struct Difference {
  const Decision* before = nullptr;
  const Decision* after = nullptr;

  [[nodiscard]] const Decision& any() const { return after == nullptr ? *before : *after; }
};

/// The generation before `number`. Error(not_found) if there is none.
std::uint64_t number_before(const StoreReader& reader, const std::string& database,
                            std::uint64_t number) {
  std::optional<std::uint64_t> before;
  for (const GenerationRecord& generation : reader.generations())
    if (generation.number < number) before = generation.number;
  if (!before)
    throw Error(StatusCode::not_found, database + ": there is no generation before " +
                                           std::to_string(number) +
                                           "; colltune show generations lists them");
  return *before;
}

/// How a decision is described to a person.
std::string words_of(const Decision& decision) {
  return fmt::format("{} ({} us, {}; {})", to_string(decision.ranked.front().variant),
                     microseconds(decision.ranked.front().median), speedup(decision.ranked.front()),
                     status_text(decision));
}

bool differ(const Decision& before, const Decision& after) {
  return before.ranked.front().variant != after.ranked.front().variant ||
         before.verdict != after.verdict || before.status != after.status;
}

std::vector<Difference> differences(const std::vector<Decision>& before,
                                    const std::vector<Decision>& after, const std::string& family,
                                    const RegimeChoice& regime) {
  std::map<std::pair<TuningKey, std::string>, Difference> all;
  const auto is_asked = [&](const Decision& decision) {
    return regime.admits(decision.key) &&
           (family == "all" || decision.family == (family.empty() ? any_family : family));
  };
  for (const Decision& decision : before)
    if (is_asked(decision)) all[{decision.key, decision.family}].before = &decision;
  for (const Decision& decision : after)
    if (is_asked(decision)) all[{decision.key, decision.family}].after = &decision;
  std::vector<Difference> found;
  for (const auto& [place, one] : all)
    if (one.before == nullptr || one.after == nullptr || differ(*one.before, *one.after))
      found.push_back(one);
  return found;
}

std::string text_of(const Difference& difference) {
  const Decision& any = difference.any();
  std::string text = fmt::format(
      "{} on {}, {}{}\n", describe(any.key.problem), describe(any.key.topology),
      describe(regime_of(any.key)),
      any.family == any_family ? std::string() : fmt::format(", family {}", any.family));
  text += fmt::format("  - {}\n",
                      difference.before == nullptr ? "no decision" : words_of(*difference.before));
  return text + fmt::format("  + {}\n", difference.after == nullptr ? "no decision"
                                                                    : words_of(*difference.after));
}

nlohmann::json json_of(const Difference& difference) {
  const auto side = [](const Decision* decision) -> nlohmann::json {
    if (decision == nullptr) return nullptr;
    return {{"winner", to_string(decision->ranked.front().variant)},
            {"median_ns", decision->ranked.front().median.count()},
            {"verdict", name_of(decision->verdict)},
            {"status", name_of(decision->status)},
            {"sweep_uuid", decision->sweep_uuid},
            {"reason", decision->reason}};
  };
  return {{"key", to_json_value(difference.any().key)},
          {"family", difference.any().family},
          {"before", side(difference.before)},
          {"after", side(difference.after)}};
}

}  // namespace

void run_diff(const DiffOptions& options, std::ostream& out) {
  const StoreReader reader = open_database(options.database);
  const PublishedTable after = reader.published(options.to);
  const std::uint64_t from = options.from
                                 ? *options.from
                                 : number_before(reader, options.database, after.generation.number);
  const PublishedTable before = reader.published(from);
  const auto found = differences(before.decisions, after.decisions, options.family,
                                 regime_choice(options.regime, {}));
  if (options.json) {
    nlohmann::json array = nlohmann::json::array();
    for (const Difference& one : found) array.push_back(json_of(one));
    out << array.dump(1) << '\n';
    return;
  }
  out << fmt::format("generation {} of {} beside {} of {}: {} decision(s) differ\n",
                     after.generation.number, after.published_at, before.generation.number,
                     before.published_at, found.size());
  for (const Difference& one : found) out << text_of(one);
}

void run_rollback(const RollbackOptions& options, std::ostream& out) {
  // Opening a store would create a missing file, and a rollback must not create one.
  const std::uint64_t newest = open_database(options.database).published().generation.number;
  const std::uint64_t to =
      options.to ? *options.to
                 : number_before(open_database(options.database), options.database, newest);
  Store store(options.database);
  const Generation generation = store.publish_again(to, now_utc(), fits_of);
  out << fmt::format(
      "published generation {} with the decisions of generation {}; what was measured since stays, "
      "and the next sweep is judged with it\n",
      generation.number, to);
}

}  // namespace colltune
