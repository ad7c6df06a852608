// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The stages of each collective by groups, as buffers and copies. Averages are sums that leaders
// divide after the bridge. A rank's "slot" is its block among those of the bridge, where each group
// has as many slots as the largest group has ranks. A slot without a rank holds zeros, which enter
// no result.

#include "grouped_layout.h"

#include <span>
#include <utility>

namespace colltune {
namespace {

class LayoutWriter {
 public:
  LayoutWriter(const Call& call, const Groups& groups, int rank, Device* device,
               StageMemory& memory, GroupedLayout& layout)
      : device_(device),
        memory_(memory),
        call_(call),
        groups_(groups),
        rank_(rank),
        group_(groups.group_of(rank)),
        own_ranks_(groups.of_group(group_)),
        is_leader_(groups.leader(group_) == rank),
        is_root_(shape_of(call.problem.collective).has_root && call.root == rank),
        is_inside_(own_ranks_.size() > 1),
        ranks_(static_cast<std::size_t>(groups.ranks())),
        slots_(static_cast<std::size_t>(groups.largest())),
        block_(block_elements(call.problem, groups.ranks()) * size_of(call.problem.data_type)),
        layout_(layout) {}

  void write() {
    switch (call_.problem.collective) {
      case Collective::all_reduce:
        write_all_reduce();
        break;
      case Collective::all_gather:
        write_all_gather();
        break;
      case Collective::reduce_scatter:
        write_reduce_scatter();
        break;
      case Collective::broadcast:
        write_broadcast();
        break;
      case Collective::reduce:
        write_reduce();
        break;
      case Collective::all_to_all:
        write_all_to_all();
        break;
      case Collective::gather:
        write_gather();
        break;
      case Collective::scatter:
        write_scatter();
        break;
    }
  }

 private:
  using Memory = std::span<std::byte>;
  using Input = std::span<const std::byte>;

  /// Zeroed memory that the operation owns; nothing on ranks that lead no group.
  Memory of_leader(std::size_t bytes) {
    return is_leader_ ? memory_.add({bytes}, device_) : Memory{};
  }
  [[nodiscard]] std::size_t own_size() const { return own_ranks_.size() * block_; }
  [[nodiscard]] std::size_t bridge_size() const {
    return static_cast<std::size_t>(groups_.count()) * slots_ * block_;
  }
  /// The slots of this rank's group within `all`.
  [[nodiscard]] Memory own_slots(Memory all) const {
    return all.subspan(static_cast<std::size_t>(group_) * slots_ * block_, slots_ * block_);
  }

  /// Calls `act(rank, slot)` for each rank, group by group.
  template <class Act>
  void for_each_slot(Act act) const {
    for (std::size_t group = 0; group < groups_.members.size(); ++group)
      for (std::size_t place = 0; place < groups_.members[group].size(); ++place)
        act(static_cast<std::size_t>(groups_.members[group][place]), group * slots_ + place);
  }
  void put_into_slots(Copies& copies, Memory slots, Input by_rank) const {
    for_each_slot([&](std::size_t rank, std::size_t slot) {
      copies.add(slots.data() + slot * block_, by_rank.data() + rank * block_, block_);
    });
  }
  void take_from_slots(Copies& copies, Memory by_rank, Input slots) const {
    for_each_slot([&](std::size_t rank, std::size_t slot) {
      copies.add(by_rank.data() + rank * block_, slots.data() + slot * block_, block_);
    });
  }

  /// Gathers the group's inputs into `slots` of its leader.
  void gather_into(Memory slots) {
    if (is_inside_)
      layout_.before.buffers = {input_, is_leader_ ? slots.first(own_size()) : Memory{}};
    else
      layout_.before.copies.add(slots.data(), input_.data(), block_);
  }
  /// Scatters `slots` of the leader to its group.
  void scatter_from(Memory slots) {
    if (is_inside_)
      layout_.after.buffers = {is_leader_ ? slots.first(own_size()) : Memory{}, output_};
    else
      layout_.after.copies.add(output_.data(), slots.data(), block_);
  }
  /// Broadcasts the leader's output to its group.
  void hand_output_on() {
    if (is_inside_) layout_.after.buffers = {is_leader_ ? output_ : Memory{}, output_};
  }

  /// Divides what the bridge leaves in `sums`, if the collective averages.
  void average(Memory sums) {
    if (call_.problem.reduce_op == ReduceOp::avg)
      layout_.division = Division(sums, call_.problem.data_type, groups_.ranks(), device_);
  }

  void write_all_reduce() {
    Input sum = input_;
    if (is_inside_) {
      const Memory result = !call_.problem.in_place ? of_leader(block_)
                            : is_leader_            ? output_
                                                    : Memory{};
      layout_.before.buffers = {input_, result};
      sum = result;
    }
    if (is_leader_) layout_.bridge.buffers = {sum, output_};
    if (is_leader_) average(output_);
    hand_output_on();
  }

  void write_reduce() {
    Input sum = input_;
    if (is_inside_) {
      const Memory result = of_leader(block_);
      layout_.before.buffers = {input_, result};
      sum = result;
    } else if (is_root_ && call_.problem.in_place) {
      const Memory copy = of_leader(block_);
      layout_.before.copies.add(copy.data(), input_.data(), block_);
      sum = copy;
    }
    if (is_leader_) layout_.bridge.buffers = {sum, is_root_ ? output_ : Memory{}};
    if (is_root_) average(output_);
  }

