// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/export/open_mpi_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "dropped_file.h"

namespace colltune {
namespace {

using nlohmann::json;

constexpr OpenMpiRelease json_release = OpenMpiRelease::v6_0;
constexpr std::uint64_t no_end = std::numeric_limits<std::uint64_t>::max();
constexpr std::array<std::string_view, 3> distributions{"any", "one-per-node", "single-node"};

/// The other collectives of MPI that the library has rules for. Of these colltune measures no named
/// algorithms; their rules are read all the same.
constexpr std::array<std::pair<std::string_view, int>, 6> other_collectives{{{"allgatherv", 1},
                                                                             {"alltoallv", 4},
                                                                             {"barrier", 6},
                                                                             {"exscan", 8},
                                                                             {"scan", 14},
                                                                             {"alltoallw", 5}}};

const OpenMpiCollective* collective_named(std::string_view name) {
  const auto& all = open_mpi_collectives();
  const auto found = std::ranges::find(all, name, &OpenMpiCollective::name);
  return found == all.end() ? nullptr : &*found;
}

class OpenMpiJsonReader {
 public:
  CheckedOpenMpiJson read(const json& file) {
    try {
      const auto collectives = file.find("collectives");
      if (!file.is_object() || collectives == file.end() || !collectives->is_object())
        throw DroppedFile{"it has no object 'collectives'"};
      OpenMpiJsonRules rules;
      for (const auto& [name, worlds] : collectives->items())
        rules.push_back(read_collective(name, worlds));
      checked_.rules = std::move(rules);
    } catch (const DroppedFile& dropped) {
      checked_ = {.why_dropped = dropped.why};
    }
    return std::move(checked_);
  }

 private:
  /// As the library reads a number: whole, or a word that begins with inf.
  static std::optional<std::int64_t> number(const json& object, const char* name,
                                            const std::string& where) {
    const auto found = object.find(name);
    if (found == object.end()) return {};
    if (found->is_number_integer()) return found->get<std::int64_t>();
    if (found->is_string()) {
      const std::string text = found->get<std::string>();
      for (const char* const infinite : {"inf", "Inf", "INF"})
        if (text.starts_with(infinite)) return std::numeric_limits<std::int64_t>::max();
    }
    throw DroppedFile{fmt::format("{}: '{}' is {}, neither a whole number nor \"inf\"", where, name,
                                  found->dump())};
  }

  void note_unknown(const json& object, const std::set<std::string_view>& known,
                    const std::string& where) {
    for (const auto& [name, value] : object.items()) {
      if (known.contains(name)) continue;
      std::string remark = fmt::format("{}: '{}' is passed over", where, name);
      if (name == "segsize") remark += "; the reader's name for it is seg_size";
      checked_.remarks.push_back(remark);
    }
  }

  OpenMpiJsonCollective read_collective(const std::string& name, const json& worlds) {
    OpenMpiJsonCollective own;
    const OpenMpiCollective* const collective = collective_named(name);
    if (collective != nullptr) {
      own.collective = collective->number;
    } else {
      const auto* const other =
          std::ranges::find(other_collectives, name, &std::pair<std::string_view, int>::first);
      if (other == other_collectives.end())
        throw DroppedFile{fmt::format("there is no collective '{}'{}", name,
                                      name.starts_with("reducescatter")
                                          ? "; the reader's names are reduce_scatter and "
                                            "reduce_scatter_block"
                                          : "")};
      own.collective = other->second;
    }
    if (!worlds.is_array()) throw DroppedFile{name + ": is no list of rules for communicators"};
    for (const json& world : worlds)
      own.worlds.push_back(
          read_world(world, collective, fmt::format("{}[{}]", name, own.worlds.size())));
    judge(name, collective, own);
    return own;
  }

  OpenMpiWorldRules read_world(const json& world, const OpenMpiCollective* collective,
                               const std::string& where) {
    if (!world.is_object()) throw DroppedFile{where + ": is no object"};
    OpenMpiWorldRules own;
    if (const auto least = number(world, "comm_size_min", where)) own.least = ranks(*least, where);
    if (const auto most = number(world, "comm_size_max", where)) own.most = ranks(*most, where);
    if (const auto found = world.find("comm_rank_distribution"); found != world.end()) {
      const std::string text = found->is_string() ? found->get<std::string>() : found->dump();
      if (std::ranges::find(distributions, text) != distributions.end())
        own.distribution = text;
      else
        checked_.remarks.push_back(
            fmt::format("{}: comm_rank_distribution {} is taken as any; allowed are any, "
                        "one-per-node, single-node",
                        where, text));
    }
    const auto rules = world.find("rules");
    if (rules == world.end() || !rules->is_array())
      throw DroppedFile{where + ": has no list 'rules'"};
    for (const json& rule : *rules)
      if (const auto one =
              read_rule(rule, collective, fmt::format("{}.rules[{}]", where, own.rules.size())))
        own.rules.push_back(*one);
    note_unknown(world, {"comm_size_min", "comm_size_max", "comm_rank_distribution", "rules"},
                 where);
    return own;
  }

