// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace colltune {

/// Variables by name.
using NcclVariables = std::map<std::string, std::string, std::less<>>;

/// The files in which NCCL looks for variables besides, NAME=value a line. None of them need exist.
struct NcclFiles {
  std::filesystem::path user;
  std::filesystem::path system;
};
/// NCCL_CONF_FILE, else ~/.nccl.conf; and /etc/nccl.conf.
[[nodiscard]] NcclFiles find_nccl_files();

/// The environment of this process as NCCL completes it when it is loaded: a variable that is not
/// set is what the user's file says first, else the system's.
[[nodiscard]] NcclVariables read_nccl_environment(const NcclFiles& files = find_nccl_files());

/// The file of a plug-in ("tuner" or "profiler") that NCCL finds by itself where nothing is set, by
/// its default name or in its network's library, opened for that and closed again. Empty: there is
/// none, or it is colltune's own.
[[nodiscard]] std::string find_foreign_nccl_plugin(const std::string& kind);

/// What must stand in the environment of a process before NCCL makes its first communicator, so
/// that its choices can be forced and what ran is told: NCCL_TUNER_PLUGIN and NCCL_PROFILER_PLUGIN,
/// with the tuner that lies beside `program` (this one), which is both. Called before there are
/// threads. Leaves alone what the user has set, and what NCCL finds by itself: the baseline is what
/// the user has.
void prepare_nccl_environment();
void prepare_nccl_environment(const std::filesystem::path& program,
                              const std::function<std::string(const std::string& kind)>&
                                  find_foreign = &find_foreign_nccl_plugin);

/// Makes NCCL take this process for a host of its own, "colltune-rank-3", so that several ranks may
/// share a GPU: NCCL_HOSTID, unless the user has set it. They then meet over the network alone
/// (NCCL_NET=Socket, unless set): that shows whether calls work, never how fast they are. Before
/// NCCL is loaded, which reads it once per process; before there are threads.
void pretend_own_host(int rank);
/// Whether NCCL takes this process for a host of its own by that.
[[nodiscard]] bool is_pretended_host();

/// Whether a variable of the environment is one that NCCL's work depends on: not what only says
/// where and how much is logged, who a process is, or which version somebody installed.
[[nodiscard]] bool is_nccl_setting(std::string_view name);
/// Whether such a variable names devices or files of one node, so that nodes which work together
/// may rightly differ in it.
[[nodiscard]] bool is_nccl_setting_of_node(std::string_view name);

/// libnccl-tuner-colltune.so of the build or installation that `program` (this one) belongs to;
/// empty: it has none.
[[nodiscard]] std::string find_nccl_tuner();
[[nodiscard]] std::string find_nccl_tuner(const std::filesystem::path& program);

}  // namespace colltune
