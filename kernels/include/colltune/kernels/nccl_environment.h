// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace colltune {

/// What must stand in the environment of a process before NCCL makes its first communicator, so
/// that its choices can be forced: NCCL_TUNER_PLUGIN, with the tuner that lies beside the program.
/// Called before there are threads; leaves alone what the user has set.
void prepare_nccl_environment();

/// Makes NCCL take this process for a host of its own, "colltune-rank-3", so that several ranks may
/// share a GPU: NCCL_HOSTID, unless the user has set it. They then meet over the network alone
/// (NCCL_NET=Socket, unless set): that shows whether calls work, never how fast they are. Before
/// NCCL is loaded, which reads it once per process; before there are threads.
void pretend_own_host(int rank);

/// Whether a variable of the environment is one that NCCL's work depends on: not what only says
/// where and how much is logged, who a process is, or which version somebody installed.
[[nodiscard]] bool is_nccl_setting(std::string_view name);

/// libnccl-tuner-colltune.so of the build or installation that `program` belongs to; empty: it has
/// none.
[[nodiscard]] std::string find_nccl_tuner(const std::filesystem::path& program);

}  // namespace colltune
