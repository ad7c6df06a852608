// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// A GPU algorithm whose signals order nothing. Built with ThreadSanitizer only, where it must fail:
// else the runs of the other tests under it would show nothing.

#include <cstdio>
#include <string_view>

#include "device_launch.h"

int main(int argc, char** argv) {
  using namespace colltune;
  if (argc != 2) {
    std::fprintf(stderr, "usage: device_relaxed_check ALGORITHM\n");
    return 0;  // a wrong call is no failure that was looked for
  }
  for (const DeviceAlgorithm& algorithm : make_device_algorithms()) {
    if (algorithm.name != std::string_view(argv[1])) continue;
    const test::DeviceLaunch launch{
        .problem = {.collective = algorithm.collective, .message_size = {4096}},
        .faults = {.relaxes_signals = true}};
    // One launch in twenty shows nothing: what lies between two accesses may happen to order them.
    for (int i = 0; i < 10; ++i) (void)test::run_on_host(algorithm, launch);
  }
  return 0;
}
