// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// The JSON reader: lines of results files, and the values that they hold. What is read and within
// the limits is read again from what is written of it.

#include <cstdlib>
#include <sstream>

#include "colltune/json/journal_lines.h"
#include "colltune/vocabulary/composition.h"
#include "colltune/vocabulary/field_limits.h"
#include "colltune/vocabulary/world_members.h"
#include "fuzz_target.h"

namespace colltune::fuzz {
namespace {

Decision some_decision() {
  return {.key = {.problem = {.message_size = {1024}},
                  .topology = {.architectures = {{"x86_64", 1}}},
                  .environment_digest = "e"},
          .ranked = {{.variant = parse_variant("a{n=2,w=x}"), .limits = {.ranks_multiple_of = 2}}}};
}

template <class T>
void read_as(const nlohmann::json& json) {
  try {
    const T value = from_json_value<T>(json, "input");
    check_value(value, FieldPath{.name = "input", .form = FieldPath::Form::slashes});
    if (from_json_value<T>(to_json_value(value), "again") != value) std::abort();
  } catch (const Error&) {  // what is expected of bad input
  }
}

}  // namespace

std::vector<std::string> seeds() {
  std::ostringstream lines;
  JournalLineWriter writer(lines, "seed");
  writer.write(JournalRecord::environment, Environment{.cpu_model = "one"});
  writer.write(JournalRecord::decision, some_decision());
  const Measurement trial{.key = some_decision().key,
                          .variant = parse_variant("a{n=2}"),
                          .samples = {std::chrono::nanoseconds(5)},
                          .slowest_ranks = {0}};
  return {lines.str(), to_json_value(some_decision()).dump(), to_json_value(trial).dump(),
          to_json_value(WorldMembers{"s", "t", {{{"x86_64", {"a=1"}}}, {0, 0}}}).dump(),
          to_json_value(Composition{CompositionMode::merged,
                                    {{PartRole::whole, {}, parse_variant("a"), {}}}})
              .dump()};
}

void run(std::string_view input) {
  std::istringstream lines{std::string(input)};
  try {
    JournalLineReader reader(lines, "input");
    while (const auto line = reader.next()) {
      read_as<Environment>(line->value);
      read_as<Decision>(line->value);
    }
  } catch (const Error&) {
  }
  if (input.find(std::string(64, '[')) != std::string_view::npos) return;  // the parser's own depth
  const auto json = nlohmann::json::parse(input, nullptr, false);
  if (json.is_discarded()) return;
  read_as<Decision>(json);
  read_as<Measurement>(json);
  read_as<WorldMembers>(json);
  read_as<Composition>(json);
}

}  // namespace colltune::fuzz
