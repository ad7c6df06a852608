// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "connection.h"

#include <sqlite3.h>

#include <algorithm>
#include <cerrno>

namespace colltune::db {
namespace {

/// How long a connection waits for another connection's short exclusive lock (recovery, the end of
/// a checkpoint, a person's sqlite3 shell) before it reports it.
constexpr int busy_timeout_ms = 5000;

StatusCode status_of(int code, int system_error) {
  switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
      return StatusCode::data_loss;
    case SQLITE_FULL:
      return StatusCode::resource_exhausted;
    case SQLITE_IOERR:
      if (system_error == ENOSPC || system_error == EDQUOT) return StatusCode::resource_exhausted;
      return code == SQLITE_IOERR_SHORT_READ || code == SQLITE_IOERR_DATA ||
                     code == SQLITE_IOERR_CORRUPTFS
                 ? StatusCode::data_loss
                 : StatusCode::unavailable;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return StatusCode::unavailable;
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_READONLY:
      return StatusCode::permission_denied;
    case SQLITE_CANTOPEN:
      return system_error == ENOSPC || system_error == EDQUOT ? StatusCode::resource_exhausted
                                                              : StatusCode::permission_denied;
    case SQLITE_PROTOCOL:
    case SQLITE_NOLFS:
      return StatusCode::failed_precondition;
    case SQLITE_NOMEM:
      return StatusCode::resource_exhausted;
    case SQLITE_TOOBIG:
      return StatusCode::out_of_range;
    default:
      return StatusCode::internal;
  }
}

[[noreturn]] void fail(sqlite3* connection, int code, StatusCode status, std::string_view what) {
  std::string message(what);
  const char* file = connection ? sqlite3_db_filename(connection, "main") : nullptr;
  if (file && *file) message = std::string(file) + ": " + message;
  message += ": ";
  message += connection ? sqlite3_errmsg(connection) : sqlite3_errstr(code);
  message += " (SQLite " + std::to_string(code) + ")";
  throw SqliteError(status, code, message);
}

/// `path` as a file: URI in which '?', '#' and '%' stand for themselves.
std::string uri_of(const std::filesystem::path& path, OpenMode access) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path).string()) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '/' || c == '.' || c == '_' || c == '-';
    if (plain) {
      uri += c;
    } else {
      uri += '%';
      uri += digits[byte >> 4];
      uri += digits[byte & 15];
    }
  }
  return access == OpenMode::immutable ? uri + "?immutable=1" : uri;
}

void set(sqlite3* connection, int option, int on) {
  int now = 0;
  check(connection, sqlite3_db_config(connection, option, on, &now), "cannot configure");
}

}  // namespace

bool SqliteError::is_duplicate() const noexcept {
  return extended_code_ == SQLITE_CONSTRAINT_UNIQUE ||
         extended_code_ == SQLITE_CONSTRAINT_PRIMARYKEY ||
         extended_code_ == SQLITE_CONSTRAINT_ROWID;
}

bool SqliteError::is_cannot_open() const noexcept {
  const int code = extended_code_ & 0xff;
  return code == SQLITE_CANTOPEN || code == SQLITE_READONLY;
}

void check(sqlite3* connection, int code, std::string_view what) {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
  const int extended = connection ? sqlite3_extended_errcode(connection) : code;
  const int best = (extended & 0xff) == (code & 0xff) ? extended : code;
  fail(connection, best, status_of(best, connection ? sqlite3_system_errno(connection) : 0), what);
}

Statement::Statement(sqlite3* connection, std::string_view sql) : connection_(connection) {
  check(connection_,
        sqlite3_prepare_v3(connection_, sql.data(), static_cast<int>(sql.size()),
                           SQLITE_PREPARE_PERSISTENT, &statement_, nullptr),
        sql);
}

Statement::~Statement() { sqlite3_finalize(statement_); }

void Statement::start(const Row& parameters) {
  reset();
  int index = 0;
  for (const Value& value : parameters) {
    ++index;
    int code = SQLITE_OK;
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      code = sqlite3_bind_int64(statement_, index, *number);
    } else if (const auto* real = std::get_if<double>(&value)) {
      code = sqlite3_bind_double(statement_, index, *real);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      code = sqlite3_bind_text64(statement_, index, text->data(), text->size(), SQLITE_TRANSIENT,
                                 SQLITE_UTF8);
    } else if (const auto* blob = std::get_if<Blob>(&value)) {
      code = blob->bytes.empty() ? sqlite3_bind_zeroblob(statement_, index, 0)
                                 : sqlite3_bind_blob64(statement_, index, blob->bytes.data(),
                                                       blob->bytes.size(), SQLITE_TRANSIENT);
    } else {
      code = sqlite3_bind_null(statement_, index);
    }
    check(connection_, code, sqlite3_sql(statement_));
  }
}

