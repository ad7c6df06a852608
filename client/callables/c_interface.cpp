// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// What the library shows; all else of it is hidden.
#pragma GCC visibility push(default)
#include "colltune/callables.h"
#pragma GCC visibility pop

#include <mpi.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "colltune/vocabulary/error.h"
#include "launch/agreement.h"
#include "launch/mpi_control_plane.h"
#include "program_sweep.h"

namespace {

using colltune::Error;
using colltune::StatusCode;

constexpr auto gather_time_out = std::chrono::seconds(60);

char* copy_of(const std::string& text) {
  auto* const copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy != nullptr) std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

/// The text of `act`, or the message of what it throws.
template <class Act>
int32_t answer(char** text, Act act) noexcept {
  if (text == nullptr) return static_cast<int32_t>(StatusCode::invalid_argument);
  *text = nullptr;
  try {
    *text = copy_of(act());
    return 0;
  } catch (const Error& error) {
    *text = copy_of(error.what());
    return static_cast<int32_t>(error.code());
  } catch (const std::exception& error) {
    *text = copy_of(error.what());
    return static_cast<int32_t>(StatusCode::internal);
  }
}

MPI_Comm running_communicator(int32_t handle) {
  int initialized = 0;
  int finalized = 0;
  PMPI_Initialized(&initialized);
  PMPI_Finalized(&finalized);
  if (initialized == 0 || finalized != 0)
    throw Error(StatusCode::failed_precondition,
                initialized == 0 ? "MPI is not running: MPI_Init has not been called"
                                 : "MPI is not running any more: MPI_Finalize was called");
  const MPI_Comm comm = PMPI_Comm_f2c(handle);
  if (comm == MPI_COMM_NULL)
    throw Error(StatusCode::invalid_argument, "the communicator is MPI_COMM_NULL");
  return comm;
}

}  // namespace

int32_t colltune_callables_sweep(const colltune_callables_request* request, char** text) {
  return answer(text, [&] {
    if (request == nullptr || request->struct_size < sizeof *request ||
        request->configuration == nullptr ||
        (request->callables == nullptr && request->callable_count > 0))
      throw Error(StatusCode::invalid_argument,
                  "the request lacks its configuration or its callables, or is of an older "
                  "revision");
    return colltune::sweep_in_program(*request, running_communicator(request->communicator));
  });
}

int32_t colltune_callables_gather(int32_t communicator, const char* own, char** text) {
  return answer(text, [&] {
    if (own == nullptr) throw Error(StatusCode::invalid_argument, "there is no text to gather");
    colltune::MpiControlPlane control(running_communicator(communicator), gather_time_out);
    nlohmann::json all = nlohmann::json::array();
    const std::string mine(own);
    for (const colltune::Payload& one : control.gather({mine.begin(), mine.end()}))
      all.push_back(std::string(one.begin(), one.end()));
    const auto shared = control.broadcast(nlohmann::json::to_cbor(all));
    return nlohmann::json::from_cbor(shared).dump();
  });
}

int32_t colltune_callables_find(const char* decisions, const char* database, const char* query,
                                char** text) {
  return answer(text, [&] {
    if (query == nullptr || (decisions == nullptr && database == nullptr))
      throw Error(StatusCode::invalid_argument, "neither decisions nor a database, or no query");
    return colltune::find_ranked(decisions, database, query);
  });
}

int32_t colltune_callables_start_mpi(char** text) {
  return answer(text, [] {
    int initialized = 0;
    PMPI_Initialized(&initialized);
    if (initialized == 0 && PMPI_Init(nullptr, nullptr) != MPI_SUCCESS)
      throw Error(StatusCode::internal, "MPI_Init failed");
    return std::to_string(PMPI_Comm_c2f(MPI_COMM_WORLD));
  });
}

int32_t colltune_callables_end_mpi(char** text) {
  return answer(text, [] {
    int finalized = 0;
    PMPI_Finalized(&finalized);
    if (finalized == 0) PMPI_Finalize();
    return std::string();
  });
}

void colltune_callables_free(char* text) { std::free(text); }
