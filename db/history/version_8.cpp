// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// The step to version 8: the regime in keys, and the facts that are only recorded moved from
// environments to sweeps. Released: never edit; add a step instead. Every table that names a key or
// an environment is verified and rewritten. The digests that it writes are provisional: they tell
// rows apart until restate_keys computes the real ones.
//
// Everything before this version was measured persistent. A key that was measured with several
// inputs becomes several keys. Environments that differ only in what is recorded become one, and
// with them their keys; version_8_decisions.cpp says whose decisions then stay.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "measurement_steps.h"
#include "schema.h"
#include "version_8_decisions.h"

namespace colltune::db {
namespace {

// Rows of other tables refer to these, which exist again before the transaction ends.
constexpr const char* new_tables = R"sql(
PRAGMA defer_foreign_keys=ON;
DROP TABLE environment;
CREATE TABLE environment (
  id INTEGER PRIMARY KEY,
  digest TEXT NOT NULL UNIQUE,
  kernel TEXT NOT NULL,
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
  limits TEXT NOT NULL,
  row_checksum TEXT NOT NULL
) STRICT;
DROP TABLE tuning_key;
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
  mesh TEXT NOT NULL,
  nodes INTEGER NOT NULL,
  ranks_per_node INTEGER NOT NULL,
  ranks INTEGER NOT NULL,
  architectures TEXT NOT NULL,
  layout_digest TEXT NOT NULL,
  interconnect TEXT NOT NULL,
  placement TEXT NOT NULL,
  environment_digest TEXT NOT NULL REFERENCES environment (digest),
  calling TEXT NOT NULL,
  input TEXT NOT NULL,
  row_checksum TEXT NOT NULL
) STRICT;
ALTER TABLE sweep DROP COLUMN measurement_count;
ALTER TABLE sweep DROP COLUMN journal_digest;
ALTER TABLE sweep DROP COLUMN row_checksum;
ALTER TABLE sweep ADD COLUMN provenance TEXT NOT NULL DEFAULT '';
ALTER TABLE sweep ADD COLUMN measurement_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sweep ADD COLUMN journal_digest TEXT NOT NULL DEFAULT '';
ALTER TABLE sweep ADD COLUMN row_checksum TEXT NOT NULL DEFAULT '';
)sql";

constexpr const char* measurement_of_version_8 = R"sql(
CREATE TABLE measurement (
  id INTEGER PRIMARY KEY,
  sweep_id INTEGER NOT NULL REFERENCES sweep (id),
  key_id INTEGER NOT NULL REFERENCES tuning_key (id),
  variant TEXT NOT NULL,
  family TEXT NOT NULL,
  protocol TEXT NOT NULL,
  is_baseline INTEGER NOT NULL,
  is_twin INTEGER NOT NULL,
  is_holdout INTEGER NOT NULL,
  is_emulated INTEGER NOT NULL,
  pass INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  detail TEXT NOT NULL,
  samples_ns BLOB NOT NULL,
  slowest_ranks BLOB NOT NULL,
  marks BLOB NOT NULL,
  samples_per_round INTEGER NOT NULL,
  calls_per_sample INTEGER NOT NULL,
  ranks_ran INTEGER NOT NULL,
  ranks_failed INTEGER NOT NULL,
  verified_calls INTEGER NOT NULL,
  seed INTEGER NOT NULL,
  synchronization TEXT NOT NULL,
  rounding TEXT NOT NULL,
  numeric_class TEXT NOT NULL,
  limits TEXT NOT NULL,
  conditions TEXT NOT NULL,
  row_checksum TEXT NOT NULL,
  UNIQUE (sweep_id, key_id, variant, is_twin, pass)
) STRICT;
)sql";

constexpr const char* default_input_then = "rewritten";
constexpr const char* calling_then = "persistent";

using Rows = std::map<std::int64_t, Row>;