  /// The library keeps them as an int: "inf" becomes -1, for which no communicator is small enough.
  int ranks(std::int64_t number, const std::string& where) {
    if (number <= std::numeric_limits<int>::max()) return static_cast<int>(number);
    checked_.failing.push_back(
        where + ": comm_size \"inf\" is read as -1, so that no communicator fits; leave it out");
    return -1;
  }

  /// Nothing where the library disables the rule.
  std::optional<OpenMpiSizeRule> read_rule(const json& rule, const OpenMpiCollective* collective,
                                           const std::string& where) {
    if (!rule.is_object()) throw DroppedFile{where + ": is no object"};
    OpenMpiSizeRule own;
    if (const auto least = number(rule, "msg_size_min", where))
      own.least = static_cast<std::uint64_t>(*least);
    if (const auto most = number(rule, "msg_size_max", where);
        most && *most != std::numeric_limits<std::int64_t>::max())
      own.most = static_cast<std::uint64_t>(*most);
    own.fanout = static_cast<int>(number(rule, "faninout", where).value_or(0));
    own.segment_size = static_cast<int>(number(rule, "seg_size", where).value_or(0));
    (void)number(rule, "reqs", where);
    note_unknown(rule, {"msg_size_min", "msg_size_max", "faninout", "seg_size", "reqs", "alg"},
                 where);
    const auto algorithm = rule.find("alg");
    if (algorithm == rule.end()) {
      checked_.remarks.push_back(where + ": names no algorithm ('alg'), so the library chooses");
      return own;
    }
    if (collective == nullptr) {
      if (algorithm->is_number_integer()) own.algorithm = algorithm->get<int>();
      return own;
    }
    const int most = open_mpi_algorithms_in(*collective, json_release);
    if (algorithm->is_string()) {
      const std::string name = algorithm->get<std::string>();
      own.algorithm = open_mpi_algorithm_number(*collective, name, json_release);
      if (own.algorithm > 0 || name == "ignore") return own;
    } else if (algorithm->is_number_integer() && algorithm->get<std::int64_t>() >= 0 &&
               algorithm->get<std::int64_t>() <= most) {
      own.algorithm = algorithm->get<int>();
      return own;
    }
    checked_.remarks.push_back(fmt::format(
        "{}: there is no algorithm {}, so the rule is as if it were not there; numbers end at {}",
        where, algorithm->dump(), most));
    return {};
  }

  void judge(const std::string& name, const OpenMpiCollective* collective,
             const OpenMpiJsonCollective& own) {
    for (std::size_t i = 0; i < own.worlds.size(); ++i) {
      const OpenMpiWorldRules& world = own.worlds[i];
      const std::string where = fmt::format("{}[{}]", name, i);
      if (world.least > world.most && world.most >= 0)
        checked_.remarks.push_back(
            fmt::format("{}: no communicator has at least {} and at most {} "
                        "ranks",
                        where, world.least, world.most));
      if (collective == nullptr) continue;
      for (const OpenMpiSizeRule& rule : world.rules)
        if (open_mpi_algorithm_name(*collective, rule.algorithm, json_release) == "two_proc" &&
            (world.least != 2 || world.most != 2))
          checked_.failing.push_back(fmt::format(
              "{}: calls of other than 2 ranks fail from {} bytes on: two_proc is for two ranks",
              where, rule.least));
      const bool differs = std::ranges::any_of(world.rules, [&](const OpenMpiSizeRule& rule) {
        return rule.algorithm != world.rules.front().algorithm;
      });
      const bool is_partial = !world.rules.empty() &&
                              (world.rules.front().least > 0 || world.rules.back().most != no_end);
      if (collective->name == "scatter" && (differs || is_partial))
        checked_.failing.push_back(
            where +
            ": ranks that are not the root look rules up by whatever send count they pass, "
            "so the ranks of a call may run unlike algorithms and hang; give it one "
            "algorithm for all sizes");
    }
  }

