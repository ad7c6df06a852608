// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "compat_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "colltune/sweep/measure/measure.h"
#include "launch/agreement.h"
#include "sweep_configuration.h"

namespace colltune {

int run_compat_command(CompatTool tool, const SweepOptions& options, const AgentProcess& process) {
  ControlPlane& control = process.control;
  SweepSpec spec = share_configuration(control, options);
  // The tool has no twins. Nothing is decided from its times, so held-out sizes are ordinary sizes.
  spec.null_test = false;
  std::vector<std::filesystem::path> plugins(spec.plugins.begin(), spec.plugins.end());
  plugins.insert(plugins.end(), options.plugins.begin(), options.plugins.end());
  const auto [catalogue, environment, provenance, digest, launch, availability] =
      learn_launch(process, plugins, options.call_limit, options.rules);
  const SweepPlan plan = share_plan(control, spec, availability, catalogue, digest);
  MeasurePolicy policy;
  policy.call_limit_floor = call_limit_floor(options.call_limit, plan);
  process.set_control_time_out(control_time_out(plan, policy));
  Measurer measurer(
      {.control = control, .launch = process.launch, .implementations = catalogue, .plan = plan},
      policy);
  const auto times = measure_like(tool, measurer, plan, process.stop);
  std::int64_t code = 0;
  run_on_rank_zero(control, [&] {
    fmt::print("{}", render_like(tool, plan, times));
    std::fflush(stdout);
    code = std::ranges::any_of(times, [](const CompatTime& time) { return !time.failure.empty(); });
  });
  control.all_reduce_max({&code, 1});
  return static_cast<int>(code);
}

}  // namespace colltune
