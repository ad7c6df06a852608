// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// Part of the step to version 8. Released: never edit.

#include "version_8_decisions.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace colltune::db {
namespace {

/// The generations from `from` up to, but not including, `to` in which a decision is in force.
struct Span {
  std::int64_t from = 0;
  std::optional<std::int64_t> to;
};
struct Piece {
  const OldDecision* decision = nullptr;
  std::int64_t key_id = 0;
  Span span;
};

bool is_in_force(const OldDecision& decision, std::int64_t generation) {
  return decision.valid_from <= generation &&
         (!decision.valid_to || *decision.valid_to > generation);
}

/// The spans in which each of `rivals`, decisions for one key and family, is the one in force.
void add_pieces(const std::vector<const OldDecision*>& rivals, std::int64_t key_id,
                std::vector<Piece>& pieces) {
  std::set<std::int64_t> changes;
  for (const OldDecision* rival : rivals) {
    changes.insert(rival->valid_from);
    if (rival->valid_to) changes.insert(*rival->valid_to);
  }
  Piece current{.decision = nullptr, .key_id = key_id, .span = {}};
  const auto end_current = [&](std::optional<std::int64_t> to) {
    if (current.decision == nullptr) return;
    current.span.to = to;
    pieces.push_back(current);
  };
  for (const std::int64_t generation : changes) {
    const OldDecision* last = nullptr;
    for (const OldDecision* rival : rivals)
      if (is_in_force(*rival, generation) &&
          (last == nullptr ||
           std::pair(rival->valid_from, rival->id) > std::pair(last->valid_from, last->id)))
        last = rival;
    if (last == current.decision) continue;
    end_current(generation);
    current.decision = last;
    current.span.from = generation;
  }
  end_current({});
}

}  // namespace

OldDecisions::OldDecisions(Connection& connection) {
  const Table table = present_table(connection, "decision");
  const std::size_t family = index_of(table, "family");
  const std::size_t sweep_uuid = index_of(table, "sweep_uuid");
  const std::size_t valid_from = index_of(table, "valid_from");
  const std::size_t valid_to = index_of(table, "valid_to");
  for (auto& [id, row] : read_table(connection, table)) {
    OldDecision decision{.id = id,
                         .key_id = number_in(row, 0),
                         .family = std::get<std::string>(row.at(family)),
                         .sweep_uuid = std::get<std::string>(row.at(sweep_uuid)),
                         .valid_from = number_in(row, valid_from),
                         .valid_to = {},
                         .row = row};
    if (!std::holds_alternative<Null>(row.at(valid_to)))
      decision.valid_to = number_in(row, valid_to);
    decisions_.push_back(std::move(decision));
  }
  const Table ranked = present_table(connection, "ranked_variant");
  const std::size_t decision_id = index_of(ranked, "decision_id");
  const std::size_t position = index_of(ranked, "position");
  std::map<std::pair<std::int64_t, std::int64_t>, Row> places;
  for (const auto& [id, row] : read_table(connection, ranked))
    places.emplace(std::pair(number_in(row, decision_id), number_in(row, position)), row);
  for (auto& [place, row] : places) ranked_[place.first].push_back(std::move(row));

  const Table generations = present_table(connection, "generation");
  const std::size_t count = index_of(generations, "decision_count");
  for_each_row(connection, generations, "ORDER BY id", {}, [&](std::int64_t id, const Row& row) {
    const auto in_force = std::ranges::count_if(
        decisions_, [&](const OldDecision& decision) { return is_in_force(decision, id); });
    if (in_force != number_in(row, count))
      fail_row(connection, "generation", id, "does not fit its decisions: one is missing");
    generations_.emplace(id, row);
  });
}

void OldDecisions::rewrite(Connection& connection,
                           const std::function<std::int64_t(const OldDecision&)>& new_key) {
  std::map<std::pair<std::int64_t, std::string>, std::vector<const OldDecision*>> by_place;
  for (const OldDecision& decision : decisions_)
    by_place[{new_key(decision), decision.family}].push_back(&decision);
  std::vector<Piece> pieces;
  for (const auto& [place, rivals] : by_place) add_pieces(rivals, place.first, pieces);
  // Ids without gaps, in the old order.
  std::ranges::sort(pieces, {}, [](const Piece& piece) {
    return std::pair(piece.decision->id, piece.span.from);
  });

  const Table table = present_table(connection, "decision");
  const Table ranked = present_table(connection, "ranked_variant");
  const std::size_t valid_from = index_of(table, "valid_from");
  const std::size_t valid_to = index_of(table, "valid_to");
  const std::size_t decision_id = index_of(ranked, "decision_id");
  connection.execute("DELETE FROM ranked_variant");
  connection.execute("DELETE FROM decision");
  std::int64_t id = 0;
  std::int64_t ranked_id = 0;
  for (const Piece& piece : pieces) {
    Row row = piece.decision->row;
    row.front() = piece.key_id;
    row.at(valid_from) = piece.span.from;
    row.at(valid_to) = piece.span.to ? Value(*piece.span.to) : Value(Null{});
    insert_row(connection, table, ++id, row);
    for (Row of_variant : ranked_[piece.decision->id]) {
      of_variant.at(decision_id) = id;
      insert_row(connection, ranked, ++ranked_id, of_variant);
    }
  }

  const Table generations = present_table(connection, "generation");
  const std::size_t count = index_of(generations, "decision_count");
  for (auto& [number, row] : generations_) {
    row.at(count) = static_cast<std::int64_t>(
        std::ranges::count_if(pieces, [generation = number](const Piece& piece) {
          return piece.span.from <= generation && (!piece.span.to || *piece.span.to > generation);
        }));
    update_row(connection, generations, number, row);
  }
}

}  // namespace colltune::db
