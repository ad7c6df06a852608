// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/collectives/agreed_choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
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
  MeshChoices persistent_meshes;
  std::string error;
  std::int64_t code = 0;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, Decided>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("of_calling", self.of_calling);
  visit("meshes", self.meshes);
  visit("persistent_meshes", self.persistent_meshes);
  visit("error", self.error);
  visit("code", self.code);
}

/// "Open MPI v4.1.4" and "Open MPI 4.1" are of one library, "MPICH 4.0" is of another.
std::string_view first_word(std::string_view text) { return text.substr(0, text.find(' ')); }

/// A winner was proven faster than the default of the library that it was measured with, which says
/// nothing of another one's.
void require_library(const TableView& view, const ProgramSettings& settings) {
  if (settings.mpi_library.empty()) return;
  for (const table_file::FactRecord& fact : view.facts()) {
    const std::string_view measured = view.string(fact.value);
    if (view.string(fact.name) == "mpi_library" &&
        first_word(measured) != first_word(settings.mpi_library))
      throw Error(StatusCode::failed_precondition,
                  fmt::format("{} was measured with {}, and this program runs {}: sweep with the "
                              "agent of this build",
                              settings.table, measured, settings.mpi_library));
  }
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
  require_library(table.view(), settings);
  for (std::size_t i = 0; i < callings.size(); ++i) {
    ProgramCalling calling = callings[i];
    calling.library_follows_rules = settings.library_follows_rules;
    decided.of_calling[i] = choose_from(table, ranks, settings.numerics, catalogue, calling);
  }
  if (needed.meshes) {
    const auto choose = [&](Calling calling) {
      return choose_meshes(table, ranks, communicator.nodes(), settings.numerics, catalogue,
                           calling);
    };
    decided.meshes = choose(Calling::each);
    decided.persistent_meshes = choose(Calling::persistent);
  }
  return decided;
}

/// All that rank 0 decides by, as text.
std::string question(const ProgramSettings& settings, const Communicator& communicator,
                     const ProgramRanks& ranks, const NeededChoices& needed) {
  std::string text =
      fmt::format("{}\n{}\n{}\n{} {}\n{}\n{}", settings.table, settings.table_digest,
                  name_of(settings.numerics), settings.library_follows_rules, needed.meshes,
                  to_json_value(ranks.topology).dump(), text_of(ranks.capability));
  for (const ProgramCalling& calling : needed.callings)
    text += fmt::format("\n{} {}", name_of(calling.calling), calling.registered);
  for (const int node : communicator.nodes()) text += fmt::format(" {}", node);
  return text;
}

/// Makes room for another entry: worlds that are used again are soon known again.
template <class Map>
void make_room(Map& known) {
  constexpr std::size_t most = 16;
  if (known.size() >= most) known.clear();
}

}  // namespace

struct ChoiceCache::Known {
  std::mutex mutex;
  // Guarded by mutex. Of rank 0, and of all ranks.
  std::map<std::string, std::string> packed;  ///< by question
  std::map<std::string, std::shared_ptr<const Decided>> of_packed;
};

ChoiceCache::ChoiceCache() : known_(std::make_unique<Known>()) {}
ChoiceCache::~ChoiceCache() = default;
ChoiceCache::ChoiceCache(ChoiceCache&&) noexcept = default;
ChoiceCache& ChoiceCache::operator=(ChoiceCache&&) noexcept = default;

AgreedChoices agree_on_choices(Communicator& communicator, Agreement& agreement,
                               const ProgramSettings& settings, const Implementations& catalogue,
                               const NeededChoices& needed, ChoiceCache& cache) {
  const ProgramRanks ranks =
      ranks_of(communicator, detect_host_capability(communicator, no_deadline));
  const std::vector<std::string> all = agreement.gather(digest_of_text(text_of(ranks.capability)));
  AgreedChoices agreed{.of_calling = std::vector<Choices>(needed.callings.size())};
  agreed.are_unlike = std::ranges::adjacent_find(all, std::ranges::not_equal_to{}) != all.end();
  if (agreed.are_unlike) return agreed;
  ChoiceCache::Known& known = *cache.known_;
  std::string packed;
  if (communicator.rank() == 0) {
    const std::string asked = question(settings, communicator, ranks, needed);
    {
      const std::lock_guard lock(known.mutex);
      if (const auto found = known.packed.find(asked); found != known.packed.end())
        packed = found->second;
    }
    if (packed.empty()) {
      Decided decided;
      try {
        decided = decide(settings, communicator, ranks, catalogue, needed);
      } catch (const Error& error) {
        decided = {.error = error.what(), .code = static_cast<std::int64_t>(error.code())};
      } catch (const std::exception& error) {
        decided = {.error = error.what(), .code = static_cast<std::int64_t>(StatusCode::internal)};
      }
      nlohmann::json::to_cbor(to_json_value(decided), packed);
      // A table that cannot be read now may be there later.
      if (decided.error.empty()) {
        const std::lock_guard lock(known.mutex);
        make_room(known.packed);
        known.packed.emplace(asked, packed);
      }
    }
  }
  packed = agreement.share(std::move(packed));
  std::shared_ptr<const Decided> decided;
  {
    const std::lock_guard lock(known.mutex);
    if (const auto found = known.of_packed.find(packed); found != known.of_packed.end())
      decided = found->second;
  }
  if (decided == nullptr) {
    decided = std::make_shared<const Decided>(
        from_json_value<Decided>(nlohmann::json::from_cbor(packed), "what rank 0 decided"));
    const std::lock_guard lock(known.mutex);
    make_room(known.of_packed);
    known.of_packed.emplace(packed, decided);
  }
  if (decided->error.empty()) {
    agreed.of_calling = decided->of_calling;
    agreed.meshes = decided->meshes;
    agreed.persistent_meshes = decided->persistent_meshes;
  } else {
    agreed.table_error.emplace(static_cast<StatusCode>(decided->code), decided->error);
  }
  return agreed;
}

}  // namespace colltune
