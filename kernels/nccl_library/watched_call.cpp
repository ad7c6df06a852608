// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "watched_call.h"

namespace colltune::nccl {

WatchedCall::WatchedCall(const ProfilerControl& control, const void* send, const void* receive)
    : control_(control) {
  std::uint64_t watch = 0;
  if (control_.watch != nullptr && control_.watch(send, receive, &watch) == 0) watch_ = watch;
}

std::optional<ToldRun> WatchedCall::end() noexcept {
  if (!watch_) return std::nullopt;
  colltune_nccl_run ran{};
  const bool is_told = control_.end_watch(*watch_, &ran) == 0;
  watch_.reset();
  if (!is_told) return std::nullopt;
  return ToldRun{.kind = ran.kind,
                 .choice = {.algorithm = static_cast<Algorithm>(ran.algorithm),
                            .protocol = static_cast<Protocol>(ran.protocol),
                            .channels = ran.channels}};
}

}  // namespace colltune::nccl
