// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// The step to version 7: variables of the process in environments. Released: never edit; add a step
// instead. Environments keep their ids and digests, which leave out variables if there are none.
// Their rows are verified and rewritten with the new column.

#include "measurement_steps.h"
#include "schema.h"

namespace colltune::db {
namespace {

// Rows of other tables refer to the digests, which exist again before the transaction ends.
constexpr const char* new_environment = R"sql(
PRAGMA defer_foreign_keys=ON;
DROP TABLE environment;
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
  variables TEXT NOT NULL,
  row_checksum TEXT NOT NULL
) STRICT;
)sql";

}  // namespace

void apply_version_7(Connection& connection) {
  const Table before = present_table(connection, "environment");
  auto rows = read_table(connection, before);
  connection.execute_script(new_environment);
  const Table after = present_table(connection, "environment");
  const auto variables = static_cast<std::ptrdiff_t>(index_of(after, "variables"));
  for (auto& [id, row] : rows) {
    row.insert(row.begin() + variables, std::string());  // not recorded before this version
    insert_row(connection, after, id, row);
  }
}

}  // namespace colltune::db
