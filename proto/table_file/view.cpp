// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "colltune/model/size_model.h"
#include "colltune/table_file/table_view.h"
#include "colltune/vocabulary/canonical.h"
#include "colltune/vocabulary/problem_form.h"

namespace colltune {

using namespace table_file;

namespace {

/// The fields of a packed call, from the highest bits on: width in bits.
enum Width : unsigned {
  counts_bits = 2,  // since version 2
  kind_bits = 4,
  collective_bits = 6,
  data_type_bits = 6,
  reduce_op_bits = 6,
  flag_bits = 1,
  numeric_class_bits = 4,
  regime_bits = 2,
};

/// Takes fields from the lowest bits on.
class Unpacker {
 public:
  explicit Unpacker(std::uint64_t call) : left_(call) {}
  template <class T>
  T take(unsigned bits) {
    const std::uint64_t value = left_ & ((std::uint64_t{1} << bits) - 1);
    left_ >>= bits;
    return static_cast<T>(value);
  }

 private:
  std::uint64_t left_;
};

std::optional<std::uint32_t> find_name(const TableView& view, std::span<const std::uint32_t> names,
                                       std::string_view name) noexcept {
  // Most tables have a few, which lengths tell apart faster than an ordered search does.
  constexpr std::size_t few = 8;
  if (names.size() <= few) {
    for (std::uint32_t place = 0; place < names.size(); ++place)
      if (view.string(names[place]) == name) return place;
    return std::nullopt;
  }
  const auto found = std::ranges::lower_bound(
      names, name, {}, [&](std::uint32_t number) { return view.string(number); });
  if (found == names.end() || view.string(*found) != name) return std::nullopt;
  return static_cast<std::uint32_t>(found - names.begin());
}

TimedSize at(std::uint64_t size, std::int64_t time) {
  return {{size}, std::chrono::nanoseconds(time)};
}

/// The size rounded down to a multiple of `unit`. A unit is nearly always a power of two, and then
/// no division, the slowest instruction of a lookup, is needed.
std::uint64_t rounded_down(std::uint64_t size, std::uint64_t unit) {
  return std::has_single_bit(unit) ? size & ~(unit - 1) : size / unit * unit;
}

/// A time of at least 0 that may be more than fits.
std::chrono::nanoseconds rounded(double time) {
  constexpr auto most = std::chrono::nanoseconds::max();
  if (!(time > 0)) return {};
  return time < static_cast<double>(most.count()) ? std::chrono::nanoseconds(std::llround(time))
                                                  : most;
}

/// The time of an answer's variant by its line, in ns.
double time_by_line(const PredictionRecord& line, const RangeRecord& range, Bytes size) {
  const double time = line.alpha + line.beta * static_cast<double>(size.value);
  if (line.growth == 0) return time;
  return time * std::exp(line.growth * position_between({range.from}, {range.to}, size));
}

std::chrono::nanoseconds time_at(Source source, TimedSize from, TimedSize to, Bytes size) {
  switch (source) {
    case Source::interpolated:
      return interpolate_time(from, to, size);
    case Source::predicted:
      return extrapolate_time(from, size);
    case Source::measured:
    case Source::baseline:
      break;
  }
  return from.time;
}

}  // namespace

std::uint64_t pack_call(const Problem& problem, const Regime& regime) noexcept {
  std::uint64_t call = 0;
  const auto append = [&](auto value, unsigned bits) {
    call = call << bits | static_cast<std::uint64_t>(value);
  };
  append(problem.counts, counts_bits);
  append(problem.kind, kind_bits);
  append(problem.collective, collective_bits);
  append(problem.data_type, data_type_bits);
  append(problem.reduce_op, reduce_op_bits);
  append(problem.in_place || has_one_buffer(problem), flag_bits);
  append(problem.registered, flag_bits);
  append(problem.graph_capture, flag_bits);
  append(problem.numeric_class, numeric_class_bits);
  append(regime.calling, regime_bits);
  append(regime.input, regime_bits);
  return call;
}

Problem unpack_problem(std::uint64_t call) noexcept {
  Unpacker from(call);
  (void)from.take<int>(regime_bits);
  (void)from.take<int>(regime_bits);
  Problem problem;
  problem.numeric_class = from.take<NumericClass>(numeric_class_bits);
  problem.graph_capture = from.take<bool>(flag_bits);
  problem.registered = from.take<bool>(flag_bits);
  problem.in_place = from.take<bool>(flag_bits);
  problem.reduce_op = from.take<ReduceOp>(reduce_op_bits);
  problem.data_type = from.take<DataType>(data_type_bits);
  problem.collective = from.take<Collective>(collective_bits);
  problem.kind = from.take<ProblemKind>(kind_bits);
  problem.counts = from.take<Counts>(counts_bits);
  return problem;
}

Regime unpack_regime(std::uint64_t call) noexcept {
  Unpacker from(call);
  Regime regime;
  regime.input = from.take<InputMode>(regime_bits);
  regime.calling = from.take<Calling>(regime_bits);
  return regime;
}

std::string mesh_name(const MeshReduction& mesh) {
  return shape_text(mesh) + '\n' + steps_text(mesh);
}

std::chrono::nanoseconds TableAnswer::time() const {
  if (prediction != nullptr && prediction->has_line != 0)
    return rounded(time_by_line(*prediction, *range, size));
  return time_at(source, at(range->from, range->time_from), at(range->to, range->time_to), size);
}

std::chrono::nanoseconds TableAnswer::baseline_time() const {
  if (prediction != nullptr && prediction->has_baseline_line != 0)
    return rounded(prediction->baseline_alpha +
                   prediction->baseline_beta * static_cast<double>(size.value));
  return time_at(source, at(range->from, range->baseline_from), at(range->to, range->baseline_to),
                 size);
}

std::optional<TableInterval> TableAnswer::interval() const {
  if (prediction == nullptr || prediction->model == none) return std::nullopt;
  const double time = time_by_line(*prediction, *range, size);
  return TableInterval{.low = rounded(std::floor(time * prediction->low)),
                       .high = rounded(std::ceil(time * prediction->high)),
                       .model = prediction->model};
}

std::optional<std::uint32_t> TableView::find_world(const Digest& topology) const noexcept {
  const auto found = std::ranges::lower_bound(worlds_, topology, {}, &WorldRecord::digest);
  if (found == worlds_.end() || found->digest != topology) return std::nullopt;
  return static_cast<std::uint32_t>(found - worlds_.begin());
}

std::optional<TableView::Group> TableView::find_slot(const GroupKeyRecord& key) const noexcept {
  if (slots_.empty()) return std::nullopt;
  const std::uint64_t mask = slots_.size() - 1;
  // At most half of the slots are taken, so a free one ends the search.
  for (std::uint64_t slot = hash_of(key) & mask; slots_[slot] != none; slot = (slot + 1) & mask)
    if (groups_[slots_[slot]].key == key) return slots_[slot];
  return std::nullopt;
}

std::optional<TableView::Group> TableView::resolve(const GroupKey& key) const noexcept {
  GroupKeyRecord record{
      .problem = key.call, .world = key.world, .family = 0, .mesh = none, .reserved = 0};
  const auto family = find_name(*this, families_, key.family);
  if (!family) return std::nullopt;
  record.family = *family;
  if (!key.mesh.empty()) {
    const auto mesh = find_name(*this, meshes_, key.mesh);
    if (!mesh) return std::nullopt;
    record.mesh = *mesh;
  }
  return find_slot(record);
}

std::optional<TableAnswer> TableView::find(Group group, Bytes size) const noexcept {
  const GroupRecord& record = groups_[group];
  // The last range that begins at or below the size; without branches that depend on it.
  const std::uint64_t* first = &starts_[record.first_range];
  for (std::uint64_t left = record.ranges; left > 1;) {
    const std::uint64_t half = left / 2;
    first = first[half] <= size.value ? first + half : first;
    left -= half;
  }
  const RangeRecord& range = ranges_[static_cast<std::size_t>(first - starts_.data())];
  if (range.variant == none) return std::nullopt;
  return TableAnswer{
      .variant = range.variant,
      .baseline = range.baseline,
      .is_baseline = range.is_baseline != 0,
      .source = static_cast<Source>(range.source),
      .verdict = static_cast<Verdict>(range.verdict),
      .status = static_cast<DecisionStatus>(range.status),
      .size = {rounded_down(size.value, record.unit)},
      .range = &range,
      .prediction = range.prediction == 0 ? nullptr : &predictions_[range.prediction - 1]};
}

namespace table_file {

// Here, where each lookup needs it without a call.
std::uint64_t hash_of(const GroupKeyRecord& key) noexcept { return XXH3_64bits(&key, sizeof key); }

Digest digest_of_topology(const Topology& topology) {
  const std::string text = canonical_text(topology);
  return digest_of(std::as_bytes(std::span(text)));
}

std::string to_text(const Digest& digest) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : digest) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

}  // namespace table_file
}  // namespace colltune
