// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// What a call's algSelection allows, after NCCL's own text on it. Written apart from what makes
// selections, so that each checks the other.

#include "support/fake_nccl/selection.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace colltune::test {
namespace {

/// By row and column of the table.
constexpr std::array<std::string_view, nccl::algorithm_count> table_rows{
    "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLSTREE", "PAT"};
constexpr std::array<std::string_view, nccl::protocol_count> table_columns{"LL", "LL128", "SIMPLE"};
/// What there is for windows on one node.
constexpr std::array<std::string_view, 5> reducing_all{"SYMK_AGxLL_R", "SYMK_AGxLLMC_R",
                                                       "SYMK_RSxTmaLD_AGxTmaST", "SYMK_RSxLD_AGxST",
                                                       "SYMK_RSxLDMC_AGxSTMC"};
constexpr std::array<std::string_view, 6> gathering_all{"SYMK_LL", "SYMK_LLMC",    "SYMK_TmaST",
                                                        "SYMK_ST", "SYMK_TmaSTMC", "SYMK_STMC"};
constexpr std::array<std::string_view, 4> scattering{"SYMK_LL", "SYMK_TmaLD", "SYMK_LD",
                                                     "SYMK_LDMC"};

bool begins_so(std::string_view name, std::string_view word) {
  return word.size() <= name.size() &&
         std::equal(word.begin(), word.end(), name.begin(), [](unsigned char a, unsigned char b) {
           return std::toupper(a) == std::toupper(b);
         });
}

/// Whether `holds` is true of all (or any) parts between separators.
template <class Holds>
bool of_parts(std::string_view text, char separator, bool of_all, Holds holds) {
  while (true) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (holds(text.substr(0, end)) != of_all) return !of_all;
    if (end == text.size()) return of_all;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

bool is_selected(std::string_view text, std::string_view name) {
  return text.empty() || of_parts(text, ',', false, [&](std::string_view one) {
           return of_parts(one, '+', true, [&](std::string_view word) {
             const bool excludes = word.starts_with('^');
             return begins_so(name, word.substr(excludes ? 1 : 0)) != excludes;
           });
         });
}

void keep_selected(std::string_view text, Costs& costs) {
  for (std::size_t entry = 0; entry < costs.entries.size(); ++entry)
    if (!is_selected(text, std::string(table_rows[entry / nccl::protocol_count]) + "_" +
                               std::string(table_columns[entry % nccl::protocol_count])))
      costs.entries[entry] = nccl::cost_ignored;
}

int count_symmetric_kernels(std::string_view text, Collective collective) {
  const auto count = [&](const auto& names) {
    return static_cast<int>(std::ranges::count_if(
        names, [&](std::string_view name) { return is_selected(text, name); }));
  };
  if (collective == Collective::all_reduce) return count(reducing_all);
  if (collective == Collective::all_gather) return count(gathering_all);
  return collective == Collective::reduce_scatter ? count(scattering) : 0;
}

int count_entries(std::string_view text) {
  Costs costs = Costs::of(1);
  keep_selected(text, costs);
  return static_cast<int>(std::ranges::count(costs.entries, 1.0F));
}

}  // namespace colltune::test
