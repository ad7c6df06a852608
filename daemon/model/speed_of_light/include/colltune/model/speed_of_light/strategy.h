// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "colltune/model/speed_of_light/device.h"
#include "colltune/vocabulary/collective.h"
#include "colltune/vocabulary/variant.h"

namespace colltune::speed_of_light {

/// What is modelled: the collectives that XLA's estimator knows.
enum class Kind {
  all_reduce = 0,
  all_gather = 1,
  reduce_scatter = 2,
  all_to_all = 3,
  send_recv = 4,
};
constexpr std::array<Named<Kind>, 5> enum_names(Kind) {
  return {{{Kind::all_reduce, "all_reduce"},
           {Kind::all_gather, "all_gather"},
           {Kind::reduce_scatter, "reduce_scatter"},
           {Kind::all_to_all, "all_to_all"},
           {Kind::send_recv, "send_recv"}}};
}
constexpr std::string_view enum_title(Kind) { return "kind of collective"; }

/// How a collective runs: by a kernel of XLA, or as the library (NCCL, RCCL) does.
enum class Strategy { standard = 0, one_shot = 1, two_shot = 2, multimem = 3 };
constexpr std::array<Named<Strategy>, 4> enum_names(Strategy) {
  return {{{Strategy::standard, "default"},
           {Strategy::one_shot, "one_shot"},
           {Strategy::two_shot, "two_shot"},
           {Strategy::multimem, "multimem"}}};
}
constexpr std::string_view enum_title(Strategy) { return "strategy"; }

/// One collective among the ranks of one communicator.
struct Call {
  Kind kind = Kind::all_reduce;
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
