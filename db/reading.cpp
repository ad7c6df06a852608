// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "reading.h"

#include "schema.h"
#include "sqlite/file_system.h"

namespace colltune::db {
namespace {

std::filesystem::path beside(const std::filesystem::path& path, const char* suffix) {
  auto name = path;
  name += suffix;
  return name;
}

bool has_content(const std::filesystem::path& file) {
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  return !error && size > 0;
}

std::unique_ptr<Connection> open_as(const std::filesystem::path& path, OpenMode access) {
  auto connection = std::make_unique<Connection>(path, access);
  prepare_read(*connection, schema_history());
  return connection;
}

}  // namespace

std::unique_ptr<Connection> open_for_reading(const std::filesystem::path& given) {
  const auto path = real_path(given);
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status))
    throw Error(StatusCode::failed_precondition, given.string() + ": there is no such file");
  if (!std::filesystem::is_regular_file(status))
    throw Error(StatusCode::failed_precondition,
                given.string() + " is not a colltune database (not a regular file)");
  auto connection = std::make_unique<Connection>(path, OpenMode::reader);
  if (!is_in_wal_mode(*connection) && !has_content(beside(path, "-journal"))) {
    connection.reset();
    return open_as(path, OpenMode::immutable);
  }
  try {
    prepare_read(*connection, schema_history());
    refuse_network_file_system(path);
    return connection;
  } catch (const SqliteError& failure) {
    if (!failure.is_cannot_open() || has_content(beside(path, "-wal"))) throw;
  }
  connection.reset();
  return open_as(path, OpenMode::immutable);
}

}  // namespace colltune::db
