// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// The conversion follows visit_fields and the descriptors: a field of the vocabulary is the field
// of the same name in the message, an enumerator `ring` of `SomeKind` is SOME_KIND_RING. Nothing is
// listed twice. Where a field stands in its message is looked up once per type, so that a field
// costs some ten nanoseconds; it is the same in all pools that have the message. Where a list
// cannot be a field of its own (within a list, or optional), it is a message whose one field is
// that list.

#include "colltune/wire/fields.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <array>
#include <cctype>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "colltune/vocabulary/annotation/annotation.h"
#include "colltune/vocabulary/canonical.h"
#include "colltune/vocabulary/field_limits.h"
#include "colltune/wire/calls.h"

namespace colltune {
namespace {

namespace pb = google::protobuf;

using Path = FieldPath;

[[noreturn]] void fail(const Path& path, const std::string& what) {
  throw Error(StatusCode::invalid_argument, path.text() + ": " + what);
}

// ---- descriptors ------------------------------------------------------------------------------

/// The index of a field in its message.
int index_of(const pb::Descriptor& descriptor, std::string_view name) {
  const auto* const field = descriptor.FindFieldByName(std::string(name));
  if (field == nullptr)
    throw Error(StatusCode::internal,
                "message " + descriptor.full_name() + " lacks field '" + std::string(name) + "'");
  return field->index();
}

/// The indices of the message's fields in the order of visit_fields.
template <class T>
const std::vector<int>& fields_of(const pb::Descriptor& descriptor) {
  static const std::vector<int> fields = [&] {
    std::vector<int> found;
    static const T value{};
    visit_fields(value, [&](std::string_view name, const auto&) {
      found.push_back(index_of(descriptor, name));
    });
    return found;
  }();
  return fields;
}

/// Variants have no visit_fields, since a parameter's value is one of two fields.
struct VariantFields {
  const pb::FieldDescriptor* implementation;
  const pb::FieldDescriptor* parameters;
  const pb::FieldDescriptor* name;
  const pb::FieldDescriptor* number;
  const pb::FieldDescriptor* word;
};

VariantFields variant_fields(const pb::Descriptor& descriptor) {
  static const auto variant =
      std::array{index_of(descriptor, "implementation"), index_of(descriptor, "parameters")};
  const auto* const parameters = descriptor.field(variant[1]);
  const pb::Descriptor& of_one = *parameters->message_type();
  static const auto parameter =
      std::array{index_of(of_one, "name"), index_of(of_one, "number"), index_of(of_one, "word")};
  return {.implementation = descriptor.field(variant[0]),
          .parameters = parameters,
          .name = of_one.field(parameter[0]),
          .number = of_one.field(parameter[1]),
          .word = of_one.field(parameter[2])};
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

/// A request or response, or a part of it that the vocabulary does not have.
template <class T>
concept Call = std::derived_from<T, calls::OfACall>;

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
  const pb::Reflection& reflection = *message.GetReflection();
  const VariantFields fields = variant_fields(*message.GetDescriptor());
  reflection.SetString(&message, fields.implementation, variant.implementation);
  for (const auto& parameter : variant.parameters) {
    pb::Message& written = *reflection.AddMessage(&message, fields.parameters);
    const pb::Reflection& of_one = *written.GetReflection();
    of_one.SetString(&written, fields.name, parameter.name);
    if (const auto* number = std::get_if<std::int64_t>(&parameter.value))
      of_one.SetInt64(&written, fields.number, *number);
    else
      of_one.SetString(&written, fields.word, std::get<std::string>(parameter.value));
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
    if constexpr (MayBeEmpty<T>)
      if (is_empty_field(value)) return;
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
  } else if constexpr (std::same_as<T, std::uint64_t>) {
    reflection.AddUInt64(&message, field, item);
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
  const pb::Descriptor& descriptor = *message.GetDescriptor();
  const std::vector<int>& fields = fields_of<T>(descriptor);
  const pb::Reflection& reflection = *message.GetReflection();
  std::size_t next = 0;
  visit_fields(value, [&](std::string_view, const auto& field) {
    write_field(Writer{message, reflection, descriptor.field(fields[next++])}, field);
  });
}

// ---- reading ----------------------------------------------------------------------------------

void read_text(const pb::Message& message, const pb::FieldDescriptor* field,
               const FieldLimits& limits, const Path& path, std::string& text) {
  std::string scratch;
  const auto& read = message.GetReflection()->GetStringReference(message, field, &scratch);
  check_text(read, limits, path);  // before it is copied
  text = read;
}

void read_parameter(const pb::Message& message, const VariantFields& fields, Parameter& parameter,
                    const Path& path) {
  const pb::Reflection& reflection = *message.GetReflection();
  const FieldLimits limits;
  read_text(message, fields.name, limits, {&path, "name"}, parameter.name);
  if (reflection.HasField(message, fields.number))
    parameter.value = reflection.GetInt64(message, fields.number);
  else if (reflection.HasField(message, fields.word))
    read_text(message, fields.word, limits, {&path, "word"},
              parameter.value.emplace<std::string>());
  else
    fail(path, "has no value; give number or word");
}

void read_value(const pb::Message& message, Variant& variant, const Path& path) {
  const pb::Reflection& reflection = *message.GetReflection();
  const VariantFields fields = variant_fields(*message.GetDescriptor());
  const FieldLimits limits;
  const int count = reflection.FieldSize(message, fields.parameters);
  check_entries(static_cast<std::size_t>(count), limits, {&path, "parameters"});
  read_text(message, fields.implementation, limits, {&path, "implementation"},
            variant.implementation);
  variant.parameters.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i)
    read_parameter(reflection.GetRepeatedMessage(message, fields.parameters, i), fields,
                   variant.parameters.emplace_back(), {&path, "parameters", i});
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
  } else if constexpr (std::same_as<T, std::uint64_t>) {
    item = reflection.GetRepeatedUInt64(message, field, index);
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
      read_text(message, field, limits, path, value);
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
  const pb::Descriptor& descriptor = *message.GetDescriptor();
  const std::vector<int>& fields = fields_of<T>(descriptor);
  const pb::Reflection& reflection = *message.GetReflection();
  std::size_t next = 0;
  visit_fields(value, [&](std::string_view name, auto& field) {
    read_field(
        Reader{message, reflection, descriptor.field(fields[next++]), limits_of_field<T>(name)},
        field, {&path, name});
  });
}

// ---- checking ---------------------------------------------------------------------------------

/// Checks the vocabulary's values in a response; the response's own fields were checked when read.
template <class T>
void check_parts([[maybe_unused]] const T& value, [[maybe_unused]] const Path& path) {
  if constexpr (Call<T>) {
    visit_fields(value, [&](std::string_view name, const auto& field) {
      check_parts(field, {&path, name});
    });
  } else if constexpr (Optional<T>) {
    if (value) check_parts(*value, path);
  } else if constexpr (Sequence<T>) {
    for (std::size_t i = 0; i < value.size(); ++i)
      check_parts(value[i], {path.parent, path.name, static_cast<int>(i)});
  } else if constexpr (Described<const T>) {
    check_value(value, path);
  }
}

}  // namespace

template <class T>
void write_fields(const T& value, pb::Message& message) {
  write_value(value, message);
}

template <class T>
T read_fields(const pb::Message& message, std::string_view where) {
  T value{};
  const Path path{nullptr, where};
  read_value(message, value, path);
  if constexpr (Call<T>)
    check_parts(value, path);
  else
    check_value(value, path);
  return value;
}

// clang-format off
template void write_fields(const Problem&, pb::Message&);
template void write_fields(const Topology&, pb::Message&);
template void write_fields(const TuningKey&, pb::Message&);
template void write_fields(const Variant&, pb::Message&);
template void write_fields(const Limits&, pb::Message&);
template void write_fields(const RankedVariant&, pb::Message&);
template void write_fields(const Decision&, pb::Message&);
template void write_fields(const Generation&, pb::Message&);
template void write_fields(const Environment&, pb::Message&);
template void write_fields(const WorldMembers&, pb::Message&);
template void write_fields(const Composition&, pb::Message&);
template void write_fields(const VariantFit&, pb::Message&);
template void write_fields(const LookupQuery&, pb::Message&);
template void write_fields(const LookupAnswer&, pb::Message&);
template void write_fields(const ApplySettings&, pb::Message&);
template void write_fields(const AnnotatedProgram&, pb::Message&);
template void write_fields(const Annotation&, pb::Message&);
template Problem read_fields<Problem>(const pb::Message&, std::string_view);
template Topology read_fields<Topology>(const pb::Message&, std::string_view);
template TuningKey read_fields<TuningKey>(const pb::Message&, std::string_view);
template Variant read_fields<Variant>(const pb::Message&, std::string_view);
template Limits read_fields<Limits>(const pb::Message&, std::string_view);
template RankedVariant read_fields<RankedVariant>(const pb::Message&, std::string_view);
template Decision read_fields<Decision>(const pb::Message&, std::string_view);
template Generation read_fields<Generation>(const pb::Message&, std::string_view);
template Environment read_fields<Environment>(const pb::Message&, std::string_view);
template WorldMembers read_fields<WorldMembers>(const pb::Message&, std::string_view);
template Composition read_fields<Composition>(const pb::Message&, std::string_view);
template VariantFit read_fields<VariantFit>(const pb::Message&, std::string_view);
template LookupQuery read_fields<LookupQuery>(const pb::Message&, std::string_view);
template LookupAnswer read_fields<LookupAnswer>(const pb::Message&, std::string_view);
template ApplySettings read_fields<ApplySettings>(const pb::Message&, std::string_view);
template AnnotatedProgram read_fields<AnnotatedProgram>(const pb::Message&, std::string_view);
template Annotation read_fields<Annotation>(const pb::Message&, std::string_view);

template void write_fields(const calls::LookupRequest&, pb::Message&);
template void write_fields(const calls::BatchLookupRequest&, pb::Message&);
template void write_fields(const calls::GetTableRequest&, pb::Message&);
template void write_fields(const calls::GetGenerationRequest&, pb::Message&);
template void write_fields(const calls::AnnotateRequest&, pb::Message&);
template calls::LookupResponse read_fields<calls::LookupResponse>(const pb::Message&, std::string_view);
template calls::BatchLookupResponse read_fields<calls::BatchLookupResponse>(const pb::Message&, std::string_view);
template calls::GetTableResponse read_fields<calls::GetTableResponse>(const pb::Message&, std::string_view);
template calls::GetGenerationResponse read_fields<calls::GetGenerationResponse>(const pb::Message&, std::string_view);
template calls::AnnotateResponse read_fields<calls::AnnotateResponse>(const pb::Message&, std::string_view);
// clang-format on

}  // namespace colltune
