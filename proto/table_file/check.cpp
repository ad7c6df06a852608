// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Whether bytes are a table file. Allocates nothing, throws nothing.

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "colltune/table_file/table_view.h"

namespace colltune {

using namespace table_file;

namespace table_file {

Digest digest_of(std::span<const std::byte> bytes) noexcept {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  Digest digest;
  std::memcpy(digest.data(), canonical.digest, digest.size());
  return digest;
}

Digest digest_of_table(std::span<const std::byte> until_evidence) noexcept {
  constexpr std::size_t field = offsetof(Header, digest);
  const XXH64_hash_t seed = XXH3_64bits(until_evidence.data(), field);
  const auto rest = until_evidence.subspan(field + sizeof(Digest));
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_withSeed(rest.data(), rest.size(), seed));
  Digest digest;
  std::memcpy(digest.data(), canonical.digest, digest.size());
  return digest;
}

std::optional<Sections> sections_of(const Header& header) noexcept {
  // No section can be larger than this in a file that a file system takes, and no sum overflows.
  constexpr std::uint64_t most = std::uint64_t{1} << 56;
  std::uint64_t at = sizeof(Header);
  bool is_possible = true;
  const auto place = [&](std::uint64_t records, std::uint64_t bytes_each) {
    at = (at + 7) / 8 * 8;
    const std::uint64_t begin = at;
    if (records > most / bytes_each / 16)
      is_possible = false;
    else
      at += records * bytes_each;
    return begin;
  };
  Sections sections;
  sections.text = place(header.text_bytes, 1);
  sections.strings = place(header.strings, sizeof(StringRecord));
  sections.facts = place(header.facts, sizeof(FactRecord));
  sections.variants = place(header.variants, sizeof(VariantRecord));
  sections.families = place(header.families, sizeof(std::uint32_t));
  sections.meshes = place(header.meshes, sizeof(std::uint32_t));
  sections.worlds = place(header.worlds, sizeof(WorldRecord));
  sections.groups = place(header.groups, sizeof(GroupRecord));
  sections.slots = place(header.slots, sizeof(std::uint32_t));
  sections.starts = place(header.ranges, sizeof(std::uint64_t));
  sections.ranges = place(header.ranges, sizeof(RangeRecord));
  sections.predictions = place(header.predictions, sizeof(PredictionRecord));
  sections.evidence = place(header.evidence_bytes, 1);
  sections.end = at;
  return is_possible ? std::optional(sections) : std::nullopt;
}

}  // namespace table_file

namespace {

template <class Enum>
bool is_enumerator(std::uint64_t value) noexcept {
  return std::ranges::any_of(enum_names(Enum{}), [&](const auto& named) {
    return static_cast<std::uint64_t>(named.value) == value;
  });
}

bool is_call(std::uint64_t call, std::uint32_t its_version) noexcept {
  const unsigned bits = has_counts(its_version) ? 35 : 33;
  const Problem problem = unpack_problem(call);
  const Regime regime = unpack_regime(call);
  const auto is_one = [](auto value) {
    return is_enumerator<decltype(value)>(static_cast<std::uint64_t>(value));
  };
  return call >> bits == 0 && is_one(problem.counts) && is_one(problem.kind) &&
         is_one(problem.collective) && is_one(problem.data_type) && is_one(problem.reduce_op) &&
         is_one(problem.numeric_class) && is_one(regime.calling) && is_one(regime.input);
}

const char* damage_of(const RangeRecord& range, std::uint64_t start, std::uint64_t variants,
                      std::uint64_t predictions) {
  const auto is_variant = [&](std::uint32_t number) { return number == none || number < variants; };
  const bool is_measured = range.source == static_cast<std::uint8_t>(Source::measured);
  const bool is_between = range.source == static_cast<std::uint8_t>(Source::interpolated);
  if (!is_variant(range.variant) || !is_variant(range.baseline)) return "names an unknown variant";
  if (range.source > static_cast<std::uint8_t>(Source::predicted)) return "has an unknown source";
  if (range.verdict > static_cast<std::uint8_t>(Verdict::no_baseline))
    return "has an unknown verdict";
  if (range.status > static_cast<std::uint8_t>(DecisionStatus::confirmed))
    return "has an unknown status";
  if (range.is_baseline > 1) return "has a mark that is unknown";
  if (range.prediction > predictions ||
      (range.prediction != 0 && (is_measured || range.variant == none)))
    return "names an unknown prediction, or one of what was measured";
  if (is_between != (range.from < range.to) || range.from > range.to ||
      (is_measured && range.variant != none && range.from != start))
    return "is based on sizes that do not fit its source";
  if (range.time_from < 0 || range.time_to < 0 || range.baseline_from < 0 || range.baseline_to < 0)
    return "has a negative time";
  return nullptr;
}

const char* damage_of(const PredictionRecord& prediction, std::uint64_t strings) {
  if (prediction.has_line > 1 || prediction.has_baseline_line > 1 || prediction.reserved != 0 ||
      prediction.choice > static_cast<std::uint8_t>(FitChoice::expected))
    return "has a mark that is unknown";
  for (const double number :
       {prediction.alpha, prediction.beta, prediction.growth, prediction.baseline_alpha,
        prediction.baseline_beta, prediction.low, prediction.high})
    if (!std::isfinite(number)) return "has a number that is not finite";
  if (prediction.has_line == 0 &&
      (prediction.alpha != 0 || prediction.beta != 0 || prediction.growth != 0))
    return "has a line that it says is not there";
  if (prediction.has_baseline_line == 0 &&
      (prediction.baseline_alpha != 0 || prediction.baseline_beta != 0))
    return "has a baseline's line that it says is not there";
  if (prediction.model == none)
    return prediction.low != 0 || prediction.high != 0 ? "has an interval without a model"
                                                       : nullptr;
  if (prediction.model >= strings) return "names an unknown string";
  const bool is_around = prediction.low > 0 && prediction.low <= 1 && prediction.high >= 1;
  return prediction.has_line == 0 || !is_around ? "has an interval that is not around its time"
                                                : nullptr;
}

}  // namespace

