// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The control interface (colltune/nccl/tuner_control.h): finds the communicator, checks the
// arguments, and delegates the rest to it.

#include <cmath>

#include "colltune/c_guard.h"
#include "colltune/nccl/choice.h"
#include "colltune/nccl/tuner_control.h"
#include "colltune/vocabulary/error.h"
#include "registry.h"

namespace colltune::nccl {
namespace {

constexpr int done = 0;
/// Calls `act` on the communicator with that number, or reports that there is none.
template <class Act>
int with(std::uint64_t number, Act act) noexcept {
  int result = code_for_c(StatusCode::not_found);
  registry().for_each([&](TunerContext& communicator) {
    if (communicator.facts.number != number) return true;
    result = act(communicator);
    return false;
  });
  return result;
}

bool is_allowed(const colltune_nccl_force& force) noexcept {
  if (force.functions >> function_count != 0) return false;
  if (!std::isfinite(force.time_us) || force.time_us < 0) return false;
  if (force.algorithm == -1) return force.protocol == -1 && force.channels == 0;
  return force.algorithm >= 0 && force.algorithm < algorithm_count && force.protocol >= 0 &&
         force.protocol < protocol_count && force.channels >= 0 && force.channels <= most_channels;
}

}  // namespace
}  // namespace colltune::nccl

using namespace colltune;        // NOLINT: what follows is C
using namespace colltune::nccl;  // NOLINT

extern "C" {

int colltune_nccl_tuner_interface() { return COLLTUNE_NCCL_TUNER_INTERFACE; }

size_t colltune_nccl_tuner_list(colltune_nccl_communicator* into, size_t capacity) {
  size_t count = 0;
  registry().for_each([&](const TunerContext& communicator) {
    if (into != nullptr && count < capacity) into[count] = communicator.facts;
    ++count;
    return true;
  });
  return count;
}

int colltune_nccl_tuner_claim(uint64_t communicator) {
  return with(communicator, [](TunerContext& found) {
    if (found.facts.is_claimed != 0) return code_for_c(StatusCode::already_exists);
    found.facts.is_claimed = 1;
    return done;
  });
}

int colltune_nccl_tuner_begin_search() {
  return registry().begin_search() ? done : code_for_c(StatusCode::failed_precondition);
}

void colltune_nccl_tuner_end_search() { registry().end_search(); }

int colltune_nccl_tuner_force(uint64_t communicator, const colltune_nccl_force* force) {
  if (force != nullptr && !is_allowed(*force)) return code_for_c(StatusCode::invalid_argument);
  return with(communicator, [&](TunerContext& found) {
    return found.set_force(force) ? done : code_for_c(StatusCode::resource_exhausted);
  });
}

int colltune_nccl_tuner_forced(uint64_t communicator, colltune_nccl_force* into) {
  if (into == nullptr) return code_for_c(StatusCode::invalid_argument);
  return with(communicator, [&](const TunerContext& found) {
    const colltune_nccl_force* const force = found.force();
    if (force == nullptr) return code_for_c(StatusCode::failed_precondition);
    *into = *force;
    return done;
  });
}

int colltune_nccl_tuner_observe(uint64_t communicator, int is_on) {
  return with(communicator, [&](TunerContext& found) {
    found.observe(is_on != 0);
    return done;
  });
}

int colltune_nccl_tuner_last_call(uint64_t communicator, colltune_nccl_call* into) {
  if (into == nullptr) return code_for_c(StatusCode::invalid_argument);
  return with(communicator, [&](const TunerContext& found) {
    return found.read_last_call(*into) ? done : code_for_c(StatusCode::failed_precondition);
  });
}

}  // extern "C"
