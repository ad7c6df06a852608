// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// What the library shows; all else of it is hidden.
#pragma GCC visibility push(default)
#include "colltune/callables.h"
#pragma GCC visibility pop

#include <mpi.h>

#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "colltune/vocabulary/error.h"
#include "launch/agreement.h"
#include "launch/mpi_control_plane.h"
#include "program_meeting.h"
#include "program_runner.h"
#include "program_sweep.h"

struct colltune_callables_runner {
  colltune::ProgramRunner runner;
};

namespace {

using colltune::Error;
using colltune::StatusCode;

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

/// The same without a text where it succeeds, for what is called often.
template <class Act>
int32_t make_call(char** text, Act act) noexcept {
  if (text == nullptr) return static_cast<int32_t>(StatusCode::invalid_argument);
  *text = nullptr;
  try {
    act();
    return 0;
  } catch (...) {
    return answer(text, []() -> std::string { throw; });
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

nlohmann::json describe(MPI_Comm comm) {
  int rank = 0;
  int size = 1;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  return {{"communicator", PMPI_Comm_c2f(comm)}, {"rank", rank}, {"size", size}};
}

template <class Runner>
Runner& usable(Runner* runner) {
  if (runner == nullptr) throw Error(StatusCode::invalid_argument, "the runner is NULL");
  return *runner;
}

std::string text_of(const char* text, const char* what) {
  if (text == nullptr) throw Error(StatusCode::invalid_argument, std::string(what) + " is NULL");
  return text;
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
    const MPI_Comm comm = running_communicator(communicator);
    colltune::meet_in_program(comm, "the exchange of texts");
    colltune::MpiControlPlane control(
        comm, colltune::meeting_limit,
        [&](const std::string& message, int) { colltune::end_program(comm, message); });
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

int32_t colltune_callables_open(int32_t communicator, const char* call,
                                colltune_callables_runner** runner, char** text) {
  return answer(text, [&] {
    if (runner == nullptr) throw Error(StatusCode::invalid_argument, "no place for the runner");
    *runner = nullptr;
    // What is wrong with the text is told on all ranks.
    *runner = new colltune_callables_runner{
        {running_communicator(communicator), call == nullptr ? "" : call}};
    return std::string();
  });
}

int32_t colltune_callables_why_not(const colltune_callables_runner* runner, const char* variant,
                                   char** text) {
  return answer(text,
                [&] { return usable(runner).runner.why_not(text_of(variant, "the variant")); });
}

int32_t colltune_callables_prepare(colltune_callables_runner* runner, const char* variant,
                                   char** text) {
  return answer(text, [&] {
    usable(runner).runner.prepare(variant == nullptr ? "" : variant);
    return std::string();
  });
}

int32_t colltune_callables_run(colltune_callables_runner* runner, const void* send,
                               size_t send_size, void* receive, size_t receive_size, char** text) {
  return make_call(text, [&] {
    usable(runner).runner.run({.send = {static_cast<const std::byte*>(send), send_size},
                               .receive = {static_cast<std::byte*>(receive), receive_size}});
  });
}

int32_t colltune_callables_repeat(colltune_callables_runner* runner, char** text) {
  return make_call(text, [&] { usable(runner).runner.repeat(); });
}

int32_t colltune_callables_refuse(colltune_callables_runner* runner, char** text) {
  return make_call(text, [&] { usable(runner).runner.refuse(); });
}

void colltune_callables_close(colltune_callables_runner* runner) { delete runner; }

int32_t colltune_callables_start_mpi(char** text) {
  return answer(text, [] {
    int initialized = 0;
    PMPI_Initialized(&initialized);
    if (initialized == 0 && PMPI_Init(nullptr, nullptr) != MPI_SUCCESS)
      throw Error(StatusCode::internal, "MPI_Init failed");
    nlohmann::json world = describe(running_communicator(PMPI_Comm_c2f(MPI_COMM_WORLD)));
    world["is_started"] = initialized == 0;
    return world.dump();
  });
}

int32_t colltune_callables_describe(int32_t communicator, char** text) {
  return answer(text, [&] { return describe(running_communicator(communicator)).dump(); });
}

int32_t colltune_callables_split(int32_t communicator, int32_t color, int32_t key, char** text) {
  return answer(text, [&]() -> std::string {
    const MPI_Comm comm = running_communicator(communicator);
    colltune::meet_in_program(comm, "the split of a communicator");
    MPI_Comm part = MPI_COMM_NULL;
    if (PMPI_Comm_split(comm, color < 0 ? MPI_UNDEFINED : color, key, &part) != MPI_SUCCESS)
      throw Error(StatusCode::internal, "MPI_Comm_split failed");
    return part == MPI_COMM_NULL ? "" : describe(part).dump();
  });
}

int32_t colltune_callables_free_communicator(int32_t communicator, char** text) {
  return answer(text, [&] {
    MPI_Comm comm = running_communicator(communicator);
    PMPI_Comm_free(&comm);
    return std::string();
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
