// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "colltune/vocabulary/names.h"
#include "colltune/vocabulary/problem.h"
#include "colltune/vocabulary/variant.h"

namespace colltune {

/// How many ranks share the GPU where targets are judged.
constexpr int target_ranks = 4;

/// What our kernels must reach on one GPU.
struct GpuTarget {
  enum class Figure {
    share_of_copy,     ///< of the rate of a plain copy, for the bytes moved: so much at least
    share_of_memory,   ///< the same, for the bytes that must come from or go to memory
    times_plain_copy,  ///< what a plain copy of the same bytes takes: so many of it at most
    microseconds,      ///< of a call: so many at most
  };
  std::string_view name;
  std::array<std::string_view, 3> forms;  ///< implementations, of which the best one counts
  std::string_view size;
  bool graph_capture = false;
  Figure figure = Figure::share_of_copy;
  double bound = 0;
};
constexpr std::array<Named<GpuTarget::Figure>, 4> enum_names(GpuTarget::Figure) {
  return {{{GpuTarget::Figure::share_of_copy, "share_of_copy"},
           {GpuTarget::Figure::share_of_memory, "share_of_memory"},
           {GpuTarget::Figure::times_plain_copy, "times_plain_copy"},
           {GpuTarget::Figure::microseconds, "microseconds"}}};
}
[[nodiscard]] std::span<const GpuTarget> gpu_targets();
[[nodiscard]] bool is_form_of(const GpuTarget& target, std::string_view implementation);

/// What was measured of one call by all ranks.
struct GpuFigures {
  double device_us = 0;
  double moved_bytes = 0;               ///< read and written, by all ranks
  double memory_bytes = 0;              ///< of them, what no cache can hold back
  double copied_bytes_per_us = 0;       ///< by a plain copy, read and written
  std::optional<double> plain_copy_us;  ///< of as many bytes as the call's ranks copy
};

/// What comes of a target.
struct GpuVerdict {
  std::optional<double> measured;  ///< the target's figure
  std::optional<bool> is_reached;  ///< empty: not measured
  std::string reason;              ///< why it was not

  friend bool operator==(const GpuVerdict&, const GpuVerdict&) = default;
};
/// The figure of `target`; nothing where what it takes was not measured.
[[nodiscard]] std::optional<double> figure_of(const GpuTarget& target, const GpuFigures& figures);
/// Whether more of the figure is better.
[[nodiscard]] bool wants_more(const GpuTarget& target);
/// Whether `figure` is nearer to the target than `other`, or there is no other.
[[nodiscard]] bool is_better(const GpuTarget& target, double figure, std::optional<double> other);
/// `best`: the figure of the best variant that was timed. `untimed`: how many were not, or why;
/// empty: all were. What is reached without them is reached; what is not may yet be.
[[nodiscard]] GpuVerdict judge(const GpuTarget& target, std::optional<double> best,
                               const std::string& untimed);

/// Bytes that all ranks read and write in the GPU's memory, where it was counted (else 0):
/// registered buffers, `ranks` ranks, messages of `size`.
[[nodiscard]] double moved_bytes(std::string_view implementation, int ranks, Bytes size);
/// The part of them that comes from the GPU's memory or goes there, for messages that are large
/// beside its `cache`. Of a ring's slots, which are used again and again, nothing where all ranks'
/// together fit into the cache, else what is written to them.
[[nodiscard]] double memory_bytes(const Variant& variant, int ranks, Bytes size, Bytes cache);

}  // namespace colltune
