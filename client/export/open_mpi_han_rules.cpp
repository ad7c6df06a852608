// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/export/open_mpi_han_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <limits>

#include "dropped_file.h"

namespace colltune {
namespace {

/// MPI's collectives by their numbers in the library.
constexpr std::array<std::string_view, 22> collectives_of_library{"allgather",
                                                                  "allgatherv",
                                                                  "allreduce",
                                                                  "alltoall",
                                                                  "alltoallv",
                                                                  "alltoallw",
                                                                  "barrier",
                                                                  "bcast",
                                                                  "exscan",
                                                                  "gather",
                                                                  "gatherv",
                                                                  "reduce",
                                                                  "reduce_scatter",
                                                                  "reduce_scatter_block",
                                                                  "scan",
                                                                  "scatter",
                                                                  "scatterv",
                                                                  "neighbor_allgather",
                                                                  "neighbor_allgatherv",
                                                                  "neighbor_alltoall",
                                                                  "neighbor_alltoallv",
                                                                  "neighbor_alltoallw"};

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// The words and numbers of a file, as the library's reader (scanf) takes them. What is no number
/// where one is expected is passed over, character by character.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}

  /// By %li: octal behind a 0, hexadecimal behind 0x. Nothing at the end of the file.
  std::optional<std::int64_t> next_count() {
    if (!find_number()) return {};
    const std::string rest(text_.substr(at_, longest_number));
    char* end = nullptr;
    const long long value = std::strtoll(rest.c_str(), &end, 0);
    const std::string word(rest.c_str(), static_cast<std::size_t>(end - rest.c_str()));
    const std::size_t first = word.find_first_of("0123456789");
    if (first + 1 < word.size() && word[first] == '0')
      remarks_.push_back(fmt::format("line {}: {} is read as {}", line_, word, value));
    at_ += word.size();
    return value;
  }

  /// By %zu: decimal, and a negative one is a huge one.
  std::optional<std::uint64_t> next_size() {
    if (!find_number()) return {};
    const std::string rest(text_.substr(at_, longest_number));
    char* end = nullptr;
    const unsigned long long value = std::strtoull(rest.c_str(), &end, 10);
    const auto length = static_cast<std::size_t>(end - rest.c_str());
    if (rest.front() == '-')
      remarks_.push_back(fmt::format("line {}: message size {} is read as {}", line_,
                                     rest.substr(0, length), value));
    at_ += length;
    return value;
  }

  /// By %32s.
  std::optional<std::string> next_word() {
    for (;;) {
      skip_blanks();
      if (at_ == text_.size()) return {};
      if (text_[at_] == '#') {
        skip_line();
        continue;
      }
      const std::size_t begin = at_;
      while (at_ < text_.size() && at_ - begin < longest_word && !is_space(text_[at_])) ++at_;
      return std::string(text_.substr(begin, at_ - begin));
    }
  }

  [[nodiscard]] bool has_more() {
    for (;;) {
      skip_blanks();
      if (at_ == text_.size()) return false;
      if (text_[at_] != '#') return true;
      skip_line();
    }
  }

  [[nodiscard]] int line() const { return line_; }
  [[nodiscard]] std::vector<std::string>& remarks() { return remarks_; }

 private:
  static constexpr std::size_t longest_word = 32;
  static constexpr std::size_t longest_number = 64;

  /// Stops at a number, its sign included.
  bool find_number() {
    std::string passed;
    int passed_in = 0;
    for (;;) {
      skip_blanks();
      if (at_ == text_.size()) break;
      if (text_[at_] == '#') {
        skip_line();
        continue;
      }
      const bool has_sign = text_[at_] == '-' || text_[at_] == '+';
      const std::size_t digits = at_ + (has_sign ? 1 : 0);
      if (digits < text_.size() && is_digit(text_[digits])) break;
      if (passed.empty()) passed_in = line_;
      passed += text_[at_++];
    }
    if (!passed.empty())
      remarks_.push_back(fmt::format("line {}: '{}' is passed over, where a number is expected",
                                     passed_in, passed));
    return at_ < text_.size();
  }
  void skip_blanks() {
    while (at_ < text_.size() && is_space(text_[at_])) line_ += text_[at_++] == '\n' ? 1 : 0;
  }
  void skip_line() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::vector<std::string> remarks_;
};

class HanRulesReader {
 public:
  explicit HanRulesReader(std::string_view text) : words_(text) {}

  HanRules read() {
    HanRules rules;
    const std::int64_t count = next_count("the number of collectives", 1);
    for (std::int64_t i = 0; i < count; ++i) rules.push_back(read_collective());
    if (words_.has_more())
      words_.remarks().push_back(
          fmt::format("line {}: what stands here and below is not read", words_.line()));
    return rules;
  }

