// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "colltune/plugin.h"

/// An operation of this plug-in; what is faulty overrides start and wait.
struct colltune_operation {
  virtual ~colltune_operation() = default;
  virtual colltune_status bind(const void* send, void* receive) = 0;
  virtual colltune_status start() = 0;
  virtual colltune_status wait(std::int64_t deadline_ns) = 0;
};

namespace faults {

/// The settings of a variant. The loader has checked that all parameters are there.
class Settings {
 public:
  explicit Settings(const colltune_variant& variant) : variant_(variant) {}
  [[nodiscard]] bool has(std::string_view name) const { return index_of(name) < size(); }
  /// 0 where there is no such number.
  [[nodiscard]] std::int64_t number(std::string_view name) const {
    return has(name) ? variant_.parameter_numbers[index_of(name)] : 0;
  }
  /// Empty where there is no such word.
  [[nodiscard]] std::string_view word(std::string_view name) const {
    return has(name) ? variant_.parameter_values[index_of(name)] : std::string_view{};
  }

 private:
  [[nodiscard]] std::size_t size() const { return variant_.parameter_count; }
  [[nodiscard]] std::size_t index_of(std::string_view name) const {
    std::size_t i = 0;
    while (i < size() && variant_.parameter_names[i] != name) ++i;
    return i;
  }
  const colltune_variant& variant_;
};

/// What an operation is made of.
struct Request {
  const colltune_host& host;
  colltune_communicator* communicator;
  const colltune_call& call;
  const Settings& settings;
};

/// A correct all-reduce (sum of f32, f64 or i32): each rank stages its input in a slot of its own,
/// waits for all, and adds everybody's in rank order. Slots are used in turn, so that a slot is
/// written again only two calls later, when each peer has signalled the call between. With the
/// setting peers=mpi it waits for the others inside MPI before, where no deadline ends it.
class AllReduce : public colltune_operation {
 public:
  explicit AllReduce(const Request& request);

  /// Collective.
  colltune_status allocate(std::int64_t deadline_ns);
  colltune_status bind(const void* send, void* receive) override;
  colltune_status start() override;
  colltune_status wait(std::int64_t deadline_ns) override;

 protected:
  /// Counts the call that begins.
  void begin_call() { ++calls_; }
  void stage_input();
  [[nodiscard]] colltune_status wait_for_all(std::int64_t deadline_ns);
  void reduce();
  /// Adds 1 to an element of the result, if there is one.
  void spoil(std::size_t element);

  /// Whether this call, on this rank, is to go wrong by the settings `rank` and `after`.
  [[nodiscard]] bool is_due() const {
    return (faulty_rank_ < 0 || faulty_rank_ == rank_) &&
           calls_ > static_cast<std::uint64_t>(after_);
  }

  const colltune_host& host_;
  colltune_communicator* communicator_;
  const std::byte* send_;
  std::byte* receive_;
  std::size_t size_;
  std::size_t elements_;
  std::string_view data_type_;
  std::int32_t rank_;
  std::int32_t ranks_;
  std::uint64_t calls_ = 0;

 private:
  template <class T>
  void reduce_as();
  [[nodiscard]] std::byte* slot_of(std::int32_t rank) const;

  colltune_memory* memory_ = nullptr;
  std::int64_t faulty_rank_;  ///< -1: all
  std::int64_t after_;        ///< calls that go well first
  bool waits_in_mpi_;         ///< by the setting `peers`
};

}  // namespace faults
