// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/collectives/program_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "colltune/collectives/build_id.h"

namespace colltune {

ProgramSettings read_program_settings(const std::function<const char*(const char*)>& variable) {
  const auto value = [&](const char* name) {
    const char* const text = variable(name);
    return std::string_view(text == nullptr ? "" : text);
  };
  const auto refuse = [](std::string_view name, std::string_view got, std::string_view allowed) {
    throw Error(StatusCode::invalid_argument, fmt::format("{}={} must be {}", name, got, allowed));
  };
  ProgramSettings settings{.table = std::string(value("COLLTUNE_TABLE")),
                           .table_digest = std::string(value("COLLTUNE_TABLE_DIGEST"))};
  if (const auto text = value("COLLTUNE_MEMORY"); !text.empty()) {
    try {
      settings.memory = parse_bytes(text);
    } catch (const Error&) {
      refuse("COLLTUNE_MEMORY", text, "a size, for example 256MiB");
    }
  }
  if (const auto text = value("COLLTUNE_NUMERICS"); !text.empty()) {
    try {
      settings.numerics = parse_name<ProgramNumerics>(text);
    } catch (const Error&) {
      refuse("COLLTUNE_NUMERICS", text, allowed_names<ProgramNumerics>());
    }
  }
  if (const auto text = value("COLLTUNE_PATIENCE"); !text.empty()) {
    constexpr int most = 3'600'000;
    int milliseconds = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), milliseconds);
    if (error != std::errc{} || end != text.data() + text.size() || milliseconds < 0 ||
        milliseconds > most)
      refuse("COLLTUNE_PATIENCE", text, "a number of milliseconds from 0 to 3600000");
    settings.patience = std::chrono::milliseconds(milliseconds);
  }
  if (const auto text = value("COLLTUNE_REPORT"); !text.empty()) {
    if (text != "0" && text != "1") refuse("COLLTUNE_REPORT", text, "0 or 1");
    settings.reports = text == "1";
  }
  for (const char* const name :
       {"OMPI_MCA_coll_tuned_dynamic_rules_filename", "OMPI_MCA_coll_han_dynamic_rules_filename"})
    settings.library_follows_rules |= !value(name).empty();
  // As Open MPI reads a switch.
  constexpr std::array<std::string_view, 7> off{"", "0", "f", "false", "n", "no", "disabled"};
  for (const char* const name :
       {"OMPI_MCA_coll_tuned_use_dynamic_rules", "OMPI_MCA_coll_han_use_dynamic_file_rules"})
    settings.library_follows_rules |= std::ranges::find(off, value(name)) == off.end();
  return settings;
}

std::string fingerprint_of(const ProgramSettings& settings) {
  return fmt::format("{} {} {} {}", own_build_id(), settings.memory.value,
                     name_of(settings.numerics), settings.patience.count());
}

}  // namespace colltune
