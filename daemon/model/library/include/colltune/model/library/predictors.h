// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "colltune/vocabulary/annotation/annotation.h"
#include "colltune/vocabulary/field_limits.h"

namespace colltune::library_models {

/// The models that a program or an entry may name, the first being the default:
/// "xla, nccl-2.30.7-symmetric, nccl-2.30.7-classic".
[[nodiscard]] std::string predictor_names();

/// What the models say of a program's collectives, in their order: each by the model that it names,
/// else by the program's, else by the first of predictor_names(). NCCL's models answer with
/// strategy `default` and source `library`, with the algorithm or kernel that NCCL takes behind the
/// model's name, and between start and done: its calls cost 1 us on their node.
///
/// Throws Error whose message begins with the path of the field or entry below `where`
/// ("program.collectives[3]: collective 'x': …"): invalid_argument for what is not allowed, an
/// unknown model among it; failed_precondition where a chosen strategy cannot run or a model has no
/// figures for the entry; out_of_range where a device's figures give no finite time.
[[nodiscard]] std::vector<Annotation> annotate(const AnnotatedProgram& program,
                                               const FieldPath& where);

}  // namespace colltune::library_models
