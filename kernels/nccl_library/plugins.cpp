// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins.h"

#include <dlfcn.h>
#include <strings.h>

#include <algorithm>
#include <string_view>

#include "library.h"

namespace colltune::nccl {
namespace {

/// The symbol that NCCL looks for in a library, without the interface's version number at its end.
std::string symbol_of(const std::string& kind) {
  return kind == "tuner" ? "ncclTunerPlugin_v" : "ncclProfiler_v";
}

// More than exist yet: the newest in NCCL's sources is 7.
constexpr int newest_interface = 15;

}  // namespace

bool is_none(const std::string& plugin) { return ::strcasecmp(plugin.c_str(), "none") == 0; }

std::string plugin_file(const std::string& kind, const std::string& plugin) {
  const bool is_file = plugin.find('/') != std::string::npos ||
                       (plugin.starts_with("lib") && plugin.ends_with(".so"));
  return is_file ? plugin : "libnccl-" + kind + "-" + plugin + ".so";
}

std::vector<std::string> default_plugins(const std::string& kind,
                                         const NcclVariables& environment) {
  std::vector<std::string> files{"libnccl-" + kind + ".so"};
  // Otherwise NCCL uses the library that it has opened as its network plug-in.
  const auto network = environment.find("NCCL_NET_PLUGIN");
  if (network == environment.end()) {
    files.emplace_back("libnccl-net.so");
    return files;
  }
  if (is_none(network->second)) return files;
  std::string_view names = network->second;
  while (!names.empty()) {
    const std::string name(names.substr(0, names.find(',')));
    if (!name.empty()) files.push_back(plugin_file("net", name));
    names.remove_prefix(std::min(name.size() + 1, names.size()));
  }
  return files;
}

std::string find_foreign_plugin(const std::string& kind, std::span<const std::string> files) {
  for (const std::string& file : files) {
    const SharedObject library(::dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL));
    if (!library) continue;
    const auto has = [&](const std::string& symbol) {
      return ::dlsym(library.get(), symbol.c_str()) != nullptr;
    };
    if (has("colltune_nccl_tuner_interface")) return {};
    for (int number = 1; number <= newest_interface; ++number)
      if (has(symbol_of(kind) + std::to_string(number))) return file;
    return {};
  }
  return {};
}

}  // namespace colltune::nccl
