// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "colltune/collectives/program_numerics.h"
#include "colltune/kernels/capability.h"
#include "colltune/kernels/implementation.h"
#include "colltune/table_file/table_file.h"
#include "colltune/vocabulary/problem.h"
#include "colltune/vocabulary/regime.h"

namespace colltune {

/// The ranks of a communicator, for which a table is read.
struct ProgramRanks {
  Topology topology;      ///< without layout digest unless the ranks lie "uniform"
  Capability capability;  ///< of every rank: they are alike
};

/// The ranks of `communicator`, which all have `capability`.
[[nodiscard]] ProgramRanks ranks_of(const Communicator& communicator, Capability capability);

/// What runs in the calls of a communicator. Rank 0 makes it from a table file; all ranks use it as
/// long as the communicator lives. Sizes are in buckets (bucket_of).
struct Choices {
  static constexpr std::uint16_t library = 0;  ///< the choice that leaves a call to the library

  struct Entry {
    Variant variant;
    Bytes capacity;  ///< the largest message for which it is chosen
    /// Whether the counts of its calls are unequal: such an operation is prepared apart from one
    /// for equal counts.
    bool has_unequal_counts = false;
  };
  /// The calls of one collective; of a reduction, those of one type and operator. The others have
  /// type u8 and no operator: their sizes are in bytes.
  struct Row {
    Collective collective = Collective::all_reduce;
    DataType data_type = DataType::u8;
    ReduceOp reduce_op = ReduceOp::none;
    Bytes smallest;  ///< what was measured; beyond that the library's own runs
    Bytes largest;
    std::vector<std::uint16_t> choices;  ///< by bucket_of(); `library`, or 1 + the entry's number
    std::vector<std::chrono::nanoseconds> savings;  ///< per call against the library's own
    Counts counts = Counts::equal;
  };

  std::vector<Entry> entries;
  std::vector<Row> rows;
  std::vector<std::string> left_out;  ///< which winners do not run, and why; for a person
  std::string source;                 ///< the table's generation and digest, or why there is none
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, Choices::Entry>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("variant", self.variant);
  visit("capacity_bytes", self.capacity);
  visit("has_unequal_counts", self.has_unequal_counts);
}
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, Choices::Row>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("collective", self.collective);
  visit("data_type", self.data_type);
  visit("reduce_op", self.reduce_op);
  visit("smallest_bytes", self.smallest);
  visit("largest_bytes", self.largest);
  visit("choices", self.choices);
  visit("savings_ns", self.savings);
  visit("counts", self.counts);
}
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, Choices>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("entries", self.entries);
  visit("rows", self.rows);
  visit("left_out", self.left_out);
  visit("source", self.source);
}

/// The bucket of a message size: an even number for the first size of each quarter of a power of
/// two alone, since programs have and sweeps measure those most, and the odd number behind it for
/// the sizes up to the next. Sizes below 8 have one each.
[[nodiscard]] constexpr std::size_t bucket_of(std::uint64_t bytes) noexcept {
  if (bytes < 4) return static_cast<std::size_t>(2 * bytes);
  const auto log2 = static_cast<unsigned>(std::bit_width(bytes)) - 1;
  const unsigned below = log2 - 2;  // how many bits tell sizes of a quarter apart
  const std::size_t quarter = (std::size_t{log2} - 1) * 4 + ((bytes >> below) & 3);
  return 2 * quarter + ((bytes & ((std::uint64_t{1} << below) - 1)) != 0 ? 1 : 0);
}
/// The smallest size in a bucket. (The odd ones below 8 hold nothing.)
[[nodiscard]] constexpr std::uint64_t first_in_bucket(std::size_t bucket) noexcept {
  const std::size_t quarter = bucket / 2;
  const std::uint64_t first = quarter < 4 ? quarter : (4 + quarter % 4) << (quarter / 4 - 1);
  return first + bucket % 2;
}

/// How the calls are made that choices are for.
struct ProgramCalling {
  Calling calling = default_calling;
  bool registered = false;  ///< their buffers lie in symmetric memory; of persistent calls alone
  /// What is left to the library runs by rules that were made of a table.
  bool library_follows_rules = false;

  friend bool operator==(const ProgramCalling&, const ProgramCalling&) = default;
};

/// What `table` says for these ranks: a winner of ours in every bucket in which it was proven to be
/// faster than the library's own call at the sizes that are measured there and around, and that
/// every rank can run; where `calling` is `each`, in any call (Operation::rebind). Between two
/// measured sizes it was proven at both or, where fits chose it, proven at one and clearly faster
/// at the other (FitChoice::shown_at_both). Where the winner is none of these, the fastest variant
/// of those that are and that were proven likewise, unless the library follows rules and the table
/// ranks a variant of the library before it. `catalogue` is make_host_catalogue(). Nothing else
/// runs: the table answers for what was measured with the same ranks, calls of the same data type
/// and operator that were made likewise, and input that was rewritten (`default_input`), not in
/// place. In place, where the data lie and the root do not count, since a rank does not know them
/// of the others.
[[nodiscard]] Choices choose_from(const TableFile& table, const ProgramRanks& ranks,
                                  ProgramNumerics numerics, const Implementations& catalogue,
                                  const ProgramCalling& calling = {});

}  // namespace colltune
