// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/launch_environment.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "colltune/kernels/nccl_environment.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

struct MpiParameters {
  std::string_view prefix;  ///< behind mca_prefix
  bool launchers = false;   ///< mpirun reads them, not the ranks
};

/// Those that change what Open MPI's calls do or how fast; the others are the launcher's own, and
/// change with every launch.
constexpr MpiParameters mpi_parameters[] = {{"pml"},
                                            {"btl"},
                                            {"mtl"},
                                            {"coll"},
                                            {"osc"},
                                            {"opal_"},
                                            {"mpi_"},
                                            {.prefix = "hwloc_", .launchers = true},
                                            {.prefix = "rmaps_", .launchers = true}};

// The agent sets it itself, in every launch (kernels: prepare_mpi_environment).
constexpr std::string_view own_mpi_parameter = "coll_tuned_use_dynamic_rules";

/// UCX's parameters, and those of NCCL's plug-in for libfabric (aws-ofi-nccl).
constexpr std::string_view other_prefixes[] = {"UCX_", "OFI_NCCL_"};
/// Of these what only says what is logged.
constexpr std::string_view logging_prefix = "UCX_LOG_";

const MpiParameters* find_mpi_parameter(std::string_view name) {
  if (!name.starts_with(mca_prefix)) return nullptr;
  const std::string_view parameter = name.substr(mca_prefix.size());
  if (parameter == own_mpi_parameter) return nullptr;
  const auto* const found = std::ranges::find_if(
      mpi_parameters,
      [&](const MpiParameters& parameters) { return parameter.starts_with(parameters.prefix); });
  return found == std::end(mpi_parameters) ? nullptr : found;
}

std::string allowed_variables() {
  std::string out = "NCCL_*";
  for (const std::string_view prefix : other_prefixes) out += ", " + std::string(prefix) + "*";
  for (const MpiParameters& parameters : mpi_parameters)
    if (!parameters.launchers)
      out += ", " + std::string(mca_prefix) + std::string(parameters.prefix) + "*";
  return out;
}

}  // namespace

std::optional<RecordedIn> where_recorded(std::string_view name) {
  if (find_mpi_parameter(name) != nullptr) return RecordedIn::mpi_transport;
  const bool is_other = !name.starts_with(logging_prefix) &&
                        std::ranges::any_of(other_prefixes, [&](std::string_view prefix) {
                          return name.starts_with(prefix);
                        });
  if (is_other || is_nccl_setting(name)) return RecordedIn::variables;
  return std::nullopt;
}

std::string why_not_set_per_process(std::string_view name) {
  const auto is_name_character = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  if (!std::ranges::all_of(name, is_name_character))
    return "is no name of a variable: letters, digits and '_'";
  if (!where_recorded(name))
    return "the environment's digest does not record it, so that what is measured with and without "
           "it would be one; recorded are " +
           allowed_variables();
  if (const auto* const parameter = find_mpi_parameter(name);
      parameter != nullptr && parameter->launchers)
    return "the launcher reads it, and a rank that sets it is too late; give it to the launcher";
  return {};
}

Assignment parse_assignment(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    throw Error(StatusCode::invalid_argument,
                "'" + std::string(text) + "': write NAME=value, such as NCCL_BUFFSIZE=8388608");
  return {.name = std::string(text.substr(0, equals)),
          .value = std::string(text.substr(equals + 1))};
}

std::string to_text(const Assignment& variable) {
  const auto needs_quotes = [](unsigned char c) { return c <= ' ' || c == '"' || c == 0x7f; };
  const bool is_quoted =
      variable.value.empty() || std::ranges::any_of(variable.value, needs_quotes);
  using nlohmann::json;
  return variable.name + "=" +
         (is_quoted ? json(variable.value).dump(-1, ' ', false, json::error_handler_t::replace)
                    : variable.value);
}

std::string to_text(const std::vector<Assignment>& variables) {
  std::string out;
  for (const Assignment& variable : variables) out += (out.empty() ? "" : " ") + to_text(variable);
  return out;
}

}  // namespace colltune
