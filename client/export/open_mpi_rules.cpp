// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/export/open_mpi_rules.h"

#include "colltune/export/open_mpi_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>

#include "dropped_file.h"

namespace colltune {
namespace {

constexpr std::string_view second_format = "rule-file-version-2";
// MPI's collectives in the library, those between neighbours included.
constexpr int number_of_collectives = 22;

/// Algorithms that exist for two ranks alone fail everywhere else.
bool is_for_two_ranks(std::string_view algorithm) { return algorithm == "two_proc"; }

/// The numbers of a file, one after another, as the library's reader finds them: whatever is no
/// number is passed over, and so is what follows a '#' in a line.
class Numbers {
 public:
  explicit Numbers(std::string_view text) : text_(text) {}

  /// Nothing at the end of the file.
  std::optional<long long> next() {
    for (;;) {
      skip_blanks_and_comments();
      if (at_ == text_.size()) return {};
      const std::size_t begin = at_;
      if (text_[at_] == '-' || text_[at_] == '+') ++at_;
      const std::size_t digits = at_;
      while (at_ < text_.size() && std::isalnum(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
      if (at_ > digits && std::isdigit(static_cast<unsigned char>(text_[digits])) != 0)
        return number(text_.substr(begin, at_ - begin));
      if (at_ == begin) ++at_;  // a character that belongs to no number
    }
  }
  /// Whether the line goes on with a number.
  [[nodiscard]] bool has_more_in_line() const {
    std::size_t at = at_;
    while (at < text_.size() && (text_[at] == ' ' || text_[at] == '\t')) ++at;
    return at < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at])) != 0;
  }
  [[nodiscard]] int line() const { return line_; }
  /// Numbers with a leading 0 that mean something else than they look like.
  [[nodiscard]] const std::vector<std::string>& octal() const { return octal_; }

 private:
  void skip_blanks_and_comments() {
    while (at_ < text_.size()) {
      if (text_[at_] == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
        line_ += text_[at_] == '\n' ? 1 : 0;
        ++at_;
      } else {
        return;
      }
    }
  }

  long long number(std::string_view word) {
    const std::string text(word);
    char* end = nullptr;
    // As scanf's %li: octal behind a 0, hexadecimal behind 0x.
    const long long value = std::strtoll(text.c_str(), &end, 0);
    const std::size_t first = text.find_first_of("0123456789");
    if (first + 1 < text.size() && text[first] == '0')
      octal_.push_back(fmt::format("line {}: {} is read as {}", line_, text, value));
    // The rest of the word is read again, as the reader would.
    at_ -= text.size() - static_cast<std::size_t>(end - text.c_str());
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::vector<std::string> octal_;
};

class OpenMpiRulesReader {
 public:
  OpenMpiRulesReader(std::string_view text, OpenMpiRelease release)
      : numbers_(text.starts_with(second_format) ? text.substr(second_format.size()) : text),
        has_requests_(text.starts_with(second_format)) {
    if (has_requests_ && release == OpenMpiRelease::v4_1)
      throw DroppedFile{
          "it begins with 'rule-file-version-2', which releases before 4.1.8 cannot read"};
  }

  OpenMpiRules read() {
    OpenMpiRules rules;
    const long long count = read_next("the number of collectives");
    if (count > number_of_collectives)
      throw DroppedFile{fmt::format("line {}: {} collectives, where MPI has {}", numbers_.line(),
                                    count, number_of_collectives)};
    for (long long i = 0; i < count; ++i) {
      OpenMpiCollectiveRules own;
      own.collective = static_cast<int>(std::min<long long>(read_next("the number of a collective"),
                                                            std::numeric_limits<int>::max()));
      if (own.collective >= number_of_collectives)
        throw DroppedFile{
            fmt::format("line {}: there is no collective {}", numbers_.line(), own.collective)};
      const long long sizes = read_next("how many communicator sizes follow");
      for (long long size = 0; size < sizes; ++size) own.by_ranks.push_back(read_ranks());
      // A collective that comes twice has the last one's rules.
      std::erase_if(rules, [&](const auto& one) { return one.collective == own.collective; });
      rules.push_back(std::move(own));
    }
    return rules;
  }

