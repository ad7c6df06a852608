// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "nccl/library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <utility>

#include "colltune/kernels/nccl_environment.h"
#include "colltune/vocabulary/error.h"
#include "nccl/build_hint.h"

namespace colltune::nccl {
namespace {

// The first with a tuner interface that libnccl-tuner-colltune.so has (version 4), and the newest
// that this was written against.
constexpr int oldest_version = version_code(2, 24, 3);
constexpr int next_major_version = version_code(3, 0, 0);

std::string_view environment_word(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view{} : std::string_view(value);
}

/// But for what stands in Places by itself.
bool is_overriding(std::string_view variable) {
  const std::string_view name = variable.substr(0, variable.find('='));
  return is_nccl_setting(name) && name != "NCCL_TUNER_PLUGIN";
}

std::string overriding_variables() {
  std::string found;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (!is_overriding(text)) continue;
    if (!found.empty()) found += ' ';
    found += text;
  }
  return found;
}

template <class Function>
bool find_function(void* library, const char* name, Function& into) {
  into = reinterpret_cast<Function>(dlsym(library, name));  // NOLINT: what dlsym is for
  return into != nullptr;
}

/// The first function that must be there and is not; empty: all are.
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
  find_function(library, "ncclAlltoAll", functions.all_to_all);
  find_function(library, "ncclGather", functions.gather);
  find_function(library, "ncclScatter", functions.scatter);
  return missing;
}

std::string last_dl_error() {
  const char* const said = dlerror();
  return said == nullptr ? "unknown reason" : said;
}

void open_library(const Places& places, Opened& opened) {
  for (const std::string& path : places.libraries) {
    // Stays: NCCL may have threads.
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
}

/// As NCCL resolves NCCL_TUNER_PLUGIN.
std::string tuner_file(const std::string& plugin) {
  const bool is_file = plugin.find('/') != std::string::npos ||
                       (plugin.starts_with("lib") && plugin.ends_with(".so"));
  return is_file ? plugin : "libnccl-tuner-" + plugin + ".so";
}

void open_tuner(const Places& places, Opened& opened) {
  if (places.tuner.empty()) {
    opened.why_no_tuner =
        "NCCL loads no tuner of colltune's: NCCL_TUNER_PLUGIN is not set, and "
        "libnccl-tuner-colltune.so was not found beside the program";
    return;
  }
  opened.is_without_tuner = places.tuner == "none";
  if (opened.is_without_tuner) {
    opened.why_no_tuner = "NCCL loads no tuner: NCCL_TUNER_PLUGIN=none";
    return;
  }
  const std::string file = tuner_file(places.tuner);
  // The very copy that NCCL gets: the loader keeps one.
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
           !find("colltune_nccl_tuner_force", control.force) ||
           !find("colltune_nccl_tuner_observe", control.observe) ||
           !find("colltune_nccl_tuner_last_call", control.last_call))
    opened.why_no_tuner = file + " is not whole";
}

}  // namespace

void CloseLibrary::operator()(void* library) const noexcept { static_cast<void>(dlclose(library)); }

Places find_places() {
  Places places;
  if (const std::string_view own = environment_word("COLLTUNE_NCCL_LIBRARY"); !own.empty()) {
    places.libraries = {std::string(own)};
  } else {
    places.libraries = {"libnccl.so.2"};
    if (constexpr std::string_view hint = build_hint; !hint.empty())
      places.libraries.emplace_back(hint);
  }
  places.tuner = environment_word("NCCL_TUNER_PLUGIN");
  places.environment = overriding_variables();
  return places;
}

Opened open_libraries(const Places& places) {
  Opened opened;
  opened.environment = places.environment;
  open_library(places, opened);
  if (opened.why_not.empty()) open_tuner(places, opened);
  return opened;
}

std::string version_text(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

std::string why_not_version(int version) {
  // Before 2.9 the code was major * 1000 + minor * 100 + patch.
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
