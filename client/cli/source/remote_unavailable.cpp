// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Replaces remote.cpp in builds without gRPC.

#include "colltune/vocabulary/error.h"
#include "remote.h"

namespace colltune {
namespace {

[[noreturn]] void refuse(const std::string& address, const std::string& otherwise) {
  throw Error(StatusCode::unimplemented,
              "--server " + address + ": this colltune was built without gRPC (COLLTUNE_GRPC); " +
                  otherwise);
}

}  // namespace

FoundAnswer look_up_remotely(const std::string& address, const LookupQuery&) {
  refuse(address, "use --db FILE");
}

DecisionSet fetch_remotely(const std::string& address, const std::optional<std::uint64_t>&) {
  refuse(address, "use --db FILE");
}

std::vector<Annotation> annotate_remotely(const std::string& address, const AnnotatedProgram&) {
  refuse(address, "leave it out, and the models answer here");
}

}  // namespace colltune
