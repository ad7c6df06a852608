// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The functions that NCCL calls. A collective call fails if a tuner's get_coll_info fails, so ours
// never does. init fails only if this rank would choose differently from the others: a communicator
// whose ranks choose differently hangs or computes wrong results.

#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>

#include "colltune/nccl/tuner_abi.h"
#include "colltune/vocabulary/error.h"
#include "loaded_table.h"
#include "registry.h"

namespace colltune::nccl {
namespace {

constexpr const char* path_variable = "COLLTUNE_TABLE";
constexpr const char* digest_variable = "COLLTUNE_TABLE_DIGEST";
constexpr const char* tuner_name = "colltune";

using DigestText = std::array<char, 33>;

struct InitCall {
  std::uint64_t identity;
  std::size_t ranks;
  std::size_t nodes;
  int interface_version;
};

/// Writes a line to NCCL's log; does nothing if NCCL gave no logger.
template <class... Values>
void log(Logger logger, int level, const char* format, Values... values) noexcept {
  if (logger == nullptr) return;
  std::array<char, 640> text{};
  std::snprintf(text.data(), text.size(), format, values...);
  logger(level, log_tuning, "colltune", 0, "%s", text.data());
}

/// The variable's value; null if it is unset or empty.
const char* read_environment(const char* name) noexcept {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr || *value == '\0' ? nullptr : value;
}

DigestText text_of(const std::array<unsigned char, 16>& digest) noexcept {
  DigestText text{};
  for (std::size_t byte = 0; byte < digest.size(); ++byte)
    std::snprintf(text.data() + 2 * byte, 3, "%02x", digest[byte]);
  return text;
}

/// The version of the calling NCCL, from ncclGetVersion of the shared object that contains its
/// logger; 0 if there is none. The interface does not tell: 2.30 and 2.31 have the same one but
/// choose by different rules.
int find_version(Logger logger) noexcept {
  using GetVersion = Result (*)(int*);
  int version = 0;
  const auto ask = [&](void* library) {
    const auto get = reinterpret_cast<GetVersion>(dlsym(library, "ncclGetVersion"));  // NOLINT
    if (get == nullptr || get(&version) != result_success) version = 0;
  };
  Dl_info object{};
  if (logger != nullptr && dladdr(reinterpret_cast<void*>(logger), &object) != 0 &&  // NOLINT
      object.dli_fname != nullptr) {
    if (void* const library = dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
        library != nullptr) {
      ask(library);
      dlclose(library);
    }
  }
  // NCCL is linked into the program, or loaded with global symbols.
  if (version == 0) ask(RTLD_DEFAULT);
  return version;
}

/// NCCL itself removes from its table what these variables exclude, and a tuner cannot put it back.
void report_restrictions(Logger logger) noexcept {
  for (const char* const name : {"NCCL_ALGO", "NCCL_PROTO"})
    if (const char* const value = read_environment(name); value != nullptr)
      log(logger, log_info,
          "colltune: %s=%s restricts what can be chosen: rules and forces for anything else have "
          "no effect",
          name, value);
}

using Reason = std::array<char, 160>;

/// Returns why there are no rules; empty if there are.
Reason fill_rules(const TableView& table, TunerContext& communicator) noexcept {
  Reason why{};
  const auto say = [&](const char* text) { std::snprintf(why.data(), why.size(), "%s", text); };
  try {
    if (!communicator.rules.fill(rules_of(table, communicator.facts.ranks, communicator.facts.nodes,
                                          communicator.facts.nccl_version)))
      say("there is no memory for its rules");
  } catch (const Error& error) {
    say(error.what());
  } catch (const std::exception&) {
    say("there is no memory for its rules");
  }
  return why;
}

/// Loads the rules of the table that the environment names, if any. Returns false if this rank
/// must not take part, because other ranks use a table that it does not have.
bool take_rules(TunerContext& communicator, Logger logger) noexcept {
  colltune_nccl_communicator& facts = communicator.facts;
  const char* const path = read_environment(path_variable);
  const char* const wanted = read_environment(digest_variable);
  if (path == nullptr) {
    facts.table_state = colltune_nccl_table_none;
    if (wanted == nullptr) return true;
    log(logger, log_warn, "colltune: %s demands table %s, but %s names none: communicator refused",
        digest_variable, wanted, path_variable);
    return false;
  }
  const LoadedTable table(path);
  facts.table_state = colltune_nccl_table_refused;
  const auto refuse = [&](const char* why) {
    log(logger, log_warn, "colltune: table %s cannot be used: %s: %s", path, why,
        wanted == nullptr ? "NCCL's own choices stay"
                          : "communicator refused, since its digest is demanded");
    return wanted == nullptr;
  };
  if (*table.why_not() != '\0') return refuse(table.why_not());
  const table_file::Header& header = table.view().header();
  const DigestText digest = text_of(header.digest);
  if (wanted != nullptr && std::strcmp(wanted, digest.data()) != 0) {
    log(logger, log_warn,
        "colltune: table %s has the digest %s, but %s demands %s: communicator refused", path,
        digest.data(), digest_variable, wanted);
    return false;
  }
  if (const Reason why = fill_rules(table.view(), communicator); why.front() != '\0')
    return refuse(why.data());
  if (table.is_writable_by_all() && wanted == nullptr)
    log(logger, log_warn,
        "colltune: table %s can be written by every user of this machine, who choose for this "
        "job so: take that right away (chmod o-w), or demand its digest by %s",
        path, digest_variable);
  if (leaves_out_channels(table.view(), facts.nccl_version)) {
    const std::string_view measured = measured_nccl(table.view());
    log(logger, log_info,
        "colltune: no rule of table %s asks for channels: it was measured with NCCL %.*s, and from "
        "2.31 on NCCL may take fewer than it is asked for",
        path, static_cast<int>(measured.empty() ? 7 : measured.size()),
        measured.empty() ? "unknown" : measured.data());
  }
  facts.table_state = colltune_nccl_table_in_use;
  facts.table_generation = header.generation;
  facts.table_rules = communicator.rules.size();
  std::memcpy(facts.table_digest, header.digest.data(), header.digest.size());
  log(logger, log_info,
      "colltune: %llu rules for %llu ranks on %llu nodes, of table %s, generation %llu, digest "
      "%s (must be equal on all ranks)",
      static_cast<unsigned long long>(facts.table_rules),
      static_cast<unsigned long long>(facts.ranks), static_cast<unsigned long long>(facts.nodes),
      path, static_cast<unsigned long long>(facts.table_generation), digest.data());
  return true;
}

Result init(void** context, const InitCall& call, Logger logger) noexcept {
  if (context == nullptr) return result_success;
  *context = nullptr;
  std::unique_ptr<TunerContext> made(new (std::nothrow) TunerContext);
  if (!made) {
    log(logger, log_warn, "colltune: no memory: NCCL's own choices stay%s", "");
    return read_environment(digest_variable) == nullptr ? result_success : result_system_error;
  }
  made->facts.identity = call.identity;
  made->facts.ranks = call.ranks;
  made->facts.nodes = call.nodes;
  made->facts.interface_version = call.interface_version;
  made->facts.nccl_version = find_version(logger);
  report_restrictions(logger);
  if (!take_rules(*made, logger)) return result_invalid_usage;
  TunerContext* const communicator = made.release();
  registry().add(communicator);
  *context = communicator;
  return result_success;
}

Result init_v4(std::size_t ranks, std::size_t nodes, Logger logger, void** context) noexcept {
  return init(context, {0, ranks, nodes, 4}, logger);
}
template <int version, class Constants>
Result init_from_v5(void** context, std::uint64_t identity, std::size_t ranks, std::size_t nodes,
                    Logger logger, NvlDomains*, Constants*) noexcept {
  return init(context, {identity, ranks, nodes, version}, logger);
}

Result get_coll_info(void* context, int function, std::size_t bytes, int pipe_operations,
                     float** costs, int algorithms, int protocols, int registered,
                     int* channels) noexcept {
  if (context == nullptr || costs == nullptr || algorithms <= 0 || protocols <= 0)
    return result_success;
  // Declared as rows of pointers, but passed as one array.
  auto* const table = reinterpret_cast<float*>(costs);  // NOLINT
  static_cast<TunerContext*>(context)->decide({function, bytes, pipe_operations, registered},
                                              {table, algorithms, protocols}, channels);
  return result_success;
}

Result finalize_tuner(void* context) noexcept {
  if (context != nullptr) registry().remove(static_cast<TunerContext*>(context));
  return result_success;
}

}  // namespace
}  // namespace colltune::nccl

