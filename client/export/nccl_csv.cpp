// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/export/nccl_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <set>
#include <tuple>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

/// What fgets takes at a time: its buffer of 256 bytes without the 0 at the end.
constexpr std::size_t longest_piece = 255;
constexpr std::size_t fewest_fields = 8;
constexpr std::size_t most_fields = 10;

constexpr std::array<Named<nccl::Algorithm>, nccl::algorithm_count> algorithms{
    {{nccl::Algorithm::tree, "tree"},
     {nccl::Algorithm::ring, "ring"},
     {nccl::Algorithm::collnet_direct, "collnet_direct"},
     {nccl::Algorithm::collnet_chain, "collnet_chain"},
     {nccl::Algorithm::nvls, "nvls"},
     {nccl::Algorithm::nvls_tree, "nvls_tree"},
     {nccl::Algorithm::pat, "pat"}}};
constexpr std::array<Named<nccl::Function>, nccl::function_count> functions{
    {{nccl::Function::broadcast, "broadcast"},
     {nccl::Function::reduce, "reduce"},
     {nccl::Function::all_gather, "allgather"},
     {nccl::Function::reduce_scatter, "reducescatter"},
     {nccl::Function::all_reduce, "allreduce"}}};

template <class Enum>
std::optional<Enum> find_name(const auto& names, std::string_view word) {
  for (const Named<Enum>& named : names)
    if (named.name == word) return named.value;
  return {};
}

std::string range_text(std::uint64_t least, std::uint64_t most) {
  if (most == largest_nccl_message) return fmt::format("from {} bytes on", least);
  return fmt::format("{} to {} bytes", least, most);
}

/// The fields of a line as strtok and the plug-in's trimming leave them: an empty field is none.
std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields;
  for (std::size_t at = 0; at < line.size() && fields.size() < most_fields;) {
    const std::size_t end = std::min(line.find(',', at), line.size());
    if (end > at) {
      std::string_view field = line.substr(at, end - at);
      const auto first = field.find_first_not_of(" \t");
      field = first == std::string_view::npos ? std::string_view() : field.substr(first);
      const auto last = field.find_last_not_of(" \t");
      if (last != std::string_view::npos) field = field.substr(0, last + 1);
      fields.emplace_back(field);
    }
    at = end + 1;
  }
  return fields;
}

class NcclCsvReader {
 public:
  CheckedNcclCsv read(std::string_view text) {
    int line = 0;
    while (!text.empty()) {
      ++line;
      const std::size_t newline = text.find('\n');
      std::string_view whole = text.substr(0, newline);
      text = newline == std::string_view::npos ? std::string_view() : text.substr(newline + 1);
      if (whole.size() > longest_piece)
        checked_.mistaken.push_back(
            fmt::format("line {}: it has {} bytes, of which the plug-in reads {} at a time; the "
                        "rest is read as "
                        "another line",
                        line, whole.size(), longest_piece));
      for (bool is_first = true; is_first || !whole.empty(); is_first = false) {
        read_piece(whole.substr(0, longest_piece), line);
        whole.remove_prefix(std::min(whole.size(), longest_piece));
      }
    }
    judge();
    return std::move(checked_);
  }

 private:
  void mistake(int line, const std::string& what) {
    checked_.mistaken.push_back(fmt::format("line {}: {}", line, what));
  }

  template <class Enum>
  Enum word(const auto& names, const std::string& text, Enum otherwise, std::string_view kind,
            int line) {
    if (const auto found = find_name<Enum>(names, text)) return *found;
    std::string allowed;
    for (const Named<Enum>& named : names)
      allowed += (allowed.empty() ? "" : ", ") + std::string(named.name);
    const auto own = std::ranges::find(names, otherwise, &Named<Enum>::value);
    mistake(line,
            fmt::format("'{}' is no {}, and without a word the plug-in takes {}; allowed are {}",
                        text, kind, own->name, allowed));
    return otherwise;
  }

  /// As strtoull reads it, base 10.
  std::uint64_t size(const std::string& text, int line) {
    char* end = nullptr;
    const std::uint64_t value = std::strtoull(text.c_str(), &end, 10);
    if (*end != 0 || text.empty() || text.front() == '-')
      mistake(line, fmt::format("'{}' is read as {} bytes", text, value));
    return value;
  }
  /// As atoi reads it.
  int number(const std::string& text, std::string_view what, int line) {
    char* end = nullptr;
    const auto value = static_cast<int>(std::strtol(text.c_str(), &end, 10));
    // At the end of a line a carriage return changes nothing.
    if ((*end != 0 && std::string_view(end) != "\r") || text.empty())
      mistake(line, fmt::format("'{}' is read as {} {}", text, value, what));
    return value;
  }