  void write_broadcast() {
    if (is_leader_) layout_.bridge.buffers = {is_root_ ? input_ : Input{}, output_};
    hand_output_on();
  }

  void write_all_gather() {
    const Memory all = of_leader(bridge_size());
    const Memory own = is_leader_ ? own_slots(all) : Memory{};
    gather_into(own);
    if (is_leader_) {
      layout_.bridge.buffers = {own, all};
      take_from_slots(layout_.after.copies, output_, all);
    }
    hand_output_on();
  }

  void write_reduce_scatter() {
    Input sums = input_;
    if (is_inside_) {
      const Memory result = of_leader(ranks_ * block_);
      layout_.before.buffers = {input_, result};
      sums = result;
    }
    const Memory slots = of_leader(bridge_size());
    const Memory own = of_leader(slots_ * block_);
    if (is_leader_) {
      put_into_slots(layout_.bridge.copies, slots, sums);
      layout_.bridge.buffers = {slots, own};
      average(own);
    }
    scatter_from(own);
  }

  void write_gather() {
    const Memory all = is_root_ ? of_leader(bridge_size()) : Memory{};
    const Memory own = is_root_ ? own_slots(all) : of_leader(slots_ * block_);
    gather_into(own);
    if (is_leader_) layout_.bridge.buffers = {own, all};
    if (is_root_) take_from_slots(layout_.after.copies, output_, all);
  }

  void write_scatter() {
    const Memory all = is_root_ ? of_leader(bridge_size()) : Memory{};
    const Memory own = is_root_ ? own_slots(all) : of_leader(slots_ * block_);
    if (is_root_) put_into_slots(layout_.bridge.copies, all, input_);
    if (is_leader_) layout_.bridge.buffers = {all, own};
    scatter_from(own);
  }

  /// A row is what one rank of the group sends to all, or later what it receives from all. Between
  /// two groups there are as many rows as slots, and each row has a block for each slot of the
  /// other group.
  void write_all_to_all() {
    const std::size_t row = ranks_ * block_;
    Input sent = input_;
    Memory received = output_;
    if (is_inside_) {
      received = of_leader(own_ranks_.size() * row);
      layout_.before.buffers = {input_, received};
      layout_.after.buffers = {received, output_};
      sent = received;  // reused once its blocks are in their slots
    }
    const Memory to = of_leader(bridge_size() * slots_);
    const Memory from = of_leader(bridge_size() * slots_);
    if (!is_leader_) return;
    layout_.bridge.buffers = {to, from};
    for (std::size_t own = 0; own < own_ranks_.size(); ++own)
      for_each_slot([&](std::size_t rank, std::size_t slot) {
        const std::size_t in_row = own * row + rank * block_;
        const std::size_t group = slot / slots_;
        const std::size_t other = slot % slots_;
        layout_.bridge.copies.add(to.data() + ((group * slots_ + own) * slots_ + other) * block_,
                                  sent.data() + in_row, block_);
        layout_.after.copies.add(received.data() + in_row,
                                 from.data() + ((group * slots_ + other) * slots_ + own) * block_,
                                 block_);
      });
  }

  Device* device_;  ///< null: host memory
  StageMemory& memory_;
  const Call& call_;
  const Groups& groups_;
  int rank_;
  int group_;
  const std::vector<int>& own_ranks_;
  bool is_leader_;
  bool is_root_;
  bool is_inside_;  ///< the group has several ranks
  std::size_t ranks_;
  std::size_t slots_;  ///< of each group
  std::size_t block_;  ///< bytes
  Input input_ = call_.buffers.send;
  Memory output_ = call_.buffers.receive;
  GroupedLayout& layout_;
};

}  // namespace

void lay_out_groups(const Call& call, const Groups& groups, int rank, Device* device,
                    StageMemory& memory, GroupedLayout& layout) {
  LayoutWriter(call, groups, rank, device, memory, layout).write();
}

Bytes grouped_reserve(Collective collective, Bytes largest, const Groups& groups) {
  const auto ranks = static_cast<std::uint64_t>(groups.ranks());
  const auto slots = static_cast<std::uint64_t>(groups.largest());
  const std::uint64_t block =
      shape_of(collective).has_block_per_rank() ? largest.value / ranks : largest.value;
  const std::uint64_t across = static_cast<std::uint64_t>(groups.count()) * slots * block;
  const auto sum_of = [](auto... sizes) { return (Bytes{} + ... + StageMemory::rounded({sizes})); };
  switch (collective) {
    case Collective::all_reduce:
    case Collective::reduce:
      return sum_of(block);
    case Collective::broadcast:
      return {};
    case Collective::all_gather:
    case Collective::gather:
    case Collective::scatter:
      return sum_of(across);
    case Collective::reduce_scatter:
      return sum_of(ranks * block, across, slots * block);
    case Collective::all_to_all:
      return sum_of(slots * ranks * block, across * slots, across * slots);
  }
  return {};  // not reached: the switch is complete
}

std::size_t most_grouped_copies(Collective collective, const Groups& groups) {
  const auto ranks = static_cast<std::size_t>(groups.ranks());
  return collective == Collective::all_to_all ? ranks * static_cast<std::size_t>(groups.largest())
                                              : ranks;
}

}  // namespace colltune