bool Statement::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    reset();
    return false;
  }
  // An absurd length in a stored row means damage, not a request of ours.
  const bool reads = sqlite3_stmt_readonly(statement_) != 0;
  if (reads && (code & 0xff) == SQLITE_TOOBIG)
    fail(connection_, code, StatusCode::data_loss, sqlite3_sql(statement_));
  try {
    check(connection_, code, sqlite3_sql(statement_));
  } catch (...) {
    reset();
    throw;
  }
  return false;
}

void Statement::run(const Row& parameters) {
  start(parameters);
  while (step()) {
  }
}

Value Statement::column(int index) const {
  const auto bytes = [&] {
    return static_cast<std::size_t>(sqlite3_column_bytes(statement_, index));
  };
  switch (sqlite3_column_type(statement_, index)) {
    case SQLITE_INTEGER:
      return std::int64_t{sqlite3_column_int64(statement_, index)};
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement_, index);
    case SQLITE_TEXT: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, index));
      return std::string(text, bytes());
    }
    case SQLITE_BLOB: {
      const auto* data = static_cast<const std::byte*>(sqlite3_column_blob(statement_, index));
      return Blob{std::vector<std::byte>(data, data + bytes())};
    }
    default:
      return Null{};
  }
}

int Statement::columns() const { return sqlite3_column_count(statement_); }

void Statement::reset() noexcept {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

void Connection::Close::operator()(sqlite3* handle) const noexcept { sqlite3_close_v2(handle); }

Connection::Connection(const std::filesystem::path& path, OpenMode access)
    : path_(path), access_(access) {
  const int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
                    (access == OpenMode::owner ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                                               : SQLITE_OPEN_READONLY);
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(uri_of(path, access).c_str(), &handle, flags, nullptr);
  handle_.reset(handle);
  check(handle, code, "cannot open " + path.string());
  check(handle, sqlite3_busy_timeout(handle, busy_timeout_ms), "cannot set the busy time-out");
  set(handle, SQLITE_DBCONFIG_DEFENSIVE, 1);
  set(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0);
  set(handle, SQLITE_DBCONFIG_ENABLE_FKEY, 1);
  if (access != OpenMode::owner) set(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1);
}

Connection::~Connection() { statements_.clear(); }

std::string Connection::read_start_of_file(std::size_t bytes) const {
  sqlite3_file* file = nullptr;
  check(handle_.get(),
        sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_FILE_POINTER, &file),
        "cannot reach the file");
  sqlite3_int64 size = 0;
  check(handle_.get(), file->pMethods->xFileSize(file, &size), "cannot read the file's size");
  std::string start(std::min(bytes, static_cast<std::size_t>(size)), '\0');
  if (!start.empty())
    check(handle_.get(),
          file->pMethods->xRead(file, start.data(), static_cast<int>(start.size()), 0),
          "cannot read the file's start");
  return start;
}

void Connection::configure() {
  execute("PRAGMA cell_size_check=ON");
  if (access_ == OpenMode::owner) {
    execute("PRAGMA synchronous=FULL");
  } else {
    execute("PRAGMA query_only=ON");
    execute("PRAGMA wal_autocheckpoint=0");
  }
}

void Connection::execute(const std::string& sql, const Row& parameters) {
  Statement(handle_.get(), sql).run(parameters);
}

void Connection::execute_script(const char* sql) {
  check(handle_.get(), sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr),
        "cannot run a script");
}

Value Connection::value(const std::string& sql, const Row& parameters) {
  Statement statement(handle_.get(), sql);
  statement.start(parameters);
  if (!statement.step())
    throw Error(StatusCode::data_loss, path_.string() + ": no row for: " + sql);
  return statement.column(0);
}

std::int64_t Connection::integer(const std::string& sql, const Row& parameters) {
  const Value found = value(sql, parameters);
  if (const auto* number = std::get_if<std::int64_t>(&found)) return *number;
  throw Error(StatusCode::data_loss, path_.string() + ": not a whole number: " + sql);
}

std::string Connection::text(const std::string& sql, const Row& parameters) {
  const Value found = value(sql, parameters);
  if (const auto* string = std::get_if<std::string>(&found)) return *string;
  throw Error(StatusCode::data_loss, path_.string() + ": not a text: " + sql);
}

Statement& Connection::prepared(const std::string& sql) {
  auto& statement = statements_[sql];
  if (!statement) statement = std::make_unique<Statement>(handle_.get(), sql);
  return *statement;
}

Transaction::Transaction(Connection& connection, Kind kind) : connection_(connection) {
  connection_.prepared(kind == Kind::write ? "BEGIN IMMEDIATE" : "BEGIN").run({});
}

Transaction::~Transaction() {
  // After some errors (a full disk) SQLite has already rolled back, and a second ROLLBACK would
  // fail.
  if (sqlite3_get_autocommit(connection_.handle()) == 0)
    sqlite3_exec(connection_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() { connection_.prepared("COMMIT").run({}); }

}  // namespace colltune::db
