// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "process_settings.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "colltune/sweep/spec/launch_environment.h"
#include "colltune/vocabulary/canonical.h"
#include "colltune/vocabulary/error.h"
#include "loaded_objects.h"

namespace colltune {
namespace {

namespace fs = std::filesystem;
using Facts = std::map<std::string, std::string>;

/// The variables of `environment` that belong to the fact `in`.
Facts recorded_variables(const NcclVariables& environment, RecordedIn in) {
  Facts facts;
  for (const auto& [name, value] : environment)
    if (where_recorded(name) == in) facts.emplace(name, value);
  return facts;
}

std::string render(const Facts& facts) {
  std::string out;
  for (const auto& [name, value] : facts)
    out += (out.empty() ? "" : " ") + to_text(Assignment{name, value});
  return out;
}

/// The parameters of the MPI library, without their prefix: parameters that no component has
/// registered as the environment sets them, the others with the values in force.
Facts mpi_parameters(const MpiSettings& mpi) {
  Facts facts;
  // MPI does not read NCCL's files.
  for (const auto& [name, value] :
       recorded_variables(read_nccl_environment({}), RecordedIn::mpi_transport))
    facts.emplace(name.substr(mca_prefix.size()), value);
  for (const auto& [name, value] : mpi.in_force)
    if (name == all_variables ||
        where_recorded(std::string(mca_prefix) + name) == RecordedIn::mpi_transport)
      facts.insert_or_assign(name, value);
  // The agent enables dynamic rules in every launch, but they count only if the user put algorithms
  // of his own in force.
  if (mpi.uses_dynamic_rules) facts.emplace("coll_tuned_use_dynamic_rules", "1");
  return facts;
}

/// The files in which UCX looks for variables (1.12 and later), with a digest of their contents.
Facts ucx_files() {
  Facts facts;
  const auto add = [&](const std::string& name, const fs::path& folder) {
    std::ifstream file(folder / "ucx.conf");
    if (file)
      facts.emplace(name + "/ucx.conf",
                    digest_of_text(std::string(std::istreambuf_iterator<char>(file), {})));
  };
  for (const char* variable : {"HOME", "UCX_CONFIG_DIR"})
    if (const char* folder = std::getenv(variable)) add(variable, folder);
  add("/etc/ucx", "/etc/ucx");
  return facts;
}

Facts process_variables(const NcclFiles& files) {
  Facts facts = recorded_variables(read_nccl_environment(files), RecordedIn::variables);
  for (auto& [name, value] : read_loader_facts()) facts.insert_or_assign(name, value);
  facts.merge(ucx_files());
  return facts;
}

}  // namespace

bool set_variables(std::span<const std::string> variables) {
  const NcclVariables before = read_nccl_environment();
  for (const std::string& text : variables) {
    const Assignment variable = parse_assignment(text);
    if (const std::string why = why_not_set_per_process(variable.name); !why.empty())
      throw Error(StatusCode::invalid_argument, variable.name + ": " + why);
    ::setenv(variable.name.c_str(), variable.value.c_str(), 1);
  }
  return read_nccl_environment() != before;
}

ProcessSettings read_process_settings(MallocRegime malloc, const MpiSettings& mpi,
                                      const NcclFiles& files) {
  ProcessSettings settings{.malloc = malloc, .malloc_settings = describe_malloc(malloc)};
  const Facts parameters = mpi_parameters(mpi);
  if (!parameters.empty()) settings.mpi_transport = render(parameters);
  const Facts variables = process_variables(files);
  if (!variables.empty()) settings.variables = render(variables);

  const auto compare = [&](const std::string& name, const std::string& value) {
    if (!may_differ_between_ranks(name)) settings.of_launch.emplace(name, value);
  };
  for (const auto& [name, value] : parameters)
    compare(name == all_variables ? name : std::string(mca_prefix) + name, value);
  for (const auto& [name, value] : variables) compare(name, value);
  for (const auto& [name, value] : read_malloc_facts()) compare(name, value);
  compare(malloc_regime_variable, malloc == MallocRegime::fresh ? "fresh" : "grown");
  return settings;
}

}  // namespace colltune
