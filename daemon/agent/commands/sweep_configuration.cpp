// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "sweep_configuration.h"

#include <fmt/core.h>

#include <cstdio>
#include <optional>

#include "colltune/sweep/spec/traced_sweep.h"
#include "colltune/vocabulary/printable.h"

namespace colltune {

SweepConfiguration load_configuration(const SweepOptions& options) {
  if (!options.configuration_text.empty())
    return {.spec = parse_sweep_spec(options.configuration_text, "the program's request"),
            .notes = {}};
  if (!options.trace) return {.spec = load_sweep_spec(options.configuration), .notes = {}};
  std::optional<BaseConfiguration> base;
  if (!options.configuration.empty())
    base = {.text = read_configuration(options.configuration),
            .name = options.configuration.string()};
  const std::string trace_name = options.trace->string();
  const TracedSweep sweep = configuration_from(load_trace(trace_name), trace_name, base);
  SweepConfiguration loaded{
      // Plug-ins are named relative to the base.
      .spec = parse_sweep_spec(sweep.configuration, base ? base->name : trace_name),
      .notes = describe(sweep.coverage)};
  if (!base)
    loaded.notes.push_back(fmt::format("no --config: {:.0f} s of budget for {} key(s)",
                                       std::chrono::duration<double>(loaded.spec.budget).count(),
                                       sweep.coverage.keys));
  return loaded;
}

SweepSpec share_configuration(ControlPlane& control, const SweepOptions& options) {
  return share_sweep_spec(control, [&] {
    SweepConfiguration loaded = load_configuration(options);
    if (!options.quiet)
      for (const std::string& note : loaded.notes) fmt::print(stderr, "{}\n", printable(note));
    return std::move(loaded.spec);
  });
}

}  // namespace colltune
