// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "agent_main.h"
#include "colltune/kernels/catalogue.h"

int main(int argc, char** argv) {
  return colltune::run_agent(argc, argv, colltune::make_catalogue);
}
