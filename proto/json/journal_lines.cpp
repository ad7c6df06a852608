// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/json/journal_lines.h"

#include <algorithm>
#include <istream>
#include <ostream>
#include <utility>

namespace colltune {
namespace {

/// Our records nest less than 10 deep; the limit protects the JSON parser's recursion from hostile
/// files.
constexpr int deepest_nesting = 64;
/// A measurement of a million samples takes 30 MiB.
constexpr std::size_t longest_line = std::size_t{128} << 20U;

bool nests_too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > deepest_nesting) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

/// One text per value: sorted keys, no white space; bytes that are not UTF-8 become U+FFFD.
std::string text_of(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// The digest in a line: computed over its text without the digest.
std::string digest_of_line(const nlohmann::json& line) { return digest_of_text(text_of(line)); }

[[noreturn]] void fail(StatusCode code, const std::string& where, const std::string& what) {
  throw Error(code, where + ": " + what);
}

const nlohmann::json& member(const nlohmann::json& line, const char* name,
                             const std::string& where) {
  const auto found = line.find(name);
  if (found == line.end())
    fail(StatusCode::invalid_argument, where,
         "key '" + std::string(name) +
             "' is missing; a line of a results file has digest, number, record, value, version");
  return *found;
}

struct NumberedLine {
  JournalLine line;
  std::uint64_t number = 0;
};

NumberedLine parse_line(const std::string& text, const std::string& where) {
  if (nests_too_deep(text)) fail(StatusCode::data_loss, where, "the JSON is nested too deep");
  nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) fail(StatusCode::data_loss, where, "the line is damaged: it is no JSON");
  if (!json.is_object())
    fail(StatusCode::invalid_argument, where, "expected an object of a results file");
  const int version = from_json_value<int>(member(json, "version", where), where + "/version");
  if (version != journal_version)
    fail(StatusCode::invalid_argument, where,
         "the line is of format version " + std::to_string(version) + "; this colltune reads " +
             std::to_string(journal_version));
  NumberedLine result;
  result.number = from_json_value<std::uint64_t>(member(json, "number", where), where + "/number");
  const auto digest =
      from_json_value<std::string>(member(json, "digest", where), where + "/digest");
  json.erase("digest");
  if (digest_of_line(json) != digest)
    fail(StatusCode::data_loss, where, "the line is damaged: its digest does not fit its content");
  result.line.record =
      from_json_value<JournalRecord>(member(json, "record", where), where + "/record");
  result.line.value = member(json, "value", where);
  result.line.where = where;
  return result;
}

}  // namespace

JournalLineWriter::JournalLineWriter(std::ostream& out, std::string name)
    : out_(out), name_(std::move(name)) {}

void JournalLineWriter::write_value(JournalRecord record, nlohmann::json value) {
  nlohmann::json line = {{"record", to_json_value(record)},
                         {"version", journal_version},
                         {"number", lines_ + 1},
                         {"value", std::move(value)}};
  std::string digest = digest_of_line(line);
  line["digest"] = std::move(digest);
  out_ << text_of(line) << '\n' << std::flush;
  if (!out_)
    throw Error(StatusCode::resource_exhausted,
                name_ + ": line " + std::to_string(lines_ + 1) + " could not be written");
  ++lines_;
}

JournalLineReader::JournalLineReader(std::istream& in, std::string name)
    : in_(in), name_(std::move(name)) {}

std::optional<JournalLine> JournalLineReader::next() {
  std::string text;
  // Reads the buffer character by character, so that a file without line ends cannot fill the
  // memory.
  std::streambuf& from = *in_.rdbuf();
  constexpr int end = std::char_traits<char>::eof();
  int c = from.sbumpc();
  if (c == end) return std::nullopt;
  for (; c != end && c != '\n'; c = from.sbumpc()) {
    text += static_cast<char>(c);
    if (text.size() > longest_line)
      fail(StatusCode::invalid_argument, name_ + ":" + std::to_string(line_ + 1),
           "the line has more than " + std::to_string(longest_line) +
               " bytes, and is none of a results file");
  }
  const bool has_end = c == '\n';
  const std::string where = name_ + ":" + std::to_string(++line_);
  NumberedLine parsed;
  try {
    parsed = parse_line(text, where);
  } catch (const Error& error) {
    if (has_end || error.code() != StatusCode::data_loss) throw;
    cut_off_ = where + ": the last line is cut off (" + std::to_string(text.size()) +
               " bytes of it are there): its writer was stopped";
    return std::nullopt;
  }
  if (parsed.number != expected_ && parsed.number != 1)
    fail(StatusCode::data_loss, where,
         "the line carries number " + std::to_string(parsed.number) + " where " +
             std::to_string(expected_) + " follows: lines are missing or in another order");
  expected_ = parsed.number + 1;
  return std::move(parsed.line);
}

}  // namespace colltune
