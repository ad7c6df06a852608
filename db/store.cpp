// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/db/store.h"

#include <ranges>

#include "colltune/vocabulary/canonical.h"
#include "decisions.h"
#include "failures.h"
#include "journal.h"
#include "members.h"
#include "schema.h"
#include "snapshot.h"
#include "sqlite/file_system.h"
#include "sqlite/owner_lock.h"

namespace colltune {
namespace {

using db::Connection;
using db::Transaction;

/// Refuses whatever can be refused before anything is created. Returns the file's canonical path.
std::filesystem::path check_place(const std::filesystem::path& given) {
  const auto path = db::real_path(given);
  std::error_code error;
  if (!std::filesystem::is_directory(path.parent_path(), error))
    throw Error(StatusCode::failed_precondition,
                given.string() + ": there is no folder " + path.parent_path().string());
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error))
    throw Error(StatusCode::failed_precondition,
                given.string() + " is not a colltune database (not a regular file)");
  db::refuse_network_file_system(path);
  return path;
}

void remove_database(const std::filesystem::path& path) {
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    auto file = path;
    file += suffix;
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
  }
}

/// Some file systems accept WAL mode and fail at the first write; this is tested on a scratch file.
void probe_writing(const std::filesystem::path& database) {
  auto path = database;
  path += ".probe";
  remove_database(path);
  try {
    Connection connection(path, db::OpenMode::owner);
    connection.configure();
    if (connection.text("PRAGMA journal_mode=WAL") != "wal")
      throw Error(StatusCode::failed_precondition,
                  database.string() +
                      ": SQLite cannot use its write-ahead log here; use a local "
                      "disk");
    connection.execute("CREATE TABLE probe (id INTEGER PRIMARY KEY)");
    connection.execute("INSERT INTO probe VALUES (1)");
  } catch (...) {
    remove_database(path);
    throw;
  }
  remove_database(path);
}

}  // namespace

class Store::Impl {
 public:
  explicit Impl(const std::filesystem::path& given)
      : path_(check_place(given)), lock_(path_), connection_(open()) {
    prepare_owned(connection_, db::schema_history());
    db::heal_snapshot(connection_);
    uuid_ = db::read_meta(connection_).store_uuid;
  }

  [[nodiscard]] const std::string& uuid() const { return uuid_; }
  [[nodiscard]] Connection& connection() { return connection_; }

  /// Runs `write` as one durable transaction.
  template <class Write>
  auto transact(Write&& write) {
    Transaction transaction(connection_, Transaction::Kind::write);
    auto result = write(connection_);
    transaction.commit();
    return result;
  }

 private:
  Connection open() {
    probe_writing(path_);
    return Connection(path_, db::OpenMode::owner);
  }

  std::filesystem::path path_;
  db::OwnerLock lock_;
  Connection connection_;
  std::string uuid_;
};

Store::Store(const std::filesystem::path& path) : impl_(std::make_unique<Impl>(path)) {}
Store::~Store() = default;
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;

const std::string& Store::uuid() const { return impl_->uuid(); }

std::string Store::put_environment(const Environment& environment) {
  return impl_->transact(
      [&](Connection& connection) { return db::put_environment(connection, environment); });
}

void Store::begin_sweep(const SweepRecord& sweep) {
  impl_->transact([&](Connection& connection) {
    db::begin_sweep(connection, sweep);
    return true;
  });
}

void Store::append(const std::string& sweep_uuid, std::span<const Measurement> measurements) {
  impl_->transact([&](Connection& connection) {
    db::append_measurements(connection, sweep_uuid, measurements);
    return true;
  });
}

std::optional<SweepRecord> Store::unfinished_sweep(const std::string& configuration,
                                                   const std::string& environment_digest,
                                                   const Provenance& provenance,
                                                   const std::string& launch) const {
  const auto sweeps = db::read_sweeps(impl_->connection());
  for (const SweepRecord& sweep : std::views::reverse(sweeps)) {
    const bool fits = sweep.purpose == SweepPurpose::choose &&
                      sweep.configuration == configuration &&
                      sweep.environment_digest == environment_digest &&
                      sweep.provenance == provenance && sweep.launch == launch;
    if (!fits) continue;
    if (sweep.state == SweepState::complete) return {};
    if (sweep.state != SweepState::failed) return sweep;
  }
  return {};
}

void Store::resume_sweep(const std::string& sweep_uuid) {
  impl_->transact([&](Connection& connection) {
    db::resume_sweep(connection, sweep_uuid);
    return true;
  });
}

void Store::finish_sweep(const std::string& sweep_uuid, SweepState state,
                         const std::string& finished_at, const std::string& summary) {
  impl_->transact([&](Connection& connection) {
    db::finish_sweep(connection, sweep_uuid, state, finished_at, summary);
    return true;
  });
}

std::vector<Measurement> Store::measurements(const std::string& sweep_uuid) const {
  return db::read_measurements(impl_->connection(), sweep_uuid);
}

void Store::put_keys(std::span<const TuningKey> keys) {
  impl_->transact([&](Connection& connection) {
    for (const TuningKey& key : keys) (void)db::put_key(connection, key);
    return true;
  });
}

std::optional<TuningKey> Store::find_key(const std::string& digest) const {
  return db::find_key(impl_->connection(), digest);
}

int Store::record_failure(const FailureRecord& failure) {
  return impl_->transact(
      [&](Connection& connection) { return db::record_failure(connection, failure); });
}

void Store::quarantine(const QuarantineRecord& quarantine) {
  impl_->transact([&](Connection& connection) {
    db::put_quarantine(connection, quarantine);
    return true;
  });
}

void Store::release_quarantine(const TuningKey& key, const Variant& variant,
                               const std::string& released_at) {
  impl_->transact([&](Connection& connection) {
    db::release_quarantine(connection, key, variant, released_at);
    return true;
  });
}

std::vector<QuarantineRecord> Store::quarantines() const {
  return db::read_quarantines_in_force(impl_->connection());
}

void Store::note_members(const std::string& sweep_uuid, const Topology& topology,
                         const Members& members) {
  impl_->transact([&](Connection& connection) {
    db::put_members(connection, {sweep_uuid, digest_of_value(topology), members}, topology);
    return true;
  });
}

void Store::note_compositions(std::span<const Composition> compositions) {
  impl_->transact([&](Connection& connection) {
    for (const Composition& composition : compositions)
      db::put_composition(connection, composition);
    return true;
  });
}

namespace {

/// Writes the snapshot, which readers open from then on, and truncates the write-ahead log.
void bring_out(Connection& connection, const Generation& generation) {
  try {
    db::write_snapshot(connection, generation);
    // Readers may block the checkpoint; that is not an error.
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch (const Error& error) {
    throw Error(error.code(), "generation " + std::to_string(generation.number) +
                                  " is stored, but its snapshot could not be written (the next "
                                  "opening or publication writes it): " +
                                  error.what());
  }
}

}  // namespace

Generation Store::publish(std::span<const Decision> decisions, const std::string& published_at,
                          const FitMaker& fits_of) {
  Generation generation = impl_->transact([&](Connection& connection) {
    return db::put_generation(connection, decisions, published_at, fits_of);
  });
  bring_out(impl_->connection(), generation);
  return generation;
}

Generation Store::publish_again(std::uint64_t number, const std::string& published_at,
                                const FitMaker& fits_of) {
  Generation generation = impl_->transact([&](Connection& connection) {
    return db::put_generation_like(connection, number, published_at, fits_of);
  });
  bring_out(impl_->connection(), generation);
  return generation;
}

}  // namespace colltune
