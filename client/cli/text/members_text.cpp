// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "members_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "colltune/json/json.h"
#include "colltune/vocabulary/field_limits.h"
#include "colltune/vocabulary/number_ranges.h"

namespace colltune {
namespace {

using Features = std::vector<std::string>;

Features common_features(const Members& members) {
  Features common = members.kinds.front().features;
  for (const MemberKind& kind : members.kinds) {
    std::erase_if(common, [&](const std::string& feature) {
      return std::ranges::find(kind.features, feature) == kind.features.end();
    });
  }
  return common;
}

/// For example "0-3, 6".
std::string ranks_of_kind(const Members& members, std::size_t kind) {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < members.kind_of_rank.size(); ++rank)
    if (members.kind_of_rank[rank] == static_cast<int>(kind))
      ranks.push_back(static_cast<int>(rank));
  return render_ranges(ranks);
}

std::string text_of_kind(const Members& members, std::size_t kind, const Features& common) {
  std::string text =
      fmt::format("rank {}: {}", ranks_of_kind(members, kind), members.kinds[kind].architecture);
  for (const std::string& feature : members.kinds[kind].features)
    if (std::ranges::find(common, feature) == common.end()) text += ", " + feature;
  return text;
}

/// A limit; the members of a million ranks take 8 MiB.
constexpr std::size_t longest_members_file = std::size_t{64} << 20U;

}  // namespace

Members read_members(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::error_code error;
  if (!in || std::filesystem::is_directory(file, error))
    throw Error(StatusCode::failed_precondition,
                "--members: " + file +
                    " cannot be read; it is to be what 'colltune show members --json' prints");
  // Reading is bounded, because a device never ends.
  std::string text(longest_members_file + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > longest_members_file)
    throw Error(StatusCode::invalid_argument,
                "--members: " + file + " has more than " + std::to_string(longest_members_file) +
                    " bytes");
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded())
    throw Error(StatusCode::invalid_argument, "--members: " + file + " is no JSON");
  try {
    auto members = from_json_value<Members>(json, file);
    check_value(members, FieldPath{.name = file, .form = FieldPath::Form::slashes});
    return members;
  } catch (const Error& refusal) {
    throw Error(refusal.code(), std::string("--members: ") + refusal.what());
  }
}

std::string members_text(const Members& members) {
  const Features common = common_features(members);
  std::string text;
  for (std::size_t kind = 0; kind < members.kinds.size(); ++kind)
    text += fmt::format("  {}\n", text_of_kind(members, kind, common));
  if (!common.empty()) text += fmt::format("  all: {}\n", fmt::join(common, ", "));
  return text;
}

std::string kind_text(const Members& members, std::size_t kind) {
  return text_of_kind(members, kind, common_features(members));
}

std::string match_text(MembersMatch match) {
  const std::string name(name_of(match));
  switch (match) {
    case MembersMatch::not_asked:
      return name;
    case MembersMatch::same:
      return name + ": measured with members that can do just the same";
    case MembersMatch::less:
      return name +
             ": the asking members can do more than, or as much as, those that were measured";
    case MembersMatch::unknown:
      return name + ": nothing that was measured may answer for these members";
  }
  return name;
}

std::string composition_text(const Composition& composition, const Members& members) {
  const Features common = common_features(members);
  std::string text =
      fmt::format("parts={} ({})\n", parts_name(composition), name_of(composition.mode));
  for (const Part& part : composition.parts) {
    text += fmt::format("  {:<6} {}\n", name_of(part.role), to_string(part.variant));
    if (part.role == PartRole::bridge) text += "           leaders of the groups\n";
    for (const std::string& digest : part.kinds) {
      std::string line = "a kind that does not ask: " + digest;
      for (std::size_t kind = 0; kind < members.kinds.size(); ++kind)
        if (digest_of_value(members.kinds[kind]) == digest)
          line = text_of_kind(members, kind, common);
      text += fmt::format("           {}\n", line);
    }
  }
  return text;
}

}  // namespace colltune
