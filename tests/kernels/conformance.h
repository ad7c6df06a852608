// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "colltune/kernels/catalogue.h"
#include "colltune/kernels/verification/oracle.h"

namespace colltune::test {

/// One thing that every implementation must get right.
struct ConformanceCase {
  Problem problem;
  int root = 0;
  DataPattern pattern = DataPattern::exact;
  /// Instead of the pattern's: the oracle does not know the result, but the ranks compare theirs,
  /// bit by bit, as far as the variant promises (random_values.h).
  bool has_random_values = false;
  int calls = 3;                      ///< back to back, no barrier between them
  bool has_late_rank = false;         ///< in each call another rank starts some ms late
  bool by_every_variant = true;       ///< else the extremes take turns over such cases
  std::vector<std::size_t> blocks{};  ///< bytes of each rank's, if they differ
};

/// Prepares `variant` and makes the calls of `test`, checking on this rank every element received,
/// that inputs are left alone, that nothing is written beside the buffers, and that nobody reads an
/// input after `wait`. What went wrong here, empty where nothing did. Collective; never throws.
[[nodiscard]] std::string find_fault(Communicator& communicator,
                                     const Implementation& implementation, const Variant& variant,
                                     const ConformanceCase& test);

/// What a run that is neither full nor under a sanitizer takes of the cases.
enum class Usually {
  cases,            ///< all that such a run has time for
  covering_sample,  ///< as under a sanitizer: for worlds beside those that have the cases
};

/// The cases for `implementation` on `ranks` ranks: the whole product where COLLTUNE_FULL=1 is set,
/// else what the catalogue's conformance test has time for. On two ranks that is each type with
/// each operator, and a long message by every variant; on any number some types and operators with
/// each size, by every variant one or two of the sizes, which differ by the number of ranks, once
/// with plain and once with registered buffers. In all other cases variants take turns.
/// With Usually::covering_sample those that covering_sample takes one from.
[[nodiscard]] std::vector<ConformanceCase> conformance_cases(const Implementation& implementation,
                                                             int ranks,
                                                             Usually usually = Usually::cases);

/// The first and last variant of each word (algorithm, …) and vector: the extremes of every
/// parameter.
[[nodiscard]] std::vector<Variant> extreme_variants(const std::vector<Variant>& all);

/// Of f32; a sum where the collective reduces.
[[nodiscard]] inline Problem f32_problem(Collective collective, std::uint64_t message_bytes) {
  return {
      .collective = collective,
      .data_type = DataType::f32,
      .reduce_op = shape_of(collective).reduces ? ReduceOp::sum : ReduceOp::none,
      .message_size = {message_bytes},
  };
}

[[nodiscard]] Topology topology_of(const Communicator& communicator, const Capability& capability);

/// The extreme variants that are supported by ranks of one capability. Ranks of one communicator
/// that are threads share it: one of them asks then, which under a sanitizer takes longer than
/// running them. Thread-safe.
class ChosenVariants {
 public:
  /// Those of `problem` on the first of `topologies` that all of them support, as the first who
  /// asked found them; valid as long as this object is.
  const std::vector<Variant>& of(const Implementation& implementation, const Problem& problem,
                                 const std::vector<Topology>& topologies,
                                 const Capability& capability);

 private:
  std::mutex mutex_;
  std::map<std::tuple<const Implementation*, Problem, std::vector<Topology>>, std::vector<Variant>>
      known_;
};

/// How much run_conformance runs under a sanitizer, or with Usually::covering_sample.
enum class UnderSanitizer {
  /// A covering sample in which each variant is run once with plain buffers and once with
  /// registered ones, which it reaches in other ways.
  each_variant_by_buffers,
  /// A covering sample in which each variant is run once: where variants differ only in what they
  /// tell a library.
  each_variant,
};

/// Of `cases`, in their order: each that shows something which none before it shows. That is: a
/// class of types (integers or not, by size), an operator, a form of the size, in place,
/// registered, captured, rounding or random values, a late rank. Every variant makes the first kept
/// case that every variant is to make, and with each_variant_by_buffers a registered case of few
/// elements as well; in the others the variants take turns.
[[nodiscard]] std::vector<ConformanceCase> covering_sample(
    const std::vector<ConformanceCase>& cases, UnderSanitizer amount);

/// Runs the cases of the whole catalogue on `communicator` and reports each fault to GoogleTest.
/// Returns the number of (variant, case) pairs that were run. Collective.
int run_conformance(Communicator& communicator, const Implementations& catalogue,
                    ChosenVariants& chosen,
                    UnderSanitizer amount = UnderSanitizer::each_variant_by_buffers,
                    Usually usually = Usually::cases);
int run_conformance(Communicator& communicator, const Implementations& catalogue,
                    Usually usually = Usually::cases);

}  // namespace colltune::test
