// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "all_reduce.h"

#include <array>
#include <cstring>

#include "mpi_wait.h"

namespace faults {
namespace {

constexpr std::int32_t staged = 0;  // the signal: my slot of this call holds my input

// The names of colltune are literals of its own; ours outlive the call.
std::string_view lasting_name_of_type(std::string_view name) {
  for (const std::string_view known : {"f32", "f64", "i32"})
    if (name == known) return known;
  return {};
}

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void add_one(std::byte* at) {
  const T value = load<T>(at) + T{1};
  std::memcpy(at, &value, sizeof value);
}

}  // namespace

AllReduce::AllReduce(const Request& request)
    : host_(request.host),
      communicator_(request.communicator),
      send_(static_cast<const std::byte*>(request.call.send)),
      receive_(static_cast<std::byte*>(request.call.receive)),
      size_(request.call.problem->message_size),
      elements_(request.call.problem->block_elements),
      data_type_(lasting_name_of_type(request.call.problem->data_type)),
      rank_(host_.rank(communicator_)),
      ranks_(host_.size(communicator_)),
      faulty_rank_(request.settings.has("rank") ? request.settings.number("rank") : -1),
      after_(request.settings.number("after")),
      waits_in_mpi_(request.settings.word("peers") == "mpi") {}

colltune_status AllReduce::allocate(std::int64_t deadline_ns) {
  return host_.allocate(communicator_, 2 * size_, 1, deadline_ns, &memory_);
}

colltune_status AllReduce::bind(const void* send, void* receive) {
  send_ = static_cast<const std::byte*>(send);
  receive_ = static_cast<std::byte*>(receive);
  return colltune_ok;
}

colltune_status AllReduce::start() {
  begin_call();
  stage_input();
  return colltune_ok;
}

colltune_status AllReduce::wait(std::int64_t deadline_ns) {
  const colltune_status status = wait_for_all(deadline_ns);
  if (status == colltune_ok) reduce();
  return status;
}

std::byte* AllReduce::slot_of(std::int32_t rank) const {
  return static_cast<std::byte*>(host_.part(memory_, rank)) + (calls_ % 2) * size_;
}

void AllReduce::stage_input() {
  if (size_ > 0) std::memcpy(slot_of(rank_), send_, size_);
  host_.signal_set(memory_, staged, calls_);
}

colltune_status AllReduce::wait_for_all(std::int64_t deadline_ns) {
  if (waits_in_mpi_ && !wait_in_mpi(host_.mpi_comm(communicator_))) {
    host_.fail(communicator_, "the ranks are no MPI processes");
    return colltune_failed_precondition;
  }
  for (std::int32_t distance = 1; distance < ranks_; ++distance) {
    const colltune_status status = host_.signal_wait(memory_, (rank_ + distance) % ranks_, staged,
                                                     calls_, deadline_ns, "the staged input");
    if (status != colltune_ok) return status;
  }
  return colltune_ok;
}

template <class T>
void AllReduce::reduce_as() {
  for (std::size_t i = 0; i < elements_; ++i) {
    T sum = load<T>(slot_of(0) + i * sizeof(T));
    for (std::int32_t r = 1; r < ranks_; ++r) sum += load<T>(slot_of(r) + i * sizeof(T));
    std::memcpy(receive_ + i * sizeof(T), &sum, sizeof sum);
  }
}

void AllReduce::reduce() {
  if (data_type_ == "f32") reduce_as<float>();
  if (data_type_ == "f64") reduce_as<double>();
  if (data_type_ == "i32") reduce_as<std::int32_t>();
}

void AllReduce::spoil(std::size_t element) {
  if (element >= elements_) return;
  if (data_type_ == "f32") add_one<float>(receive_ + element * sizeof(float));
  if (data_type_ == "f64") add_one<double>(receive_ + element * sizeof(double));
  if (data_type_ == "i32") add_one<std::int32_t>(receive_ + element * sizeof(std::int32_t));
}

}  // namespace faults
