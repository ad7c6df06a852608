// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/vocabulary/field_limits.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "colltune/vocabulary/annotation/annotation.h"
#include "colltune/vocabulary/canonical.h"

namespace colltune {
namespace {

[[noreturn]] void fail(const FieldPath& path, const std::string& what) {
  throw Error(StatusCode::invalid_argument, path.text() + ": " + what);
}

/// Runs `check`; the message of an error that it throws gets the path as a prefix.
template <class Check>
void at(const FieldPath& path, Check check) {
  try {
    check();
  } catch (const Error& error) {
    fail(path, error.what());
  }
}

// Conditions on a value as a whole, once each field is within its limits; other types have none.
template <class T>
void check_whole(const T&, const FieldPath&) {}

void check_whole(const Problem& problem, const FieldPath& path) {
  const bool is_of_counts = problem.counts != Counts::equal && !may_have_unequal_counts(problem);
  at({&path, is_of_counts   ? "counts"
             : problem.mesh ? "mesh"
                            : "reduce_op"},
     [&] { check(problem); });
}
void check_whole(const Members& members, const FieldPath& path) {
  at(path, [&] { check(members); });
}
void check_whole(const Composition& composition, const FieldPath& path) {
  if (composition.parts.empty())
    fail({&path, "parts"}, "is empty; a composition has at least one part");
}
void check_whole(const FitInterval& interval, const FieldPath& path) {
  if (!(interval.low > 0) || interval.low > 1 || interval.high < 1)
    fail(path, "must contain 1, and its low end must be above 0");
}
void check_whole(const VariantFit& fit, const FieldPath& path) {
  if (fit.segments.size() < 2) fail({&path, "segments"}, "must be at least 2, one for each size");
  if (fit.segments.front().from != fit.key.problem.message_size)
    fail({&path, "segments"}, "do not begin at the size of the key");
  for (std::size_t i = 1; i < fit.segments.size(); ++i)
    if (fit.segments[i].from <= fit.segments[i - 1].from)
      fail({&path, "segments", static_cast<int>(i)}, "does not begin behind the one before");
}
void check_whole(const Decision& decision, const FieldPath& path) {
  if (decision.ranked.empty())
    fail({&path, "ranked"}, "is empty; a decision ranks at least one variant");
}

void check_variant(const Variant& variant, const FieldPath& path) {
  const FieldLimits limits;
  check_text(variant.implementation, limits, {&path, "implementation"});
  check_entries(variant.parameters.size(), limits, {&path, "parameters"});
  for (std::size_t i = 0; i < variant.parameters.size(); ++i) {
    const FieldPath here{&path, "parameters", static_cast<int>(i)};
    check_text(variant.parameters[i].name, limits, {&here, "name"});
    if (const auto* word = std::get_if<std::string>(&variant.parameters[i].value))
      check_text(*word, limits, {&here, "word"});
  }
  const std::string printed = to_string(variant);
  bool is_printed_form = false;
  at(path, [&] { is_printed_form = parse_variant(printed) == variant; });
  if (!is_printed_form)
    fail(path, "'" + printed +
                   "' is not in its printed form: parameters are sorted by name, and a word is no "
                   "number");
}

template <class T>
void check_field(const T& value, const FieldLimits& limits, const FieldPath& path) {
  if constexpr (requires { value.has_value(); }) {
    if (value) check_field(*value, limits, path);
  } else if constexpr (NamedEnum<T> || std::same_as<T, bool>) {
    // Checked when it was made.
  } else if constexpr (std::signed_integral<T>) {
    check_number(static_cast<std::int64_t>(value), limits, path);
  } else if constexpr (std::unsigned_integral<T>) {
    check_number(static_cast<std::uint64_t>(value), limits, path);
  } else if constexpr (std::floating_point<T>) {
    check_number(static_cast<double>(value), limits, path);
  } else if constexpr (std::same_as<T, Bytes>) {
    check_bytes(value.value, limits, path);
  } else if constexpr (std::same_as<T, std::chrono::nanoseconds>) {
    check_number(static_cast<std::int64_t>(value.count()), limits, path);
  } else if constexpr (std::same_as<T, Microseconds>) {
    check_number(value.count(), limits, path);
  } else if constexpr (std::same_as<T, std::string>) {
    check_text(value, limits, path);
  } else if constexpr (std::same_as<T, Variant>) {
    check_variant(value, path);
  } else if constexpr (Described<const T>) {
    check_value(value, path);
  } else {
    check_entries(value.size(), limits, path);
    int index = 0;
    const bool is_item = path.index >= 0;  // a list within a list
    for (const auto& item : value)
      check_field(item, limits,
                  {is_item ? &path : path.parent, is_item ? std::string_view() : path.name, index++,
                   path.form});
  }
}

}  // namespace

std::string FieldPath::text() const {
  const FieldPath* root = this;
  while (root->parent != nullptr) root = root->parent;
  const bool has_slashes = root->form == Form::slashes;
  std::string out = parent ? parent->text() : std::string();
  if (parent && !name.empty()) {
    if (has_slashes)
      out += '/';
    else if (!out.empty())
      out += '.';
  }
  out += name;
  if (index >= 0)
    out += has_slashes ? '/' + std::to_string(index) : '[' + std::to_string(index) + ']';
  return out;
}

void check_number(std::int64_t number, const FieldLimits& limits, const FieldPath& path) {
  const std::string least = "it must be at least " + std::to_string(limits.least);
  if (number < 0 && number < limits.least)
    fail(path, std::to_string(number) + " is negative; " + least);
  if (number < limits.least) fail(path, std::to_string(number) + " is not allowed; " + least);
  if (number > 0) check_number(static_cast<std::uint64_t>(number), limits, path);
}

void check_number(std::uint64_t number, const FieldLimits& limits, const FieldPath& path) {
  if (std::cmp_less(number, limits.least))
    fail(path, std::to_string(number) + " is not allowed; it must be at least " +
                   std::to_string(limits.least));
  if (number > limits.most)
    fail(path, std::to_string(number) + " is too large; at most " + std::to_string(limits.most) +
                   " is allowed");
}

void check_number(double number, const FieldLimits& limits, const FieldPath& path) {
  if (!std::isfinite(number) || number < static_cast<double>(limits.least))
    fail(path, "must be a finite number of at least " + std::to_string(limits.least));
}

void check_bytes(std::uint64_t bytes, const FieldLimits& limits, const FieldPath& path) {
  if (bytes > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    fail(path, std::to_string(bytes) + " bytes is too large; at most 2^63-1 are allowed");
  check_number(bytes, limits, path);
}

void check_text(std::string_view text, const FieldLimits& limits, const FieldPath& path) {
  if (text.size() > limits.longest_text)
    fail(path, "the string has " + std::to_string(text.size()) + " bytes; at most " +
                   std::to_string(limits.longest_text) + " are allowed");
  if (limits.is_utf8 && !is_utf8(text)) fail(path, "the string is no UTF-8");
}

void check_entries(std::size_t entries, const FieldLimits& limits, const FieldPath& path) {
  if (entries > limits.most_entries)
    fail(path, "has " + std::to_string(entries) + " entries; at most " +
                   std::to_string(limits.most_entries) + " are allowed");
}

template <class T>
void check_value(const T& value, const FieldPath& path) {
  if constexpr (std::same_as<T, Variant>) {
    check_variant(value, path);
  } else {
    visit_fields(value, [&](std::string_view name, const auto& field) {
      check_field(field, limits_of_field<T>(name), {&path, name});
    });
    check_whole(value, path);
  }
}

template void check_value(const Problem&, const FieldPath&);
template void check_value(const Topology&, const FieldPath&);
template void check_value(const TuningKey&, const FieldPath&);
template void check_value(const Variant&, const FieldPath&);
template void check_value(const Limits&, const FieldPath&);
template void check_value(const RankedVariant&, const FieldPath&);
template void check_value(const Decision&, const FieldPath&);
template void check_value(const Generation&, const FieldPath&);
template void check_value(const Environment&, const FieldPath&);
template void check_value(const Provenance&, const FieldPath&);
template void check_value(const Members&, const FieldPath&);
template void check_value(const WorldMembers&, const FieldPath&);
template void check_value(const Composition&, const FieldPath&);
template void check_value(const VariantFit&, const FieldPath&);
template void check_value(const Measurement&, const FieldPath&);
template void check_value(const LookupQuery&, const FieldPath&);
template void check_value(const LookupAnswer&, const FieldPath&);
template void check_value(const ApplySettings&, const FieldPath&);
template void check_value(const AnnotatedProgram&, const FieldPath&);
template void check_value(const Annotation&, const FieldPath&);

}  // namespace colltune
