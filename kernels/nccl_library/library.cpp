// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "library.h"

#include <dlfcn.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "colltune/vocabulary/error.h"
#include "nccl_library/build_hint.h"
#include "plugins.h"

namespace colltune::nccl {
namespace {

// The oldest version whose tuner interface (version 4) libnccl-tuner-colltune.so supports, and the
// newest that this was written against.
constexpr int oldest_version = version_code(2, 24, 3);
constexpr int first_version_with_profiler = version_code(2, 27, 0);
constexpr int next_major_version = version_code(3, 0, 0);

std::string value_in(const NcclVariables& environment, std::string_view name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

/// NCCL's settings, except those that have fields of their own in Places.
bool is_overriding(std::string_view name) {
  return is_nccl_setting(name) && name != "NCCL_TUNER_PLUGIN" && name != "NCCL_PROFILER_PLUGIN";
}

std::string overriding_variables(const NcclVariables& environment) {
  std::string found;
  for (const auto& [name, value] : environment)
    if (is_overriding(name)) found += (found.empty() ? "" : " ") + name + "=" + value;
  return found;
}

/// `environment` without the settings that may differ from node to node.
std::string without_settings_of_node(std::string_view environment) {
  std::string kept;
  bool is_kept = true;
  while (!environment.empty()) {
    const std::size_t end = std::min(environment.find(' '), environment.size());
    const std::string_view word = environment.substr(0, end);
    // Any other word is the rest of a value with blanks in it.
    if (word.starts_with("NCCL_"))
      is_kept = !is_nccl_setting_of_node(word.substr(0, word.find('=')));
    if (is_kept) kept += (kept.empty() ? "" : " ") + std::string(word);
    environment.remove_prefix(std::min(end + 1, environment.size()));
  }
  return kept;
}

template <class Function>
bool find_function(void* library, const char* name, Function& into) {
  into = reinterpret_cast<Function>(dlsym(library, name));  // NOLINT: what dlsym is for
  return into != nullptr;
}

/// The first required function that is missing; empty: none is.
std::string find_functions(void* library, Functions& functions) {
  std::string missing;
  const auto need = [&](const char* name, auto& into) {
    if (!find_function(library, name, into) && missing.empty()) missing = name;
  };
  need("ncclGetVersion", functions.get_version);
  need("ncclGetUniqueId", functions.get_unique_id);
  need("ncclCommInitRankConfig", functions.init);
  need("ncclCommFinalize", functions.finalize);
  need("ncclCommDestroy", functions.destroy);
  need("ncclCommAbort", functions.abort);
  need("ncclCommGetAsyncError", functions.get_async_error);
  need("ncclCommRegister", functions.register_buffer);
  need("ncclCommDeregister", functions.deregister_buffer);
  need("ncclRedOpCreatePreMulSum", functions.create_premultiplied_sum);
  need("ncclRedOpDestroy", functions.destroy_op);
  need("ncclGetErrorString", functions.get_error_string);
  need("ncclGetLastError", functions.get_last_error);
  need("ncclAllReduce", functions.all_reduce);
  need("ncclReduceScatter", functions.reduce_scatter);
  need("ncclAllGather", functions.all_gather);
  need("ncclBroadcast", functions.broadcast);
  need("ncclReduce", functions.reduce);
  need("ncclMemAlloc", functions.allocate_memory);
  need("ncclMemFree", functions.free_memory);
  find_function(library, "ncclCommWindowRegister", functions.register_window);
  find_function(library, "ncclCommWindowDeregister", functions.deregister_window);
  find_function(library, "ncclCommRevoke", functions.revoke);
  find_function(library, "ncclAlltoAll", functions.all_to_all);
  find_function(library, "ncclGather", functions.gather);
  find_function(library, "ncclScatter", functions.scatter);
  return missing;
}

/// Finds the functions that take a configuration of the call: all of them or none.
void find_configured_functions(void* library, int version, Functions& functions) {
  if (version < first_call_configuration) return;
  if (!find_function(library, "ncclAllReduceConfig", functions.all_reduce_config) ||
      !find_function(library, "ncclReduceScatterConfig", functions.reduce_scatter_config) ||
      !find_function(library, "ncclAllGatherConfig", functions.all_gather_config) ||
      !find_function(library, "ncclBroadcastConfig", functions.broadcast_config) ||
      !find_function(library, "ncclReduceConfig", functions.reduce_config))
    functions.all_reduce_config = nullptr;
}

std::string last_dl_error() {
  const char* const said = dlerror();
  return said == nullptr ? "unknown reason" : said;
}

void open_library(const Places& places, Opened& opened) {
  for (const std::string& path : places.libraries) {
    // Never unloaded: NCCL may have threads running.
    opened.library.reset(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE));
    opened.path = path;
    if (opened.library) break;
    opened.why_not +=
        (opened.why_not.empty() ? "libnccl cannot be opened: " : "; ") + last_dl_error();
  }
  if (!opened.library) {
    if (opened.why_not.empty()) opened.why_not = "no place of libnccl is known";
    return;
  }
  opened.why_not.clear();
  if (!find_function(opened.library.get(), "ncclGetVersion", opened.functions.get_version)) {
    opened.why_not = opened.path + " is no libnccl: it has no ncclGetVersion";
    return;
  }
  if (opened.functions.get_version(&opened.version) != result_success) {
    opened.why_not = opened.path + " does not say its version";
    return;
  }
  opened.why_not = why_not_version(opened.version);
  if (!opened.why_not.empty()) return;
  if (const std::string missing = find_functions(opened.library.get(), opened.functions);
      !missing.empty())
    opened.why_not =
        "NCCL " + version_text(opened.version) + " at " + opened.path + " has no " + missing;
  find_configured_functions(opened.library.get(), opened.version, opened.functions);
}

/// The variable names no plug-in, but NCCL finds one.
std::string why_foreign(const Places& places, const std::string& kind, const std::string& variable,
                        const std::string& foreign) {
  return "NCCL loads a " + kind + " of somebody else's by itself, " + foreign + "; " + variable +
         "=" + (places.own_tuner.empty() ? "libnccl-tuner-colltune.so" : places.own_tuner) +
         " gives it up for colltune's";
}

void open_tuner(const Places& places, Opened& opened) {
  if (places.tuner.empty() && !places.foreign_tuner.empty()) {
    opened.why_no_tuner = why_foreign(places, "tuner", "NCCL_TUNER_PLUGIN", places.foreign_tuner);
    return;
  }
  if (places.tuner.empty()) {
    opened.why_no_tuner =
        "NCCL loads no tuner of colltune's: NCCL_TUNER_PLUGIN is not set, and "
        "libnccl-tuner-colltune.so was not found beside the program";
    return;
  }
  opened.is_without_tuner = is_none(places.tuner);
  if (opened.is_without_tuner) {
    opened.why_no_tuner = "NCCL loads no tuner: NCCL_TUNER_PLUGIN=" + places.tuner;
    return;
  }
  const std::string file = plugin_file("tuner", places.tuner);
  // The same copy that NCCL gets: the loader keeps only one.
  opened.tuner.reset(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!opened.tuner) {
    opened.why_no_tuner =
        "the tuner that NCCL_TUNER_PLUGIN names cannot be opened: " + last_dl_error();
    return;
  }
  decltype(colltune_nccl_tuner_interface)* interface_number = nullptr;
  TunerControl& control = opened.control;
  const auto find = [&](const char* name, auto& into) {
    return find_function(opened.tuner.get(), name, into);
  };
  if (!find("colltune_nccl_tuner_interface", interface_number))
    opened.why_no_tuner = "NCCL_TUNER_PLUGIN names another tuner than colltune's: " + file;
  else if (interface_number() != COLLTUNE_NCCL_TUNER_INTERFACE)
    opened.why_no_tuner = file + " is of another version of colltune";
  else if (!find("colltune_nccl_tuner_list", control.list) ||
           !find("colltune_nccl_tuner_claim", control.claim) ||
           !find("colltune_nccl_tuner_begin_search", control.begin_search) ||
           !find("colltune_nccl_tuner_end_search", control.end_search) ||
           !find("colltune_nccl_tuner_force", control.force) ||
           !find("colltune_nccl_tuner_observe", control.observe) ||
           !find("colltune_nccl_tuner_last_call", control.last_call))
    opened.why_no_tuner = file + " is not whole";
}

void open_profiler(const Places& places, Opened& opened) {
  if (opened.version < first_version_with_profiler) {
    opened.why_no_profiler = "NCCL " + version_text(opened.version) +
                             " tells no profiler how many channels a call has; 2.27 is the first";
    return;
  }
  if (places.profiler.empty() && !places.foreign_profiler.empty()) {
    opened.why_no_profiler =
        why_foreign(places, "profiler", "NCCL_PROFILER_PLUGIN", places.foreign_profiler);
    return;
  }
  if (places.profiler.empty() || is_none(places.profiler)) {
    opened.why_no_profiler = "NCCL loads no profiler of colltune's: NCCL_PROFILER_PLUGIN is " +
                             (places.profiler.empty() ? std::string("not set") : places.profiler);
    return;
  }
  const std::string file = plugin_file("profiler", places.profiler);
  // The same copy that NCCL gets: the loader keeps only one.
  opened.profiler.reset(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!opened.profiler) {
    opened.why_no_profiler =
        "the profiler that NCCL_PROFILER_PLUGIN names cannot be opened: " + last_dl_error();
    return;
  }
  decltype(colltune_nccl_profiler_interface)* interface_number = nullptr;
  ProfilerControl control;
  const auto find = [&](const char* name, auto& into) {
    return find_function(opened.profiler.get(), name, into);
  };
  if (!find("colltune_nccl_profiler_interface", interface_number))
    opened.why_no_profiler = "NCCL_PROFILER_PLUGIN names another profiler than colltune's: " + file;
  else if (interface_number() != COLLTUNE_NCCL_PROFILER_INTERFACE)
    opened.why_no_profiler = file + " is of another version of colltune";
  else if (!find("colltune_nccl_profiler_watch", control.watch) ||
           !find("colltune_nccl_profiler_end_watch", control.end_watch))
    opened.why_no_profiler = file + " is not whole";
  else
    opened.profiler_control = control;
}

}  // namespace

void CloseLibrary::operator()(void* library) const noexcept { static_cast<void>(dlclose(library)); }

Places places_in(const NcclVariables& environment) {
  Places places;
  if (const std::string own = value_in(environment, "COLLTUNE_NCCL_LIBRARY"); !own.empty()) {
    places.libraries = {own};
  } else {
    places.libraries = {"libnccl.so.2"};
    if (constexpr std::string_view hint = build_hint; !hint.empty())
      places.libraries.emplace_back(hint);
  }
  places.tuner = value_in(environment, "NCCL_TUNER_PLUGIN");
  places.profiler = value_in(environment, "NCCL_PROFILER_PLUGIN");
  places.environment = overriding_variables(environment);
  return places;
}

Places find_places() {
  Places places = places_in(read_nccl_environment());
  if (places.tuner.empty()) places.foreign_tuner = find_foreign_nccl_plugin("tuner");
  if (places.profiler.empty()) places.foreign_profiler = find_foreign_nccl_plugin("profiler");
  places.own_tuner = find_nccl_tuner();
  return places;
}

Opened open_libraries(const Places& places) {
  Opened opened;
  opened.environment = places.environment;
  opened.compared_environment = without_settings_of_node(places.environment);
  open_library(places, opened);
  if (!opened.why_not.empty()) return opened;
  open_tuner(places, opened);
  open_profiler(places, opened);
  return opened;
}

std::string version_text(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

std::string why_not_version(int version) {
  // Before 2.9 the version code was major * 1000 + minor * 100 + patch.
  if (version < version_code(2, 9, 0)) return "NCCL is older than 2.9; 2.24.3 is the oldest";
  if (version < oldest_version)
    return "NCCL " + version_text(version) + " is too old: 2.24.3 is the oldest that is used";
  if (version >= next_major_version)
    return "NCCL " + version_text(version) + " is of another major version than 2";
  return {};
}

const Opened& Runtime::open() const {
  std::call_once(once_, [this] { opened_ = open_libraries(find_()); });
  return opened_;
}

void check_nccl(const Functions& functions, NativeHandle communicator, Result result,
                const char* what) {
  if (result == result_success || result == result_in_progress) return;
  std::string text = std::string(what) + ": " + functions.get_error_string(result);
  if (const char* const last = functions.get_last_error(communicator);
      last != nullptr && *last != '\0')
    text += std::string(" (") + last + ")";
  throw Error(StatusCode::internal, text);
}

}  // namespace colltune::nccl