const std::string& text_in(const Row& row, std::size_t index) {
  return std::get<std::string>(row.at(index));  // the tables are STRICT
}

/// "6.1" of "6.1.0-18-amd64"; a release of another form as it is.
std::string version_of_kernel(const std::string& release) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t end = 0;
  int dots = 0;
  while (end < release.size() && (is_digit(release[end]) || (release[end] == '.' && dots == 0)))
    if (release[end++] == '.') ++dots;
  return dots == 1 && is_digit(release.front()) && is_digit(release[end - 1])
             ? release.substr(0, end)
             : release;
}

/// What becomes of an environment: its new row, and what moves to its sweeps.
struct Halves {
  Row compared;            ///< the columns of the new table, without the digest
  std::string provenance;  ///< JSON
};

Halves halves_of(const Table& before, const Row& row) {
  const auto fact = [&](std::string_view column) { return text_in(row, index_of(before, column)); };
  const std::string kernel = fact("kernel_release");
  const std::size_t blank = kernel.find(' ');
  const std::string release = kernel.substr(0, blank);
  Halves halves;
  halves.compared.emplace_back(version_of_kernel(release) +
                               (blank == std::string::npos ? "" : kernel.substr(blank)));
  // The columns between stay as they were, in their order.
  const auto first = static_cast<std::ptrdiff_t>(index_of(before, "cpu_model"));
  halves.compared.insert(halves.compared.end(), row.begin() + first, row.end());
  halves.compared.emplace_back(std::string());  // limits were not recorded
  const nlohmann::json provenance{{"colltune_version", fact("colltune_version")},
                                  {"build", fact("build")},
                                  {"operating_system", fact("operating_system")},
                                  {"kernel_release", release}};
  halves.provenance = provenance.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return halves;
}

/// The input mode under which something was measured, from what the old tables say.
class Inputs {
 public:
  Inputs(Connection& connection, const Table& sweeps, const Rows& sweep_rows) {
    const std::size_t uuid = index_of(sweeps, "uuid");
    const std::size_t configuration = index_of(sweeps, "configuration");
    for (const auto& [id, row] : sweep_rows) {
      ids_.emplace(text_in(row, uuid), id);
      const auto json = nlohmann::json::parse(text_in(row, configuration), nullptr, false, true);
      const bool says = json.is_object() && json.contains("input") && json["input"].is_string();
      const std::string input = says ? json["input"].get<std::string>() : default_input_then;
      of_sweep_[id] = input == "hot" || input == "rotating" ? input : default_input_then;
    }
    // What a measurement says of itself counts more than its sweep's configuration.
    const Table table = present_table(connection, "measurement");
    const std::size_t sweep_id = index_of(table, "sweep_id");
    const std::size_t key_id = index_of(table, "key_id");
    const std::size_t mode = index_of(table, "input_mode");
    for_each_row(connection, table, "ORDER BY id", {}, [&](std::int64_t, const Row& row) {
      of_sweep_[number_in(row, sweep_id)] = text_in(row, mode);
      of_key_[number_in(row, key_id)].insert(text_in(row, mode));
    });
  }

  /// Of what the sweep measured for the key.
  [[nodiscard]] std::string of(const std::string& sweep_uuid, std::int64_t key) {
    const auto id = ids_.find(sweep_uuid);
    if (id != ids_.end()) return note(key, of_sweep_.at(id->second));
    return note(key, of_key_[key].empty() ? default_input_then : *of_key_[key].begin());
  }
  /// All that were measured or asked for of the key; empty if none was.
  [[nodiscard]] std::set<std::string> all_of(std::int64_t key) const {
    const auto found = of_key_.find(key);
    return found == of_key_.end() ? std::set<std::string>{} : found->second;
  }

 private:
  std::string note(std::int64_t key, const std::string& input) {
    of_key_[key].insert(input);
    return input;
  }

