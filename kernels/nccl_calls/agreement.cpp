// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "agreement.h"

#include <array>
#include <bit>
#include <cstring>
#include <exception>
#include <limits>

#include "colltune/vocabulary/error.h"

namespace colltune::nccl {
namespace {

/// FNV-1a, without the sign bit: compared between ranks that may have been built by different
/// compilers.
std::int64_t digest_of(std::string_view text) {
  std::uint64_t digest = 14695981039346656037ULL;
  for (const char letter : text)
    digest = (digest ^ static_cast<unsigned char>(letter)) * 1099511628211ULL;
  return static_cast<std::int64_t>(digest >> 1);
}

}  // namespace

int first_rank_where(Communicator& communicator, bool holds, Deadline deadline) {
  const std::int64_t own =
      holds ? -std::int64_t{communicator.rank()} : -std::int64_t{communicator.size()};
  const std::int64_t first = -communicator.all_reduce_max(own, deadline);
  return first == communicator.size() ? -1 : static_cast<int>(first);
}

void act_together(Communicator& communicator, std::string_view what,
                  const std::function<void()>& act, Deadline deadline) {
  std::exception_ptr own;
  try {
    act();
  } catch (...) {
    own = std::current_exception();
  }
  const int first = first_rank_where(communicator, own != nullptr, deadline);
  if (own) std::rethrow_exception(own);
  if (first >= 0)
    throw Error(StatusCode::failed_precondition,
                "rank " + std::to_string(first) + " " + std::string(what));
}

void require_alike(Communicator& communicator, std::string_view what, std::string_view own,
                   Deadline deadline) {
  const std::int64_t digest = digest_of(own);
  const std::int64_t most = communicator.all_reduce_max(digest, deadline);
  const std::int64_t least = -communicator.all_reduce_max(-digest, deadline);
  if (most == least) return;
  throw Error(StatusCode::failed_precondition,
              "the ranks differ in " + std::string(what) +
                  "; here: " + (own.empty() ? "none" : std::string(own)));
}

UniqueId share_id(Communicator& communicator, const UniqueId& of_first, Deadline deadline) {
  constexpr std::size_t words = sizeof(UniqueId) / sizeof(std::int64_t);
  auto shared = std::bit_cast<std::array<std::int64_t, words>>(of_first);
  for (std::int64_t& word : shared)
    word = communicator.all_reduce_max(
        communicator.rank() == 0 ? word : std::numeric_limits<std::int64_t>::min(), deadline);
  return std::bit_cast<UniqueId>(shared);
}

}  // namespace colltune::nccl
