// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The GPU algorithms of a file, with signals that order nothing. Built with ThreadSanitizer only,
// which must report a race: else the runs of the other tests under it would show nothing.

#include <cstdio>

#include "device_files.h"
#include "device_launch.h"

int main(int argc, char** argv) {
  using namespace colltune;
  if (argc != 2) {
    std::fprintf(stderr, "usage: device_relaxed_check FILE\n");
    return 2;
  }
  for (const DeviceAlgorithm& algorithm : test::algorithms_of_file(argv[1])) {
    test::DeviceLaunch launch{
        .problem = {.collective = algorithm.collective, .message_size = {4096}},
        .faults = {.relaxes_signals = true}};
    if (!shape_of(algorithm.collective).reduces) launch.problem.reduce_op = ReduceOp::none;
    launch.problem.registered = algorithm.list_copies != nullptr;
    // One launch in twenty shows nothing: what lies between two accesses may happen to order them.
    for (int i = 0; i < 10; ++i) (void)test::run_on_host(algorithm, launch);
  }
  return 0;
}
