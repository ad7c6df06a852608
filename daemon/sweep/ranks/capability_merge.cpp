// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/ranks/capability_merge.h"

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

using nlohmann::json;

// Layout of a payload: the size of the kinds' description (4 bytes, little-endian), the
// description, then one number per rank. The description begins with this version, so that ranks of
// builds with another format do not misread it.
constexpr int format_version = 1;
constexpr std::string_view broken = "broken";
constexpr std::size_t size_bytes = 4;

/// The two parts of a payload.
struct Parts {
  std::span<const std::uint8_t> kinds;
  std::span<const std::uint8_t> ranks;
};

void append_number(Payload& payload, std::size_t number, std::size_t width) {
  for (std::size_t byte = 0; byte < width; ++byte)
    payload.push_back(static_cast<std::uint8_t>(number >> (8 * byte)));
}

std::size_t read_number(std::span<const std::uint8_t> bytes) {
  std::size_t number = 0;
  for (std::size_t byte = 0; byte < bytes.size(); ++byte)
    number |= static_cast<std::size_t>(bytes[byte]) << (8 * byte);
  return number;
}

Parts split(const Payload& payload) {
  const std::span<const std::uint8_t> all(payload);
  const std::size_t size = read_number(all.first(std::min(size_bytes, all.size())));
  if (all.size() < size_bytes || all.size() - size_bytes < size)
    throw Error(StatusCode::data_loss, "the ranks' capabilities cannot be read: cut short");
  return {all.subspan(size_bytes, size), all.subspan(size_bytes + size)};
}

Payload join(const json& kinds) {
  const std::vector<std::uint8_t> said = json::to_cbor(kinds);
  Payload payload;
  append_number(payload, said.size(), size_bytes);
  payload.insert(payload.end(), said.begin(), said.end());
  return payload;
}

std::size_t bytes_of_number(std::size_t kinds) {
  if (kinds <= 0x100) return 1;
  return kinds <= 0x10000 ? 2 : 4;
}

std::vector<int> decode_ranks(std::span<const std::uint8_t> bytes, std::size_t kinds) {
  const std::size_t width = bytes_of_number(kinds);
  if (bytes.size() % width != 0)
    throw Error(StatusCode::data_loss, "the ranks' capabilities cannot be read: a rank cut short");
  std::vector<int> ranks;
  ranks.reserve(bytes.size() / width);
  for (; !bytes.empty(); bytes = bytes.subspan(width)) {
    const std::size_t kind = read_number(bytes.first(width));
    if (kind >= kinds)
      throw Error(StatusCode::data_loss,
                  "the ranks' capabilities cannot be read: a rank of a kind that is not there");
    ranks.push_back(static_cast<int>(kind));
  }
  return ranks;
}