  CheckedOpenMpiJson checked_;
};

/// Files of the older formats as this release reads them: rules of the k-th size of communicators
/// serve from the size before up to one less than their own.
CheckedOpenMpiJson read_older(std::string_view text) {
  const CheckedOpenMpiRules older = check_open_mpi_rules(text, OpenMpiRelease::v5_0);
  CheckedOpenMpiJson checked{.why_dropped = older.why_dropped};
  if (!older.rules) {
    checked.why_dropped = "it is no JSON, and of the older formats: " + older.why_dropped;
    return checked;
  }
  checked.failing = older.failing;
  checked.remarks = older.remarks;
  OpenMpiJsonRules rules;
  bool is_shifted = false;
  for (const OpenMpiCollectiveRules& collective : *older.rules) {
    OpenMpiJsonCollective& own = rules.emplace_back();
    own.collective = collective.collective;
    for (std::size_t i = 0; i < collective.by_ranks.size(); ++i) {
      const OpenMpiRanksRules& ranks = collective.by_ranks[i];
      OpenMpiWorldRules& world = own.worlds.emplace_back();
      world.least = i == 0 ? 0 : own.worlds[i - 1].most + 1;
      if (i + 1 < collective.by_ranks.size()) world.most = ranks.ranks - 1;
      is_shifted = is_shifted || world.least != (i == 0 ? 0 : ranks.ranks);
      for (const OpenMpiRule& rule : ranks.rules) {
        if (!world.rules.empty()) world.rules.back().most = rule.from - 1;
        world.rules.push_back({.least = rule.from,
                               .algorithm = rule.algorithm,
                               .fanout = rule.fanout,
                               .segment_size = rule.segment_size});
      }
    }
  }
  if (is_shifted)
    checked.remarks.emplace_back(
        "this release reads the older formats with the sizes of communicators shifted: rules serve "
        "from the size before theirs up to one less than their own. Export for 6.x");
  checked.rules = std::move(rules);
  return checked;
}

}  // namespace

std::string print_open_mpi_json(const OpenMpiRules& rules,
                                const std::vector<std::string>& comment) {
  // The library's order of keys does not matter; a fixed one is easier to compare.
  nlohmann::ordered_json file{{"rule_file_version", 3}, {"module", "tuned"}, {"colltune", comment}};
  nlohmann::ordered_json& collectives = file["collectives"] = nlohmann::ordered_json::object();
  for (const OpenMpiCollectiveRules& own : rules) {
    const OpenMpiCollective* const collective = find_open_mpi_collective(own.collective);
    nlohmann::ordered_json worlds = nlohmann::ordered_json::array();
    for (const OpenMpiRanksRules& ranks : own.by_ranks) {
      nlohmann::ordered_json sizes = nlohmann::ordered_json::array();
      for (std::size_t i = 0; i < ranks.rules.size(); ++i) {
        const OpenMpiRule& rule = ranks.rules[i];
        nlohmann::ordered_json one{{"msg_size_min", rule.from}};
        if (i + 1 < ranks.rules.size()) one["msg_size_max"] = ranks.rules[i + 1].from - 1;
        one["alg"] = rule.algorithm;
        one["faninout"] = rule.fanout;
        one["seg_size"] = rule.segment_size;
        sizes.push_back(std::move(one));
      }
      worlds.push_back({{"comm_size_min", ranks.ranks},
                        {"comm_size_max", ranks.ranks},
                        {"comm_rank_distribution", ranks.distribution},
                        {"rules", std::move(sizes)}});
    }
    collectives[std::string(collective->name)] = std::move(worlds);
  }
  return file.dump(1) + '\n';
}

CheckedOpenMpiJson check_open_mpi_json(std::string_view text) {
  const json file = json::parse(text, nullptr, false);
  return file.is_discarded() ? read_older(text) : OpenMpiJsonReader().read(file);
}

const OpenMpiSizeRule* open_mpi_rule_for(const OpenMpiJsonRules& rules, int collective, int ranks,
                                         std::string_view distribution, std::uint64_t bytes) {
  const auto own = std::ranges::find(rules, collective, &OpenMpiJsonCollective::collective);
  if (own == rules.end()) return nullptr;
  const auto world = std::ranges::find_if(own->worlds, [&](const OpenMpiWorldRules& one) {
    return one.least <= ranks && ranks <= one.most &&
           (one.distribution == "any" || one.distribution == distribution);
  });
  if (world == own->worlds.end()) return nullptr;
  const auto rule = std::ranges::find_if(world->rules, [&](const OpenMpiSizeRule& one) {
    return one.least <= bytes && bytes <= one.most;
  });
  return rule == world->rules.end() || rule->algorithm == 0 ? nullptr : &*rule;
}

}  // namespace colltune
