// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/spec/launch_environment.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "colltune/kernels/nccl_library/nccl_environment.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

struct MpiParameters {
  std::string_view prefix;  ///< after mca_prefix
  bool launchers = false;   ///< read by mpirun, not by the ranks
};

/// The parameters that change what Open MPI's calls do, or how fast. The others belong to the
/// launcher and change with every launch.
constexpr MpiParameters mpi_parameters[] = {
    {"pml"},
    {"btl"},
    {"mtl"},
    {"coll"},
    {"osc"},
    {"opal_"},
    {"mpi_"},
    {"bml"},
    {"op_"},
    {"common_"},
    {"mpool"},
    {"rcache"},
    {"allocator"},
    {"shmem"},
    {"memory"},
    {"patcher"},
    {"vprotocol"},
    {.prefix = "mca_base_component_path", .launchers = true},
    {.prefix = "mca_component_path", .launchers = true},
    {.prefix = "hwloc_", .launchers = true},
    {.prefix = "rmaps_", .launchers = true}};

/// The agent sets the first itself in every launch (prepare_mpi_environment), and mpirun sets the
/// others; what the second does is recorded as the placement of a topology.
constexpr std::string_view not_the_users[] = {"coll_tuned_use_dynamic_rules", "mpi_oversubscribe",
                                              "shmem_RUNTIME_QUERY_hint"};

/// Parameters of UCX, UCC, libfabric and other transports, of MPICH, and of NCCL's plug-in for
/// libfabric (aws-ofi-nccl).
constexpr std::string_view other_prefixes[] = {
    "UCX_",   "UCC_",  "OFI_NCCL_", "FI_",    "PSM2_",      "PSM3_", "HCOLL_",
    "SHARP_", "MLX4_", "MLX5_",     "RDMAV_", "MPIR_CVAR_", "MPICH_"};
/// Those of them that only control logging.
constexpr std::string_view logging_prefixes[] = {"UCX_LOG_", "UCC_LOG_", "FI_LOG_"};
/// CUDA's variables that change how calls are queued, and the thread level that Open MPI's MPI_Init
/// asks for.
constexpr std::string_view others[] = {"CUDA_LAUNCH_BLOCKING", "CUDA_DEVICE_MAX_CONNECTIONS",
                                       "OMPI_MPI_THREAD_LEVEL"};

/// Read by the loader or an allocator when a process starts.
constexpr std::string_view loaders[] = {"LD_PRELOAD", "LD_AUDIT"};
/// Variables of glibc, jemalloc, tcmalloc and mimalloc.
constexpr std::string_view allocators_prefixes[] = {"MALLOC_", "GLIBC_TUNABLES", "JE_MALLOC_CONF",
                                                    "TCMALLOC_", "MIMALLOC_"};

bool starts_with_any(std::string_view name, const auto& prefixes) {
  return std::ranges::any_of(prefixes,
                             [&](std::string_view prefix) { return name.starts_with(prefix); });
}
bool is_any(std::string_view name, const auto& names) {
  return std::ranges::find(names, name) != std::end(names);
}

const MpiParameters* find_mpi_parameter(std::string_view name) {
  if (!name.starts_with(mca_prefix)) return nullptr;
  const std::string_view parameter = name.substr(mca_prefix.size());
  if (is_any(parameter, not_the_users)) return nullptr;
  const auto* const found = std::ranges::find_if(
      mpi_parameters,
      [&](const MpiParameters& parameters) { return parameter.starts_with(parameters.prefix); });
  return found == std::end(mpi_parameters) ? nullptr : found;
}

std::string allowed_variables() {
  std::string out = "NCCL_*";
  for (const std::string_view prefix : other_prefixes) out += ", " + std::string(prefix) + "*";
  for (const std::string_view name : others) out += ", " + std::string(name);
  out += std::string(", ") + malloc_regime_variable;
  for (const MpiParameters& parameters : mpi_parameters)
    if (!parameters.launchers)
      out += ", " + std::string(mca_prefix) + std::string(parameters.prefix) + "*";
  return out;
}

}  // namespace

std::optional<RecordedIn> where_recorded(std::string_view name) {
  if (find_mpi_parameter(name) != nullptr) return RecordedIn::mpi_transport;
  if (name == malloc_regime_variable || starts_with_any(name, allocators_prefixes))
    return RecordedIn::malloc_settings;
  const bool is_other =
      (starts_with_any(name, other_prefixes) && !starts_with_any(name, logging_prefixes)) ||
      is_any(name, others) || is_any(name, loaders);
  if (is_other || is_nccl_setting(name)) return RecordedIn::variables;
  return std::nullopt;
}

bool may_differ_between_ranks(std::string_view name) {
  constexpr std::string_view parts[] = {"_if_include", "_if_exclude", "NET_DEVICES", "_ib_device",
                                        "_IFACE"};
  return is_nccl_setting_of_node(name) || std::ranges::any_of(parts, [&](std::string_view part) {
           return name.find(part) != std::string_view::npos;
         });
}

std::string why_not_set_per_process(std::string_view name) {
  const auto is_name_character = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  if (!std::ranges::all_of(name, is_name_character))
    return "is no name of a variable: letters, digits and '_'";
  if (!where_recorded(name))
    return "the environment's digest does not record it, so that what is measured with and without "
           "it would be one; recorded are " +
           allowed_variables();
  if (is_any(name, loaders) || starts_with_any(name, allocators_prefixes))
    return "it is read when a process starts, and a rank that sets it is too late; give it to the "
           "launcher";
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
