// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu_targets.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <variant>

namespace colltune {
namespace {

using Figure = GpuTarget::Figure;

// The shortest first: what the time does not suffice for is then variants of the ring, of which
// there are the most.
constexpr std::array<GpuTarget, 5> all_targets{
    {{"one_shot_in_graph", {"cuda.all_reduce_one_shot"}, "8KiB", true, Figure::microseconds, 10},
     // 8 KiB from each rank to each.
     {"low_latency_all_to_all",
      {"cuda.all_to_all_low_latency", "cuda.all_to_all_low_latency_128", "cuda.all_to_all_poison"},
      "32KiB",
      true,
      Figure::microseconds,
      12},
     {"all_gather_by_copy_engines",
      {"cuda.all_gather_copy_pull", "cuda.all_gather_copy_push"},
      "256MiB",
      false,
      Figure::times_plain_copy,
      1.1},
     {"two_shot",
      {"cuda.all_reduce_two_shot_pull", "cuda.all_reduce_two_shot_push"},
      "256MiB",
      false,
      Figure::share_of_copy,
      0.7},
     {"ring",
      {"cuda.all_reduce_ring", "cuda.all_reduce_ring_both_ways"},
      "256MiB",
      false,
      Figure::share_of_memory,
      0.5}}};

}  // namespace

std::span<const GpuTarget> gpu_targets() { return all_targets; }

bool is_form_of(const GpuTarget& target, std::string_view implementation) {
  return !implementation.empty() &&
         std::ranges::find(target.forms, implementation) != target.forms.end();
}

std::optional<double> figure_of(const GpuTarget& target, const GpuFigures& figures) {
  switch (target.figure) {
    case Figure::share_of_copy:
      if (figures.moved_bytes == 0 || figures.copied_bytes_per_us == 0) return std::nullopt;
      return figures.moved_bytes / figures.device_us / figures.copied_bytes_per_us;
    case Figure::share_of_memory:
      if (figures.memory_bytes == 0 || figures.copied_bytes_per_us == 0) return std::nullopt;
      return figures.memory_bytes / figures.device_us / figures.copied_bytes_per_us;
    case Figure::times_plain_copy:
      if (!figures.plain_copy_us) return std::nullopt;
      return figures.device_us / *figures.plain_copy_us;
    case Figure::microseconds:
      return figures.device_us;
  }
  return std::nullopt;
}

bool wants_more(const GpuTarget& target) {
  return target.figure == Figure::share_of_copy || target.figure == Figure::share_of_memory;
}

bool is_better(const GpuTarget& target, double figure, std::optional<double> other) {
  if (!other) return true;
  return wants_more(target) ? figure > *other : figure < *other;
}

GpuVerdict judge(const GpuTarget& target, std::optional<double> best, const std::string& untimed) {
  if (!best) return {.reason = untimed.empty() ? "nothing was timed" : untimed};
  const bool is_reached = wants_more(target) ? *best >= target.bound : *best <= target.bound;
  if (!is_reached && !untimed.empty()) return {.measured = best, .reason = untimed};
  return {.measured = best, .is_reached = is_reached};
}

double moved_bytes(std::string_view implementation, int ranks, Bytes size) {
  const auto n = static_cast<double>(ranks);
  const auto whole = static_cast<double>(size.value);
  // Everyone reads all inputs and writes the result.
  if (implementation == "cuda.all_reduce_one_shot") return n * whole * (n + 1);
  // A rank reads its share of all inputs (S) and the others' results, and writes S.
  if (implementation == "cuda.all_reduce_two_shot_pull") return n * whole * (2 + (n - 1) / n);
  // The same share is read, and written to all.
  if (implementation == "cuda.all_reduce_two_shot_push") return n * whole * 2;
  // Each of 2(n-1) hops reads what has come and writes what goes on, the first half reads inputs
  // beside, the second writes results; whichever way round the results go.
  if (implementation.starts_with("cuda.all_reduce_ring")) return whole * (6 * n - 4);
  // Everyone's block is read for, and written to, each.
  if (implementation.starts_with("cuda.all_gather_copy_") ||
      implementation == "cuda.all_gather_pull" || implementation == "cuda.all_gather_push")
    return n * whole * 2;
  return 0;
}

double memory_bytes(const Variant& variant, int ranks, Bytes size, Bytes cache) {
  const double moved = moved_bytes(variant.implementation, ranks, size);
  if (!variant.implementation.starts_with("cuda.all_reduce_ring")) return moved;
  const auto number = [&](std::string_view name) {
    const auto found = std::ranges::find(variant.parameters, name, &Parameter::name);
    return static_cast<double>(std::get<std::int64_t>(found->value));
  };
  const auto n = static_cast<double>(ranks);
  const auto whole = static_cast<double>(size.value);
  const double slots = n * 2 * (n - 1) * number("slots") * std::min(number("chunk"), whole / n);
  // Inputs are read once, and results written once. What is written to slots that do not fit goes
  // to memory, too, and is read soon enough to come from the cache. (On an H200 Nsight Compute
  // counts 1.09 GB read and 2.66 GB written for 256 MiB, 4 ranks, 192 MiB of slots: these 14 S.)
  const double written_back = slots > static_cast<double>(cache.value) ? 2 * (n - 1) * whole : 0;
  return 2 * n * whole + written_back;
}

}  // namespace colltune
