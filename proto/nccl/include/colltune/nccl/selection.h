// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cctype>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "colltune/nccl/choice.h"
#include "colltune/vocabulary/collective.h"

/// What a call of NCCL 2.31 and later says in its own configuration (algSelection) to be run by one
/// entry of NCCL's table, or by one kernel for symmetric windows. A name there stands for all names
/// that begin so, so the longer ones are excluded.
namespace colltune::nccl {

inline std::string in_capitals(std::string_view text) {
  std::string made;
  for (const char letter : text)
    made += static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return made;
}

/// `name`, and none of `names` that it is only the beginning of.
inline std::string exactly(const std::string& name, std::span<const std::string> names) {
  std::string text = name;
  for (const std::string& other : names)
    if (other != name && other.starts_with(name)) text += "+^" + other;
  return text;
}

inline std::string selection_of(Algorithm algorithm, Protocol protocol) {
  // They differ from NCCL_ALGO's words by the lines in collnet's.
  constexpr std::array<std::string_view, algorithm_count> algorithms{
      "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLSTREE", "PAT"};
  std::vector<std::string> names;
  for (const std::string_view one : algorithms)
    for (const auto& other : enum_names(Protocol{}))
      names.push_back(std::string(one) + "_" + in_capitals(other.name));
  const auto wanted =
      static_cast<std::size_t>(algorithm) * protocol_count + static_cast<std::size_t>(protocol);
  return exactly(names[wanted], names);
}

/// NCCL's kernels of 2.31 for symmetric windows between the ranks of one node, in lower case: those
/// that a call of `collective` can select.
inline std::span<const std::string_view> symmetric_kernels(Collective collective) {
  static constexpr std::array<std::string_view, 5> of_all_reduce{
      "agxll_r", "agxllmc_r", "rsxtmald_agxtmast", "rsxld_agxst", "rsxldmc_agxstmc"};
  static constexpr std::array<std::string_view, 6> of_all_gather{"ll", "llmc",    "tmast",
                                                                 "st", "tmastmc", "stmc"};
  static constexpr std::array<std::string_view, 4> of_reduce_scatter{"ll", "tmald", "ld", "ldmc"};
  if (collective == Collective::all_reduce) return of_all_reduce;
  if (collective == Collective::all_gather) return of_all_gather;
  if (collective == Collective::reduce_scatter) return of_reduce_scatter;
  return {};
}

/// `kernel` is one of symmetric_kernels(collective).
inline std::string selection_of_kernel(Collective collective, std::string_view kernel) {
  std::vector<std::string> names;
  for (const std::string_view other : symmetric_kernels(collective))
    names.push_back("SYMK_" + in_capitals(other));
  return exactly("SYMK_" + in_capitals(kernel), names);
}

}  // namespace colltune::nccl
