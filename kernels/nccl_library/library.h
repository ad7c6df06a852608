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

/// libnccl, opened at run time. Null: what this version does not have.
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
  CommWindowRegister register_window = nullptr;  ///< since 2.27, as the one below
  CommWindowDeregister deregister_window = nullptr;
  CommRevoke revoke = nullptr;    ///< since 2.28.7
  AllToAll all_to_all = nullptr;  ///< since 2.28, as the two below
  Gather gather = nullptr;
  Scatter scatter = nullptr;
};

/// What libnccl-tuner-colltune.so offers besides NCCL's own interface (tuner_control.h).
struct TunerControl {
  decltype(colltune_nccl_tuner_list)* list = nullptr;
  decltype(colltune_nccl_tuner_claim)* claim = nullptr;
  decltype(colltune_nccl_tuner_begin_search)* begin_search = nullptr;
  decltype(colltune_nccl_tuner_end_search)* end_search = nullptr;
  decltype(colltune_nccl_tuner_force)* force = nullptr;
  decltype(colltune_nccl_tuner_observe)* observe = nullptr;
  decltype(colltune_nccl_tuner_last_call)* last_call = nullptr;
};

/// What it offers where NCCL has it as its profiler (profiler_control.h). Null: it is not.
struct ProfilerControl {
  decltype(colltune_nccl_profiler_watch)* watch = nullptr;
  decltype(colltune_nccl_profiler_end_watch)* end_watch = nullptr;
};

/// Where the libraries are looked for.
struct Places {
  std::vector<std::string> libraries;  ///< as dlopen takes them; the first one that opens
  /// What NCCL_TUNER_PLUGIN says, which NCCL loads its tuner by; empty: nothing.
  std::string tuner;
  std::string profiler{};  ///< the same of NCCL_PROFILER_PLUGIN
  /// What the user's environment and NCCL's files set besides, by name, "NCCL_ALGO=ring
  /// NCCL_NET=Socket"; overrides what a sweep asks for.
  std::string environment;
  // Of somebody else's, found by NCCL where the above say nothing.
  std::string foreign_tuner{};
  std::string foreign_profiler{};
  std::string own_tuner{};  ///< the file of colltune's, which is both; empty: it was not found
};
/// COLLTUNE_NCCL_LIBRARY, where it is set, and nothing else; else libnccl.so.2 as the loader finds
/// it, then where the build found it.
[[nodiscard]] Places places_in(const NcclVariables& environment);
/// In the environment as it is now.
[[nodiscard]] Places find_places();

/// The libraries of this process, opened once. What cannot be opened has a reason for a person.
struct Opened {
  SharedObject library{};
  std::string path{};  ///< of the library, as it was opened
  Functions functions{};
  int version = 0;        ///< version_code
  std::string why_not{};  ///< there is no NCCL to use; empty: there is
  SharedObject tuner{};
  TunerControl control{};
  std::string why_no_tuner{};     ///< NCCL's choice can be neither forced nor read back
  bool is_without_tuner = false;  ///< NCCL loads none of anybody's
  SharedObject profiler{};
  ProfilerControl profiler_control{};
  std::string why_no_profiler{};       ///< nobody tells what ran, with how many channels
  std::string environment{};           ///< Places::environment
  std::string compared_environment{};  ///< of it what must be alike on all ranks
};
[[nodiscard]] Opened open_libraries(const Places& places);

/// "2.28.9".
[[nodiscard]] std::string version_text(int version);
/// Why a library of `version` cannot be used; empty where it can, also where it is newer than all
/// that were known when this was written.
[[nodiscard]] std::string why_not_version(int version);

/// The libraries, opened when they are first asked for: loading NCCL makes CUDA's driver load,
/// which nobody wants who has no GPU. Shared by the entries of the catalogue; thread-safe.
class Runtime {
 public:
  explicit Runtime(std::function<Places()> find) : find_(std::move(find)) {}
  [[nodiscard]] const Opened& open() const;

 private:
  std::function<Places()> find_;
  mutable std::once_flag once_;
  mutable Opened opened_;
};

/// Throws Error where `result` is neither success nor in progress, with what NCCL says of it.
void check_nccl(const Functions& functions, NativeHandle communicator, Result result,
                const char* what);

}  // namespace colltune::nccl
