// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "export_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string_view>
#include <utility>

#include "colltune/export/export_csv.h"
#include "colltune/export/export_ctran_ring.h"
#include "colltune/export/export_json.h"
#include "colltune/export/export_mpi_environment.h"
#include "colltune/export/export_nccl.h"
#include "colltune/export/export_open_mpi.h"
#include "colltune/export/export_open_mpi_han.h"
#include "colltune/export/open_mpi_json.h"
#include "colltune/json/output_file.h"
#include "environment_choice.h"
#include "export_table_command.h"
#include "source/table.h"

namespace colltune {
namespace {

void write(const std::string& text, const std::string& output, std::ostream& out) {
  if (output.empty())
    out << text;
  else
    write_output(output, text, out);
}

std::string describe_rule(const OpenMpiCollective* collective, const OpenMpiRule& rule,
                          OpenMpiRelease release) {
  std::string text =
      collective == nullptr
          ? fmt::format("algorithm {}", rule.algorithm)
          : std::string(open_mpi_algorithm_name(*collective, rule.algorithm, release));
  if (rule.fanout != 0) text += fmt::format(", fan-out {}", rule.fanout);
  if (rule.segment_size != 0)
    text += ", segments of " + format_bytes({static_cast<std::uint64_t>(rule.segment_size)});
  return text;
}

nlohmann::json to_json(const OpenMpiRules& rules, OpenMpiRelease release) {
  nlohmann::json all = nlohmann::json::array();
  for (const OpenMpiCollectiveRules& own : rules) {
    const OpenMpiCollective* const collective = find_open_mpi_collective(own.collective);
    for (const OpenMpiRanksRules& ranks : own.by_ranks)
      for (const OpenMpiRule& rule : ranks.rules)
        all.push_back(
            {{"collective", collective == nullptr ? std::to_string(own.collective)
                                                  : std::string(collective->name)},
             {"ranks", ranks.ranks},
             {"from_bytes", rule.from},
             {"algorithm", collective == nullptr ? std::to_string(rule.algorithm)
                                                 : std::string(open_mpi_algorithm_name(
                                                       *collective, rule.algorithm, release))},
             {"number", rule.algorithm},
             {"fanout", rule.fanout},
             {"segment_size", rule.segment_size}});
  }
  return all;
}

using Written = std::pair<std::string, std::string>;  ///< the document, and what to say of it

Written write_open_mpi(const ExportOptions& options, const DecisionSet& set) {
  const auto release = parse_name<OpenMpiRelease>(options.release);
  const OpenMpiExport made = export_open_mpi(set, release);
  std::string log = fmt::format("{} of {} keys have another algorithm than the default\n",
                                made.changed, made.keys);
  if (made.not_worth_it != 0)
    log += fmt::format(
        "{} have a faster one without a rule: looking at rules would cost the other sizes of the "
        "collective more\n",
        made.not_worth_it);
  for (const std::string& one : made.left_out) log += "left out: " + one + '\n';
  log +=
      "to use it: OMPI_MCA_coll_tuned_use_dynamic_rules=1 "
      "OMPI_MCA_coll_tuned_dynamic_rules_filename=FILE, in the environment of mpirun\n";
  return {print_open_mpi_rules(made.rules, release, made.comment), log};
}

Written write_open_mpi_han(const ExportOptions& options, const DecisionSet& set) {
  const OpenMpiHanExport made =
      export_open_mpi_han(set, parse_name<OpenMpiRelease>(options.release));
  std::string log =
      fmt::format("{} of {} keys have coll/han in place of the default\n", made.changed, made.keys);
  for (const std::string& one : made.left_out) log += "left out: " + one + '\n';
  log += fmt::format(
      "to use it: OMPI_MCA_coll_han_priority={} OMPI_MCA_coll_han_use_dynamic_file_rules=1 "
      "OMPI_MCA_coll_han_dynamic_rules_filename=FILE, in the environment of mpirun; FILE on every "
      "host\n",
      han_priority_to_use);
  return {print_han_rules(made.rules, made.comment), log};
}

Written write_nccl(const ExportOptions&, const DecisionSet& set) {
  const NcclExport made = export_nccl(set);
  std::string log = fmt::format("{} of {} keys have what was proven to beat NCCL's own choice\n",
                                made.displaced, made.keys);
  for (const std::string& one : made.left_out) log += "left out: " + one + '\n';
  const std::string text = print_nccl_csv(made.rules, made.comment);
  for (const std::string& one : check_nccl_csv(text).remarks) log += "note: " + one + '\n';
  log += "to use it: NCCL_TUNER_PLUGIN=PLUG-IN NCCL_TUNER_CONFIG_FILE=FILE\n";
  return {text, log};
}

Written write_ctran_ring(const ExportOptions&, const DecisionSet& set) {
  const CtranRingExport made = export_ctran_ring(set);
  std::string log =
      fmt::format("made of {} keys that the ring won, {} of them with just these values\n",
                  made.keys, made.won);
  for (const std::string& one : made.left_out) log += "left out: " + one + '\n';
  return {made.text, log};
}

/// How each format is written. Formats are listed in client/export; one without an entry here is
/// an internal error, which the first test of the command finds.
struct FormatWriter {
  std::string_view name;
  Written (*write)(const ExportOptions&, const DecisionSet&);
};
constexpr FormatWriter writers[] = {
    {"json", [](const ExportOptions&,
                const DecisionSet& set) { return Written(export_json(set).dump(1) + '\n', ""); }},
    {"csv",
     [](const ExportOptions&, const DecisionSet& set) { return Written(export_csv(set), ""); }},
    {"openmpi", &write_open_mpi},
    {"openmpi-han", &write_open_mpi_han},
    {"nccl", &write_nccl},
    {"ctran-ring", &write_ctran_ring},
    {"mpi-env", [](const ExportOptions&,
                   const DecisionSet& set) { return Written(export_mpi_environment(set), ""); }},
};

std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file || file.bad()) throw Error(StatusCode::failed_precondition, "cannot read " + path);
  return text;
}