TableDamage TableView::read(std::span<const std::byte> file, TableView& view) noexcept {
  const auto damaged = [](const char* what) {
    return TableDamage{.what = what, .section = "header"};
  };
  if (file.empty()) return damaged("the file is empty");
  if (file.size() < magic.size() + sizeof(std::uint32_t) ||
      std::memcmp(file.data(), magic.data(), magic.size()) != 0) {
    TableDamage damage = damaged("it does not begin as a table file does (CTTABLE)");
    damage.is_foreign = true;
    return damage;
  }
  std::uint32_t its_version = 0;
  std::memcpy(&its_version, file.data() + offsetof(Header, version), sizeof its_version);
  if (its_version < first_version || its_version > newest_version) {
    TableDamage damage = damaged("it is of another version");
    damage.is_other_version = true;
    damage.version = its_version;
    return damage;
  }
  if (file.size() < sizeof(Header)) return damaged("the file ends inside its header");
  const auto& header = *reinterpret_cast<const Header*>(file.data());  // NOLINT: aligned, checked
  if (header.header_bytes != sizeof(Header)) return damaged("the size of its header is wrong");
  if (file.size() < header.file_bytes) return damaged("the file is truncated");
  if (file.size() > header.file_bytes) return damaged("something follows the end of the table");
  const auto sections = sections_of(header);
  if (!sections || sections->end != header.file_bytes)
    return damaged("its numbers of records do not give its size");
  if (digest_of_table(file.first(sections->evidence)) != header.digest)
    return damaged("the bytes are not those that the digest was made of");
  if (header.predictions != 0 && !has_fits(its_version))
    return damaged("it has predictions, which its version has not");

  const auto section = [&]<class Record>(std::span<const Record>& records, std::uint64_t offset,
                                         std::uint64_t count) {
    records = {reinterpret_cast<const Record*>(file.data() + offset), count};  // NOLINT: aligned
  };
  TableView found;
  found.header_ = &header;
  found.text_ = reinterpret_cast<const char*>(file.data() + sections->text);  // NOLINT
  section(found.strings_, sections->strings, header.strings);
  section(found.facts_, sections->facts, header.facts);
  section(found.variants_, sections->variants, header.variants);
  section(found.families_, sections->families, header.families);
  section(found.meshes_, sections->meshes, header.meshes);
  section(found.worlds_, sections->worlds, header.worlds);
  section(found.groups_, sections->groups, header.groups);
  section(found.slots_, sections->slots, header.slots);
  section(found.starts_, sections->starts, header.ranges);
  section(found.ranges_, sections->ranges, header.ranges);
  section(found.predictions_, sections->predictions, std::uint64_t{header.predictions});
  found.evidence_ = file.subspan(sections->evidence);
  for (const auto check :
       {&TableView::check_texts, &TableView::check_worlds, &TableView::check_groups,
        &TableView::check_ranges, &TableView::check_predictions})
    if (const TableDamage damage = (found.*check)(); damage.what != nullptr) return damage;
  view = found;
  return {};
}

