// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "members.h"

#include <algorithm>

#include "colltune/vocabulary/field_limits.h"
#include "journal.h"
#include "sqlite/columns.h"

namespace colltune::db {
namespace {

/// All rows of `table`, whose ids have no gaps, each read by `read(cursor)`. There must be
/// `expected` rows.
template <class Record, class Read>
std::vector<Record> read_all(Connection& connection, const Table& table, std::int64_t expected,
                             Read&& read) {
  std::vector<Record> records;
  read_rows(connection, table, "ORDER BY id", {},
            [&](RowCursor& cursor, std::int64_t id, const Row&) {
              if (id != static_cast<std::int64_t>(records.size()) + 1)
                throw Error(StatusCode::data_loss, "it follows a gap");
              records.push_back(read(cursor));
            });
  if (static_cast<std::int64_t>(records.size()) != expected)
    fail_row(connection, table.name, expected, "is missing");
  return records;
}

void require_sweep(Connection& connection, const std::string& uuid) {
  const auto sweeps = read_sweeps(connection);
  if (std::ranges::find(sweeps, uuid, &SweepRecord::uuid) == sweeps.end())
    throw Error(StatusCode::not_found,
                connection.path().string() + ": there is no sweep '" + uuid + "'");
}

}  // namespace

void put_members(Connection& connection, const WorldMembers& world, const Topology& topology) {
  check(world.members);
  if (world.members.kind_of_rank.size() != static_cast<std::size_t>(topology.ranks))
    throw Error(StatusCode::invalid_argument,
                "members: there are " + std::to_string(world.members.kind_of_rank.size()) +
                    " ranks; the world " + describe(topology) + " has " +
                    std::to_string(topology.ranks));
  require_sweep(connection, world.sweep_uuid);
  const auto stored = read_members(connection);
  const auto present = std::ranges::find_if(stored, [&](const WorldMembers& other) {
    return other.sweep_uuid == world.sweep_uuid && other.topology_digest == world.topology_digest;
  });
  if (present != stored.end()) {
    if (*present == world) return;
    throw Error(StatusCode::already_exists,
                "sweep '" + world.sweep_uuid + "' measured " + describe(topology) +
                    " with other members: what they can do changed since; begin a new sweep");
  }
  Meta meta = read_meta(connection);
  Row row;
  put_fields(row, world);
  insert_row(connection, world_members_table(), ++meta.world_members_count, row);
  write_meta(connection, meta);
}

std::vector<WorldMembers> read_members(Connection& connection) {
  return read_all<WorldMembers>(connection, world_members_table(),
                                read_meta(connection).world_members_count, [](RowCursor& cursor) {
                                  WorldMembers world;
                                  cursor.get_fields(world);
                                  return world;
                                });
}

void put_composition(Connection& connection, const Composition& composition) {
  check_value(composition, FieldPath{.name = "composition"});
  const std::string name = parts_name(composition);
  for (const Composition& stored : read_compositions(connection)) {
    if (parts_name(stored) != name) continue;
    if (stored == composition) return;
    throw Error(StatusCode::already_exists,
                connection.path().string() + ": another composition is named '" + name + "'");
  }
  Meta meta = read_meta(connection);
  insert_row(connection, composition_table(), ++meta.composition_count,
             Row{name, to_column(composition)});
  write_meta(connection, meta);
}

std::vector<Composition> read_compositions(Connection& connection) {
  return read_all<Composition>(connection, composition_table(),
                               read_meta(connection).composition_count, [](RowCursor& cursor) {
                                 std::string name;
                                 Composition composition;
                                 cursor.get(name);
                                 cursor.get(composition);
                                 if (name != parts_name(composition))
                                   throw Error(StatusCode::data_loss,
                                               "its name '" + name + "' is not that of its parts");
                                 return composition;
                               });
}

}  // namespace colltune::db
