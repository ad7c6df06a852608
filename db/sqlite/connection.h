// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "colltune/vocabulary/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace colltune::db {

struct Blob {
  std::vector<std::byte> bytes;
  friend bool operator==(const Blob&, const Blob&) = default;
};
struct Null {
  friend bool operator==(const Null&, const Null&) = default;
};
/// The value of one column of one row.
using Value = std::variant<Null, std::int64_t, double, std::string, Blob>;
using Row = std::vector<Value>;

/// An Error reported by SQLite, with its extended result code.
class SqliteError final : public Error {
 public:
  SqliteError(StatusCode code, int extended_code, const std::string& message)
      : Error(code, message), extended_code_(extended_code) {}
  [[nodiscard]] int extended_code() const noexcept { return extended_code_; }
  /// A UNIQUE or PRIMARY KEY constraint rejected the row.
  [[nodiscard]] bool is_duplicate() const noexcept;
  /// The file or one of its companion files could not be opened or created.
  [[nodiscard]] bool is_cannot_open() const noexcept;

 private:
  int extended_code_;
};

/// Throws SqliteError unless `code` means success; `what` names the attempted operation.
void check(sqlite3* connection, int code, std::string_view what);

/// A prepared statement. It must not outlive its connection.
class Statement {
 public:
  Statement(sqlite3* connection, std::string_view sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// Prepares another run, with `parameters` in the order of the question marks.
  void start(const Row& parameters);
  /// True if there is a (next) row.
  bool step();
  /// Runs to the end; the statement must return no row.
  void run(const Row& parameters);
  [[nodiscard]] Value column(int index) const;
  [[nodiscard]] int columns() const;
  /// Ends a run early, so that its locks are released.
  void reset() noexcept;

 private:
  sqlite3* connection_;
  sqlite3_stmt* statement_ = nullptr;
};

/// How a file is opened.
enum class OpenMode {
  owner,      ///< reads, writes and checkpoints; creates the file if it is missing
  reader,     ///< reads while an owner may write; never writes or checkpoints
  immutable,  ///< reads a file that nobody changes: takes no lock, needs no companion file
};

/// One connection with the project's settings (see README.md). Not thread-safe, and must not be
/// used across fork().
class Connection {
 public:
  Connection(const std::filesystem::path& path, OpenMode access);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Reads up to `bytes` raw bytes from the start of the main file, through SQLite's own handle.
  /// Closing another handle on the same file would drop this process's locks.
  [[nodiscard]] std::string read_start_of_file(std::size_t bytes) const;
  /// Applies settings that read the file; called once the header is known to be intact.
  void configure();

  void execute(const std::string& sql, const Row& parameters = {});
  /// Runs several statements without parameters; used for the schema.
  void execute_script(const char* sql);
  /// The only column of the only row.
  [[nodiscard]] Value value(const std::string& sql, const Row& parameters = {});
  [[nodiscard]] std::int64_t integer(const std::string& sql, const Row& parameters = {});
  [[nodiscard]] std::string text(const std::string& sql, const Row& parameters = {});
  /// The statement for `sql`, prepared once. It must not be used again before its run has ended.
  [[nodiscard]] Statement& prepared(const std::string& sql);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] sqlite3* handle() const { return handle_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* handle) const noexcept;
  };
  std::filesystem::path path_;
  OpenMode access_;
  std::unique_ptr<sqlite3, Close> handle_;
  std::map<std::string, std::unique_ptr<Statement>> statements_;
};

/// A transaction that is rolled back unless it was committed.
class Transaction {
 public:
  enum class Kind { read, write };
  Transaction(Connection& connection, Kind kind);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Connection& connection_;
};

}  // namespace colltune::db
