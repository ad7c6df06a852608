// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Plug-ins over MPI: their memory is shared between processes.

#include <gtest/gtest.h>

#include "colltune/kernels/mpi_library/mpi_communicator.h"
#include "colltune/plugin/load_plugin.h"
#include "kernels/conformance.h"
#include "kernels/random_calls.h"
#include "plugin_files.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

TEST(PluginOverMpi, TheExampleConforms) {
  AbortFlag abort_flag;
  const auto world = make_mpi_world(abort_flag, soon_enough());
  EXPECT_GT(run_conformance(*world, load_plugin(example_plugin)), 0);
}

TEST(PluginOverMpi, TheExampleTakesRandomCalls) {
  AbortFlag abort_flag;
  const auto world = make_mpi_world(abort_flag, soon_enough());
  EXPECT_EQ(find_fault_in_random_calls(*world, load_plugin(example_plugin),
                                       {.calls = 400, .operations = 4, .seed = 3}),
            "");
}

}  // namespace
}  // namespace colltune::test
