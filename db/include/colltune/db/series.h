// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "colltune/db/records.h"
#include "colltune/vocabulary/series_launch.h"

namespace colltune {

/// The launch of a series in several environments that a sweep was; empty where it was none, or has
/// not ended. Throws Error(data_loss) where its summary cannot be understood.
[[nodiscard]] std::optional<SeriesLaunch> series_launch_of(const SweepRecord& sweep);

}  // namespace colltune
