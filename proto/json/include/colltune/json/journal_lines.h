// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "colltune/json/json.h"
#include "colltune/vocabulary/names.h"

namespace colltune {

/// What a line of a results file (`colltune-agent sweep --json results.jsonl`) holds. The order in
/// a file: environments before the records that name them, one `sweep`, what its members can do,
/// its measurements, compositions before the decisions that name them, its decisions, one `end`.
/// Several such files may be concatenated. proto/json/README.md describes the format.
enum class JournalRecord {
  environment = 0,  ///< Environment
  sweep = 1,        ///< SweepRecord at the start of the sweep
  measurement = 2,  ///< Measurement of that sweep
  decision = 3,     ///< Decision of that sweep
  end = 4,          ///< SweepRecord at the end of the sweep
  members = 5,      ///< WorldMembers of that sweep
  composition = 6,  ///< Composition that later decisions name
};
constexpr std::array<Named<JournalRecord>, 7> enum_names(JournalRecord) {
  return {{{JournalRecord::environment, "environment"},
           {JournalRecord::sweep, "sweep"},
           {JournalRecord::measurement, "measurement"},
           {JournalRecord::decision, "decision"},
           {JournalRecord::end, "end"},
           {JournalRecord::members, "members"},
           {JournalRecord::composition, "composition"}}};
}
constexpr std::string_view enum_title(JournalRecord) { return "journal record"; }

/// The version of the format that is written, and the only one that is read.
inline constexpr int journal_version = 4;

/// Writes a results file, one complete line per call, flushed before it returns. So a killed job
/// leaves at most one incomplete line, the last one. Not thread-safe. Keeps a reference to `out`.
class JournalLineWriter {
 public:
  /// `name` is the file's name, for messages.
  JournalLineWriter(std::ostream& out, std::string name);

  /// Throws Error(resource_exhausted) if the stream does not accept the line.
  template <class T>
  void write(JournalRecord record, const T& value) {
    write_value(record, to_json_value(value));
  }

 private:
  void write_value(JournalRecord record, nlohmann::json value);

  std::ostream& out_;
  std::string name_;
  std::uint64_t lines_ = 0;
};

/// A line that was read: complete, of a known version, with a verified digest.
struct JournalLine {
  JournalRecord record = JournalRecord::environment;
  nlohmann::json value;
  std::string where;  ///< "results.jsonl:12"

  /// The value, as the type that JournalRecord names. Throws Error(invalid_argument) whose message
  /// begins with `where`.
  template <class T>
  [[nodiscard]] T as() const {
    return from_json_value<T>(value, where);
  }
};

/// Reads a results file line by line. Not thread-safe. Keeps a reference to `in`.
class JournalLineReader {
 public:
  /// `name` is the file's name, for messages.
  JournalLineReader(std::istream& in, std::string name);

  /// The next line; empty at the end. If the last line lacks its line end and cannot be read, a
  /// killed writer cut it off: the file ends there, and `cut_off` says so. Any other damage is
  /// Error(data_loss); a line of another version or format is Error(invalid_argument). Messages
  /// begin with file name and line number.
  [[nodiscard]] std::optional<JournalLine> next();

  /// What was cut off at the end, for a person; empty if nothing was.
  [[nodiscard]] const std::string& cut_off() const { return cut_off_; }

 private:
  std::istream& in_;
  std::string name_;
  std::string cut_off_;
  std::uint64_t line_ = 0;      ///< of the file, from 1
  std::uint64_t expected_ = 1;  ///< the next line's number, unless it starts again
};

}  // namespace colltune
