// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "colltune/supervise/supervise.h"
#include "colltune/sweep/spec/sweep_spec.h"
#include "launch_series.h"

namespace colltune {

/// `colltune-agent supervise` of a sweep whose configuration names launch environments.
struct SeriesOptions {
  SuperviseOptions supervised;  ///< its command ends with the words of the sweep
  const SweepSpec& spec;        ///< as the sweep reads it
};

/// Supervises one launch until it is over; supervise() but in tests.
using LaunchSupervisor = std::function<int(const SuperviseOptions&)>;

/// The series that the database holds of this configuration and command; nothing where there is no
/// database yet. Migrates an older one. Throws what Store throws.
[[nodiscard]] SeriesProgress read_series(const SeriesOptions& options);

/// Makes the launches of the series that are missing, one after the other: all of a new one where
/// the newest is complete. An environment in which a launch cannot be made is given up with a line,
/// and the others go on; not so the unchanged one, without which there is nothing to compare with.
/// `say` gets whole lines for a person.
///
/// Returns 0 or 1 as supervise(); else the code of the launch that could not be made, or that was
/// ended by a signal: the same command goes on with what is missing.
[[nodiscard]] int run_series(const SeriesOptions& options, const LaunchSupervisor& supervise_launch,
                             const std::function<void(const std::string&)>& say);

}  // namespace colltune