/// Throws Error(invalid_argument) if there is something wrong with the file.
void refuse_if(const std::vector<std::string>& wrong, const std::string& file) {
  if (wrong.empty()) return;
  std::string all;
  for (const std::string& one : wrong) all += "\n  " + one;
  throw Error(StatusCode::invalid_argument, file + ":" + all);
}

[[noreturn]] void fail_dropped(const CheckExportOptions& options, const std::string& why) {
  throw Error(StatusCode::invalid_argument,
              fmt::format("Open MPI {} drops {} without a word and chooses for itself: {}",
                          options.release, options.file, why));
}

std::string collective_name(int number) {
  const OpenMpiCollective* const collective = find_open_mpi_collective(number);
  return collective == nullptr ? fmt::format("collective {}", number)
                               : std::string(collective->name);
}

std::string ranks_text(const OpenMpiWorldRules& world) {
  std::string text =
      world.most == std::numeric_limits<int>::max() ? fmt::format("{} ranks and more", world.least)
      : world.least == world.most                   ? fmt::format("{} ranks", world.least)
                                  : fmt::format("{} to {} ranks", world.least, world.most);
  return world.distribution == "any" ? text : text + ", " + world.distribution;
}

/// Prints what was read of a file for 6.x: of JSON, or of an older format.
void print_checked(const CheckedOpenMpiJson& checked, bool as_json, std::ostream& out) {
  nlohmann::json all = nlohmann::json::array();
  for (const OpenMpiJsonCollective& own : *checked.rules) {
    const OpenMpiCollective* const collective = find_open_mpi_collective(own.collective);
    for (const OpenMpiWorldRules& world : own.worlds) {
      if (!as_json)
        out << fmt::format("{}, {}:\n", collective_name(own.collective), ranks_text(world));
      for (const OpenMpiSizeRule& rule : world.rules) {
        const OpenMpiRule as_older{.from = rule.least,
                                   .algorithm = rule.algorithm,
                                   .fanout = rule.fanout,
                                   .segment_size = rule.segment_size};
        const bool is_open = rule.most == std::numeric_limits<std::uint64_t>::max();
        if (!as_json)
          out << fmt::format("  from {:>10} {:<13}{}\n", format_bytes({rule.least}),
                             is_open ? "" : "to " + format_bytes({rule.most}),
                             describe_rule(collective, as_older, OpenMpiRelease::v6_0));
        all.push_back({{"collective", collective_name(own.collective)},
                       {"least_ranks", world.least},
                       {"most_ranks", world.most},
                       {"distribution", world.distribution},
                       {"from_bytes", rule.least},
                       {"to_bytes", is_open ? nlohmann::json() : nlohmann::json(rule.most)},
                       {"algorithm", collective == nullptr
                                         ? std::to_string(rule.algorithm)
                                         : std::string(open_mpi_algorithm_name(
                                               *collective, rule.algorithm, OpenMpiRelease::v6_0))},
                       {"number", rule.algorithm},
                       {"fanout", rule.fanout},
                       {"segment_size", rule.segment_size}});
      }
    }
  }
  if (as_json) out << all.dump(1) << '\n';
}

