// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "colltune/kernels/implementation.h"
#include "colltune/kernels/reduction.h"
#include "colltune/kernels/signals.h"

namespace colltune {

/// Symmetric memory with what kernels that stage their data need: two slots of `chunk` bytes per
/// rank, used in turn by epoch, and `words` signals.
class Staging {
 public:
  Staging(Communicator& communicator, std::size_t chunk, int words, Deadline deadline);

  [[nodiscard]] std::byte* slot(int rank, std::uint64_t epoch) const {
    return memory_->part(rank).data() + (epoch % 2) * slot_size_;
  }
  [[nodiscard]] const Signals& signals() const { return signals_; }

 private:
  std::size_t slot_size_;
  std::unique_ptr<SymmetricMemory> memory_;
  Signals signals_;
};

/// What the staged all-reduces of this project share: everything but the body.
class StagedAllReduce : public Implementation {
 public:
  Collective collective() const final { return Collective::all_reduce; }
  std::string_view family() const final { return "colltune"; }
  std::vector<Variant> variants(const Problem& problem, const Topology& topology,
                                const Capability& capability) const final;
  Support supports(const Problem& problem, const Topology& topology, const Capability& capability,
                   const Variant& variant) const final;
  Limits limits(const Variant& variant) const final;
  Numerics numerics(const Problem& problem, const Variant& variant) const final;
  std::string protocol(const Problem& problem, const Variant& variant) const final;
};

/// The message in chunks, as the calls of one operation see it.
struct ChunkedCall {
  Call call;
  Reduction reduction;
  std::size_t element_size = 1;
  std::size_t chunk = 0;  ///< bytes, whole elements
  std::size_t total = 0;  ///< bytes

  [[nodiscard]] std::size_t size_of_chunk_at(std::size_t offset) const {
    return total - offset < chunk ? total - offset : chunk;
  }
};
[[nodiscard]] ChunkedCall make_chunked_call(const Communicator& communicator, const Call& call,
                                            const Variant& variant);

}  // namespace colltune
