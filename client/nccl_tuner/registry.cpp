// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "registry.h"

#include <type_traits>

namespace colltune::nccl {

void Registry::add(TunerContext* communicator) noexcept {
  const std::lock_guard lock(mutex_);
  communicator->facts.number = ++last_number_;
  TunerContext** end = &first_;
  while (*end != nullptr) end = &(*end)->next;
  *end = communicator;
}

void Registry::remove(TunerContext* communicator) noexcept {
  {
    const std::lock_guard lock(mutex_);
    TunerContext** at = &first_;
    while (*at != nullptr && *at != communicator) at = &(*at)->next;
    // Finalized twice, or not one of ours.
    if (*at == nullptr) return;
    *at = communicator->next;
  }
  delete communicator;
}

bool Registry::begin_search() noexcept {
  const std::lock_guard lock(mutex_);
  if (is_searched_) return false;
  is_searched_ = true;
  return true;
}

void Registry::end_search() noexcept {
  const std::lock_guard lock(mutex_);
  is_searched_ = false;
}

Registry& registry() noexcept {
  static_assert(std::is_trivially_destructible_v<Registry>);
  static constinit Registry all;
  return all;
}

}  // namespace colltune::nccl
