// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// The conversion follows visit_fields and the descriptors: a field of the vocabulary is the field
// of the same name in the message, an enumerator `ring` of `SomeKind` is SOME_KIND_RING. Nothing is
// listed twice. Descriptors are looked up once per type, so that a field costs some ten
// nanoseconds. Where a list cannot be a field of its own (within a list, or optional), it is a
// message whose one field is that list.

#include "colltune/wire/convert.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cctype>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "colltune/vocabulary/annotation/annotation.h"
#include "colltune/vocabulary/canonical.h"
#include "colltune/vocabulary/field_limits.h"

namespace colltune {
namespace {

namespace pb = google::protobuf;

using Path = FieldPath;

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
template <class T>
concept OptionalSequence = Optional<T> && Sequence<typename T::value_type>;

/// The one field of a message that stands for a list.
const pb::FieldDescriptor* list_of(const pb::Message& message) {
  const pb::Descriptor& descriptor = *message.GetDescriptor();
  if (descriptor.field_count() != 1 || !descriptor.field(0)->is_repeated())
    throw Error(StatusCode::internal, "message " + descriptor.full_name() + " is no list");
  return descriptor.field(0);
}

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
void write_list(const T& items, pb::Message& message);

template <class T>
void write_field(const Writer& to, const T& value) {
  auto& [message, reflection, field] = to;
  if constexpr (OptionalSequence<T>) {
    if (value) write_list(*value, *reflection.MutableMessage(&message, field));
  } else if constexpr (Optional<T>) {
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
  } else if constexpr (std::same_as<T, Microseconds>) {
    reflection.SetDouble(&message, field, value.count());
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
  } else if constexpr (Sequence<T>) {
    write_list(item, *reflection.AddMessage(&message, field));
  } else {
    write_value(item, *reflection.AddMessage(&message, field));
  }
}

template <class T>
void write_list(const T& items, pb::Message& message) {
  write_field(Writer{message, *message.GetReflection(), list_of(message)}, items);
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

void read_value(const pb::Message& message, Variant& variant, const Path& path) {
  const auto& in = static_cast<const v1::Variant&>(message);
  const FieldLimits limits;
  check_entries(static_cast<std::size_t>(in.parameters_size()), limits, {&path, "parameters"});
  check_text(in.implementation(), limits, {&path, "implementation"});
  variant.implementation = in.implementation();
  variant.parameters.reserve(static_cast<std::size_t>(in.parameters_size()));
  for (int i = 0; i < in.parameters_size(); ++i) {
    const auto& parameter = in.parameters(i);
    const Path here{&path, "parameters", i};
    Parameter& read = variant.parameters.emplace_back();
    check_text(parameter.name(), limits, {&here, "name"});
    read.name = parameter.name();
    switch (parameter.value_case()) {
      case v1::Parameter::kNumber:
        read.value = parameter.number();
        break;
      case v1::Parameter::kWord:
        check_text(parameter.word(), limits, {&here, "word"});
        read.value = parameter.word();
        break;
      case v1::Parameter::VALUE_NOT_SET:
        fail(here, "has no value; give number or word");
    }
  }
}

template <class T>
void read_value(const pb::Message& message, T& value, const Path& path);

struct Reader {
  const pb::Message& message;
  const pb::Reflection& reflection;
  const pb::FieldDescriptor* field;
  FieldLimits limits;
};

template <class T>
void read_list(const pb::Message& message, T& items, const FieldLimits& limits, const Path& path);

template <class T>
void read_item(const Reader& from, T& item, int index, const Path& path) {
  const auto& [message, reflection, field, limits] = from;
  if constexpr (NamedEnum<T>) {
    item = enumerator_of<T>(*field->enum_type(),
                            reflection.GetRepeatedEnumValue(message, field, index), path);
  } else if constexpr (std::same_as<T, Bytes>) {
    item.value = reflection.GetRepeatedUInt64(message, field, index);
  } else if constexpr (std::same_as<T, int>) {
    item = reflection.GetRepeatedInt32(message, field, index);
  } else if constexpr (std::same_as<T, std::string>) {
    std::string scratch;
    const auto& text = reflection.GetRepeatedStringReference(message, field, index, &scratch);
    check_text(text, limits, path);  // before it is copied
    item = text;
  } else if constexpr (Sequence<T>) {
    read_list(reflection.GetRepeatedMessage(message, field, index), item, limits, {&path, ""});
  } else {
    read_value(reflection.GetRepeatedMessage(message, field, index), item, path);
  }
}

template <class T>
void read_field(const Reader& from, T& value, const Path& path) {
  const auto& [message, reflection, field, limits] = from;
  if constexpr (Sequence<T>) {
    const int count = reflection.FieldSize(message, field);
    check_entries(static_cast<std::size_t>(count), limits, path);
    value.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i)
      read_item(from, value.emplace_back(), i, {path.parent, path.name, i});
  } else if constexpr (OptionalSequence<T>) {
    if (reflection.HasField(message, field))
      read_list(reflection.GetMessage(message, field), value.emplace(), limits, path);
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
      value = reflection.GetInt32(message, field);
    } else if constexpr (std::same_as<T, std::uint64_t>) {
      value = reflection.GetUInt64(message, field);
    } else if constexpr (std::same_as<T, double>) {
      value = reflection.GetDouble(message, field);
    } else if constexpr (std::same_as<T, Microseconds>) {
      value = Microseconds(reflection.GetDouble(message, field));
    } else if constexpr (std::same_as<T, Bytes>) {
      value.value = reflection.GetUInt64(message, field);
    } else if constexpr (std::same_as<T, std::chrono::nanoseconds>) {
      value = std::chrono::nanoseconds(reflection.GetInt64(message, field));
    } else if constexpr (std::same_as<T, std::string>) {
      std::string scratch;
      const auto& text = reflection.GetStringReference(message, field, &scratch);
      check_text(text, limits, path);  // before it is copied
      value = text;
    } else {
      read_value(reflection.GetMessage(message, field), value, path);
    }
  }
}

template <class T>
void read_list(const pb::Message& message, T& items, const FieldLimits& limits, const Path& path) {
  read_field(Reader{message, *message.GetReflection(), list_of(message), limits}, items, path);
}

template <class T>
void read_value(const pb::Message& message, T& value, const Path& path) {
  const auto& fields = fields_of<T>(*message.GetDescriptor());
  const pb::Reflection& reflection = *message.GetReflection();
  std::size_t next = 0;
  visit_fields(value, [&](std::string_view name, auto& field) {
    read_field(Reader{message, reflection, fields[next++], limits_of_field<T>(name)}, field,
               {&path, name});
  });
}

}  // namespace

template <class T>
void write_message(const T& value, message_of<T>& message) {
  write_value(value, message);
}

template <class T>
T read_message(const message_of<T>& message, std::string_view where) {
  T value{};
  const Path path{nullptr, where};
  read_value(message, value, path);
  check_value(value, path);
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
template void write_message(const ApplySettings&, v1::ApplySettings&);
template void write_message(const AnnotatedProgram&, v1::AnnotatedProgram&);
template void write_message(const Annotation&, v1::Annotation&);
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
template ApplySettings read_message<ApplySettings>(const v1::ApplySettings&, std::string_view);
template AnnotatedProgram read_message<AnnotatedProgram>(const v1::AnnotatedProgram&, std::string_view);
template Annotation read_message<Annotation>(const v1::Annotation&, std::string_view);
// clang-format on

}  // namespace colltune
