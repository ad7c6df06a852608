// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/db/store.h"
#include "colltune/vocabulary/field_limits.h"
#include "decisions.h"
#include "failures.h"
#include "journal.h"
#include "members.h"
#include "reading.h"
#include "schema.h"

namespace colltune {

class StoreReader::Impl {
 public:
  explicit Impl(const std::filesystem::path& path)
      : connection_(db::open_for_reading(path)), uuid_(db::read_meta(*connection_).store_uuid) {}

  [[nodiscard]] const std::string& uuid() const { return uuid_; }
  [[nodiscard]] LeftOut& left_out() { return left_out_; }

  /// Runs `read` on one consistent state of the file, whatever its owner does meanwhile.
  template <class Read>
  auto read_one_state(Read&& read) {
    db::Transaction transaction(*connection_, db::Transaction::Kind::read);
    return read(*connection_);
  }

 private:
  std::unique_ptr<db::Connection> connection_;
  std::string uuid_;
  LeftOut left_out_;
};

StoreReader::StoreReader(const std::filesystem::path& path) : impl_(std::make_unique<Impl>(path)) {}
StoreReader::~StoreReader() = default;
StoreReader::StoreReader(StoreReader&&) noexcept = default;
StoreReader& StoreReader::operator=(StoreReader&&) noexcept = default;

const std::string& StoreReader::store_uuid() const { return impl_->uuid(); }

const LeftOut& StoreReader::left_out() const { return impl_->left_out(); }

std::vector<SweepRecord> StoreReader::sweeps() const {
  return impl_->read_one_state(
      [](db::Connection& connection) { return db::read_sweeps(connection); });
}

std::vector<EnvironmentRecord> StoreReader::environments() const {
  return impl_->read_one_state(
      [](db::Connection& connection) { return db::read_environments(connection); });
}

std::vector<Measurement> StoreReader::measurements(
    const std::optional<std::string>& sweep_uuid) const {
  auto all = impl_->read_one_state(
      [&](db::Connection& connection) { return db::read_measurements(connection, sweep_uuid); });
  std::erase_if(all, [&](const Measurement& measurement) {
    const std::string what = "measurement of " + to_string(measurement.variant);
    try {
      check_value(measurement, FieldPath{.name = what});
      return false;
    } catch (const Error& error) {
      impl_->left_out().add(error.what());
      return true;
    }
  });
  return all;
}

std::vector<FailureRecord> StoreReader::failures() const {
  return impl_->read_one_state(
      [](db::Connection& connection) { return db::read_failures(connection); });
}

std::vector<QuarantineRecord> StoreReader::quarantines() const {
  return impl_->read_one_state(
      [](db::Connection& connection) { return db::read_quarantines_in_force(connection); });
}

std::vector<QuarantineRecord> StoreReader::quarantine_history() const {
  return impl_->read_one_state(
      [](db::Connection& connection) { return db::read_quarantines(connection); });
}

std::vector<WorldMembers> StoreReader::members(const std::string& sweep_uuid) const {
  auto all = impl_->read_one_state(
      [](db::Connection& connection) { return db::read_members(connection); });
  std::erase_if(all, [&](const WorldMembers& world) { return world.sweep_uuid != sweep_uuid; });
  return all;
}

std::vector<Composition> StoreReader::compositions() const {
  return impl_->read_one_state(
      [](db::Connection& connection) { return db::read_compositions(connection); });
}

std::vector<GenerationRecord> StoreReader::generations() const {
  return impl_->read_one_state(
      [](db::Connection& connection) { return db::read_generations(connection); });
}

PublishedTable StoreReader::published(const std::optional<std::uint64_t>& generation) const {
  return impl_->read_one_state(
      [&](db::Connection& connection) { return db::read_published(connection, generation); });
}

}  // namespace colltune
