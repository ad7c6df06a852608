// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "decisions.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "colltune/vocabulary/canonical.h"
#include "colltune/vocabulary/field_limits.h"
#include "failures.h"
#include "fits.h"
#include "journal.h"
#include "members.h"
#include "sqlite/columns.h"

namespace colltune {

std::string describe(const LeftOut& left_out) {
  if (left_out.rows == 0) return {};
  return std::to_string(left_out.rows) +
         " stored values break the limits of what they describe and are left out; the first: " +
         left_out.first;
}

}  // namespace colltune

namespace colltune::db {
namespace {

/// A decision with the generations that contain it: from valid_from up to, but not including,
/// valid_to.
struct StoredDecision {
  std::int64_t id = 0;
  std::int64_t key_id = 0;
  Decision decision;
  std::int64_t valid_from = 0;
  std::optional<std::int64_t> valid_to;
};
using Place = std::pair<TuningKey, std::string>;
using Complete = std::map<Place, StoredDecision>;

struct StoredGeneration {
  std::int64_t number = 0;
  std::string published_at;
  std::string content_digest;
  std::int64_t decision_count = 0;
  FitTotals fits;
};

Row row_of(const StoredGeneration& generation) {
  return {generation.published_at, generation.content_digest, generation.decision_count,
          generation.fits.count, generation.fits.digest};
}

Row row_of(const StoredDecision& stored) {
  Row row{stored.key_id};
  put_fields(row, stored.decision);
  row.emplace_back(stored.valid_from);
  row.push_back(stored.valid_to ? Value(*stored.valid_to) : Value(Null{}));
  return row;
}

std::string describe_place(const Decision& decision) {
  return "decision for " + describe(decision.key.problem) + " on " +
         describe(decision.key.topology) + ", family '" + decision.family + "'";
}

void check_decision(const Decision& decision, std::set<Place>& places) {
  const std::string what = describe_place(decision);
  if (decision.family.empty()) throw Error(StatusCode::invalid_argument, what + ": no family");
  if (decision.ranked.empty())
    throw Error(StatusCode::invalid_argument, what + ": ranks no variant");
  check_value(decision, FieldPath{.name = what});
  if (!places.emplace(decision.key, decision.family).second)
    throw Error(StatusCode::invalid_argument, what + ": is given twice");
}

std::string digest_of_content(const Complete& complete) {
  std::string text;
  for (const auto& [place, stored] : complete) append_canonical(text, stored.decision);
  return digest_of_text(text);
}

std::map<std::int64_t, StoredGeneration> load_generations(Connection& connection,
                                                          const Meta& meta) {
  std::map<std::int64_t, StoredGeneration> generations;
  read_rows(connection, generation_table(), "ORDER BY id", {},
            [&](RowCursor& cursor, std::int64_t id, const Row&) {
              StoredGeneration generation{.number = id};
              cursor.get(generation.published_at);
              cursor.get(generation.content_digest);
              cursor.get(generation.decision_count);
              cursor.get(generation.fits.count);
              cursor.get(generation.fits.digest);
              generations.emplace(id, std::move(generation));
            });
  const bool whole = static_cast<std::int64_t>(generations.size()) == meta.generation_count &&
                     (meta.newest_generation == 0 || generations.contains(meta.newest_generation));
  if (!whole) fail_row(connection, "generation", meta.newest_generation, "or another is missing");
  return generations;
}

/// The decisions of one generation. Each row is verified, but not that none is missing.
Complete load_decisions(Connection& connection, const StoredGeneration& generation) {
  const std::string valid = "valid_from <= ?1 AND (valid_to IS NULL OR valid_to > ?1)";
  const Row at{generation.number};
  const auto keys =
      read_keys(connection, "WHERE id IN (SELECT key_id FROM decision WHERE " + valid + ")", at);
  std::map<std::int64_t, StoredDecision> by_id;
  read_rows(connection, decision_table(), "WHERE " + valid, at,
            [&](RowCursor& cursor, std::int64_t id, const Row&) {
              StoredDecision stored{.id = id};
              cursor.get(stored.key_id);
              cursor.get_fields(stored.decision);
              cursor.get(stored.valid_from);
              stored.valid_to = cursor.get_number_or_null();
              const auto key = keys.find(stored.key_id);
              if (key == keys.end())
                throw Error(StatusCode::data_loss, "its key is missing from tuning_key");
              stored.decision.key = key->second;
              by_id.emplace(id, std::move(stored));
            });
  read_rows(connection, ranked_variant_table(),
            "WHERE decision_id IN (SELECT id FROM decision WHERE " + valid +
                ") ORDER BY decision_id, position",
            at, [&](RowCursor& cursor, std::int64_t, const Row&) {
              std::int64_t decision_id = 0;
              std::int64_t position = 0;
              RankedVariant ranked;
              cursor.get(decision_id);
              cursor.get(position);
              cursor.get_fields(ranked);
              const auto found = by_id.find(decision_id);
              if (found == by_id.end() ||
                  position != static_cast<std::int64_t>(found->second.decision.ranked.size()))
                throw Error(StatusCode::data_loss, "it does not follow its decision's others");
              found->second.decision.ranked.push_back(std::move(ranked));
            });
  Complete complete;
  for (auto& [id, stored] : by_id) {
    Place place{stored.decision.key, stored.decision.family};
    complete.emplace(std::move(place), std::move(stored));
  }
  return complete;
}

/// The complete table of one generation, verified.
Complete load_complete(Connection& connection, const StoredGeneration& generation) {
  Complete complete = load_decisions(connection, generation);
  if (static_cast<std::int64_t>(complete.size()) != generation.decision_count ||
      digest_of_content(complete) != generation.content_digest)
    fail_row(connection, "generation", generation.number,
             "does not fit its decisions: one is missing or damaged");
  return complete;
}

void insert_decision(Connection& connection, const StoredDecision& stored) {
  insert_row(connection, decision_table(), stored.id, row_of(stored));
  std::int64_t id = next_id(connection, ranked_variant_table());
  std::int64_t position = 0;
  for (const RankedVariant& ranked : stored.decision.ranked) {
    Row row{stored.id, position++};
    put_fields(row, ranked);
    insert_row(connection, ranked_variant_table(), id++, row);
  }
}

void refuse_quarantined(std::span<const Decision> decisions,
                        std::span<const QuarantineRecord> quarantines) {
  for (const QuarantineRecord& quarantine : quarantines)
    for (const Decision& decision : decisions)
      for (const RankedVariant& ranked : decision.ranked)
        if (quarantine.variant == ranked.variant && quarantine.key == decision.key)
          throw Error(StatusCode::failed_precondition,
                      describe_place(decision) + ": ranks " + to_string(ranked.variant) +
                          ", which is in quarantine for this key since " + quarantine.since + " (" +
                          quarantine.reason + "); release it to publish it");
}

void require_compositions(Connection& connection, std::span<const Decision> decisions) {
  std::set<std::string, std::less<>> stored;
  for (const Composition& composition : read_compositions(connection))
    stored.insert(parts_name(composition));
  for (const Decision& decision : decisions)
    for (const RankedVariant& ranked : decision.ranked) {
      const std::string_view name = parts_named_by(ranked.variant);
      if (!name.empty() && !stored.contains(name))
        throw Error(StatusCode::failed_precondition,
                    describe_place(decision) + ": ranks " + to_string(ranked.variant) +
                        ", whose composition '" + std::string(name) +
                        "' is not stored; note_composition comes first");
    }
}

/// The compositions that the variants of `decisions` name, in the order in which they were stored.
std::vector<Composition> compositions_of(Connection& connection,
                                         std::span<const Decision> decisions) {
  std::set<std::string, std::less<>> named;
  for (const Decision& decision : decisions)
    for (const RankedVariant& ranked : decision.ranked) {
      const std::string_view name = parts_named_by(ranked.variant);
      if (!name.empty()) named.emplace(name);
    }
  std::vector<Composition> found;
  for (Composition& composition : read_compositions(connection))
    if (named.erase(parts_name(composition)) == 1) found.push_back(std::move(composition));
  if (!named.empty())
    fail_row(connection, "composition", 0, "named '" + *named.begin() + "' is missing");
  return found;
}

/// What is known about the members of the worlds in which `decisions` were measured.
std::vector<WorldMembers> members_of(Connection& connection, std::span<const Decision> decisions) {
  std::vector<WorldMembers> found = read_members(connection);
  if (found.empty()) return found;
  std::set<std::pair<std::string_view, Topology>> worlds;
  for (const Decision& decision : decisions)
    worlds.emplace(decision.sweep_uuid, decision.key.topology);
  std::set<std::pair<std::string_view, std::string>> referred;
  for (const auto& [sweep_uuid, topology] : worlds)
    referred.emplace(sweep_uuid, digest_of_value(topology));
  std::erase_if(found, [&](const WorldMembers& world) {
    return !referred.contains({world.sweep_uuid, world.topology_digest});
  });
  return found;
}

/// A generation while it is being made.
struct Draft {
  std::int64_t number = 0;
  std::int64_t next_decision_id = 0;
  Complete complete;  ///< starts as the newest generation
};

/// Ends the validity of `stored` before this generation if it was part of an earlier one.
void retire(Connection& connection, const Draft& draft, StoredDecision& stored) {
  if (stored.id == 0) return;
  stored.valid_to = draft.number;
  update_row(connection, decision_table(), stored.id, row_of(stored));
}

void replace(Connection& connection, Draft& draft, StoredDecision& stored,
             const Decision& decision) {
  retire(connection, draft, stored);
  stored = {.id = draft.next_decision_id++,
            .key_id = put_key(connection, decision.key),
            .decision = decision,
            .valid_from = draft.number,
            .valid_to = {}};
  insert_decision(connection, stored);
}

/// Removes quarantined variants from the decisions that are carried over.
void leave_out_quarantined(Connection& connection, Draft& draft,
                           std::span<const QuarantineRecord> quarantines) {
  if (quarantines.empty()) return;
  for (auto it = draft.complete.begin(); it != draft.complete.end();) {
    StoredDecision& stored = it->second;
    const auto rest = without_quarantined(stored.decision, quarantines);
    if (!rest) {
      retire(connection, draft, stored);
      it = draft.complete.erase(it);
      continue;
    }
    if (*rest != stored.decision) replace(connection, draft, stored, *rest);
    ++it;
  }
}

const StoredGeneration& find_generation(const Connection& connection,
                                        const std::map<std::int64_t, StoredGeneration>& generations,
                                        std::int64_t number) {
  const auto found = generations.find(number);
  if (found == generations.end())
    throw Error(StatusCode::not_found, connection.path().string() + ": there is no generation " +
                                           std::to_string(number) + "; there are " +
                                           std::to_string(generations.size()) + ", from " +
                                           std::to_string(generations.begin()->first) + " to " +
                                           std::to_string(generations.rbegin()->first));
  return found->second;
}

/// Leaves out entries that violate the vocabulary's limits, and everything that names them.
void leave_out_unusable(PublishedTable& table) {
  LeftOut& left_out = table.left_out;
  const auto is_unusable = [&](const auto& value, const std::string& what) {
    try {
      check_value(value, FieldPath{.name = what});
      return false;
    } catch (const Error& error) {
      left_out.add(error.what());
      return true;
    }
  };
  std::set<std::string, std::less<>> lost;  // environments, and the names of compositions
  std::erase_if(table.environments, [&](const auto& named) {
    const bool is_lost = is_unusable(named.second, "environment " + named.first);
    if (is_lost) lost.insert(named.first);
    return is_lost;
  });
  std::erase_if(table.members, [&](const WorldMembers& world) {
    return is_unusable(world, "members of a world of sweep " + world.sweep_uuid);
  });
  std::erase_if(table.compositions, [&](const Composition& composition) {
    const std::string name = parts_name(composition);
    const bool is_lost = is_unusable(composition, "composition " + name);
    if (is_lost) lost.insert(name);
    return is_lost;
  });
  std::erase_if(table.decisions, [&](const Decision& decision) {
    const std::string place = describe_place(decision);
    if (is_unusable(decision, place)) return true;
    const bool names_lost = lost.contains(decision.key.environment_digest) ||
                            std::ranges::any_of(decision.ranked, [&](const RankedVariant& ranked) {
                              return lost.contains(parts_named_by(ranked.variant));
                            });
    if (names_lost) left_out.add(place + ": names what is left out");
    return names_lost;
  });
  std::erase_if(table.fits, [&](const VariantFit& fit) {
    return lost.contains(fit.key.environment_digest) ||
           is_unusable(fit,
                       "fit of " + to_string(fit.variant) + " for " + describe(fit.key.problem));
  });
}

[[noreturn]] void fail_without_generation(const Connection& connection) {
  throw Error(StatusCode::not_found,
              connection.path().string() +
                  ": no generation was published yet; a sweep publishes one when it ends");
}

std::vector<VariantFit> make_fits(const Complete& complete, const FitMaker& fits_of) {
  if (!fits_of) return {};
  std::vector<Decision> decisions;
  decisions.reserve(complete.size());
  for (const auto& [place, stored] : complete) decisions.push_back(stored.decision);
  return fits_of(decisions);
}

/// Stores the generation that `draft` has become.
Generation finish_generation(Connection& connection, const Draft& draft, Meta meta,
                             const std::string& published_at, const FitMaker& fits_of) {
  const std::string digest = digest_of_content(draft.complete);
  FitTotals fits = put_fits(connection, draft.number, make_fits(draft.complete, fits_of));
  insert_row(
      connection, generation_table(), draft.number,
      row_of(StoredGeneration{.published_at = published_at,
                              .content_digest = digest,
                              .decision_count = static_cast<std::int64_t>(draft.complete.size()),
                              .fits = std::move(fits)}));
  meta.newest_generation = draft.number;
  meta.highest_number = draft.number;
  ++meta.generation_count;
  write_meta(connection, meta);
  return {meta.store_uuid, static_cast<std::uint64_t>(draft.number), digest};
}

}  // namespace

Generation put_generation(Connection& connection, std::span<const Decision> decisions,
                          const std::string& published_at, const FitMaker& fits_of) {
  std::set<Place> places;
  for (const Decision& decision : decisions) check_decision(decision, places);
  const auto quarantines = read_quarantines_in_force(connection);
  refuse_quarantined(decisions, quarantines);
  require_compositions(connection, decisions);

  const Meta meta = read_meta(connection);
  Draft draft{.number = meta.highest_number + 1,
              .next_decision_id = next_id(connection, decision_table()),
              .complete = {}};
  if (meta.newest_generation != 0)
    draft.complete =
        load_complete(connection, load_generations(connection, meta).at(meta.newest_generation));
  for (const Decision& decision : decisions) {
    StoredDecision& stored = draft.complete[{decision.key, decision.family}];
    if (stored.id == 0 || stored.decision != decision) replace(connection, draft, stored, decision);
  }
  leave_out_quarantined(connection, draft, quarantines);
  return finish_generation(connection, draft, meta, published_at, fits_of);
}

Generation put_generation_like(Connection& connection, std::uint64_t number,
                               const std::string& published_at, const FitMaker& fits_of) {
  const Meta meta = read_meta(connection);
  const auto generations = load_generations(connection, meta);
  if (generations.empty()) fail_without_generation(connection);
  const StoredGeneration& like =
      find_generation(connection, generations, static_cast<std::int64_t>(number));
  if (like.number == meta.newest_generation)
    throw Error(StatusCode::failed_precondition, connection.path().string() + ": generation " +
                                                     std::to_string(number) +
                                                     " is what is served already");
  Draft draft{.number = meta.highest_number + 1,
              .next_decision_id = next_id(connection, decision_table()),
              .complete = load_complete(connection, generations.at(meta.newest_generation))};
  const Complete wanted = load_complete(connection, like);
  for (auto it = draft.complete.begin(); it != draft.complete.end();) {
    if (wanted.contains(it->first)) {
      ++it;
      continue;
    }
    retire(connection, draft, it->second);
    it = draft.complete.erase(it);
  }
  for (const auto& [place, old] : wanted) {
    StoredDecision& stored = draft.complete[place];
    if (stored.id == 0 || stored.decision != old.decision)
      replace(connection, draft, stored, old.decision);
  }
  leave_out_quarantined(connection, draft, read_quarantines_in_force(connection));
  return finish_generation(connection, draft, meta, published_at, fits_of);
}

std::vector<GenerationRecord> read_generations(Connection& connection) {
  std::vector<GenerationRecord> records;
  for (const auto& [number, generation] : load_generations(connection, read_meta(connection)))
    records.push_back({.number = static_cast<std::uint64_t>(number),
                       .published_at = generation.published_at,
                       .content_digest = generation.content_digest,
                       .decisions = static_cast<std::uint64_t>(generation.decision_count)});
  return records;
}

void restate_generations(Connection& connection) {
  for (auto& [number, generation] : load_generations(connection, read_meta(connection))) {
    const Complete complete = load_decisions(connection, generation);
    if (static_cast<std::int64_t>(complete.size()) != generation.decision_count)
      fail_row(connection, "generation", number,
               "does not fit its decisions: one is missing or damaged");
    generation.content_digest = digest_of_content(complete);
    update_row(connection, generation_table(), number, row_of(generation));
  }
}

PublishedTable read_published(Connection& connection, const std::optional<std::uint64_t>& number) {
  const Meta meta = read_meta(connection);
  const auto generations = load_generations(connection, meta);
  if (generations.empty()) fail_without_generation(connection);
  const StoredGeneration& generation =
      find_generation(connection, generations,
                      number ? static_cast<std::int64_t>(*number) : meta.newest_generation);
  PublishedTable table;
  table.generation = {meta.store_uuid, static_cast<std::uint64_t>(generation.number),
                      generation.content_digest};
  table.published_at = generation.published_at;
  std::set<std::string> named;
  for (auto& [place, stored] : load_complete(connection, generation)) {
    named.insert(stored.decision.key.environment_digest);
    table.decisions.push_back(stored.decision);
  }
  for (auto& record : read_environments(connection))
    if (named.erase(record.digest) == 1)
      table.environments.emplace_back(std::move(record.digest), std::move(record.environment));
  if (!named.empty())
    fail_row(connection, "environment", 0, "with digest " + *named.begin() + " is missing");
  table.members = members_of(connection, table.decisions);
  table.compositions = compositions_of(connection, table.decisions);
  table.fits = read_fits(connection, generation.number, generation.fits);
  leave_out_unusable(table);
  return table;
}

}  // namespace colltune::db
