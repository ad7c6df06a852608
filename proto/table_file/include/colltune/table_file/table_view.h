// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "colltune/table_file/layout.h"
#include "colltune/vocabulary/lookup.h"

namespace colltune {

/// What is wrong with a file, without memory of its own.
struct TableDamage {
  const char* what = nullptr;  ///< null: nothing
  const char* section = "";    ///< "header", "ranges", …
  std::uint64_t record = 0;    ///< number in the section, from 0
  bool is_foreign = false;     ///< it is no table file at all
  bool is_other_version = false;
  std::uint32_t version = 0;  ///< the file's, if that is the damage
};

/// A call without its message size. `world` and the texts are as TableView knows them.
struct GroupKey {
  std::uint64_t call = 0;  ///< pack_call()
  std::uint32_t world = 0;
  std::string_view family = any_family;
  std::string_view mesh{};  ///< mesh_name() of a mesh_reduce, else empty
};
/// The problem without its size and mesh, in its form (in_its_form()), and the regime.
[[nodiscard]] std::uint64_t pack_call(const Problem& problem, const Regime& regime) noexcept;
/// The inverse; the size is 0 and the mesh empty.
[[nodiscard]] Problem unpack_problem(std::uint64_t call) noexcept;
[[nodiscard]] Regime unpack_regime(std::uint64_t call) noexcept;
[[nodiscard]] std::string mesh_name(const MeshReduction& mesh);

/// Whether fits chose the variant of an answer between two measured sizes. The numbers stand in
/// table files and are never changed.
enum class FitChoice : std::uint8_t {
  none = 0,           ///< a table without fits names the same
  shown_at_both = 1,  ///< proven to be faster than the baseline at one of the two sizes, and
                      ///< clearly faster at the other, which lacks proof
  expected = 2  ///< neither; or the baseline: less time than that of the others is expected of it
};

/// Within these bounds lay 90 % of the measured times that were left out of a model.
struct TableInterval {
  std::chrono::nanoseconds low{};
  std::chrono::nanoseconds high{};
  std::uint32_t model = table_file::none;  ///< TableView::string()
};

/// The answer to a lookup, as DecisionTable gives it for a query without members and without form.
struct TableAnswer {
  std::uint32_t variant = table_file::none;   ///< TableView::variant(); never none
  std::uint32_t baseline = table_file::none;  ///< none: it is not ranked
  bool is_baseline = false;
  Source source = Source::measured;
  Verdict verdict = Verdict::no_baseline;
  DecisionStatus status = DecisionStatus::provisional;
  Bytes size;                                        ///< the size asked for, rounded
  const table_file::RangeRecord* range{};            ///< what the times are computed from
  const table_file::PredictionRecord* prediction{};  ///< the same, where fits say more; else null

  [[nodiscard]] std::chrono::nanoseconds time() const;
  /// 0 if no baseline is ranked.
  [[nodiscard]] std::chrono::nanoseconds baseline_time() const;
  /// Of the variant's time; empty where it was measured, or no model was fitted to its times.
  [[nodiscard]] std::optional<TableInterval> interval() const;
  [[nodiscard]] FitChoice fit_choice() const noexcept {
    return prediction == nullptr ? FitChoice::none : static_cast<FitChoice>(prediction->choice);
  }
};

/// The sections of a table file that lookups read, in memory that the view does not own.
/// Thread-safe. Nothing here takes a lock; only mesh_name() takes memory.
class TableView {
 public:
  /// A group of the table.
  using Group = std::uint32_t;
  struct VariantText {
    std::string_view implementation;
    std::string_view text;
  };

  /// An empty table.
  TableView() noexcept = default;

  /// Checks that `file`, aligned to 8, is a whole table file: version, size, digest, and every
  /// number, order and slot of the sections that lookups read. On success `view` reads from it. The
  /// evidence is not read.
  [[nodiscard]] static TableDamage read(std::span<const std::byte> file, TableView& view) noexcept;

