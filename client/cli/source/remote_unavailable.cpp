// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Replaces remote.cpp in builds without gRPC.

#include "colltune/vocabulary/error.h"
#include "remote.h"

namespace colltune {
namespace {

[[noreturn]] void refuse(const std::string& address) {
  throw Error(StatusCode::unimplemented,
              "--server " + address +
                  ": this colltune was built without gRPC (COLLTUNE_GRPC); use --db FILE");
}

}  // namespace

FoundAnswer look_up_remotely(const std::string& address, const LookupQuery&) { refuse(address); }

DecisionSet fetch_remotely(const std::string& address, const std::optional<std::uint64_t>&) {
  refuse(address);
}

}  // namespace colltune