std::string describe_component(HanComponent component) {
  if (component == HanComponent::self) return "self: the component before coll/han";
  return std::string(name_of(component));
}

std::string any_or(int number) {
  return number == any_in_nccl_csv ? "any number of" : std::to_string(number);
}

nlohmann::json to_json(const std::vector<NcclCsvRule>& rules) {
  nlohmann::json all = nlohmann::json::array();
  for (const NcclCsvRule& rule : rules)
    all.push_back({{"line", rule.line},
                   {"collective", nccl_csv_name(rule.function)},
                   {"from_bytes", rule.least},
                   {"to_bytes", rule.most},
                   {"algorithm", nccl_csv_name(rule.algorithm)},
                   {"protocol", name_of(rule.protocol)},
                   {"channels", rule.channels == any_in_nccl_csv ? 1 : rule.channels},
                   {"nodes", rule.nodes},
                   {"ranks", rule.ranks},
                   {"pipe_operations", rule.pipe_operations},
                   {"registered", rule.registered}});
  return all;
}

}  // namespace

DecisionSet read_regime(const Origin& origin, const RegimeOptions& regime) {
  check(origin);
  return keep_regime(read_decisions(origin), regime);
}

DecisionSet keep_regime(DecisionSet set, const RegimeOptions& regime) {
  const RegimeChoice choice =
      regime_choice(regime, {.calling = default_calling, .input = default_input});
  const std::string regimes = regimes_text(set.decisions);
  std::erase_if(set.decisions,
                [&](const Decision& decision) { return !choice.admits(decision.key); });
  std::erase_if(set.fits, [&](const VariantFit& fit) { return !choice.admits(fit.key); });
  if (set.decisions.empty() && !regimes.empty())
    throw Error(StatusCode::not_found,
                "no decision is of the regime that is exported; decided only for " + regimes +
                    ": name it with --calling and --input, or all");
  return set;
}

void run_export(const ExportFormat& format, const ExportOptions& options, std::ostream& out,
                std::ostream& log) {
  if (format.is_binary) return run_export_table(options, log);
  const auto* const writer = std::ranges::find(writers, format.name, &FormatWriter::name);
  if (writer == std::end(writers))
    throw Error(StatusCode::internal, "nothing writes " + std::string(format.name));
  DecisionSet set = read_regime(options.origin, options.regime);
  if (!options.environment.empty()) {
    const std::string digest = choose_environment(options.origin, options.environment);
    std::erase_if(set.decisions, [&](const Decision& decision) {
      return decision.key.environment_digest != digest;
    });
  }
  const auto [text, notes] = writer->write(options, set);
  write(text, options.output, out);
  log << notes;
}

