// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "colltune/nccl/forced_variant.h"
#include "colltune/table_file/table_content.h"
#include "colltune/table_file/table_file.h"

namespace colltune::test {

/// What a table is to make NCCL do in some calls.
struct NcclRule {
  nccl::Function function = nccl::Function::all_reduce;
  int ranks = 0;
  int nodes = 0;
  bool registered = false;
  Bytes min_message;
  Bytes max_message;  ///< inclusive
  nccl::Choice choice;
  float time_us = 0;
};

inline Variant variant_of(nccl::Function function, const nccl::Choice& choice) {
  return {.implementation = nccl::forced_name(function),
          .parameters = {{"algorithm", std::string(name_of(choice.algorithm))},
                         {"channels", choice.channels},
                         {"protocol", std::string(name_of(choice.protocol))}}};
}

/// A table file whose decisions of family `nccl`, measured with NCCL `measured_with`, lead to
/// `rules`. No two of these are for one call.
inline std::string nccl_table(std::vector<NcclRule> rules, std::uint64_t generation = 7,
                              const std::string& measured_with = "2.32.6") {
  const auto key = [](const NcclRule& rule) {
    return std::tuple(rule.function, rule.ranks, rule.nodes, rule.registered,
                      rule.min_message.value);
  };
  std::ranges::sort(rules, {}, key);
  TableContent content{.set = {.generation = {"store", generation, "content"}},
                       .environment_digest = "environment",
                       .groups = {}};
  content.set.environments.emplace_back(content.environment_digest, Environment{});
  content.set.environments.back().second.nccl_version = measured_with;
  for (std::size_t at = 0; at < rules.size(); ++at) {
    const NcclRule& rule = rules[at];
    const bool is_first =
        at == 0 || std::tuple(rules[at - 1].function, rules[at - 1].ranks, rules[at - 1].nodes,
                              rules[at - 1].registered) !=
                       std::tuple(rule.function, rule.ranks, rule.nodes, rule.registered);
    if (is_first) {
      const Collective collective = nccl::collective_of(rule.function);
      AnswerGroup group{.key = {.problem = {.collective = collective,
                                            .data_type = DataType::u8,
                                            .registered = rule.registered},
                                .topology = {.nodes = rule.nodes,
                                             .ranks_per_node = std::max(1, rule.ranks / rule.nodes),
                                             .ranks = rule.ranks,
                                             .layout_digest = "uniform"},
                                .environment_digest = content.environment_digest},
                        .family = "nccl",
                        .ranges = {}};
      if (!shape_of(collective).reduces) group.key.problem.reduce_op = ReduceOp::none;
      content.groups.push_back(std::move(group));
    }
    std::vector<AnswerRange>& ranges = content.groups.back().ranges;
    const AnswerRange nothing{.source = Source::predicted};
    if (ranges.empty() && rule.min_message.value > 0) ranges.push_back(nothing);
    if (!ranges.empty() && ranges.back().first == rule.min_message) ranges.pop_back();
    const std::chrono::nanoseconds time(static_cast<std::int64_t>(rule.time_us * 1000));
    ranges.push_back({.first = rule.min_message,
                      .variant = variant_of(rule.function, rule.choice),
                      .verdict = Verdict::displaced,
                      .from = rule.min_message,
                      .to = rule.min_message,
                      .times = {time, time}});
    if (rule.max_message.value != ~std::uint64_t{0}) {
      ranges.push_back(nothing);
      ranges.back().first = {rule.max_message.value + 1};
    }
  }
  return encode_table(content);
}

/// The form that COLLTUNE_TABLE_DIGEST takes.
inline std::string digest_of_table(const std::string& bytes) {
  return TableFile(bytes, "memory").digest();
}

/// Returns the digest.
inline std::string write_nccl_table(const std::string& path, std::vector<NcclRule> rules,
                                    std::uint64_t generation = 7,
                                    const std::string& measured_with = "2.32.6") {
  const std::string bytes = nccl_table(std::move(rules), generation, measured_with);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  return digest_of_table(bytes);
}

}  // namespace colltune::test