  [[nodiscard]] const std::vector<std::string>& octal() const { return numbers_.octal(); }

 private:
  long long read_next(std::string_view what) {
    const auto found = numbers_.next();
    if (!found)
      throw DroppedFile{
          fmt::format("it ends at line {}, where {} is expected", numbers_.line(), what)};
    if (*found < 0)
      throw DroppedFile{fmt::format("line {}: {} is {}", numbers_.line(), what, *found)};
    return *found;
  }
  int read_int(std::string_view what) { return static_cast<int>(read_next(what)); }

  OpenMpiRanksRules read_ranks() {
    OpenMpiRanksRules own{.ranks = read_int("a communicator size"), .rules = {}};
    const long long count = read_next("how many message sizes follow");
    for (long long i = 0; i < count; ++i) {
      OpenMpiRule rule;
      rule.from = static_cast<std::uint64_t>(read_next("a message size"));
      rule.algorithm = read_int("an algorithm");
      rule.fanout = read_int("a fan-out");
      rule.segment_size = read_int("a segment size");
      if (has_requests_ && numbers_.has_more_in_line())
        rule.max_requests = read_int("the most requests");
      if (i == 0 && rule.from != 0)
        throw DroppedFile{fmt::format("line {}: the first message size is {}; it must be 0",
                                      numbers_.line(), rule.from)};
      own.rules.push_back(rule);
    }
    return own;
  }

