// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "ctring_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string_view>

#include "colltune/model/ring/ring_parameters.h"
#include "colltune/vocabulary/error.h"
#include "text/text_table.h"

namespace colltune {
namespace {

constexpr std::string_view blanks = " \t";

std::vector<Bytes> sizes_of(const std::string& list) {
  if (list.empty()) return ring_log_sizes();
  std::vector<Bytes> sizes;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    std::string one = list.substr(at, comma - at);
    one.erase(0, std::min(one.find_first_not_of(blanks), one.size()));
    one.erase(one.find_last_not_of(blanks) + 1);
    sizes.push_back(parse_bytes(one));
    at = comma + 1;
  }
  return sizes;
}

/// What the environment says of ctring.
struct FromEnvironment {
  std::vector<std::string> taken;    ///< NAME=value
  std::vector<std::string> unknown;  ///< names that begin like ctring's and are none that we know
};

FromEnvironment read_environment(std::span<const std::string> environment) {
  FromEnvironment found;
  for (const std::string& one : environment) {
    if (!one.starts_with(ring_variable_prefix)) continue;
    const std::string name = one.substr(0, one.find('='));
    // The program's own variables, of which a newer one may have more than are known here.
    if (find_ring_variable(name) == nullptr)
      found.unknown.push_back(name);
    else
      found.taken.push_back(one);
  }
  std::ranges::sort(found.taken);
  std::ranges::sort(found.unknown);
  return found;
}

/// All that is printed.
struct Log {
  RingSetting setting;
  std::string architecture;  ///< as asked for
  FromEnvironment environment;
  bool ignores_environment = false;
  std::vector<std::string> unread;
  Bytes staging;
  int buffers = 0;
  std::vector<RingDecision> rows;
};

Log log_of(const CtringOptions& options, std::span<const std::string> environment) {
  Log log{.architecture = options.architecture, .ignores_environment = options.ignores_environment};
  if (!options.ignores_environment) log.environment = read_environment(environment);
  std::vector<std::string> settings = log.environment.taken;
  settings.insert(settings.end(), options.settings.begin(), options.settings.end());
  log.setting = {
      .rules = options.rules.empty() ? default_ring_rules : parse_name<RingRules>(options.rules),
      .architecture = ring_architecture_of(options.architecture),
      .ranks = options.ranks,
      .max_blocks = options.max_blocks,
      .max_threads = options.max_threads,
      .element_bytes = options.element_bytes,
      .queue_pairs = options.queue_pairs,
      .devices_of_rank = options.devices_of_rank,
      .leaves_small_untuned = options.leaves_small_untuned,
      .overrides = read_ring_overrides(settings)};
  const RingSetting& setting = log.setting;
  log.rows = ring_decisions(setting, sizes_of(options.bytes));
  log.unread = unread_ring_overrides(setting.overrides, setting.rules);
  log.staging = ring_staging_size(setting.rules, setting.architecture, setting.overrides);
  log.buffers = ring_staging_buffers(setting.rules, setting.overrides);
  return log;
}

nlohmann::json threshold_json(const RingParameters& parameters) {
  if (!parameters.qp_scaling_threshold) return {};
  return parameters.qp_scaling_threshold->value;
}

void print_json(const Log& log, std::ostream& out) {
  const RingSetting& setting = log.setting;
  nlohmann::json rows = nlohmann::json::array();
  for (const RingDecision& row : log.rows) {
    nlohmann::json one{{"message_bytes", row.message.value},
                       {"is_tuned", row.parameters.has_value()}};
    if (row.parameters)
      one.update({{"chunk_bytes", row.parameters->chunk.value},
                  {"chunks", row.parameters->chunks},
                  {"blocks", row.parameters->blocks},
                  {"threads", row.parameters->threads},
                  {"qp_scaling_threshold_bytes", threshold_json(*row.parameters)},
                  {"is_limited", row.parameters->is_limited}});
    rows.push_back(std::move(one));
  }
  const nlohmann::json all{{"model", "ctring"},
                           {"rules", name_of(setting.rules)},
                           {"architecture", log.architecture},
                           {"values_of", name_of(setting.architecture)},
                           {"ranks", setting.ranks},
                           {"max_blocks", setting.max_blocks},
                           {"max_threads", setting.max_threads},
                           {"element_bytes", setting.element_bytes},
                           {"queue_pairs", setting.queue_pairs},
                           {"devices_of_rank", setting.devices_of_rank},
                           {"settings", ring_assignments(setting.overrides)},
                           {"from_environment", log.environment.taken},
                           {"unknown_in_environment", log.environment.unknown},
                           {"not_read_by_rules", log.unread},
                           {"staging_bytes", log.staging.value},
                           {"staging_buffers", log.buffers},
                           {"decisions", std::move(rows)}};
  out << all.dump(1) << '\n';
}

/// A heading and a line for each of `lines`, which may be long.
void print_list(std::string_view heading, const std::vector<std::string>& lines,
                std::ostream& out) {
  if (lines.empty()) return;
  out << heading << '\n';
  for (const std::string& line : lines) out << "  " << line << '\n';
}

void print_table(const Log& log, std::ostream& out) {
  const RingSetting& setting = log.setting;
  out << fmt::format("ctring by rule set {}: {} ranks of {}, values of '{}'\n",
                     name_of(setting.rules), setting.ranks, log.architecture,
                     name_of(setting.architecture));
  out << fmt::format("elements of {} bytes; at most {} blocks of {} threads\n",
                     setting.element_bytes, setting.max_blocks, setting.max_threads);
  out << fmt::format("{} staging buffers of {} each\n", log.buffers, format_bytes(log.staging));
  if (log.ignores_environment)
    out << fmt::format("the environment's {}* are ignored\n", ring_variable_prefix);
  else if (log.environment.taken.empty())
    out << fmt::format("no {}* in the environment\n", ring_variable_prefix);
  print_list("from the environment (--ignore-environment leaves them out):", log.environment.taken,
             out);
  print_list("in the environment and not known, so ignored:", log.environment.unknown, out);
  print_list("settings that differ from torchcomms' own:", ring_assignments(setting.overrides),
             out);
  print_list("not read by this rule set:", log.unread, out);
  out << '\n';

  using enum TextTable::Align;
  TextTable table({{"message", right},
                   {"chunk", right},
                   {"chunks", right},
                   {"blocks", right},
                   {"threads", right},
                   {"QP threshold", right},
                   {"note", left}});
  bool is_limited = false;
  for (const RingDecision& row : log.rows) {
    if (!row.parameters) {
      table.add_row({format_bytes(row.message), "-", "-", "-", "-", "-", "not tuned"});
      continue;
    }
    const RingParameters& got = *row.parameters;
    is_limited = is_limited || got.is_limited;
    table.add_row({format_bytes(row.message), format_bytes(got.chunk), std::to_string(got.chunks),
                   std::to_string(got.blocks), std::to_string(got.threads),
                   got.qp_scaling_threshold ? format_bytes(*got.qp_scaling_threshold) : "-",
                   got.is_limited ? "limited" : ""});
  }
  out << table.text(narrow_table);
  if (is_limited)
    out << "limited: the product was lowered to what is allocated, which torchcomms does not do\n";
}

}  // namespace

