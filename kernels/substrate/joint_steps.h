// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "colltune/kernels/communicator.h"
#include "colltune/vocabulary/error.h"

namespace colltune {

/// Does `act` on a communicator of `members` alone: whoever is missing there is named as the rank
/// that it is among all.
template <class Act>
auto with_ranks_of_all(const std::vector<int>& members, std::string_view waiting_for, Act act) {
  try {
    return act();
  } catch (const RankMissing& missing) {
    throw RankMissing(members[static_cast<std::size_t>(missing.rank())], std::string(waiting_for),
                      missing.code() == StatusCode::aborted);
  }
}

/// Does on each rank what may fail on some alone: then all throw, with one code. `what` is what a
/// rank has a part of. Collective.
template <class Act>
void attempt_together(Communicator& communicator, std::string_view what, Deadline deadline,
                      Act act) {
  std::optional<Error> failure;
  try {
    act();
  } catch (const RankMissing&) {
    throw;
  } catch (const Error& error) {
    failure = error;
  } catch (const std::exception& error) {
    failure = Error(StatusCode::resource_exhausted, error.what());
  }
  constexpr std::int64_t ranks_limit = std::int64_t{1} << 32;
  const auto code_of = [](const Error& error) { return static_cast<std::int64_t>(error.code()); };
  const std::int64_t own = failure ? code_of(*failure) * ranks_limit + communicator.rank() : 0;
  const std::int64_t worst = communicator.all_reduce_max(own, deadline);
  if (worst == 0) return;
  const auto code = static_cast<StatusCode>(worst / ranks_limit);
  if (failure) throw Error(code, failure->what());
  throw Error(code, "rank " + std::to_string(worst % ranks_limit) +
                        " could not prepare its part of " + std::string(what));
}

}  // namespace colltune
