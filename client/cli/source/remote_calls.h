// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "colltune/vocabulary/annotation/annotation.h"
#include "colltune/vocabulary/decision_set.h"
#include "colltune/vocabulary/lookup.h"

namespace colltune {

/// What asks a colltuned, in a library of its own that is loaded at the first question: loading
/// gRPC takes longer than most commands, and few of them need it. Both are of one build. The
/// functions throw Error.
struct RemoteCalls {
  /// `guess` is how the environment was guessed; empty: it was not.
  FoundAnswer (*look_up)(const std::string& address, const LookupQuery& query, std::string& guess);
  DecisionSet (*fetch)(const std::string& address, const std::optional<std::uint64_t>& generation);
  std::vector<Annotation> (*annotate)(const std::string& address, const AnnotatedProgram& program);
};

/// The name of the library's only function.
constexpr const char* remote_calls_name = "colltune_remote_calls";

}  // namespace colltune

/// The result lives as long as the library.
extern "C" [[gnu::visibility("default")]] const colltune::RemoteCalls* colltune_remote_calls();
