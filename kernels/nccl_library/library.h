// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "colltune/kernels/nccl_library/nccl_environment.h"
#include "colltune/nccl/library_abi.h"
#include "colltune/nccl/profiler_control.h"
#include "colltune/nccl/tuner_control.h"

namespace colltune::nccl {

struct CloseLibrary {
  void operator()(void* library) const noexcept;
};
using SharedObject = std::unique_ptr<void, CloseLibrary>;

/// libnccl, opened at run time. A function is null if this version does not have it.
struct Functions {
  GetVersion get_version = nullptr;
  GetUniqueId get_unique_id = nullptr;
  CommInitRankConfig init = nullptr;
  CommFunction finalize = nullptr;
  CommFunction destroy = nullptr;
  CommFunction abort = nullptr;
  CommGetAsyncError get_async_error = nullptr;
  CommRegister register_buffer = nullptr;
  CommDeregister deregister_buffer = nullptr;
  RedOpCreatePreMulSum create_premultiplied_sum = nullptr;
  RedOpDestroy destroy_op = nullptr;
  GetErrorString get_error_string = nullptr;
  GetLastError get_last_error = nullptr;
  AllReduce all_reduce = nullptr;
  ReduceScatter reduce_scatter = nullptr;
  AllGather all_gather = nullptr;
  Broadcast broadcast = nullptr;
  Reduce reduce = nullptr;
  MemAlloc allocate_memory = nullptr;
  MemFree free_memory = nullptr;
  CommWindowRegister register_window = nullptr;  ///< since 2.27, as the next one
  CommWindowDeregister deregister_window = nullptr;
  CommRevoke revoke = nullptr;    ///< since 2.28.7
  AllToAll all_to_all = nullptr;  ///< since 2.28, as the next two
  Gather gather = nullptr;
  Scatter scatter = nullptr;
  AllReduceConfig all_reduce_config = nullptr;  ///< since 2.31, as the next ones: all or none
  ReduceScatterConfig reduce_scatter_config = nullptr;
  AllGatherConfig all_gather_config = nullptr;
  BroadcastConfig broadcast_config = nullptr;
  ReduceConfig reduce_config = nullptr;
};

/// What libnccl-tuner-colltune.so offers in addition to NCCL's own interface (tuner_control.h).
struct TunerControl {
  decltype(colltune_nccl_tuner_list)* list = nullptr;
  decltype(colltune_nccl_tuner_claim)* claim = nullptr;
  decltype(colltune_nccl_tuner_begin_search)* begin_search = nullptr;
  decltype(colltune_nccl_tuner_end_search)* end_search = nullptr;
  decltype(colltune_nccl_tuner_force)* force = nullptr;
  decltype(colltune_nccl_tuner_observe)* observe = nullptr;
  decltype(colltune_nccl_tuner_last_call)* last_call = nullptr;
};

/// What it offers if NCCL has loaded it as its profiler (profiler_control.h). Null: NCCL has not.
struct ProfilerControl {
  decltype(colltune_nccl_profiler_watch)* watch = nullptr;
  decltype(colltune_nccl_profiler_end_watch)* end_watch = nullptr;
};

/// Where the libraries are looked for.
struct Places {
  std::vector<std::string> libraries;  ///< for dlopen; the first one that opens is used
  /// The value of NCCL_TUNER_PLUGIN, by which NCCL loads its tuner; empty: not set.
  std::string tuner;
  std::string profiler{};  ///< the value of NCCL_PROFILER_PLUGIN
  /// Other settings in the user's environment and NCCL's files, sorted by name: "NCCL_ALGO=ring
  /// NCCL_NET=Socket". They override what a sweep asks for.
  std::string environment;
  // Foreign plug-ins that NCCL finds if the variables above are not set.
  std::string foreign_tuner{};
  std::string foreign_profiler{};
  std::string own_tuner{};  ///< colltune's file, both tuner and profiler; empty: not found
};
/// If COLLTUNE_NCCL_LIBRARY is set, only that; otherwise libnccl.so.2 as the loader finds it, then
/// the path where the build found it.
[[nodiscard]] Places places_in(const NcclVariables& environment);
/// The same, for the current environment.
[[nodiscard]] Places find_places();

/// The libraries of this process, opened once. The why_ fields hold the reason for a person if
/// something cannot be opened; empty: it was.
struct Opened {
  SharedObject library{};
  std::string path{};  ///< of the library, as it was opened
  Functions functions{};
  int version = 0;        ///< version_code
  std::string why_not{};  ///< why there is no usable NCCL
  SharedObject tuner{};
  TunerControl control{};
  std::string why_no_tuner{};     ///< why NCCL's choice can be neither forced nor read back
  bool is_without_tuner = false;  ///< NCCL loads no tuner at all
  SharedObject profiler{};
  ProfilerControl profiler_control{};
  std::string why_no_profiler{};       ///< why nothing reports what ran and with how many channels
  std::string environment{};           ///< Places::environment
  std::string compared_environment{};  ///< the part that must be equal on all ranks
};
[[nodiscard]] Opened open_libraries(const Places& places);

/// "2.28.9".
[[nodiscard]] std::string version_text(int version);
/// Why a library of `version` cannot be used; empty if it can. Versions newer than all that were
/// known when this was written are accepted.
[[nodiscard]] std::string why_not_version(int version);

/// The libraries, opened on first use: loading NCCL loads CUDA's driver, which is unwanted on
/// machines without a GPU. Shared by the entries of the catalogue; thread-safe.
class Runtime {
 public:
  explicit Runtime(std::function<Places()> find) : find_(std::move(find)) {}
  [[nodiscard]] const Opened& open() const;

 private:
  std::function<Places()> find_;
  mutable std::once_flag once_;
  mutable Opened opened_;
};

/// Throws Error, with NCCL's message, unless `result` is success or in progress.
void check_nccl(const Functions& functions, NativeHandle communicator, Result result,
                const char* what);

}  // namespace colltune::nccl