  [[nodiscard]] std::vector<std::string>& remarks() { return words_.remarks(); }

 private:
  std::int64_t next_count(std::string_view what, std::int64_t least) {
    const auto found = words_.next_count();
    if (!found) throw DroppedFile{ended_before(what)};
    if (*found < least)
      throw DroppedFile{fmt::format("line {}: {} is {}; at least {} is allowed", words_.line(),
                                    what, *found, least)};
    return *found;
  }
  std::string next_word(std::string_view what) {
    const auto found = words_.next_word();
    if (!found) throw DroppedFile{ended_before(what)};
    return *found;
  }
  [[nodiscard]] std::string ended_before(std::string_view what) const {
    return fmt::format("it ends at line {}, where {} is expected", words_.line(), what);
  }

  int read_number_of_collective() {
    const std::string word = next_word("a collective");
    const auto* const named = std::ranges::find(collectives_of_library, word);
    if (named != collectives_of_library.end())
      return static_cast<int>(named - collectives_of_library.begin());
    int number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size() || number < 0 ||
        number >= static_cast<int>(collectives_of_library.size()))
      throw DroppedFile{fmt::format(
          "line {}: there is no collective '{}'; allowed are 0 to {} and names in lower case, "
          "followed by a blank",
          words_.line(), word, collectives_of_library.size() - 1)};
    return number;
  }

  HanCollectiveRules read_collective() {
    HanCollectiveRules own{.collective = read_number_of_collective(), .levels = {}};
    const std::int64_t levels = next_count("how many levels follow", 0);
    for (std::int64_t i = 0; i < levels; ++i) {
      const std::int64_t level = next_count("a level", 0);
      if (level >= static_cast<std::int64_t>(han_level_names.size()))
        throw DroppedFile{fmt::format(
            "line {}: there is no level {}; allowed are 0 (inside a host), 1 (between hosts) and 2 "
            "(all ranks)",
            words_.line(), level)};
      own.levels.push_back({.level = static_cast<HanLevel>(level), .by_ranks = {}});
      const std::int64_t sizes = next_count("how many communicator sizes follow", 0);
      for (std::int64_t size = 0; size < sizes; ++size)
        own.levels.back().by_ranks.push_back(read_ranks(size == 0));
    }
    return own;
  }

  HanRanksRules read_ranks(bool is_first) {
    HanRanksRules own{.ranks = next_count("a communicator size", 1), .rules = {}};
    if (is_first && own.ranks != 1)
      throw DroppedFile{
          fmt::format("line {}: the first communicator size of a level is {}; it must be 1",
                      words_.line(), own.ranks)};
    const std::int64_t count = next_count("how many message sizes follow", 0);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto size = words_.next_size();
      if (!size) throw DroppedFile{ended_before("a message size")};
      if (i == 0 && *size > 1)
        throw DroppedFile{fmt::format("line {}: the first message size is {}; it must be 0",
                                      words_.line(), *size)};
      const std::string word = next_word("a component");
      const auto component = find_han_component(word);
      if (!component)
        throw DroppedFile{fmt::format("line {}: there is no component '{}'; allowed are {}",
                                      words_.line(), word, fmt::join(han_component_names, ", "))};
      own.rules.push_back({.from = *size, .component = *component});
    }
    return own;
  }

  Words words_;
};

/// What surprises in the rules of one level.
class Judge {
 public:
  explicit Judge(CheckedHanRules& checked) : checked_(checked) {}