  [[nodiscard]] const table_file::Header& header() const noexcept { return *header_; }
  [[nodiscard]] std::string_view string(std::uint32_t number) const noexcept {
    const table_file::StringRecord& record = strings_[number];
    return {text_ + record.offset, record.length};
  }
  [[nodiscard]] VariantText variant(std::uint32_t number) const noexcept {
    return {string(variants_[number].implementation), string(variants_[number].text)};
  }
  [[nodiscard]] std::size_t variants() const noexcept { return variants_.size(); }
  [[nodiscard]] std::span<const table_file::WorldRecord> worlds() const noexcept { return worlds_; }
  [[nodiscard]] std::span<const table_file::GroupRecord> groups() const noexcept { return groups_; }
  [[nodiscard]] std::span<const table_file::FactRecord> facts() const noexcept { return facts_; }
  [[nodiscard]] std::string_view family(std::uint32_t number) const noexcept {
    return string(families_[number]);
  }
  [[nodiscard]] std::span<const std::uint64_t> starts_of(Group group) const noexcept {
    return starts_.subspan(groups_[group].first_range, groups_[group].ranges);
  }
  [[nodiscard]] std::span<const table_file::RangeRecord> ranges_of(Group group) const noexcept {
    return ranges_.subspan(groups_[group].first_range, groups_[group].ranges);
  }
  [[nodiscard]] std::span<const std::byte> evidence() const noexcept { return evidence_; }

  /// The number of the world whose topology has this digest.
  [[nodiscard]] std::optional<std::uint32_t> find_world(
      const table_file::Digest& topology) const noexcept;
  /// The calls of `key`; empty if nothing was decided for them.
  [[nodiscard]] std::optional<Group> resolve(const GroupKey& key) const noexcept;
  /// The answer for calls of `group`; empty if no measured variant can run this size.
  [[nodiscard]] std::optional<TableAnswer> find(Group group, Bytes size) const noexcept;
  /// Both in one.
  [[nodiscard]] std::optional<TableAnswer> find(const GroupKey& key, Bytes size) const noexcept {
    const auto group = resolve(key);
    return group ? find(*group, size) : std::nullopt;
  }

 private:
  [[nodiscard]] TableDamage check_texts() const noexcept;
  [[nodiscard]] TableDamage check_worlds() const noexcept;
  [[nodiscard]] TableDamage check_groups() const noexcept;
  [[nodiscard]] TableDamage check_ranges() const noexcept;
  [[nodiscard]] TableDamage check_predictions() const noexcept;
  [[nodiscard]] std::optional<Group> find_slot(
      const table_file::GroupKeyRecord& key) const noexcept;

  const table_file::Header* header_ = nullptr;
  const char* text_ = nullptr;
  std::span<const table_file::StringRecord> strings_;
  std::span<const table_file::FactRecord> facts_;
  std::span<const table_file::VariantRecord> variants_;
  std::span<const std::uint32_t> families_;
  std::span<const std::uint32_t> meshes_;
  std::span<const table_file::WorldRecord> worlds_;
  std::span<const table_file::GroupRecord> groups_;
  std::span<const std::uint32_t> slots_;
  std::span<const std::uint64_t> starts_;
  std::span<const table_file::RangeRecord> ranges_;
  std::span<const table_file::PredictionRecord> predictions_;
  std::span<const std::byte> evidence_;
};

namespace table_file {

[[nodiscard]] Digest digest_of(std::span<const std::byte> bytes) noexcept;
/// The value of the header's digest; `until_evidence` are the bytes in front of the evidence.
[[nodiscard]] Digest digest_of_table(std::span<const std::byte> until_evidence) noexcept;
[[nodiscard]] std::uint64_t hash_of(const GroupKeyRecord& key) noexcept;
/// The digest of a topology, by which worlds are found.
[[nodiscard]] Digest digest_of_topology(const Topology& topology);
/// 32 hexadecimal digits.
[[nodiscard]] std::string to_text(const Digest& digest);

/// Where each section begins, for the numbers of records that a header gives.
struct Sections {
  std::uint64_t text = 0, strings = 0, facts = 0, variants = 0, families = 0, meshes = 0,
                worlds = 0, groups = 0, slots = 0, starts = 0, ranges = 0, predictions = 0,
                evidence = 0, end = 0;
};
/// Empty if they are more than any file holds.
[[nodiscard]] std::optional<Sections> sections_of(const Header& header) noexcept;

}  // namespace table_file
}  // namespace colltune
