// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace colltune::test {

/// What a pretended device gives a library as its queue, in the place of a cudaStream_t: work runs
/// one after the other in the order in which it came. C's types alone, since the library is loaded.
struct PretendedStream {
  void (*enqueue)(PretendedStream* stream, void (*work)(void* argument), void* argument);
  /// Null where nobody captures it. Else `release` is called once, as soon as the graph is gone
  /// into which the stream is captured and nothing of it runs any more: as CUDA's user objects are.
  void (*keep)(PretendedStream* stream, void (*release)(void* argument), void* argument) = nullptr;
};

}  // namespace colltune::test
