// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "mesh_layout.h"

#include <algorithm>

#include "arithmetic/round_up.h"

namespace colltune {
namespace {

/// Bytes of the largest element.
constexpr std::uint64_t largest_element = 8;

/// Why not all steps are one reduction of `type`; empty if the form does not ask for that.
std::string why_not_of(const Problem& problem, const MeshForm& form, DataType type) {
  // In sequence each step is as the caller asks for it.
  if (!form.is_merged) return {};
  return merge_steps(*problem.mesh, type).why_not;
}

}  // namespace

MeshLayout::MeshLayout(const Problem& problem, const MeshForm& form, int rank)
    : shares_(static_cast<std::size_t>(form.shares)),
      is_registered_(problem.registered),
      was_padded_(form.padded != problem.message_size),
      why_not_integers_(why_not_of(problem, form, DataType::i32)),
      why_not_floats_(why_not_of(problem, form, DataType::f32)) {
  for (const MeshCall& call : form.calls)
    calls_.push_back({call.problem.collective, call.on_share});
  const auto own = static_cast<std::size_t>(rank);
  if (shares_ > 1) {
    const auto groups = ranks_by_group(form.sharing);
    const auto& members = groups[static_cast<std::size_t>(form.sharing[own])];
    place_ = static_cast<std::size_t>(std::ranges::find(members, rank) - members.begin());
  }
  is_alone_ = form.calls.empty() || std::ranges::count(form.calls[0].group_of_rank,
                                                       form.calls[0].group_of_rank[own]) == 1;
}

Bytes MeshLayout::padded(Bytes size, DataType type) const {
  if (shares_ == 1) return size;
  return {round_up(size.value, shares_ * size_of(type))};
}

Bytes MeshLayout::most_padded(Bytes size) const {
  if (shares_ == 1) return size;
  return {round_up(size.value, shares_ * largest_element)};
}

Bytes MeshLayout::size_of_call(std::size_t index, Bytes padded) const {
  return calls_[index].on_share ? Bytes{padded.value / shares_} : padded;
}

std::string MeshLayout::why_not(Bytes size, DataType type) const {
  const std::string& algebra = is_floating(type) ? why_not_floats_ : why_not_integers_;
  if (!algebra.empty()) return algebra;
  // What lies in memory of the operation's own is not registered.
  if (is_registered_ && (padded(size, type) != size) != was_padded_)
    return std::string("in registered buffers it was prepared for messages that are ") +
           (was_padded_ ? "no multiple of " : "a multiple of ") + std::to_string(shares_) +
           " elements";
  return {};
}

MeshLayout::Buffers MeshLayout::buffers_of(const Call& call, std::span<std::byte> padding) const {
  const Bytes size = padded(call.problem.message_size, call.problem.data_type);
  const bool is_padded = size != call.problem.message_size;
  Buffers buffers{.whole = call.buffers.receive, .input = call.buffers.send};
  if (is_padded) {
    buffers.whole = padding.first(size.value);
    buffers.input = buffers.whole;
  }
  buffers.first_in_place = call.problem.in_place || is_padded;
  // A group of one rank has no first collective, so its input is copied.
  buffers.copies_in = is_padded || (is_alone_ && !buffers.first_in_place);
  buffers.copies_out = is_padded;
  const std::size_t share = buffers.whole.size() / shares_;
  buffers.share = buffers.whole.subspan(place_ * share, share);
  return buffers;
}

void MeshLayout::set(std::size_t index, const Problem& whole, const Buffers& buffers,
                     Call& call) const {
  const Collected& one = calls_[index];
  const bool is_first = index == 0;
  call.problem.data_type = whole.data_type;
  call.problem.message_size = size_of_call(index, {buffers.whole.size()});
  call.problem.in_place = !is_first || buffers.first_in_place;
  const std::span<const std::byte> from = is_first && !buffers.first_in_place
                                              ? buffers.input
                                              : std::span<const std::byte>(buffers.whole);
  if (one.on_share)
    call.buffers = {buffers.share, buffers.share};
  else if (one.collective == Collective::reduce_scatter)
    call.buffers = {from, buffers.share};
  else if (one.collective == Collective::all_gather)
    call.buffers = {buffers.share, buffers.whole};
  else
    call.buffers = {from, buffers.whole};
}

}  // namespace colltune