  void judge(const HanRules& rules) {
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const HanCollectiveRules& own = rules[i];
      const std::string name = han_collective_name(own.collective);
      if (std::any_of(rules.begin() + static_cast<std::ptrdiff_t>(i) + 1, rules.end(),
                      [&](const auto& later) { return later.collective == own.collective; })) {
        remark(name + ": comes again below, and only the last ones are followed");
        continue;
      }
      const HanCollective* const collective = find_han_collective(own.collective);
      if (collective == nullptr) {
        remark(name + ": coll/han has nothing for it, so these rules are never used");
        continue;
      }
      for (const HanLevelRules& level : own.levels) judge(*collective, level);
    }
    for (const HanCollective& collective : han_collectives())
      if (collective.is_between_hosts &&
          han_rule_for(rules, collective.number, HanLevel::whole,
                       std::numeric_limits<std::int64_t>::max(),
                       std::numeric_limits<std::uint64_t>::max()) == nullptr)
        remark(fmt::format("{}: has no rule for all ranks, so coll/han runs it", collective.name));
  }

 private:
  void remark(std::string text) { checked_.remarks.push_back(std::move(text)); }

  void judge(const HanCollective& collective, const HanLevelRules& level) {
    const std::string where = fmt::format("{}, {}", collective.name, name_of(level.level));
    if (level.level != HanLevel::whole) {
      remark(where + ": 4.1.4 looks up no rule of this level; it calls coll/tuned there by itself");
      return;
    }
    if (!collective.is_between_hosts) {
      remark(where + ": coll/han has no algorithm for it there, so these rules are never used");
      return;
    }
    for (std::size_t i = 0; i < level.by_ranks.size(); ++i) {
      const HanRanksRules& ranks = level.by_ranks[i];
      if (i > 0 && ranks.ranks <= level.by_ranks[i - 1].ranks)
        remark(
            fmt::format("{}: the communicator sizes do not ascend at {}; the last that fits "
                        "counts",
                        where, ranks.ranks));
      judge(collective, fmt::format("{} of {} ranks and more", collective.name, ranks.ranks),
            ranks.rules);
    }
  }

  void judge(const HanCollective& collective, const std::string& where,
             const std::vector<HanRule>& rules) {
    if (rules.empty()) remark(where + ": no rule, so coll/han runs them");
    if (!rules.empty() && rules.front().from == 1)
      remark(where + ": messages of 0 bytes have no rule, so coll/han runs them");
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const HanRule& rule = rules[i];
      if (i > 0 && rule.from <= rules[i - 1].from)
        remark(
            fmt::format("{}: the message sizes do not ascend at {} bytes; the last that fits "
                        "counts",
                        where, rule.from));
      // The selector of allreduce hands its own algorithm the other component's data. (That of
      // every other collective calls the component.)
      const bool is_there =
          rule.component == HanComponent::tuned || rule.component == HanComponent::basic;
      if (collective.name == "allreduce" && is_there)
        checked_.failing.push_back(
            fmt::format("{}: from {} bytes on every call ends the program (4.1.4: segmentation "
                        "fault), since it "
                        "names {}; self leaves the call to the component before coll/han",
                        where, rule.from, name_of(rule.component)));
      if (rule.component == HanComponent::libnbc || rule.component == HanComponent::sm ||
          rule.component == HanComponent::adapt)
        remark(
            fmt::format("{}: from {} bytes on: coll/{} has no such call here, so it is left to "
                        "the component before coll/han",
                        where, rule.from, name_of(rule.component)));
    }
  }

  CheckedHanRules& checked_;
};

}  // namespace

std::string han_collective_name(int number) {
  return number >= 0 && number < static_cast<int>(collectives_of_library.size())
             ? std::string(collectives_of_library[static_cast<std::size_t>(number)])
             : fmt::format("collective {}", number);
}

const HanRule* han_rule_for(const HanRules& rules, int collective, HanLevel level,
                            std::int64_t ranks, std::uint64_t bytes) {
  const auto last = [](const auto& all, auto fits) {
    const auto found = std::find_if(all.rbegin(), all.rend(), fits);
    return found == all.rend() ? nullptr : &*found;
  };
  const auto* const own =
      last(rules, [&](const HanCollectiveRules& one) { return one.collective == collective; });
  if (own == nullptr) return nullptr;
  const auto* const on_level =
      last(own->levels, [&](const HanLevelRules& one) { return one.level == level; });
  if (on_level == nullptr) return nullptr;
  const auto* const of_ranks =
      last(on_level->by_ranks, [&](const HanRanksRules& one) { return one.ranks <= ranks; });
  if (of_ranks == nullptr) return nullptr;
  return last(of_ranks->rules, [&](const HanRule& one) { return one.from <= bytes; });
}

std::string print_han_rules(const HanRules& rules, const std::vector<std::string>& comment) {
  std::string text;
  for (const std::string& line : comment) text += line.empty() ? "#\n" : "# " + line + '\n';
  text += fmt::format("{} # collectives\n", rules.size());
  for (const HanCollectiveRules& own : rules) {
    text += fmt::format("{} # {}\n{} # levels\n", own.collective,
                        han_collective_name(own.collective), own.levels.size());
    for (const HanLevelRules& level : own.levels) {
      text += fmt::format("{} # {}\n{} # communicator sizes\n", static_cast<int>(level.level),
                          name_of(level.level), level.by_ranks.size());
      for (const HanRanksRules& ranks : level.by_ranks) {
        text += fmt::format("{} # ranks and more\n{} # bytes and more, component\n", ranks.ranks,
                            ranks.rules.size());
        for (const HanRule& rule : ranks.rules)
          text += fmt::format("{} {}\n", rule.from, name_of(rule.component));
      }
    }
  }
  return text;
}

CheckedHanRules check_han_rules(std::string_view text) {
  CheckedHanRules checked;
  try {
    HanRulesReader reader(text);
    checked.rules = reader.read();
    checked.remarks = std::move(reader.remarks());
  } catch (const DroppedFile& dropped) {
    checked.why_dropped = dropped.why;
    return checked;
  }
  Judge(checked).judge(*checked.rules);
  return checked;
}

}  // namespace colltune
