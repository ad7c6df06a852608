// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// The schema's history. SCHEMA.md describes every column.

#include <array>

#include "schema.h"

namespace colltune::db {
namespace {

// Released: never edit; add a step instead.
constexpr const char* version_1 = R"sql(
CREATE TABLE meta (  -- colltune tuning database
  id INTEGER PRIMARY KEY CHECK (id = 1),
  store_uuid TEXT NOT NULL,
  schema_version INTEGER NOT NULL,
  schema_digest TEXT NOT NULL,
  newest_generation INTEGER NOT NULL,
  generation_count INTEGER NOT NULL,
  highest_number INTEGER NOT NULL,
  environment_count INTEGER NOT NULL,
  sweep_count INTEGER NOT NULL,
  row_checksum TEXT NOT NULL
) STRICT;
CREATE TABLE environment (
  id INTEGER PRIMARY KEY,
  digest TEXT NOT NULL UNIQUE,
  colltune_version TEXT NOT NULL,
  build TEXT NOT NULL,
  operating_system TEXT NOT NULL,
  kernel_release TEXT NOT NULL,
  cpu_model TEXT NOT NULL,
  cpu_features TEXT NOT NULL,
  cpu_layout TEXT NOT NULL,
  frequency_policy TEXT NOT NULL,
  hypervisor TEXT NOT NULL,
  malloc_settings TEXT NOT NULL,
  mpi_library TEXT NOT NULL,
  mpi_transport TEXT NOT NULL,
  mpi_binding TEXT NOT NULL,
  gpu_model TEXT NOT NULL,
  gpu_driver TEXT NOT NULL,
  cuda_version TEXT NOT NULL,
  nccl_version TEXT NOT NULL,
  fabric TEXT NOT NULL,
  row_checksum TEXT NOT NULL
) STRICT;
CREATE TABLE sweep (
  id INTEGER PRIMARY KEY,
  uuid TEXT NOT NULL UNIQUE,
  started_at TEXT NOT NULL,
  finished_at TEXT NOT NULL,
  state TEXT NOT NULL,
  configuration TEXT NOT NULL,
  environment_digest TEXT NOT NULL REFERENCES environment (digest),
  launch TEXT NOT NULL,
  seed INTEGER NOT NULL,
  planned_trials INTEGER NOT NULL,
  summary TEXT NOT NULL,
  measurement_count INTEGER NOT NULL,
  journal_digest TEXT NOT NULL,
  row_checksum TEXT NOT NULL
) STRICT;
CREATE TABLE tuning_key (
  id INTEGER PRIMARY KEY,
  digest TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  collective TEXT NOT NULL,
  data_type TEXT NOT NULL,
  reduce_op TEXT NOT NULL,
  message_size_bytes INTEGER NOT NULL,
  in_place INTEGER NOT NULL,
  registered INTEGER NOT NULL,
  graph_capture INTEGER NOT NULL,
  numeric_class TEXT NOT NULL,
  nodes INTEGER NOT NULL,
  ranks_per_node INTEGER NOT NULL,
  ranks INTEGER NOT NULL,
  architectures TEXT NOT NULL,
  layout_digest TEXT NOT NULL,
  interconnect TEXT NOT NULL,
  placement TEXT NOT NULL,
  environment_digest TEXT NOT NULL REFERENCES environment (digest),
  row_checksum TEXT NOT NULL
) STRICT;
CREATE TABLE measurement (
  id INTEGER PRIMARY KEY,
  sweep_id INTEGER NOT NULL REFERENCES sweep (id),
  key_id INTEGER NOT NULL REFERENCES tuning_key (id),
  variant TEXT NOT NULL,
  family TEXT NOT NULL,
  protocol TEXT NOT NULL,
  is_baseline INTEGER NOT NULL,
  is_emulated INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  detail TEXT NOT NULL,
  samples_ns BLOB NOT NULL,
  slowest_ranks BLOB NOT NULL,
  samples_per_round INTEGER NOT NULL,
  calls_per_sample INTEGER NOT NULL,
  ranks_ran INTEGER NOT NULL,
  ranks_failed INTEGER NOT NULL,
  verified_calls INTEGER NOT NULL,
  seed INTEGER NOT NULL,
  input_mode TEXT NOT NULL,
  synchronization TEXT NOT NULL,
  rounding TEXT NOT NULL,
  numeric_class TEXT NOT NULL,
  limits TEXT NOT NULL,
  row_checksum TEXT NOT NULL,
  UNIQUE (sweep_id, key_id, variant)
) STRICT;
CREATE TABLE generation (
  id INTEGER PRIMARY KEY,
  published_at TEXT NOT NULL,
  content_digest TEXT NOT NULL,
  decision_count INTEGER NOT NULL,
  row_checksum TEXT NOT NULL
) STRICT;
CREATE TABLE decision (
  id INTEGER PRIMARY KEY,
  key_id INTEGER NOT NULL REFERENCES tuning_key (id),
  family TEXT NOT NULL,
  reason TEXT NOT NULL,
  sweep_uuid TEXT NOT NULL,
  valid_from INTEGER NOT NULL,
  valid_to INTEGER,
  row_checksum TEXT NOT NULL
) STRICT;
CREATE INDEX decision_by_key ON decision (key_id, family);
CREATE TABLE ranked_variant (
  id INTEGER PRIMARY KEY,
  decision_id INTEGER NOT NULL REFERENCES decision (id),
  position INTEGER NOT NULL,
  variant TEXT NOT NULL,
  family TEXT NOT NULL,
  protocol TEXT NOT NULL,
  is_baseline INTEGER NOT NULL,
  is_emulated INTEGER NOT NULL,
  median_ns INTEGER NOT NULL,
  low_ns INTEGER NOT NULL,
  high_ns INTEGER NOT NULL,
  speedup_over_baseline REAL NOT NULL,
  samples INTEGER NOT NULL,
  verified_calls INTEGER NOT NULL,
  rounding TEXT NOT NULL,
  numeric_class TEXT NOT NULL,
  limits TEXT NOT NULL,
  row_checksum TEXT NOT NULL,
  UNIQUE (decision_id, position)
) STRICT;
)sql";

// Released: never edit; add a step instead. The columns of `meta` are exchanged in place. So its
// text stays at the start of the file, where it distinguishes a damaged header from a foreign file.
constexpr const char* version_2 = R"sql(
ALTER TABLE meta DROP COLUMN row_checksum;
ALTER TABLE meta ADD COLUMN failure_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE meta ADD COLUMN quarantine_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE meta ADD COLUMN row_checksum TEXT NOT NULL DEFAULT '';
CREATE TABLE failure (
  id INTEGER PRIMARY KEY,
  key_id INTEGER NOT NULL REFERENCES tuning_key (id),
  sweep_uuid TEXT NOT NULL REFERENCES sweep (uuid),
  variant TEXT NOT NULL,
  outcome TEXT NOT NULL,
  detail TEXT NOT NULL,
  recorded_at TEXT NOT NULL,
  row_checksum TEXT NOT NULL
) STRICT;
CREATE TABLE quarantine (
  id INTEGER PRIMARY KEY,
  key_id INTEGER NOT NULL REFERENCES tuning_key (id),
  variant TEXT NOT NULL,
  failures INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  reason TEXT NOT NULL,
  since TEXT NOT NULL,
  released_at TEXT NOT NULL,
  row_checksum TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX quarantine_in_force ON quarantine (key_id, variant) WHERE released_at = '';
)sql";

// Released: never edit; add a step instead.
constexpr const char* version_5 = R"sql(
ALTER TABLE meta DROP COLUMN row_checksum;
ALTER TABLE meta ADD COLUMN world_members_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE meta ADD COLUMN composition_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE meta ADD COLUMN row_checksum TEXT NOT NULL DEFAULT '';
CREATE TABLE world_members (
  id INTEGER PRIMARY KEY,
  sweep_uuid TEXT NOT NULL REFERENCES sweep (uuid),
  topology_digest TEXT NOT NULL,
  members TEXT NOT NULL,
  row_checksum TEXT NOT NULL,
  UNIQUE (sweep_uuid, topology_digest)
) STRICT;
CREATE TABLE composition (
  id INTEGER PRIMARY KEY,
  parts_name TEXT NOT NULL UNIQUE,
  composition TEXT NOT NULL,
  row_checksum TEXT NOT NULL
) STRICT;
)sql";

constexpr std::array<Migration, 10> history{{
    {1, [](Connection& connection) { connection.execute_script(version_1); }},
    {2, [](Connection& connection) { connection.execute_script(version_2); }},
    {3, apply_version_3, true},
    {4, apply_version_4},
    {5, [](Connection& connection) { connection.execute_script(version_5); }},
    {6, apply_version_6},
    {7, apply_version_7},
    {8, apply_version_8, true, true},
    {9, apply_version_9},
    {10, apply_version_10},
}};

}  // namespace

std::span<const Migration> schema_history() { return history; }

}  // namespace colltune::db