void run_ctring(const CtringOptions& options, std::span<const std::string> environment,
                std::ostream& out) {
  const Log log = log_of(options, environment);
  if (options.json)
    print_json(log, out);
  else
    print_table(log, out);
}

void add_ctring(CLI::App& predict, CtringOptions& options, std::ostream& out) {
  CLI::App& command = *predict.add_subcommand(
      "ctring", "What torchcomms' ring all_reduce (ctring) chooses for each size");
  command.footer(
      fmt::format("{}* in the environment are taken, as torchcomms takes them.\n"
                  "Example:\n  colltune predict ctring --arch sm_90 --ranks 8 --set "
                  "TMPBUF_NUM_CHUNKS=8 --bytes 1M,64M",
                  ring_variable_prefix));
  command.add_option("--arch", options.architecture, "architecture of the GPUs: sm_90, sm_100, …")
      ->required();
  command.add_option("--ranks", options.ranks, "ranks of the communicator")->required();
  command.add_option("--rules", options.rules,
                     fmt::format("{} [{}]: the request's text, as merged, as of 2026-08",
                                 allowed_names<RingRules>(), name_of(default_ring_rules)));
  command.add_option("--max-blocks", options.max_blocks,
                     "blocks that the kernel's occupancy allows [64]");
  command.add_option("--max-threads", options.max_threads,
                     "threads of a block that it allows [512]");
  command.add_option("--element-bytes", options.element_bytes, "1, 2, 4, 8 or 16 [4]");
  command.add_option("--queue-pairs", options.queue_pairs,
                     "queue pairs of InfiniBand for each device [16]");
  command.add_option("--devices", options.devices_of_rank, "InfiniBand devices of a rank [2]");
  command.add_option("--set", options.settings,
                     "NAME=VALUE: a variable of ctring, with or without " +
                         std::string(ring_variable_prefix) +
                         "; wins over the environment; may be repeated");
  command.add_flag("--small-untuned", options.leaves_small_untuned,
                   "v1: leave messages of less than 64 KiB a rank untuned");
  command.add_flag("--ignore-environment", options.ignores_environment,
                   "take no variable of the environment");
  command.add_option("--bytes", options.bytes,
                     "message sizes, separated by commas [1KiB to 32GiB and midpoints]");
  command.add_flag("--json", options.json, "print one JSON object");
  command.callback([&options, &out] {
    std::vector<std::string> environment;
    for (char** one = environ; one != nullptr && *one != nullptr; ++one)
      environment.emplace_back(*one);
    run_ctring(options, environment, out);
  });
}

}  // namespace colltune
