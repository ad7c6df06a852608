// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "models/predict_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <ostream>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "colltune/json/json.h"
#include "colltune/model/library/predictors.h"
#include "source/remote.h"
#include "text/text_table.h"

namespace colltune {
namespace {

constexpr int form_version = 1;

/// The file, as configs/predict.schema.json describes it: a version beside the program's keys.
struct PredictInput {
  int version = 0;
  AnnotatedProgram program;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, PredictInput>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("version", self.version);
  visit_fields(self.program, visit);
}

PredictInput read_input(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw Error(StatusCode::invalid_argument, file + ": cannot be read");
  std::ostringstream content;  // whole buffers, where iterators take single characters
  content << in.rdbuf();
  const std::string text = std::move(content).str();
  nlohmann::json json;
  try {
    json = nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    throw Error(StatusCode::invalid_argument, file + ": " + error.what());
  }
  auto input = from_json_value<PredictInput>(json, file + ": ");
  if (input.version != form_version)
    throw Error(StatusCode::invalid_argument, fmt::format("{}: /version: {}; this program reads {}",
                                                          file, input.version, form_version));
  return input;
}

/// A string of JSON, with its quotes.
std::string in_json(const std::string& text) {
  const bool is_plain = std::ranges::all_of(
      text, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
  // A JSON value for each string costs an allocation or two that plain ones do not need.
  return is_plain ? '"' + text + '"' : nlohmann::json(text).dump();
}

/// Written by hand: trees of many thousand answers take longer to build than the answers.
void write_json(const std::vector<Annotation>& answers, std::ostream& out) {
  std::string text = fmt::format("{{\"version\":{},\"collectives\":[", form_version);
  const char* between = "";
  for (const Annotation& answer : answers) {
    fmt::format_to(std::back_inserter(text),
                   "{}{{\"name\":{},\"strategy\":\"{}\",\"source\":\"{}\",\"why\":{},\"model\":{},"
                   "\"node_us\":{},\"between_us\":{},\"memory_us\":{},\"total_us\":{}}}",
                   between, in_json(answer.name), name_of(answer.strategy), name_of(answer.source),
                   in_json(answer.why), in_json(answer.model), answer.on_node.count(),
                   answer.between.count(), answer.memory.count(), answer.total.count());
    between = ",";
  }
  out << text << "]}\n";
}

std::vector<Annotation> annotations_of(const AnnotatedProgram& program,
                                       const PredictOptions& options) {
  const std::string file = options.file + ": ";
  if (options.server.empty())
    return library_models::annotate(program, {nullptr, file, -1, FieldPath::Form::slashes});
  try {
    return annotate_remotely(options.server, program);
  } catch (const Error& error) {
    // Of the file, whose content the daemon knows as the program; others are of the connection.
    if (!std::string_view(error.what()).starts_with("program")) throw;
    throw Error(error.code(), file + error.what());
  }
}

}  // namespace

void run_predict(const PredictOptions& options, std::ostream& out) {
  PredictInput input = read_input(options.file);
  if (!options.model.empty()) input.program.model = options.model;
  const std::vector<Annotation> answers = annotations_of(input.program, options);
  if (options.json) {
    write_json(answers, out);
    return;
  }
  using Align = TextTable::Align;
  TextTable table({{"collective"},
                   {"strategy"},
                   {"model"},
                   {"node us", Align::right},
                   {"between us", Align::right},
                   {"why"}});
  for (const Annotation& answer : answers)
    table.add_row({answer.name, std::string(name_of(answer.strategy)), answer.model,
                   fmt::format("{:.3f}", answer.on_node.count()),
                   fmt::format("{:.3f}", answer.between.count()), answer.why});
  out << table.text(table_width(options.is_wide));
}

CLI::App& add_predict(CLI::App& program, PredictOptions& options, const std::string& footer) {
  CLI::App& command = *program.add_subcommand(
      "predict", "Print what models of XLA and NCCL say that collectives of GPUs take");
  command.footer(footer);
  CLI::Option* const file = command.add_option(
      "file", options.file, "device and collectives, as configs/predict.schema.json describes");
  command.add_option("--model", options.model,
                     library_models::predictor_names() + " [what the file says, else the first]");
  command.add_option("--server", options.server,
                     "address of a colltuned whose models answer [those of this program]");
  command.add_flag("--json", options.json, "print one JSON object");
  command.add_flag("--wide", options.is_wide, "tables as wide as they need to be [80 columns]");
  // A subcommand needs no file, so it is not required by the parser.
  command.callback([&command, &options, file] {
    if (!command.get_subcommands().empty()) return;
    if (file->count() == 0) throw CLI::RequiredError("file");
    run_predict(options, std::cout);
  });
  return command;
}

}  // namespace colltune
