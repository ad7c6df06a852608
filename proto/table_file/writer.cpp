// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <tuple>

#include "colltune/table_file/table_content.h"
#include "colltune/table_file/table_view.h"
#include "colltune/vocabulary/problem_form.h"
#include "evidence.h"

namespace colltune {
namespace {

using namespace table_file;

[[noreturn]] void refuse(const std::string& what) {
  throw Error(StatusCode::invalid_argument, "table file: " + what);
}

std::uint32_t number_of(std::size_t index, const char* what) {
  if (index >= none)
    throw Error(StatusCode::resource_exhausted,
                std::string("table file: there are more ") + what + " than it can number");
  return static_cast<std::uint32_t>(index);
}

/// The texts of the file, each once.
class Texts {
 public:
  std::uint32_t add(std::string_view text) {
    const auto known = numbers_.find(text);
    if (known != numbers_.end()) return known->second;
    const StringRecord record{.offset = number_of(text_.size(), "bytes of text"),
                              .length = number_of(text.size(), "bytes of text")};
    text_ += text;
    const std::uint32_t number = number_of(records_.size(), "strings");
    records_.push_back(record);
    numbers_.emplace(text, number);
    return number;
  }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::vector<StringRecord>& records() const { return records_; }

 private:
  std::string text_;
  std::vector<StringRecord> records_;
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
};

/// Names in ascending order, and their numbers in that order.
using Names = std::map<std::string, std::uint32_t, std::less<>>;

void give_numbers(Names& names) {
  std::uint32_t next = 0;
  for (auto& [name, number] : names) number = next++;
}

std::vector<std::uint32_t> strings_of(const Names& names, Texts& texts) {
  std::vector<std::uint32_t> strings;
  for (const auto& [name, number] : names) strings.push_back(texts.add(name));
  return strings;
}

class Writer {
 public:
  explicit Writer(const TableContent& content)
      : content_(content), version_(oldest_version_for(content)) {}

  [[nodiscard]] std::string write() {
    check_environment();
    Header header = begin_header();
    add_facts();
    add_names();
    add_worlds();
    for (const AnswerGroup& group : content_.groups) add_group(group);
    sort_groups();
    fill_slots();
    return assemble(header);
  }

 private:
  static std::uint32_t oldest_version_for(const TableContent& content) {
    const bool has_predictions = std::ranges::any_of(content.groups, [](const AnswerGroup& group) {
      return std::ranges::any_of(
          group.ranges, [](const AnswerRange& range) { return range.prediction.has_value(); });
    });
    if (has_predictions || !content.set.fits.empty()) return version_with_fits;
    const auto is_new = [](const auto& item) { return item.key.problem.counts != Counts::equal; };
    return std::ranges::any_of(content.set.decisions, is_new) ||
                   std::ranges::any_of(content.groups, is_new)
               ? version_with_counts
               : first_version;
  }

  void check_environment() const {
    const auto check = [&](const TuningKey& key, const char* what = "a decision") {
      if (key.environment_digest != content_.environment_digest)
        refuse(std::string(what) + " for " + describe(key.problem) + " is of environment '" +
               key.environment_digest + "'; a file holds those of one, which is '" +
               content_.environment_digest + "'");
    };
    for (const Decision& decision : content_.set.decisions) check(decision.key);
    for (const AnswerGroup& group : content_.groups) check(group.key);
    for (const VariantFit& fit : content_.set.fits) check(fit.key, "a fit");
  }

  Header begin_header() {
    Header header{};
    header.magic = magic;
    header.version = version_;
    header.header_bytes = sizeof(Header);
    header.generation = content_.set.generation.number;
    header.decisions = content_.set.decisions.size();
    header.store_uuid = texts_.add(content_.set.generation.store_uuid);
    header.content_digest = texts_.add(content_.set.generation.content_digest);
    header.environment_digest = texts_.add(content_.environment_digest);
    return header;
  }

  void add_facts() {
    const Environment* const environment =
        find_environment(content_.set, content_.environment_digest);
    if (environment == nullptr) return;
    visit_facts(*environment, [&](std::string_view name, const std::string& value) {
      if (!value.empty()) facts_.push_back({texts_.add(name), texts_.add(value)});
    });
  }

  void add_names() {
    for (const AnswerGroup& group : content_.groups) {
      families_.try_emplace(group.family);
      if (group.key.problem.mesh) meshes_.try_emplace(mesh_name(*group.key.problem.mesh));
    }
    give_numbers(families_);
    give_numbers(meshes_);
  }