  void read_piece(std::string_view piece, int line) {
    if (piece.empty() || piece.front() == '#') return;
    const std::vector<std::string> fields = fields_of(piece);
    if (fields.size() < fewest_fields) {
      if (piece.find_first_not_of(" \t\r") != std::string_view::npos)
        mistake(line, fmt::format("it has {} fields, and with fewer than {} it is passed over",
                                  fields.size(), fewest_fields));
      return;
    }
    if (piece.find(",,") != std::string_view::npos || piece.front() == ',')
      mistake(line, "an empty field is none: the fields behind it move up");
    if (static_cast<std::size_t>(std::ranges::count(piece, ',')) >= most_fields)
      mistake(line, fmt::format("what follows the field {} is passed over", most_fields));
    NcclCsvRule rule{.line = line};
    rule.function = word(functions, fields[0], nccl::Function::all_reduce, "collective", line);
    rule.least = size(fields[1], line);
    rule.most = size(fields[2], line);
    rule.algorithm = word(algorithms, fields[3], nccl::Algorithm::ring, "algorithm", line);
    rule.protocol = word(nccl::enum_names(nccl::Protocol{}), fields[4], nccl::Protocol::simple,
                         "protocol", line);
    rule.channels = number(fields[5], "channels", line);
    rule.nodes = number(fields[6], "nodes", line);
    rule.ranks = number(fields[7], "ranks", line);
    if (fields.size() > 8) rule.pipe_operations = number(fields[8], "pipe operations", line);
    if (fields.size() > 9) rule.registered = number(fields[9], "for regBuff", line);
    if (rule.least > rule.most)
      mistake(line, fmt::format("no size is at least {} and at most {}", rule.least, rule.most));
    if (rule.channels > nccl::most_channels || rule.channels < any_in_nccl_csv)
      mistake(line,
              fmt::format("{} channels: NCCL has up to {}", rule.channels, nccl::most_channels));
    else if (rule.channels > 0 && nccl::takes_channels_on_trust(rule.algorithm))
      mistake(line,
              "NCCL does not compare CollNet's channels with what it has, and reads beyond "
              "an array where there are more; write 0");
    checked_.rules.push_back(rule);
  }

  /// The calls that `rule` is for, but for their sizes.
  static auto scope_of(const NcclCsvRule& rule) {
    return std::tuple(rule.function, rule.nodes, rule.ranks, rule.pipe_operations, rule.registered);
  }
  static bool is_within(const NcclCsvRule& inner, const NcclCsvRule& outer) {
    const auto holds = [](int wide, int narrow) {
      return wide == any_in_nccl_csv || wide == narrow;
    };
    return inner.function == outer.function && holds(outer.nodes, inner.nodes) &&
           holds(outer.ranks, inner.ranks) && holds(outer.pipe_operations, inner.pipe_operations) &&
           holds(outer.registered, inner.registered);
  }
  static std::string scope_text(const NcclCsvRule& rule) {
    const auto count = [](int number, std::string_view one) {
      return number == any_in_nccl_csv ? fmt::format("any {}s", one)
                                       : fmt::format("{} {}s", number, one);
    };
    std::string text = fmt::format("{} of {} on {}", nccl_csv_name(rule.function),
                                   count(rule.ranks, "rank"), count(rule.nodes, "node"));
    if (rule.pipe_operations != any_in_nccl_csv)
      text += fmt::format(", {} aggregated calls", rule.pipe_operations);
    if (rule.registered != any_in_nccl_csv)
      text += rule.registered != 0 ? ", registered buffers" : ", plain buffers";
    return text;
  }

  void judge() {
    std::set<nccl::Function> with_rules;
    using Scope = decltype(scope_of(NcclCsvRule{}));
    std::set<Scope> judged;
    for (std::size_t i = 0; i < checked_.rules.size(); ++i) {
      const NcclCsvRule& rule = checked_.rules[i];
      with_rules.insert(rule.function);
      if (rule.channels == any_in_nccl_csv)
        checked_.remarks.push_back(
            fmt::format("line {}: channels -1 means ONE channel: the plug-in asks for one before "
                        "it looks for a "
                        "line; 0 is NCCL's own number",
                        rule.line));
      if (judged.insert(scope_of(rule)).second) find_gaps(rule);
      if (is_hidden(i))
        checked_.remarks.push_back(
            fmt::format("line {} is never reached: lines before it fit first", rule.line));
    }
    for (const auto& [function, name] : functions)
      if (!with_rules.contains(function))
        checked_.remarks.push_back(
            fmt::format("{}: no line, so NCCL's own algorithm on ONE channel for all sizes", name));
    if (checked_.rules.empty()) return;
    checked_.remarks.emplace_back(
        "communicators and calls that no line is for run NCCL's own algorithm on ONE channel");
  }

