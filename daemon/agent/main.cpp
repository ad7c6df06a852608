// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "agent_main.h"
#include "colltune/kernels/catalogue.h"
#include "own_heap.h"

int main(int argc, char** argv) {
  colltune::keep_sqlite_in_own_heap();
  return colltune::run_agent(argc, argv, colltune::make_catalogue);
}
