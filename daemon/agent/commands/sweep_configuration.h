// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "colltune/sweep/spec/sweep_spec.h"
#include "sweep_command.h"

namespace colltune {

/// What a sweep command asks for: the configuration that `--config` names, or the one that `--from`
/// makes of a trace.
struct SweepConfiguration {
  SweepSpec spec;
  std::vector<std::string> notes;  ///< lines for a person about what of the trace is measured
};

/// Reads the files of `options`. Throws what load_sweep_spec, load_trace and configuration_from
/// throw.
[[nodiscard]] SweepConfiguration load_configuration(const SweepOptions& options);

/// Collective: rank 0 alone reads the files, and prints the notes unless the user asked for quiet;
/// all ranks get the configuration or throw rank 0's Error.
[[nodiscard]] SweepSpec share_configuration(ControlPlane& control, const SweepOptions& options);

}  // namespace colltune
