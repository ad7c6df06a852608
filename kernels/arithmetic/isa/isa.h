// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "colltune/kernels/arithmetic/copy.h"
#include "colltune/kernels/arithmetic/reduction.h"

namespace colltune {

/// One reduction with valid arguments: at least one source, an op that reduces, ranks of at least
/// 1.
struct ReduceCall {
  const std::byte* const* sources = nullptr;
  std::size_t number_of_sources = 0;
  Destination destination;
  Destination second;  ///< not written if it has no data
  std::size_t count = 0;
  Reduction reduction;
};

/// The arithmetic and the copies in one instruction set. All instruction sets give the same bits.
/// Constants without constructors: a translation unit compiled for a wide instruction set must run
/// no code before the processor has been checked.
struct Isa {
  const char* name;          ///< "avx2", …
  const char* needs[5];      ///< names in `isa_names()` that it requires
  std::size_t vector_bytes;  ///< width of its registers; 0 for the scalar one
  bool streams;              ///< whether it has non-temporal stores
  void (*reduce)(const ReduceCall& call) noexcept;
  void (*copy)(std::byte* destination, const std::byte* source, std::size_t size,
               CopyMode mode) noexcept;
};

/// Loops over single elements, which every processor can run. The reference for tests of the
/// others.
extern const Isa scalar_isa;

/// All instruction sets that this build has bodies for, from the narrowest to the widest; among
/// equally wide ones each has more instructions than the one before it.
[[nodiscard]] std::span<const Isa* const> compiled_isas() noexcept;
/// Those that this processor and operating system support; the last one is the best. Determined
/// once.
[[nodiscard]] std::span<const Isa* const> supported_isas();

/// Calls `act` with each supported instruction set.
template <class Act>
void for_each_supported_isa(Act&& act) {
  for (const Isa* isa : supported_isas()) act(*isa);
}

/// Like the functions of reduction.h and copy.h, but in a given instruction set.
void reduce_in_rank_order(const Isa& isa, std::span<const std::byte* const> sources,
                          const Destination& destination, const Destination& second,
                          std::size_t count, const Reduction& reduction);

}  // namespace colltune
