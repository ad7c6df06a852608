// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "colltune/v1/vocabulary.pb.h"
#include "colltune/vocabulary/annotation/annotation.h"
#include "colltune/vocabulary/environment.h"
#include "colltune/vocabulary/fits/variant_fit.h"
#include "colltune/vocabulary/lookup.h"
#include "colltune/vocabulary/world_members.h"
#include "colltune/wire/fields.h"

namespace colltune {

/// The message that carries a vocabulary type. A new type needs one line here and one in
/// fields.cpp; a new field of a known type needs none.
template <class T>
struct MessageOf;
// clang-format off
template <> struct MessageOf<Problem> { using type = v1::Problem; };
template <> struct MessageOf<Topology> { using type = v1::Topology; };
template <> struct MessageOf<TuningKey> { using type = v1::TuningKey; };
template <> struct MessageOf<Variant> { using type = v1::Variant; };
template <> struct MessageOf<Limits> { using type = v1::Limits; };
template <> struct MessageOf<RankedVariant> { using type = v1::RankedVariant; };
template <> struct MessageOf<Decision> { using type = v1::Decision; };
template <> struct MessageOf<Generation> { using type = v1::Generation; };
template <> struct MessageOf<Environment> { using type = v1::Environment; };
template <> struct MessageOf<WorldMembers> { using type = v1::WorldMembers; };
template <> struct MessageOf<Composition> { using type = v1::Composition; };
template <> struct MessageOf<VariantFit> { using type = v1::VariantFit; };
template <> struct MessageOf<LookupQuery> { using type = v1::LookupQuery; };
template <> struct MessageOf<LookupAnswer> { using type = v1::LookupAnswer; };
template <> struct MessageOf<ApplySettings> { using type = v1::ApplySettings; };
template <> struct MessageOf<AnnotatedProgram> { using type = v1::AnnotatedProgram; };
template <> struct MessageOf<Annotation> { using type = v1::Annotation; };
// clang-format on
template <class T>
using message_of = typename MessageOf<T>::type;

/// write_fields for the generated code's message.
template <class T>
void write_message(const T& value, message_of<T>& message) {
  write_fields(value, message);
}

/// read_fields for the generated code's message.
template <class T>
[[nodiscard]] T read_message(const message_of<T>& message, std::string_view where) {
  return read_fields<T>(message, where);
}

}  // namespace colltune
