// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "colltune/kernels/communication/subgroups.h"
#include "colltune/kernels/operation.h"
#include "plain_calls.h"

namespace colltune {

/// `call`, a mesh_reduce over the ranks of `ranks`, by plain calls: an all_reduce for each step,
/// one after the other, each in `wait`. Communicators come from `ranks`, which makes each partition
/// once. With a capacity it takes calls of any size and type over the same mesh
/// (Operation::rebind). Collective; throws Error on all ranks or none, except for RankMissing.
[[nodiscard]] std::unique_ptr<Operation> make_step_chain(Subgroups& ranks, const Call& call,
                                                         const PlainWay& way);

}  // namespace colltune
