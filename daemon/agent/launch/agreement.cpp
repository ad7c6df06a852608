// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "agreement.h"

#include <algorithm>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

/// Empty for success, otherwise the code and the message.
Payload outcome_of(const std::function<void()>& step) {
  const auto failed = [](StatusCode code, const std::string& message) {
    Payload payload(1 + message.size());
    payload[0] = static_cast<std::uint8_t>(code);
    std::ranges::copy(message, payload.begin() + 1);
    return payload;
  };
  try {
    step();
    return {};
  } catch (const Error& error) {
    return failed(error.code(), error.what());
  } catch (const std::exception& error) {
    return failed(StatusCode::internal, error.what());
  }
}

void throw_if_failed(const Payload& outcome) {
  if (outcome.empty()) return;
  throw Error(static_cast<StatusCode>(outcome.front()),
              std::string(outcome.begin() + 1, outcome.end()));
}

}  // namespace

void run_on_rank_zero(ControlPlane& control, const std::function<void()>& step) {
  throw_if_failed(control.broadcast(control.rank() == 0 ? outcome_of(step) : Payload{}));
}

void run_on_all_ranks(ControlPlane& control, const std::function<void()>& step) {
  const std::vector<Payload> outcomes = control.gather(outcome_of(step));
  run_on_rank_zero(control, [&] {
    for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
      if (outcomes[rank].empty()) continue;
      try {
        throw_if_failed(outcomes[rank]);
      } catch (const Error& error) {
        throw Error(error.code(), "rank " + std::to_string(rank) + ": " + error.what());
      }
    }
  });
}

}  // namespace colltune
