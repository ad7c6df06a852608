// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/clock/start_barrier.h"

#include "colltune/kernels/communication/bounded_wait.h"

namespace colltune {
namespace {

constexpr int arrival_word = 0;
// The awaited rank may itself wait for a message that this rank's library still holds, so the
// library needs progress now and then.
constexpr int looks_between_progress = 16;

}  // namespace

bool StartBarrier::is_defined_on(const Communicator& communicator) {
  return communicator.is_oversubscribed() && communicator.is_one_node();
}

StartBarrier::StartBarrier(Communicator& communicator, Deadline deadline)
    : communicator_(communicator),
      memory_(communicator.allocate({Signals::size(1)}, deadline)),
      signals_(communicator, *memory_, 0) {}

void StartBarrier::meet(Deadline deadline) {
  signals_.set(arrival_word, ++epoch_);
  int looks = 0;
  for (int distance = 1; distance < communicator_.size(); ++distance) {
    const int peer = (communicator_.rank() + distance) % communicator_.size();
    BoundedWait wait(deadline, communicator_.abort_flag(), true);
    while (signals_.get(peer, arrival_word) < epoch_) {
      wait.step(peer, "its arrival at the start of a run");
      if (++looks % looks_between_progress == 0) communicator_.progress();
    }
  }
}

}  // namespace colltune