  /// The parts of [least, most] that none of the rules before `end` that hold `rule`'s calls
  /// covers.
  [[nodiscard]] std::vector<std::pair<std::uint64_t, std::uint64_t>> uncovered(
      const NcclCsvRule& rule, std::size_t end, std::uint64_t least, std::uint64_t most) const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> covered;
    for (std::size_t i = 0; i < end; ++i) {
      const NcclCsvRule& one = checked_.rules[i];
      if (is_within(rule, one) && one.least <= one.most) covered.emplace_back(one.least, one.most);
    }
    std::ranges::sort(covered);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> open;
    std::uint64_t next = least;
    for (const auto& [first, last] : covered) {
      if (first > most) break;
      if (first > next) open.emplace_back(next, first - 1);
      if (last >= most) return open;
      next = std::max(next, last + 1);
    }
    open.emplace_back(next, most);
    return open;
  }

  [[nodiscard]] bool is_hidden(std::size_t at) const {
    const NcclCsvRule& rule = checked_.rules[at];
    return rule.least <= rule.most && uncovered(rule, at, rule.least, rule.most).empty();
  }

  void find_gaps(const NcclCsvRule& rule) {
    for (const auto& [first, last] :
         uncovered(rule, checked_.rules.size(), 0, largest_nccl_message))
      checked_.remarks.push_back(
          fmt::format("{}, {}: no line, so NCCL's own algorithm on ONE channel", scope_text(rule),
                      range_text(first, last)));
  }

  CheckedNcclCsv checked_;
};

/// `comment` in lines that the reader takes as a whole: the rest of a longer one would be a rule.
std::string comment_lines(const std::vector<std::string>& comment) {
  constexpr std::size_t longest = longest_piece - 1 - 2;  // without the newline and "# "
  std::string text;
  for (std::string_view line : comment) do {
      std::size_t length = line.size();
      if (length > longest) {
        const auto blank = line.rfind(' ', longest);
        length = blank == std::string_view::npos || blank == 0 ? longest : blank;
      }
      text += "# " + std::string(line.substr(0, length)) + '\n';
      line.remove_prefix(length);
    } while (!line.empty());
  return text;
}

}  // namespace

std::string_view nccl_csv_name(nccl::Function function) {
  return std::ranges::find(functions, function, &Named<nccl::Function>::value)->name;
}
std::string_view nccl_csv_name(nccl::Algorithm algorithm) {
  return std::ranges::find(algorithms, algorithm, &Named<nccl::Algorithm>::value)->name;
}

std::string print_nccl_csv(const std::vector<NcclCsvRule>& rules,
                           const std::vector<std::string>& comment) {
  std::string text = comment_lines(comment);
  text += "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks\n";
  for (const NcclCsvRule& rule : rules) {
    text += fmt::format("{},{},{},{},{},{},{},{}", nccl_csv_name(rule.function), rule.least,
                        rule.most, nccl_csv_name(rule.algorithm), name_of(rule.protocol),
                        rule.channels, rule.nodes, rule.ranks);
    if (rule.pipe_operations != any_in_nccl_csv || rule.registered != any_in_nccl_csv)
      text += fmt::format(",{}", rule.pipe_operations);
    if (rule.registered != any_in_nccl_csv) text += fmt::format(",{}", rule.registered);
    text += '\n';
  }
  return text;
}

CheckedNcclCsv check_nccl_csv(std::string_view text) { return NcclCsvReader().read(text); }

const NcclCsvRule* nccl_csv_rule_for(const std::vector<NcclCsvRule>& rules,
                                     const NcclCsvCall& call) {
  const auto fits = [](int wanted, int given) {
    return wanted == any_in_nccl_csv || wanted == given;
  };
  const auto found = std::ranges::find_if(rules, [&](const NcclCsvRule& rule) {
    return rule.function == call.function && rule.least <= call.bytes && call.bytes <= rule.most &&
           fits(rule.nodes, call.nodes) && fits(rule.ranks, call.ranks) &&
           fits(rule.pipe_operations, call.pipe_operations) &&
           fits(rule.registered, call.registered);
  });
  return found == rules.end() ? nullptr : &*found;
}

}  // namespace colltune