TableDamage TableView::check_texts() const noexcept {
  const auto is_string = [&](std::uint32_t number) { return number < strings_.size(); };
  for (std::size_t i = 0; i < strings_.size(); ++i)
    if (std::uint64_t{strings_[i].offset} + strings_[i].length > header_->text_bytes)
      return {.what = "does not lie in the text", .section = "strings", .record = i};
  if (!is_string(header_->store_uuid) || !is_string(header_->content_digest) ||
      !is_string(header_->environment_digest))
    return {.what = "names an unknown string", .section = "header"};
  for (std::size_t i = 0; i < facts_.size(); ++i)
    if (!is_string(facts_[i].name) || !is_string(facts_[i].value))
      return {.what = "names an unknown string", .section = "facts", .record = i};
  for (std::size_t i = 0; i < variants_.size(); ++i)
    if (!is_string(variants_[i].implementation) || !is_string(variants_[i].text))
      return {.what = "names an unknown string", .section = "variants", .record = i};
  const auto check_names = [&](std::span<const std::uint32_t> names, const char* section) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!is_string(names[i]))
        return TableDamage{.what = "names an unknown string", .section = section, .record = i};
      if (i > 0 && string(names[i - 1]) >= string(names[i]))
        return TableDamage{.what = "is out of order", .section = section, .record = i};
    }
    return TableDamage{};
  };
  if (const TableDamage damage = check_names(families_, "families"); damage.what) return damage;
  return check_names(meshes_, "meshes");
}

TableDamage TableView::check_worlds() const noexcept {
  for (std::size_t i = 0; i < worlds_.size(); ++i) {
    const WorldRecord& world = worlds_[i];
    const auto damaged = [&](const char* what) {
      return TableDamage{.what = what, .section = "worlds", .record = i};
    };
    if (world.architecture >= strings_.size() || world.layout_digest >= strings_.size() ||
        world.interconnect >= strings_.size())
      return damaged("names an unknown string");
    if (!is_enumerator<Placement>(world.placement)) return damaged("has an unknown placement");
    if (world.reserved != 0) return damaged("has a reserved field that is not 0");
    if (i > 0 && worlds_[i - 1].digest >= world.digest) return damaged("is out of order");
  }
  return {};
}

TableDamage TableView::check_groups() const noexcept {
  const std::uint64_t slots = slots_.size();
  if (slots < 2 * groups_.size() || (slots & (slots - 1)) != 0)
    return {.what = "there are too few, or no power of two", .section = "slots"};
  std::uint64_t taken = 0;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i] == none) continue;
    ++taken;
    if (slots_[i] >= groups_.size())
      return {.what = "names an unknown group", .section = "slots", .record = i};
  }
  if (taken != groups_.size())
    return {.what = "they are not as many as groups", .section = "slots"};
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const GroupRecord& group = groups_[i];
    const auto damaged = [&](const char* what) {
      return TableDamage{.what = what, .section = "groups", .record = i};
    };
    if (group.key.world >= worlds_.size()) return damaged("names an unknown world");
    if (group.key.family >= families_.size()) return damaged("names an unknown family");
    if (group.key.mesh != none && group.key.mesh >= meshes_.size())
      return damaged("names an unknown mesh");
    if (group.key.reserved != 0 || !is_call(group.key.problem, header_->version))
      return damaged("has an unknown call");
    if (group.unit == 0) return damaged("has a unit of 0");
    if (group.ranges == 0 || group.first_range > starts_.size() ||
        group.ranges > starts_.size() - group.first_range)
      return damaged("has ranges that are not there");
    if (i > 0 && groups_[i - 1].key >= group.key) return damaged("is out of order");
    if (find_slot(group.key) != i) return damaged("is not found through the slots");
    const auto starts = starts_of(static_cast<Group>(i));
    if (starts.front() != 0) return damaged("does not begin with the size 0");
    for (std::size_t at = 1; at < starts.size(); ++at)
      if (starts[at - 1] >= starts[at]) return damaged("has ranges that are out of order");
  }
  return {};
}

TableDamage TableView::check_ranges() const noexcept {
  for (std::size_t i = 0; i < ranges_.size(); ++i)
    if (const char* what = damage_of(ranges_[i], starts_[i], variants_.size(), predictions_.size());
        what != nullptr)
      return {.what = what, .section = "ranges", .record = i};
  return {};
}

TableDamage TableView::check_predictions() const noexcept {
  for (std::size_t i = 0; i < predictions_.size(); ++i)
    if (const char* what = damage_of(predictions_[i], strings_.size()); what != nullptr)
      return {.what = what, .section = "predictions", .record = i};
  return {};
}

}  // namespace colltune