  Numbers numbers_;
  bool has_requests_;
};

std::string name_in_file(const OpenMpiCollective* collective, int number) {
  return collective != nullptr ? std::string(collective->name)
                               : fmt::format("collective {}", number);
}

/// What surprises in the rules of one communicator size.
void judge(const OpenMpiCollectiveRules& own, const OpenMpiRanksRules& rules,
           OpenMpiRelease release, CheckedOpenMpiRules& checked) {
  const OpenMpiCollective* const collective = find_open_mpi_collective(own.collective);
  const std::string where =
      fmt::format("{} of {} ranks", name_in_file(collective, own.collective), rules.ranks);
  for (std::size_t i = 0; i < rules.rules.size(); ++i) {
    const OpenMpiRule& rule = rules.rules[i];
    if (i > 0 && rule.from < rules.rules[i - 1].from)
      checked.remarks.push_back(fmt::format(
          "{}: the sizes do not ascend at {} bytes; the search ends at the first that is larger "
          "than the message",
          where, rule.from));
    if (collective == nullptr || rule.algorithm == 0) continue;
    const std::string_view name = open_mpi_algorithm_name(*collective, rule.algorithm, release);
    if (rule.algorithm > open_mpi_algorithms_in(*collective, release))
      checked.failing.push_back(fmt::format(
          "{}: from {} bytes on every call fails with MPI_ERR_ARG: there is no "
          "algorithm {}, they end at {}",
          where, rule.from, rule.algorithm, open_mpi_algorithms_in(*collective, release)));
    else if (is_for_two_ranks(name) && rules.ranks != 2)
      checked.failing.push_back(fmt::format(
          "{}: from {} bytes on every call fails: {} is for two ranks", where, rule.from, name));
    else if (name == "chain" && rule.fanout == 0)
      checked.remarks.push_back(
          fmt::format("{}: from {} bytes on: a chain of fan-out 0; write the fan-out that is meant",
                      where, rule.from));
  }
  // The ranks that are not the root have no send count that means anything.
  const bool differs = std::ranges::any_of(rules.rules, [&](const OpenMpiRule& rule) {
    return rule.algorithm != rules.rules.front().algorithm;
  });
  if (collective != nullptr && collective->name == "scatter" && differs)
    checked.failing.push_back(
        where +
        ": ranks that are not the root look rules up by whatever send count they pass, so the "
        "ranks of a call may run unlike algorithms and hang; give it one algorithm for all sizes");
}

/// Only files of format 2 have a field for the most requests.
bool is_of_second_format(const OpenMpiRules& rules) {
  for (const OpenMpiCollectiveRules& own : rules)
    for (const OpenMpiRanksRules& ranks : own.by_ranks)
      if (std::ranges::any_of(
              ranks.rules, [](const OpenMpiRule& rule) { return rule.max_requests.has_value(); }))
        return true;
  return false;
}

}  // namespace

const OpenMpiRule* open_mpi_rule_for(const OpenMpiRules& rules, int collective, int ranks,
                                     std::uint64_t bytes) {
  const auto own = std::ranges::find(rules, collective, &OpenMpiCollectiveRules::collective);
  if (own == rules.end() || own->by_ranks.empty()) return nullptr;
  const OpenMpiRanksRules* chosen = &own->by_ranks.front();
  for (const OpenMpiRanksRules& one : own->by_ranks) {
    if (one.ranks > ranks) break;
    chosen = &one;
  }
  if (chosen->rules.empty()) return nullptr;
  const OpenMpiRule* rule = &chosen->rules.front();
  for (const OpenMpiRule& one : chosen->rules) {
    if (one.from > bytes) break;
    rule = &one;
  }
  return rule->algorithm == 0 ? nullptr : rule;
}

std::string print_open_mpi_rules(const OpenMpiRules& rules, OpenMpiRelease release,
                                 const std::vector<std::string>& comment) {
  if (release == OpenMpiRelease::v6_0) return print_open_mpi_json(rules, comment);
  std::string text;
  if (is_of_second_format(rules)) text += std::string(second_format) + '\n';
  for (const std::string& line : comment) text += line.empty() ? "#\n" : "# " + line + '\n';
  text += fmt::format("{}  # collectives\n", rules.size());
  for (const OpenMpiCollectiveRules& own : rules) {
    text += fmt::format("{}  # {}\n{}  # communicator sizes\n", own.collective,
                        name_in_file(find_open_mpi_collective(own.collective), own.collective),
                        own.by_ranks.size());
    for (const OpenMpiRanksRules& ranks : own.by_ranks) {
      text +=
          fmt::format("{}  # ranks and more\n{}  # bytes and more, algorithm, fan-out, segment\n",
                      ranks.ranks, ranks.rules.size());
      for (const OpenMpiRule& rule : ranks.rules) {
        text +=
            fmt::format("{} {} {} {}", rule.from, rule.algorithm, rule.fanout, rule.segment_size);
        if (rule.max_requests) text += fmt::format(" {}", *rule.max_requests);
        text += '\n';
      }
    }
  }
  return text;
}

CheckedOpenMpiRules check_open_mpi_rules(std::string_view text, OpenMpiRelease release) {
  CheckedOpenMpiRules checked;
  try {
    OpenMpiRulesReader reader(text, release);
    checked.rules = reader.read();
    for (const std::string& one : reader.octal()) checked.remarks.push_back(one);
  } catch (const DroppedFile& dropped) {
    checked.why_dropped = dropped.why;
    return checked;
  }
  for (const OpenMpiCollectiveRules& own : *checked.rules) {
    for (std::size_t i = 0; i < own.by_ranks.size(); ++i) {
      if (i > 0 && own.by_ranks[i].ranks <= own.by_ranks[i - 1].ranks)
        checked.remarks.push_back(fmt::format(
            "{}: the communicator sizes do not ascend at {}; the search ends at the first that is "
            "larger than the communicator",
            name_in_file(find_open_mpi_collective(own.collective), own.collective),
            own.by_ranks[i].ranks));
      judge(own, own.by_ranks[i], release, checked);
    }
    if (!own.by_ranks.empty() && own.by_ranks.front().ranks > 1 &&
        std::ranges::any_of(own.by_ranks.front().rules,
                            [](const OpenMpiRule& rule) { return rule.algorithm != 0; }))
      checked.remarks.push_back(
          fmt::format("{}: communicators of fewer than {} ranks follow the rules of {} ranks too",
                      name_in_file(find_open_mpi_collective(own.collective), own.collective),
                      own.by_ranks.front().ranks, own.by_ranks.front().ranks));
  }
  return checked;
}

}  // namespace colltune