void run_check_open_mpi(const CheckExportOptions& options, std::ostream& out) {
  const auto release = parse_name<OpenMpiRelease>(options.release);
  const std::string text = read_whole(options.file);
  if (release == OpenMpiRelease::v6_0) {
    const CheckedOpenMpiJson checked = check_open_mpi_json(text);
    if (!checked.rules) fail_dropped(options, checked.why_dropped);
    print_checked(checked, options.json, out);
    if (!options.json)
      for (const std::string& one : checked.remarks) out << "note: " << one << '\n';
    return refuse_if(checked.failing, options.file);
  }
  const CheckedOpenMpiRules checked = check_open_mpi_rules(text, release);
  if (!checked.rules) fail_dropped(options, checked.why_dropped);
  if (options.json) {
    out << to_json(*checked.rules, release).dump(1) << '\n';
  } else {
    for (const OpenMpiCollectiveRules& own : *checked.rules) {
      const OpenMpiCollective* const collective = find_open_mpi_collective(own.collective);
      for (const OpenMpiRanksRules& ranks : own.by_ranks) {
        out << fmt::format("{}, {} ranks and more:\n", collective_name(own.collective),
                           ranks.ranks);
        for (const OpenMpiRule& rule : ranks.rules)
          out << fmt::format("  from {:>10}  {}\n", format_bytes({rule.from}),
                             describe_rule(collective, rule, release));
      }
    }
    for (const std::string& one : checked.remarks) out << "note: " << one << '\n';
  }
  refuse_if(checked.failing, options.file);
}

void run_check_open_mpi_han(const CheckExportOptions& options, std::ostream& out) {
  require_han_release(parse_name<OpenMpiRelease>(options.release));
  const CheckedHanRules checked = check_han_rules(read_whole(options.file));
  if (!checked.rules)
    throw Error(
        StatusCode::invalid_argument,
        fmt::format("Open MPI {} drops {} without a word, and coll/han runs every collective "
                    "that it has: {}",
                    options.release, options.file, checked.why_dropped));
  nlohmann::json all = nlohmann::json::array();
  for (const HanCollectiveRules& own : *checked.rules)
    for (const HanLevelRules& level : own.levels)
      for (const HanRanksRules& ranks : level.by_ranks) {
        const std::string name = han_collective_name(own.collective);
        if (!options.json)
          out << fmt::format("{}, {}, {} ranks and more:\n", name, name_of(level.level),
                             ranks.ranks);
        for (const HanRule& rule : ranks.rules) {
          if (!options.json)
            out << fmt::format("  from {:>10}  {}\n", format_bytes({rule.from}),
                               describe_component(rule.component));
          all.push_back({{"collective", name},
                         {"level", static_cast<int>(level.level)},
                         {"ranks", ranks.ranks},
                         {"from_bytes", rule.from},
                         {"component", name_of(rule.component)}});
        }
      }
  if (options.json)
    out << all.dump(1) << '\n';
  else
    for (const std::string& one : checked.remarks) out << "note: " << one << '\n';
  refuse_if(checked.failing, options.file);
}

void run_check_nccl(const CheckExportOptions& options, std::ostream& out) {
  const CheckedNcclCsv checked = check_nccl_csv(read_whole(options.file));
  if (options.json) {
    out << to_json(checked.rules).dump(1) << '\n';
  } else {
    for (const NcclCsvRule& rule : checked.rules) {
      const bool is_open = rule.most == largest_nccl_message;
      out << fmt::format("line {}: {} of {} ranks on {} nodes, {} {}: {}, {}, {}\n", rule.line,
                         nccl_csv_name(rule.function), any_or(rule.ranks), any_or(rule.nodes),
                         is_open ? "from" : format_bytes({rule.least}) + " to",
                         is_open ? format_bytes({rule.least}) + " on" : format_bytes({rule.most}),
                         nccl_csv_name(rule.algorithm), name_of(rule.protocol),
                         rule.channels == any_in_nccl_csv ? "ONE channel"
                         : rule.channels == 0             ? "NCCL's own number of channels"
                                              : fmt::format("{} channels", rule.channels));
    }
    for (const std::string& one : checked.remarks) out << "note: " << one << '\n';
  }
  refuse_if(checked.mistaken, options.file);
}

}  // namespace colltune
