// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "export_command.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ostream>

#include "colltune/export/export_json.h"
#include "colltune/export/export_open_mpi.h"
#include "colltune/json/output_file.h"
#include "environment_choice.h"
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
  std::string text = collective == nullptr
                         ? fmt::format("algorithm {}", rule.algorithm)
                         : std::string(open_mpi_algorithm_name(*collective, rule.algorithm, release));
  if (rule.fanout != 0) text += fmt::format(", fan-out {}", rule.fanout);
  if (rule.segment_size != 0)
    text += ", segments of " +
            format_bytes({static_cast<std::uint64_t>(rule.segment_size)});
  return text;
}

nlohmann::json to_json(const OpenMpiRules& rules, OpenMpiRelease release) {
  nlohmann::json all = nlohmann::json::array();
  for (const OpenMpiCollectiveRules& own : rules) {
    const OpenMpiCollective* const collective = find_open_mpi_collective(own.collective);
    for (const OpenMpiRanksRules& ranks : own.by_ranks)
      for (const OpenMpiRule& rule : ranks.rules)
        all.push_back({{"collective", collective == nullptr ? std::to_string(own.collective)
                                                            : std::string(collective->name)},
                       {"ranks", ranks.ranks},
                       {"from_bytes", rule.from},
                       {"algorithm", collective == nullptr
                                         ? std::to_string(rule.algorithm)
                                         : std::string(open_mpi_algorithm_name(
                                               *collective, rule.algorithm, release))},
                       {"number", rule.algorithm},
                       {"fanout", rule.fanout},
                       {"segment_size", rule.segment_size}});
  }
  return all;
}

}  // namespace

DecisionSet read_regime(const Origin& origin, const RegimeOptions& regime) {
  check(origin);
  DecisionSet set = read_decisions(origin);
  const RegimeChoice choice =
      regime_choice(regime, {.calling = default_calling, .input = default_input});
  const std::string regimes = regimes_text(set.decisions);
  std::erase_if(set.decisions,
                [&](const Decision& decision) { return !choice.admits(decision.key); });
  if (set.decisions.empty() && !regimes.empty())
    throw Error(StatusCode::not_found,
                "no decision is of the regime that is exported; decided only for " + regimes +
                    ": name it with --calling and --input, or all");
  return set;
}

void run_export_json(const ExportOptions& options, std::ostream& out) {
  const DecisionSet set = read_regime(options.origin, options.regime);
  write(export_json(set).dump(1) + '\n', options.output, out);
}

void run_export_open_mpi(const OpenMpiExportOptions& options, std::ostream& out,
                         std::ostream& log) {
  const auto release = parse_name<OpenMpiRelease>(options.release);
  DecisionSet set = read_regime(options.origin, options.regime);
  if (!options.environment.empty()) {
    const std::string digest = choose_environment(options.origin, options.environment);
    std::erase_if(set.decisions, [&](const Decision& decision) {
      return decision.key.environment_digest != digest;
    });
  }
  const OpenMpiExport made = export_open_mpi(set, release);
  write(print_open_mpi_rules(made.rules, release, made.comment), options.output, out);
  log << fmt::format("{} of {} keys have another algorithm than the default\n", made.changed,
                     made.keys);
  for (const std::string& one : made.left_out) log << "left out: " << one << '\n';
  log << "to use it: OMPI_MCA_coll_tuned_use_dynamic_rules=1 "
         "OMPI_MCA_coll_tuned_dynamic_rules_filename=FILE, in the environment of mpirun\n";
}

void run_check_open_mpi(const CheckOpenMpiOptions& options, std::ostream& out) {
  const auto release = parse_name<OpenMpiRelease>(options.release);
  std::ifstream file(options.file, std::ios::binary);
  if (!file) throw Error(StatusCode::failed_precondition, "cannot read " + options.file);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const CheckedOpenMpiRules checked = check_open_mpi_rules(text, release);
  if (!checked.rules)
    throw Error(StatusCode::invalid_argument,
                fmt::format("Open MPI {} drops {} without a word and chooses for itself: {}",
                            options.release, options.file, checked.why_dropped));
  if (options.json) {
    out << to_json(*checked.rules, release).dump(1) << '\n';
  } else {
    for (const OpenMpiCollectiveRules& own : *checked.rules) {
      const OpenMpiCollective* const collective = find_open_mpi_collective(own.collective);
      for (const OpenMpiRanksRules& ranks : own.by_ranks) {
        out << fmt::format("{}, {} ranks and more:\n",
                           collective == nullptr ? fmt::format("collective {}", own.collective)
                                                 : std::string(collective->name),
                           ranks.ranks);
        for (const OpenMpiRule& rule : ranks.rules)
          out << fmt::format("  from {:>10}  {}\n", format_bytes({rule.from}),
                             describe_rule(collective, rule, release));
      }
    }
    for (const std::string& one : checked.remarks) out << "note: " << one << '\n';
  }
  if (checked.failing.empty()) return;
  std::string all;
  for (const std::string& one : checked.failing) all += "\n  " + one;
  throw Error(StatusCode::invalid_argument, options.file + ":" + all);
}

}  // namespace colltune