  std::map<std::string, std::int64_t> ids_;  ///< of sweeps, by their uuid
  std::map<std::int64_t, std::string> of_sweep_;
  std::map<std::int64_t, std::set<std::string>> of_key_;
};

/// The new keys, and which of them an old key with an input has become.
class Keys {
 public:
  Keys(const Rows& rows, const Table& before,
       const std::map<std::string, std::string>& environments, const Inputs& inputs,
       const Connection& connection) {
    const std::size_t environment = index_of(before, "environment_digest");
    std::map<std::int64_t, Row> without_regime;
    std::map<std::string, std::set<std::string>> united;  // the inputs of equal keys
    for (const auto& [id, row] : rows) {
      const auto renamed = environments.find(text_in(row, environment));
      if (renamed == environments.end())
        fail_row(connection, "tuning_key", id, "names an environment that is missing");
      Row made(row.begin() + 1, row.end());  // without the digest
      made.at(environment - 1) = renamed->second;
      united[row_checksum({"tuning_key", {}}, 0, made)].merge(inputs.all_of(id));
      without_regime.emplace(id, std::move(made));
    }
    for (const auto& [id, row] : without_regime) {
      auto& all = united[row_checksum({"tuning_key", {}}, 0, row)];
      if (all.empty()) all.insert(default_input_then);
      inputs_[id] = all;
      for (const std::string& input : all) {
        Row made = row;
        made.emplace_back(std::string(calling_then));
        made.emplace_back(input);
        const std::string digest = row_checksum({"tuning_key", {}}, 0, made);
        const auto next = static_cast<std::int64_t>(rows_.size()) + 1;
        const auto [known, is_new] = by_digest_.emplace(digest, next);
        if (is_new) {
          made.insert(made.begin(), digest);
          rows_.emplace(next, std::move(made));
        }
        became_[{id, input}] = known->second;
      }
    }
  }

  [[nodiscard]] const Rows& rows() const { return rows_; }
  /// Of the old key, and of those that have become one with it.
  [[nodiscard]] const std::set<std::string>& inputs_of(std::int64_t old_key) const {
    return inputs_.at(old_key);
  }
  [[nodiscard]] std::int64_t of(std::int64_t old_key, const std::string& input) const {
    return became_.at({old_key, input});
  }

 private:
  Rows rows_;
  std::map<std::int64_t, std::set<std::string>> inputs_;
  std::map<std::string, std::int64_t> by_digest_;
  std::map<std::pair<std::int64_t, std::string>, std::int64_t> became_;
};

void replace_rows(Connection& connection, const Table& table, const std::vector<Row>& rows) {
  connection.execute("DELETE FROM " + table.name);
  std::int64_t id = 0;
  for (const Row& row : rows) insert_row(connection, table, ++id, row);
}

/// A quarantine holds for all inputs of its key, as it did: a variant that crashed is not tried
/// again because the inputs are separate keys now.
std::vector<Row> quarantines_of(const Table& table, const Rows& before, const Keys& keys) {
  const std::size_t variant = index_of(table, "variant");
  const std::size_t since = index_of(table, "since");
  const std::size_t released_at = index_of(table, "released_at");
  std::vector<Row> rows;
  std::map<std::pair<std::int64_t, std::string>, std::size_t> in_force;
  for (const auto& [id, row] : before) {
    const std::int64_t old_key = number_in(row, 0);
    for (const std::string& input : keys.inputs_of(old_key)) {
      Row made = row;
      const std::int64_t key = keys.of(old_key, input);
      made.front() = key;
      if (text_in(row, released_at).empty()) {
        const auto [present, is_new] =
            in_force.emplace(std::pair(key, text_in(row, variant)), rows.size());
        if (!is_new) {  // as where one is quarantined again: `since` stays
          made.at(since) = rows[present->second].at(since);
          rows[present->second] = std::move(made);
          continue;
        }
      }
      rows.push_back(std::move(made));
    }
  }
  return rows;
}

}  // namespace

