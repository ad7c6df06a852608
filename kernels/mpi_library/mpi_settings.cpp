// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/mpi_library/mpi_settings.h"

#include <dlfcn.h>

#include <cstdlib>

#include "colltune/vocabulary/canonical.h"
#include "control_variable.h"
#include "mpi_handles.h"

namespace colltune {
namespace {

constexpr const char* dynamic_rules = "coll_tuned_use_dynamic_rules";
constexpr const char* rules_file = "coll_tuned_dynamic_rules_filename";

/// Open MPI's function that tells where a variable's value came from (mca_base_var.h, 1.7 to 5.0);
/// MPI_T has none. Source number 0 is the default; negative results are errors.
using ValueSource = int (*)(int index, const void* value, int* source, const char** file);

ValueSource find_value_source() {
  return reinterpret_cast<ValueSource>(::dlsym(RTLD_DEFAULT, "mca_base_var_get_value"));
}

/// Whether the variable's value differs from its default. A variable of a component that is not
/// loaded has none.
bool is_set(ValueSource value_source, int index) {
  int source = 0;
  return value_source(index, nullptr, &source, nullptr) >= 0 && source != 0;
}

}  // namespace

MpiSettings read_mpi_settings() {
  MpiSettings settings;
  const MpiToolSession session;
  const ValueSource value_source = find_value_source();
  int count = 0;
  check_mpi(MPI_T_cvar_get_num(&count), "MPI_T_cvar_get_num");
  std::map<std::string, std::string> all;
  for (int index = 0; index < count; ++index) {
    if (value_source != nullptr && !is_set(value_source, index)) continue;
    const auto variable = ControlVariable::at(index);
    if (!variable) continue;
    if (value_source != nullptr)
      settings.in_force.emplace(variable->name(), variable->read_text());
    else
      all.emplace(variable->name(), variable->read_text());
  }
  if (!all.empty()) {
    std::string text;
    for (const auto& [name, value] : all) text += name + "=" + value + "\n";
    settings.in_force.emplace(all_variables, digest_of_text(text));
  }
  if (const auto rules = ControlVariable::find(dynamic_rules))
    settings.uses_dynamic_rules = rules->read() != 0;
  if (const auto file = ControlVariable::find(rules_file))
    settings.names_rules_file = !file->read_text().empty();
  return settings;
}

void prepare_mpi_environment(const MpiSettings& user) {
  // Without it, coll/tuned accepts writes to its control variables and ignores them.
  ::setenv((std::string("OMPI_MCA_") + dynamic_rules).c_str(), "1", 0);
  // The component reads the file once, in MPI_Init. The environment takes precedence over parameter
  // files, and an empty name means no file.
  if (user.names_rules_file && !user.uses_dynamic_rules)
    ::setenv((std::string("OMPI_MCA_") + rules_file).c_str(), "", 1);
}

}  // namespace colltune