  void add_worlds() {
    std::map<Digest, const Topology*> by_digest;
    for (const AnswerGroup& group : content_.groups) {
      if (world_numbers_.contains(group.key.topology)) continue;
      world_numbers_.emplace(group.key.topology, 0);
      by_digest.emplace(digest_of_topology(group.key.topology), &group.key.topology);
    }
    for (const auto& [digest, topology] : by_digest) {
      world_numbers_[*topology] = number_of(worlds_.size(), "worlds");
      worlds_.push_back({.digest = digest,
                         .nodes = topology->nodes,
                         .ranks_per_node = topology->ranks_per_node,
                         .ranks = topology->ranks,
                         .placement = static_cast<std::uint32_t>(topology->placement),
                         .architecture = texts_.add(architecture_name(*topology)),
                         .layout_digest = texts_.add(topology->layout_digest),
                         .interconnect = texts_.add(topology->interconnect),
                         .reserved = 0});
    }
  }

  std::uint32_t add_variant(const std::optional<Variant>& variant) {
    if (!variant) return none;
    const auto known = variant_numbers_.find(*variant);
    if (known != variant_numbers_.end()) return known->second;
    const std::uint32_t number = number_of(variants_.size(), "variants");
    variants_.push_back({texts_.add(variant->implementation), texts_.add(to_string(*variant))});
    variant_numbers_.emplace(*variant, number);
    return number;
  }

  RangeRecord record_of(const AnswerRange& range) {
    return {.from = range.from.value,
            .to = range.to.value,
            .time_from = range.times.from.count(),
            .time_to = range.times.to.count(),
            .baseline_from = range.baseline_times.from.count(),
            .baseline_to = range.baseline_times.to.count(),
            .variant = add_variant(range.variant),
            .baseline = add_variant(range.baseline),
            .source = static_cast<std::uint8_t>(range.source),
            .verdict = static_cast<std::uint8_t>(range.verdict),
            .status = static_cast<std::uint8_t>(range.status),
            .is_baseline = static_cast<std::uint8_t>(range.is_baseline),
            .prediction = add_prediction(range.prediction)};
  }

  /// Many sizes share one.
  std::uint32_t add_prediction(const std::optional<AnswerPrediction>& prediction) {
    if (!prediction) return 0;
    const TimeLine line = prediction->line.value_or(TimeLine{});
    const TimeLine baseline = prediction->baseline_line.value_or(TimeLine{});
    if (baseline.growth != 0) refuse("the line of a baseline has a growth");
    const bool has_model = !prediction->model.empty();
    const PredictionRecord record{
        .alpha = line.alpha,
        .beta = line.beta,
        .growth = line.growth,
        .baseline_alpha = baseline.alpha,
        .baseline_beta = baseline.beta,
        .low = has_model ? prediction->interval.low : 0,
        .high = has_model ? prediction->interval.high : 0,
        .model = has_model ? texts_.add(prediction->model) : none,
        .has_line = static_cast<std::uint8_t>(prediction->line.has_value()),
        .has_baseline_line = static_cast<std::uint8_t>(prediction->baseline_line.has_value()),
        .choice = static_cast<std::uint8_t>(prediction->choice),
        .reserved = 0};
    const auto [known, is_new] = prediction_numbers_.try_emplace(
        std::bit_cast<std::array<std::uint64_t, sizeof record / 8>>(record),
        number_of(predictions_.size(), "predictions") + 1);
    if (is_new) predictions_.push_back(record);
    return known->second;
  }

  void add_group(const AnswerGroup& group) {
    const Problem& problem = group.key.problem;
    GroupRecord record{
        .key = {.problem = pack_call(problem, regime_of(group.key)),
                .world = world_numbers_.at(group.key.topology),
                .family = families_.find(group.family)->second,
                .mesh = problem.mesh ? meshes_.find(mesh_name(*problem.mesh))->second : none,
                .reserved = 0},
        .unit = message_size_unit(problem.collective, problem.data_type, group.key.topology.ranks,
                                  problem.counts),
        .first_range = starts_.size(),
        .ranges = group.ranges.size()};
    std::vector<std::uint64_t> starts;
    std::vector<RangeRecord> ranges;
    for (const AnswerRange& range : group.ranges) {
      starts.push_back(range.first.value);
      ranges.push_back(record_of(range));
    }
    // A caller who demands more of the bits often gets the same answers: they are stored once.
    if (is_like_last(starts, ranges)) {
      record.first_range = groups_.back().first_range;
    } else {
      starts_.insert(starts_.end(), starts.begin(), starts.end());
      ranges_.insert(ranges_.end(), ranges.begin(), ranges.end());
    }
    groups_.push_back(record);
  }

