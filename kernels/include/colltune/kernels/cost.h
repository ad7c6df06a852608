// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace colltune {

/// The cost of an implementation by its published analysis: `steps` messages one after the other,
/// `bytes_per_rank` through one rank's link, `reduced_bytes` combined on one rank.
struct Cost {
  double steps = 0;
  double bytes_per_rank = 0;
  double reduced_bytes = 0;
};

}  // namespace colltune