std::size_t common_beginning(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

/// Each distinct (name, value) of the kinds, ascending: the length of the prefix that its name
/// shares with the previous name, the rest of the name, the value, and which kinds have it if not
/// all do.
json encode_features(const std::vector<Capability>& kinds) {
  std::map<std::pair<std::string_view, std::string_view>, std::vector<int>> owners;
  for (std::size_t kind = 0; kind < kinds.size(); ++kind)
    for (const auto& [name, value] : kinds[kind].features)
      owners[{name, value}].push_back(static_cast<int>(kind));
  json features = json::array();
  std::string_view last;
  for (const auto& [feature, of_kinds] : owners) {
    const auto& [name, value] = feature;
    const std::size_t common = common_beginning(last, name);
    json entry = {common, name.substr(common), value};
    if (of_kinds.size() < kinds.size()) entry.push_back(of_kinds);
    features.push_back(std::move(entry));
    last = name;
  }
  return features;
}

void decode_features(const json& features, std::vector<Capability>& kinds) {
  std::string name;
  for (const json& entry : features) {
    name.resize(std::min(name.size(), entry.at(0).get<std::size_t>()));
    name += entry.at(1).get<std::string>();
    const auto value = entry.at(2).get<std::string>();
    if (entry.size() > 3) {
      for (const auto& kind : entry.at(3)) kinds.at(kind.get<std::size_t>()).features[name] = value;
    } else {
      for (Capability& kind : kinds) kind.features[name] = value;
    }
  }
}

std::vector<Capability> decode_what_kinds(std::span<const std::uint8_t> bytes) {
  const json value = json::from_cbor(bytes);
  if (value.at(0) == broken) throw Error(StatusCode::data_loss, value.at(1).get<std::string>());
  if (value.at(0) != format_version)
    throw Error(StatusCode::data_loss, "the ranks' capabilities are written in format " +
                                           value.at(0).dump() + "; this build reads " +
                                           std::to_string(format_version));
  std::vector<Capability> kinds;
  for (const json& architecture : value.at(1))
    kinds.push_back({.architecture = architecture.get<std::string>(), .features = {}});
  decode_features(value.at(2), kinds);
  if (std::ranges::adjacent_find(kinds, std::greater_equal{}) != kinds.end())
    throw Error(StatusCode::data_loss,
                "the ranks' capabilities cannot be read: kinds are not in order");
  return kinds;
}

/// The index in `all` of each entry of `from`; both ascend, and `all` contains `from`.
std::vector<int> places_in(const std::vector<Capability>& all,
                           const std::vector<Capability>& from) {
  std::vector<int> places;
  for (const Capability& kind : from)
    places.push_back(static_cast<int>(std::ranges::lower_bound(all, kind) - all.begin()));
  return places;
}

}  // namespace

CapabilityKinds merge(const CapabilityKinds& lower, const CapabilityKinds& upper) {
  CapabilityKinds merged;
  std::ranges::set_union(lower.kinds, upper.kinds, std::back_inserter(merged.kinds));
  for (const CapabilityKinds* const range : {&lower, &upper}) {
    const std::vector<int> places = places_in(merged.kinds, range->kinds);
    for (const int kind : range->kind_of_rank)
      merged.kind_of_rank.push_back(places[static_cast<std::size_t>(kind)]);
  }
  return merged;
}

Payload encode(const CapabilityKinds& ranks) {
  json architectures = json::array();
  for (const Capability& kind : ranks.kinds) architectures.push_back(kind.architecture);
  Payload payload =
      join(json::array({format_version, std::move(architectures), encode_features(ranks.kinds)}));
  const std::size_t width = bytes_of_number(ranks.kinds.size());
  for (const int kind : ranks.kind_of_rank)
    append_number(payload, static_cast<std::size_t>(kind), width);
  return payload;
}

CapabilityKinds decode_kinds(const Payload& payload) {
  try {
    const Parts parts = split(payload);
    CapabilityKinds ranks{.kinds = decode_what_kinds(parts.kinds), .kind_of_rank = {}};
    ranks.kind_of_rank = decode_ranks(parts.ranks, ranks.kinds.size());
    return ranks;
  } catch (const json::exception& error) {
    throw Error(StatusCode::data_loss,
                std::string("the ranks' capabilities cannot be read: ") + error.what());
  } catch (const std::out_of_range&) {
    throw Error(StatusCode::data_loss,
                "the ranks' capabilities cannot be read: a feature of a kind that is not there");
  }
}

CapabilityKinds exchange_kinds(ControlPlane& control, const Capability& own) {
  return decode_kinds(control.merge(encode({.kinds = {own}, .kind_of_rank = {0}}), merge_payloads));
}

Payload merge_payloads(const Payload& lower, const Payload& upper) noexcept {
  try {
    // A shortcut: in a large launch most ranges know the same kinds.
    if (std::ranges::equal(split(lower).kinds, split(upper).kinds)) {
      Payload merged = lower;
      const auto ranks = split(upper).ranks;
      merged.insert(merged.end(), ranks.begin(), ranks.end());
      return merged;
    }
    return encode(merge(decode_kinds(lower), decode_kinds(upper)));
  } catch (const std::exception& error) {
    return join(json::array({broken, error.what()}));
  }
}

}  // namespace colltune
