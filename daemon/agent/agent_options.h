// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include "colltune/supervise/supervise.h"
#include "commands/confirm_command.h"
#include "commands/confirm_launch_command.h"
#include "commands/sweep_command.h"

/// The command line of the agent. Each function adds a command to `app`; its options are read into
/// the second argument, which outlives `app`.
namespace colltune {

void add_sweep(CLI::App& app, SweepOptions& options);
/// `confirm_launches`: the number of launches in which each decision is confirmed afterwards;
/// unchanged if the user does not ask for that.
void add_supervise(CLI::App& app, SuperviseOptions& options, int& confirm_launches);
void add_confirm(CLI::App& app, ConfirmOptions& options);
/// One launch of `confirm`, which builds this command line.
void add_confirm_launch(CLI::App& app, ConfirmLaunchOptions& options);

}  // namespace colltune
