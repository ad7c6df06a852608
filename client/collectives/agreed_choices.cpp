// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/collectives/agreed_choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "colltune/collectives/executor.h"
#include "colltune/json/json.h"
#include "colltune/kernels/host_capability.h"
#include "colltune/vocabulary/canonical.h"

namespace colltune {
namespace {

/// What a rank is to itself, as text that is equal for ranks that are alike.
std::string text_of(const Capability& capability) {
  std::string text = capability.architecture;
  for (const auto& [name, value] : capability.features) text += fmt::format("\n{}={}", name, value);
  return text;
}

/// Rank 0's choices or error, for all.
struct Decided {
  std::vector<Choices> of_calling;
  MeshChoices meshes;
  std::string error;
  std::int64_t code = 0;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, Decided>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("of_calling", self.of_calling);
  visit("meshes", self.meshes);
  visit("error", self.error);
  visit("code", self.code);
}

Decided decide(const ProgramSettings& settings, const Communicator& communicator,
               const ProgramRanks& ranks, const Implementations& catalogue,
               const NeededChoices& needed) {
  const std::span callings = needed.callings;
  Decided decided{.of_calling = {callings.size(), Choices{.source = "no table"}}};
  if (settings.table.empty()) return decided;
  const TableFile table{std::filesystem::path(settings.table)};
  if (!settings.table_digest.empty() && !table.digest().starts_with(settings.table_digest))
    throw Error(StatusCode::failed_precondition,
                fmt::format("{} has the digest {}, not COLLTUNE_TABLE_DIGEST={}", settings.table,
                            table.digest(), settings.table_digest));
  for (std::size_t i = 0; i < callings.size(); ++i) {
    ProgramCalling calling = callings[i];
    calling.library_follows_rules = settings.library_follows_rules;
    decided.of_calling[i] = choose_from(table, ranks, settings.numerics, catalogue, calling);
  }
  if (needed.meshes)
    decided.meshes =
        choose_meshes(table, ranks, communicator.nodes(), settings.numerics, catalogue);
  return decided;
}

}  // namespace

AgreedChoices agree_on_choices(Communicator& communicator, Agreement& agreement,
                               const ProgramSettings& settings, const Implementations& catalogue,
                               const NeededChoices& needed) {
  const ProgramRanks ranks = ranks_of(communicator, detect_host_capability(communicator, never));
  const std::vector<std::string> all = agreement.gather(digest_of_text(text_of(ranks.capability)));
  AgreedChoices agreed{.of_calling = std::vector<Choices>(needed.callings.size())};
  agreed.are_unlike = std::ranges::adjacent_find(all, std::ranges::not_equal_to{}) != all.end();
  if (agreed.are_unlike) return agreed;
  std::string text;
  if (communicator.rank() == 0) {
    Decided decided;
    try {
      decided = decide(settings, communicator, ranks, catalogue, needed);
    } catch (const Error& error) {
      decided = {.error = error.what(), .code = static_cast<std::int64_t>(error.code())};
    } catch (const std::exception& error) {
      decided = {.error = error.what(), .code = static_cast<std::int64_t>(StatusCode::internal)};
    }
    text = to_json_value(decided).dump();
  }
  text = agreement.share(std::move(text));
  auto decided = from_json_value<Decided>(nlohmann::json::parse(text), "what rank 0 decided");
  if (decided.error.empty()) {
    agreed.of_calling = std::move(decided.of_calling);
    agreed.meshes = std::move(decided.meshes);
  } else {
    agreed.table_error.emplace(static_cast<StatusCode>(decided.code), decided.error);
  }
  return agreed;
}

}  // namespace colltune
