// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "colltune/trace/trace.h"

namespace colltune {

/// Some calls of a trace, together.
struct PartOfTrace {
  std::size_t kinds = 0;  ///< entries of Trace::calls; of calls that were not kept, 0
  double time_ns = 0;     ///< of all ranks; each kind counts as 1 ns at least
};

/// What a sweep measures of a trace, and what not.
struct TraceCoverage {
  std::string program;
  int ranks = 0;
  int nodes = 0;
  std::size_t keys = 0;  ///< that are measured; kinds that differ only by rounding share one
  PartOfTrace measured;
  std::map<Unserved, PartOfTrace> left_out;
};
/// For a person, in lines; the shares are of the time in all recorded collectives.
[[nodiscard]] std::vector<std::string> describe(const TraceCoverage& coverage);

/// A sweep of the calls of a trace.
struct TracedSweep {
  std::string configuration;  ///< its text, for parse_sweep_spec
  TraceCoverage coverage;
};

/// A configuration that says how to measure; what it names to be measured does not count.
struct BaseConfiguration {
  std::string text;
  std::string name;  ///< of its file, for errors
};

/// The most calls that a sweep takes of a trace.
inline constexpr std::size_t most_traced_calls = 1024;

/// The configuration that measures the calls of `trace`, the heaviest first, each with the time of
/// its ranks as its weight. Its other keys are those of `base` but for `collectives`, `meshes`,
/// `calls` and the lists of their product. Without a base: the precision and the soak of
/// configs/quick.json, and 2 s of budget for each key, at least 30 s and at most 600 s. The same
/// trace and base always give the same text. Pure.
///
/// Measured are blocking calls of the eight collectives with at least two ranks that lie evenly on
/// known nodes, reductions with their type and operator. A trace does not know the type of what
/// only moves data: f32 where all sizes of the collective in that world are whole f32 elements for
/// each rank, else u8 for all of them, since of several types a program is served from one alone.
///
/// Throws Error(not_found) with the reasons if nothing of the trace can be measured, and
/// Error(invalid_argument) if `base` is wrong. `trace_name` is the trace's file, for errors.
[[nodiscard]] TracedSweep configuration_from(const Trace& trace, const std::string& trace_name,
                                             const std::optional<BaseConfiguration>& base);

}  // namespace colltune
