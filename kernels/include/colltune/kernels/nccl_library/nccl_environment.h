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

/// The files from which NCCL reads further variables, one NAME=value per line. Either may be
/// missing.
struct NcclFiles {
  std::filesystem::path user;
  std::filesystem::path system;
};
/// NCCL_CONF_FILE, else ~/.nccl.conf; and /etc/nccl.conf.
[[nodiscard]] NcclFiles find_nccl_files();

/// This process's environment as NCCL completes it when it is loaded: a variable that is not set is
/// taken from the user's file, else from the system's; within a file the first line counts.
[[nodiscard]] NcclVariables read_nccl_environment(const NcclFiles& files = find_nccl_files());

/// The file of a plug-in ("tuner" or "profiler") that NCCL finds by itself if no variable is set,
/// by its default name or in the library of its network plug-in. The libraries are opened for this
/// search and closed again. Empty: there is none, or it is colltune's own.
[[nodiscard]] std::string find_foreign_nccl_plugin(const std::string& kind);

/// Sets what a process needs in its environment before NCCL makes its first communicator, so that
/// its choices can be forced and it reports what ran: NCCL_TUNER_PLUGIN and NCCL_PROFILER_PLUGIN,
/// both with the tuner library beside `program` (this one). Call it before there are threads. Does
/// not touch what the user has set or what NCCL finds by itself, since the baseline is what the
/// user has.
void prepare_nccl_environment();
void prepare_nccl_environment(const std::filesystem::path& program,
                              const std::function<std::string(const std::string& kind)>&
                                  find_foreign = &find_foreign_nccl_plugin);

/// Makes NCCL take this process for a host of its own, "colltune-rank-3", so that several ranks can
/// share a GPU: sets NCCL_HOSTID, unless the user has set it. The ranks then communicate only over
/// the network (NCCL_NET=Socket, unless set): this shows whether calls work, never how fast they
/// are. Call it before NCCL is loaded, which reads the variable once per process, and before there
/// are threads.
void pretend_own_host(int rank);
/// Whether NCCL takes this process for a host of its own because of that.
[[nodiscard]] bool is_pretended_host();

/// Whether NCCL's behaviour depends on this environment variable. False for variables that only set
/// where and how much is logged, that identify a process, or that name an installed version.
[[nodiscard]] bool is_nccl_setting(std::string_view name);
/// Whether such a variable names devices or files of one node, so that it may differ between nodes
/// that work together.
[[nodiscard]] bool is_nccl_setting_of_node(std::string_view name);

/// libnccl-tuner-colltune.so of the build or installation that `program` (this one) belongs to;
/// empty if there is none.
[[nodiscard]] std::string find_nccl_tuner();
[[nodiscard]] std::string find_nccl_tuner(const std::filesystem::path& program);

}  // namespace colltune
