// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "colltune/model/fitted/steps.h"
#include "colltune/vocabulary/decision.h"
#include "colltune/vocabulary/fits/variant_fit.h"

namespace colltune {

/// What a ranked variant does in one call for a key, whether or not the key was measured. Empty if
/// that is not known, or if the variant cannot run there.
using StepCounts =
    std::function<std::optional<StepCount>(const TuningKey& key, const RankedVariant& ranked)>;

/// The model of fits for worlds in which nothing was measured.
inline constexpr std::string_view world_model = "loggp";

/// Worlds of more ranks are neither predicted nor predicted from: a schedule's work grows with
/// their square, and fits are made while a sweep publishes.
inline constexpr int most_counted_ranks = 16;

/// The topology with another number of ranks on each node. Empty unless the ranks are alike, evenly
/// laid out and have a core or a device each: in no other world do steps alone tell the difference.
[[nodiscard]] std::optional<Topology> with_ranks_per_node(const Topology& topology,
                                                          int ranks_per_node);

/// Fits for worlds of other numbers of ranks per node, by key and variant. They are made of the
/// decisions for one problem, number of nodes, architecture, environment and regime that were
/// measured with at least two numbers of ranks per node, by the step counts of each variant
/// (steps.h). The numbers that are predicted are powers of two and three times those, up to
/// `most_extrapolation` times the largest measured one, where nothing is decided for the problem.
/// Only baselines, and variants that some of these decisions proves, have fits.
///
/// Their intervals are the product of two: those of sizes, as in fits_of(), and that of leaving
/// each measured world out. The latter needs three worlds and ten times; with fewer, it is half to
/// twice. Depends on the decisions and the counts alone, not on the decisions' order.
[[nodiscard]] std::vector<VariantFit> fits_across_worlds(std::span<const Decision> decisions,
                                                         const StepCounts& counts);

/// Those of fits_of() and of fits_across_worlds().
[[nodiscard]] std::vector<VariantFit> fits_with_worlds(std::span<const Decision> decisions,
                                                       const StepCounts& counts);

}  // namespace colltune
