// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// The conversion follows visit_fields and the descriptors: a field of the vocabulary is the field
// of the same name in the message, an enumerator `ring` of `SomeKind` is SOME_KIND_RING. Nothing is
// listed twice. Descriptors are looked up once per type, so that a field costs some ten
// nanoseconds.

#include "colltune/wire/convert.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cctype>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "colltune/vocabulary/canonical.h"

namespace colltune {
namespace {

namespace pb = google::protobuf;

/// Where a field stands; rendered only for an error.
struct Path {
  const Path* parent = nullptr;
  std::string_view name;
  int index = -1;

  [[nodiscard]] std::string text() const {
    std::string out = parent ? parent->text() : std::string();
    if (!out.empty() && !name.empty()) out += '.';
    out += name;
    if (index >= 0) out += '[' + std::to_string(index) + ']';
    return out;
  }
};

[[noreturn]] void fail(const Path& path, const std::string& what) {
  throw Error(StatusCode::invalid_argument, path.text() + ": " + what);
}

// ---- descriptors ------------------------------------------------------------------------------

/// The message's fields in the order of visit_fields.
template <class T>
const std::vector<const pb::FieldDescriptor*>& fields_of(const pb::Descriptor& descriptor) {
  static const std::vector<const pb::FieldDescriptor*> fields = [&] {
    std::vector<const pb::FieldDescriptor*> found;
    static const T value{};
    visit_fields(value, [&](std::string_view name, const auto&) {
      const auto* field = descriptor.FindFieldByName(std::string(name));
      if (field == nullptr)
        throw Error(StatusCode::internal, "message " + descriptor.full_name() + " lacks field '" +
                                              std::string(name) + "'");
      found.push_back(field);
    });
    return found;
  }();
  return fields;
}

/// "DataType", "bf16" -> "DATA_TYPE_BF16".
std::string wire_name(std::string_view type, std::string_view name) {
  std::string out;
  for (const char c : type) {
    if (std::isupper(static_cast<unsigned char>(c)) && !out.empty()) out += '_';
    out += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  out += '_';
  for (const char c : name) out += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

template <NamedEnum E>
const std::vector<std::pair<E, int>>& numbers_of(const pb::EnumDescriptor& descriptor) {
  static const std::vector<std::pair<E, int>> numbers = [&] {
    std::vector<std::pair<E, int>> found;
    for (const auto& named : enum_names(E{})) {
      const auto* value = descriptor.FindValueByName(wire_name(descriptor.name(), named.name));
      if (value == nullptr)
        throw Error(StatusCode::internal, "enum " + descriptor.full_name() + " lacks " +
                                              wire_name(descriptor.name(), named.name));
      found.emplace_back(named.value, value->number());
    }
    return found;
  }();
  return numbers;
}

template <NamedEnum E>
int number_of(const pb::EnumDescriptor& descriptor, E value) {
  for (const auto& [enumerator, number] : numbers_of<E>(descriptor))
    if (enumerator == value) return number;
  throw Error(StatusCode::internal, "a value of " + descriptor.full_name() + " without a name");
}

template <NamedEnum E>
E enumerator_of(const pb::EnumDescriptor& descriptor, int number, const Path& path) {
  for (const auto& [enumerator, known] : numbers_of<E>(descriptor))
    if (known == number) return enumerator;
  fail(path,
       (number == 0 ? std::string(enum_title(E{})) + " is missing"
                    : "unknown " + std::string(enum_title(E{})) + " " + std::to_string(number)) +
           "; allowed are " + allowed_names<E>());
}

template <class T>
concept Sequence = requires(T& value) {
  value.emplace_back();
}
&&!std::same_as<T, std::string>;
template <class T>
concept Optional = requires(T& value) {
  value.has_value();
};

// ---- writing ----------------------------------------------------------------------------------

struct Writer {
  pb::Message& message;
  const pb::Reflection& reflection;
  const pb::FieldDescriptor* field;
};

void write_value(const Variant& variant, pb::Message& message) {
  auto& out = static_cast<v1::Variant&>(message);
  out.set_implementation(variant.implementation);
  for (const auto& parameter : variant.parameters) {
    auto& written = *out.add_parameters();
    written.set_name(parameter.name);
    if (const auto* number = std::get_if<std::int64_t>(&parameter.value))
      written.set_number(*number);
    else
      written.set_word(std::get<std::string>(parameter.value));
  }
}

template <class T>
void write_value(const T& value, pb::Message& message);

template <class T>
void write_field(const Writer& to, const T& value) {
  auto& [message, reflection, field] = to;
  if constexpr (Optional<T>) {
    if (value) write_field(to, *value);
  } else if constexpr (Sequence<T>) {
    for (const auto& item : value) write_item(to, item);
  } else if constexpr (NamedEnum<T>) {
    reflection.SetEnumValue(&message, field, number_of(*field->enum_type(), value));
  } else if constexpr (std::same_as<T, bool>) {
    reflection.SetBool(&message, field, value);
  } else if constexpr (std::same_as<T, int>) {
    reflection.SetInt32(&message, field, value);
  } else if constexpr (std::same_as<T, std::uint64_t>) {
    reflection.SetUInt64(&message, field, value);
  } else if constexpr (std::same_as<T, double>) {
    reflection.SetDouble(&message, field, value);
  } else if constexpr (std::same_as<T, Bytes>) {
    reflection.SetUInt64(&message, field, value.value);
  } else if constexpr (std::same_as<T, std::chrono::nanoseconds>) {
    reflection.SetInt64(&message, field, value.count());
  } else if constexpr (std::same_as<T, std::string>) {
    reflection.SetString(&message, field, value);
  } else {
    write_value(value, *reflection.MutableMessage(&message, field));
  }
}

template <class T>
void write_item(const Writer& to, const T& item) {
  auto& [message, reflection, field] = to;
  if constexpr (NamedEnum<T>) {
    reflection.AddEnumValue(&message, field, number_of(*field->enum_type(), item));
  } else if constexpr (std::same_as<T, Bytes>) {
    reflection.AddUInt64(&message, field, item.value);
  } else if constexpr (std::same_as<T, int>) {
    reflection.AddInt32(&message, field, item);
  } else if constexpr (std::same_as<T, std::string>) {
    reflection.AddString(&message, field, item);
  } else {
    write_value(item, *reflection.AddMessage(&message, field));
  }
}

template <class T>
void write_value(const T& value, pb::Message& message) {
  const auto& fields = fields_of<T>(*message.GetDescriptor());
  const pb::Reflection& reflection = *message.GetReflection();
  std::size_t next = 0;
  visit_fields(value, [&](std::string_view, const auto& field) {
    write_field(Writer{message, reflection, fields[next++]}, field);
  });
}

// ---- reading ----------------------------------------------------------------------------------

std::uint64_t checked_bytes(std::uint64_t bytes, const Path& path) {
  if (bytes > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    fail(path, std::to_string(bytes) + " bytes is too large; at most 2^63-1 are allowed");
  return bytes;
}

template <class T>
T checked_count(T count, const Path& path) {
  if (count < 0) fail(path, std::to_string(count) + " is negative; it must be at least 0");
  return count;
}

const std::string& checked_text(const std::string& text, const Path& path) {
  if (text.size() > longest_wire_string)
    fail(path, "the string has " + std::to_string(text.size()) + " bytes; at most " +
                   std::to_string(longest_wire_string) + " are allowed");
  return text;
}

void check_at_least_one(std::uint64_t value, std::string_view name, const Path& path) {
  if (value == 0) fail({&path, name}, "0 is not allowed; it must be at least 1");
}

// What a value must fulfil as a whole; the overload for all else accepts.
template <class T>
void check_whole(const T&, const Path&) {}

void check_whole(const Problem& problem, const Path& path) {
  try {
    check(problem);
  } catch (const Error& error) {
    fail({&path, problem.mesh ? "mesh" : "reduce_op"}, error.what());
  }
}
void check_whole(const ArchitectureCount& entry, const Path& path) {
  check_at_least_one(static_cast<std::uint64_t>(entry.ranks), "ranks", path);
}
void check_whole(const Topology& topology, const Path& path) {
  check_at_least_one(static_cast<std::uint64_t>(topology.nodes), "nodes", path);
  check_at_least_one(static_cast<std::uint64_t>(topology.ranks_per_node), "ranks_per_node", path);
  check_at_least_one(static_cast<std::uint64_t>(topology.ranks), "ranks", path);
}
void check_whole(const Limits& limits, const Path& path) {
  check_at_least_one(static_cast<std::uint64_t>(limits.ranks_multiple_of), "ranks_multiple_of",
                     path);
  check_at_least_one(limits.alignment.value, "alignment_bytes", path);
}
void check_at_most(std::size_t count, std::size_t most, std::string_view name, const Path& path) {
  if (count > most)
    fail({&path, name}, "has " + std::to_string(count) + " entries; at most " +
                            std::to_string(most) + " are allowed");
}
void check_whole(const MeshReduction& mesh, const Path& path) {
  check_at_most(mesh.steps.size(), most_wire_steps, "steps", path);
}
void check_whole(const MemberKind& kind, const Path& path) {
  check_at_most(kind.features.size(), most_wire_features, "features", path);
}
void check_whole(const Members& members, const Path& path) {
  check_at_most(members.kinds.size(), most_wire_kinds, "kinds", path);
  check_at_most(members.kind_of_rank.size(), most_wire_ranks, "kind_of_rank", path);
  try {
    check(members);
  } catch (const Error& error) {
    fail(path, error.what());
  }
}
void check_whole(const Composition& composition, const Path& path) {
  if (composition.parts.empty())
    fail({&path, "parts"}, "is empty; a composition has at least one part");
}
void check_whole(const Decision& decision, const Path& path) {
  if (decision.ranked.empty())
    fail({&path, "ranked"}, "is empty; a decision ranks at least one variant");
}
void check_whole(const LookupQuery& query, const Path& path) {
  if (query.nodes) check_at_least_one(static_cast<std::uint64_t>(*query.nodes), "nodes", path);
  if (query.ranks_per_node)
    check_at_least_one(static_cast<std::uint64_t>(*query.ranks_per_node), "ranks_per_node", path);
}

void read_value(const pb::Message& message, Variant& variant, const Path& path) {
  const auto& in = static_cast<const v1::Variant&>(message);
  variant.implementation = checked_text(in.implementation(), {&path, "implementation"});
  variant.parameters.reserve(static_cast<std::size_t>(in.parameters_size()));
  for (int i = 0; i < in.parameters_size(); ++i) {
    const auto& parameter = in.parameters(i);
    const Path here{&path, "parameters", i};
    Parameter& read = variant.parameters.emplace_back();
    read.name = checked_text(parameter.name(), {&here, "name"});
    switch (parameter.value_case()) {
      case v1::Parameter::kNumber:
        read.value = parameter.number();
        break;
      case v1::Parameter::kWord:
        read.value = checked_text(parameter.word(), {&here, "word"});
        break;
      case v1::Parameter::VALUE_NOT_SET:
        fail(here, "has no value; give number or word");
    }
  }
  try {
    if (parse_variant(to_string(variant)) == variant) return;
  } catch (const Error& error) {
    fail(path, error.what());
  }
  fail(path, "'" + to_string(variant) +
                 "' is not in its printed form: parameters are sorted by name, and a word is no "
                 "number");
}

template <class T>
void read_value(const pb::Message& message, T& value, const Path& path);

struct Reader {
  const pb::Message& message;
  const pb::Reflection& reflection;
  const pb::FieldDescriptor* field;
};

template <class T>
void read_item(const Reader& from, T& item, int index, const Path& path) {
  const auto& [message, reflection, field] = from;
  if constexpr (NamedEnum<T>) {
    item = enumerator_of<T>(*field->enum_type(),
                            reflection.GetRepeatedEnumValue(message, field, index), path);
  } else if constexpr (std::same_as<T, Bytes>) {
    item.value = checked_bytes(reflection.GetRepeatedUInt64(message, field, index), path);
  } else if constexpr (std::same_as<T, int>) {
    item = checked_count(reflection.GetRepeatedInt32(message, field, index), path);
  } else if constexpr (std::same_as<T, std::string>) {
    std::string scratch;
    item =
        checked_text(reflection.GetRepeatedStringReference(message, field, index, &scratch), path);
  } else {
    read_value(reflection.GetRepeatedMessage(message, field, index), item, path);
  }
}

template <class T>
void read_field(const Reader& from, T& value, const Path& path) {
  const auto& [message, reflection, field] = from;
  if constexpr (Sequence<T>) {
    const int count = reflection.FieldSize(message, field);
    value.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i)
      read_item(from, value.emplace_back(), i, {path.parent, path.name, i});
  } else if constexpr (Optional<T>) {
    if (reflection.HasField(message, field)) read_field(from, value.emplace(), path);
  } else {
    if (field->has_presence() && !reflection.HasField(message, field)) {
      if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE) fail(path, "is missing");
      return;  // an optional scalar keeps the vocabulary's default
    }
    if constexpr (NamedEnum<T>) {
      value = enumerator_of<T>(*field->enum_type(), reflection.GetEnumValue(message, field), path);
    } else if constexpr (std::same_as<T, bool>) {
      value = reflection.GetBool(message, field);
    } else if constexpr (std::same_as<T, int>) {
      value = checked_count(reflection.GetInt32(message, field), path);
    } else if constexpr (std::same_as<T, std::uint64_t>) {
      value = reflection.GetUInt64(message, field);
    } else if constexpr (std::same_as<T, double>) {
      value = reflection.GetDouble(message, field);
      if (!std::isfinite(value) || value < 0) fail(path, "must be a finite number of at least 0");
    } else if constexpr (std::same_as<T, Bytes>) {
      value.value = checked_bytes(reflection.GetUInt64(message, field), path);
    } else if constexpr (std::same_as<T, std::chrono::nanoseconds>) {
      value = std::chrono::nanoseconds(checked_count(reflection.GetInt64(message, field), path));
    } else if constexpr (std::same_as<T, std::string>) {
      std::string scratch;
      value = checked_text(reflection.GetStringReference(message, field, &scratch), path);
    } else {
      read_value(reflection.GetMessage(message, field), value, path);
    }
  }
}

template <class T>
void read_value(const pb::Message& message, T& value, const Path& path) {
  const auto& fields = fields_of<T>(*message.GetDescriptor());
  const pb::Reflection& reflection = *message.GetReflection();
  std::size_t next = 0;
  visit_fields(value, [&](std::string_view name, auto& field) {
    read_field(Reader{message, reflection, fields[next++]}, field, {&path, name});
  });
  check_whole(value, path);
}

}  // namespace

template <class T>
void write_message(const T& value, message_of<T>& message) {
  write_value(value, message);
}

template <class T>
T read_message(const message_of<T>& message, std::string_view where) {
  T value{};
  read_value(message, value, Path{nullptr, where});
  return value;
}

// clang-format off
template void write_message(const Problem&, v1::Problem&);
template void write_message(const Topology&, v1::Topology&);
template void write_message(const TuningKey&, v1::TuningKey&);
template void write_message(const Variant&, v1::Variant&);
template void write_message(const Limits&, v1::Limits&);
template void write_message(const RankedVariant&, v1::RankedVariant&);
template void write_message(const Decision&, v1::Decision&);
template void write_message(const Generation&, v1::Generation&);
template void write_message(const Environment&, v1::Environment&);
template void write_message(const WorldMembers&, v1::WorldMembers&);
template void write_message(const Composition&, v1::Composition&);
template void write_message(const LookupQuery&, v1::LookupQuery&);
template void write_message(const LookupAnswer&, v1::LookupAnswer&);
template Problem read_message<Problem>(const v1::Problem&, std::string_view);
template Topology read_message<Topology>(const v1::Topology&, std::string_view);
template TuningKey read_message<TuningKey>(const v1::TuningKey&, std::string_view);
template Variant read_message<Variant>(const v1::Variant&, std::string_view);
template Limits read_message<Limits>(const v1::Limits&, std::string_view);
template RankedVariant read_message<RankedVariant>(const v1::RankedVariant&, std::string_view);
template Decision read_message<Decision>(const v1::Decision&, std::string_view);
template Generation read_message<Generation>(const v1::Generation&, std::string_view);
template Environment read_message<Environment>(const v1::Environment&, std::string_view);
template WorldMembers read_message<WorldMembers>(const v1::WorldMembers&, std::string_view);
template Composition read_message<Composition>(const v1::Composition&, std::string_view);
template LookupQuery read_message<LookupQuery>(const v1::LookupQuery&, std::string_view);
template LookupAnswer read_message<LookupAnswer>(const v1::LookupAnswer&, std::string_view);
// clang-format on

}  // namespace colltune