  [[nodiscard]] bool is_like_last(const std::vector<std::uint64_t>& starts,
                                  const std::vector<RangeRecord>& ranges) const {
    if (groups_.empty() || groups_.back().ranges != ranges.size()) return false;
    const auto first = static_cast<std::ptrdiff_t>(groups_.back().first_range);
    return std::equal(starts.begin(), starts.end(), starts_.begin() + first) &&
           std::equal(ranges.begin(), ranges.end(), ranges_.begin() + first);
  }

  void sort_groups() {
    std::ranges::sort(groups_, {}, &GroupRecord::key);
    const auto twice = std::ranges::adjacent_find(groups_, {}, &GroupRecord::key);
    if (twice != groups_.end()) refuse("two groups are of one key");
    (void)number_of(groups_.size(), "groups");
  }

  void fill_slots() {
    slots_.assign(std::bit_ceil(2 * groups_.size()), none);
    if (groups_.empty()) slots_.assign(1, none);
    const std::uint64_t mask = slots_.size() - 1;
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      std::uint64_t slot = hash_of(groups_[group].key) & mask;
      while (slots_[slot] != none) slot = (slot + 1) & mask;
      slots_[slot] = static_cast<std::uint32_t>(group);
    }
  }

  std::string assemble(Header header) {
    const std::vector<std::uint32_t> families = strings_of(families_, texts_);
    const std::vector<std::uint32_t> meshes = strings_of(meshes_, texts_);
    const std::string evidence = encode_evidence(content_.set, version_);
    header.text_bytes = texts_.text().size();
    header.strings = texts_.records().size();
    header.facts = facts_.size();
    header.variants = variants_.size();
    header.families = families.size();
    header.meshes = meshes.size();
    header.worlds = worlds_.size();
    header.groups = groups_.size();
    header.slots = slots_.size();
    header.ranges = ranges_.size();
    header.predictions = number_of(predictions_.size(), "predictions");
    header.evidence_bytes = evidence.size();
    header.evidence_digest = digest_of(std::as_bytes(std::span(evidence)));
    const auto sections = sections_of(header);
    if (!sections) throw Error(StatusCode::resource_exhausted, "table file: it becomes too large");
    header.file_bytes = sections->end;

    std::string out(sections->end, '\0');
    const auto place = [&](std::uint64_t offset, const auto& records) {
      if (!std::empty(records))
        std::memcpy(out.data() + offset, std::data(records),
                    std::size(records) * sizeof *std::data(records));
    };
    place(sections->text, texts_.text());
    place(sections->strings, texts_.records());
    place(sections->facts, facts_);
    place(sections->variants, variants_);
    place(sections->families, families);
    place(sections->meshes, meshes);
    place(sections->worlds, worlds_);
    place(sections->groups, groups_);
    place(sections->slots, slots_);
    place(sections->starts, starts_);
    place(sections->ranges, ranges_);
    place(sections->predictions, predictions_);
    place(sections->evidence, evidence);
    std::memcpy(out.data(), &header, sizeof header);
    header.digest = digest_of_table(std::as_bytes(std::span(out).first(sections->evidence)));
    std::memcpy(out.data(), &header, sizeof header);
    TableView view;
    if (const TableDamage damage = TableView::read(std::as_bytes(std::span(out)), view);
        damage.what != nullptr)
      refuse(std::string(damage.section) + " " + std::to_string(damage.record) + " " + damage.what);
    return out;
  }

  const TableContent& content_;
  std::uint32_t version_;
  Texts texts_;
  std::vector<FactRecord> facts_;
  std::map<Variant, std::uint32_t> variant_numbers_;
  std::vector<VariantRecord> variants_;
  Names families_;
  Names meshes_;
  std::map<Topology, std::uint32_t> world_numbers_;
  std::vector<WorldRecord> worlds_;
  std::vector<GroupRecord> groups_;
  std::vector<std::uint32_t> slots_;
  std::vector<std::uint64_t> starts_;
  std::vector<RangeRecord> ranges_;
  std::map<std::array<std::uint64_t, sizeof(PredictionRecord) / 8>, std::uint32_t>
      prediction_numbers_;  ///< 1 + number, by the record's bytes
  std::vector<PredictionRecord> predictions_;
};

}  // namespace

std::string encode_table(const TableContent& content) { return Writer(content).write(); }

}  // namespace colltune
