// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "remote.h"

#include <dlfcn.h>

#include "colltune/vocabulary/error.h"
#include "origin.h"
#include "remote_calls.h"

namespace colltune {
namespace {

/// Beside this program's other libraries (its run path). It stays loaded: what it throws is of it.
const RemoteCalls& remote_calls() {
  void* const library = ::dlopen(COLLTUNE_REMOTE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  void* const function = library == nullptr ? nullptr : ::dlsym(library, remote_calls_name);
  if (function == nullptr)
    throw Error(StatusCode::failed_precondition,
                std::string("--server: ") + ::dlerror() +
                    "; it is a part of this installation, so install colltune again");
  return *reinterpret_cast<decltype(&colltune_remote_calls)>(function)();
}

}  // namespace

FoundAnswer look_up_remotely(const std::string& address, const LookupQuery& query) {
  std::string guess;
  FoundAnswer found = remote_calls().look_up(address, query, guess);
  say_guess(guess);
  return found;
}

DecisionSet fetch_remotely(const std::string& address,
                           const std::optional<std::uint64_t>& generation) {
  return remote_calls().fetch(address, generation);
}

std::vector<Annotation> annotate_remotely(const std::string& address,
                                          const AnnotatedProgram& program) {
  return remote_calls().annotate(address, program);
}

}  // namespace colltune
