// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "adaptive_stores.h"

namespace colltune {

StoreWay AdaptiveStores::begin() noexcept {
  if (const auto slowest = times_.take()) choice_.decide(*slowest);
  if (choice_.is_timed()) began_ = Clock::now();
  return choice_.way();
}

void AdaptiveStores::end() noexcept {
  const auto took = choice_.is_timed() ? Clock::now() - began_ : Clock::duration{};
  if (choice_.completed(took)) times_.publish(choice_.fastest());
}

}  // namespace colltune
