// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "colltune/model/speed_of_light/device.h"
#include "colltune/vocabulary/annotation/annotation.h"
#include "colltune/vocabulary/collective.h"
#include "colltune/vocabulary/variant.h"

namespace colltune::speed_of_light {

/// One collective among the ranks of one communicator.
struct Call {
  EntryKind kind = EntryKind::all_reduce;
  Bytes message;
  DataType data_type = DataType::f32;
  ReduceOp reduce_op = ReduceOp::sum;
  int ranks = 1;  ///< of the largest group
  bool is_on_one_host = true;
  bool has_equal_groups = true;
};

/// XLA's own limits of a kernel (all_reduce.cc, openxla 183fa00cb5), in the form in which every
/// variant of the catalogue states its limits: 2 to 8 ranks; f32, bf16, f64, i32, i64; sum, prod,
/// max, min; one_shot at most 256 KiB, two_shot and multimem at most 4 MiB. Our own kernels run
/// more than that, and state their own. (XLA also takes PRED with or and and, which are no types
/// and operators here.)
[[nodiscard]] Limits xla_limits(Strategy strategy);

/// Whether the size counts where a call is judged: it does not for a strategy that is given, since
/// then nothing is to be derived from the size again.
enum class SizeRule { counts, is_ignored };

/// Empty where a kernel of XLA can run `call` on `device`, else the reason for a person. The one
/// test of that: ranks, types, operators and sizes by why_outside, which the kernels' own
/// `supports` and the lookups use, with xla_limits; and a power of two of ranks, one host, equal
/// groups, links, sm_90 or later, or ROCm.
[[nodiscard]] std::string why_not_eligible(Strategy strategy, const Call& call,
                                           const Device& device, SizeRule sizes = SizeRule::counts);

/// What XLA's size rule takes: two_shot above one_shot's largest message, else multimem where the
/// device has it, else one_shot.
[[nodiscard]] Strategy strategy_of_size(Bytes message, bool has_multimem);

}  // namespace colltune::speed_of_light