extern "C" {

// Not const, because NCCL declares them as writable.
[[gnu::visibility("default")]] colltune::nccl::TunerV4 ncclTunerPlugin_v4{
    colltune::nccl::tuner_name, colltune::nccl::init_v4, colltune::nccl::get_coll_info,
    colltune::nccl::finalize_tuner};
[[gnu::visibility("default")]] colltune::nccl::TunerV5 ncclTunerPlugin_v5{
    colltune::nccl::tuner_name, colltune::nccl::init_from_v5<5, colltune::nccl::TunerConstants>,
    colltune::nccl::get_coll_info, colltune::nccl::finalize_tuner};
[[gnu::visibility("default")]] colltune::nccl::TunerV6 ncclTunerPlugin_v6{
    colltune::nccl::tuner_name, colltune::nccl::init_from_v5<6, colltune::nccl::TunerConstants>,
    colltune::nccl::get_coll_info, colltune::nccl::finalize_tuner, nullptr};
[[gnu::visibility("default")]] colltune::nccl::TunerV7 ncclTunerPlugin_v7{
    colltune::nccl::tuner_name, colltune::nccl::init_from_v5<7, colltune::nccl::TunerConstantsV7>,
    colltune::nccl::get_coll_info, colltune::nccl::finalize_tuner, nullptr};

}  // extern "C"
