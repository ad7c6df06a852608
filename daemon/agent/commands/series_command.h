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

/// `colltune-agent supervise` for a sweep whose configuration names launch environments.
struct SeriesOptions {
  SuperviseOptions supervised;  ///< its command ends with the sweep's words
  const SweepSpec& spec;        ///< as the sweep reads it
};

/// Supervises one launch until it ends: supervise(), except in tests.
using SuperviseLaunch = std::function<int(const SuperviseOptions&)>;

/// What the database holds of the series of this configuration and command; nothing if there is no
/// database yet. Migrates an older database. Throws what Store throws.
[[nodiscard]] SeriesProgress read_series(const SeriesOptions& options);

/// Makes the missing launches of the series, one after the other; if the newest series is complete,
/// all launches of a new one. If a launch cannot be made in an environment, that environment is
/// given up with a message and the others go on. This does not hold for the unchanged environment,
/// without which there is nothing to compare with. `say` gets whole lines for a person.
///
/// Returns 0 or 1 like supervise(); otherwise the code of the launch that could not be made or was
/// ended by a signal. The same command then continues with what is missing.
[[nodiscard]] int run_series(const SeriesOptions& options, const SuperviseLaunch& supervise_launch,
                             const std::function<void(const std::string&)>& say);

}  // namespace colltune