void apply_version_8(Connection& connection) {
  const Table sweeps = present_table(connection, "sweep");
  const Table environments = present_table(connection, "environment");
  const Table old_keys = present_table(connection, "tuning_key");
  const Table failures = present_table(connection, "failure");
  const Table quarantines = present_table(connection, "quarantine");
  const Rows environment_rows = read_table(connection, environments);
  const Rows key_rows = read_table(connection, old_keys);
  const Rows quarantine_rows = read_table(connection, quarantines);
  Rows failure_rows = read_table(connection, failures);
  Rows sweep_rows = read_table(connection, sweeps);
  verify_measurements(connection, sweeps, sweep_rows);
  OldDecisions decisions(connection);

  Inputs inputs(connection, sweeps, sweep_rows);
  // Every use of a key is noted before the keys are made.
  std::map<std::int64_t, std::string> input_of_failure;
  const std::size_t failed_in = index_of(failures, "sweep_uuid");
  for (const auto& [id, row] : failure_rows)
    input_of_failure[id] = inputs.of(text_in(row, failed_in), number_in(row, 0));
  std::map<std::int64_t, std::string> input_of_decision;
  for (const OldDecision& decision : decisions.all())
    input_of_decision[decision.id] = inputs.of(decision.sweep_uuid, decision.key_id);

  std::map<std::string, std::string> new_names;   // of environments
  std::map<std::string, std::string> provenance;  // by the old digest
  std::vector<Row> new_environments;
  for (const auto& [id, row] : environment_rows) {
    Halves halves = halves_of(environments, row);
    const std::string digest = row_checksum({"environment", {}}, 0, halves.compared);
    const bool is_known = std::ranges::any_of(
        new_environments, [&](const Row& other) { return text_in(other, 0) == digest; });
    new_names.emplace(text_in(row, 0), digest);
    provenance.emplace(text_in(row, 0), std::move(halves.provenance));
    if (is_known) continue;
    halves.compared.insert(halves.compared.begin(), digest);
    new_environments.push_back(std::move(halves.compared));
  }
  const Keys keys(key_rows, old_keys, new_names, inputs, connection);

  connection.execute_script(new_tables);
  replace_rows(connection, present_table(connection, "environment"), new_environments);
  for (const auto& [id, row] : keys.rows())
    insert_row(connection, present_table(connection, "tuning_key"), id, row);
  Journals journals =
      rebuild_measurements(connection, measurement_of_version_8, {},
                           [&](const Table& before, const Row& old_row, Row& row) {
                             row.at(1) = keys.of(number_in(old_row, index_of(before, "key_id")),
                                                 text_in(old_row, index_of(before, "input_mode")));
                           });
  const std::size_t measured_in = index_of(sweeps, "environment_digest");
  for (auto& [id, row] : sweep_rows) {
    const std::string old_name = text_in(row, measured_in);
    if (!new_names.contains(old_name))
      fail_row(connection, "sweep", id, "names an environment that is missing");
    row.at(measured_in) = new_names.at(old_name);
    row.resize(index_of(sweeps, "measurement_count"));  // and the journal's digest after it
    row.insert(row.end(), {provenance.at(old_name), journals[id].count, journals[id].digest});
    update_row(connection, present_table(connection, "sweep"), id, row);
  }
  std::vector<Row> new_failures;
  for (auto& [id, row] : failure_rows) {
    row.front() = keys.of(number_in(row, 0), input_of_failure.at(id));
    new_failures.push_back(std::move(row));
  }
  replace_rows(connection, failures, new_failures);
  replace_rows(connection, quarantines, quarantines_of(quarantines, quarantine_rows, keys));
  decisions.rewrite(connection, [&](const OldDecision& decision) {
    return keys.of(decision.key_id, input_of_decision.at(decision.id));
  });
}

}  // namespace colltune::db
