// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include "c_handles.h"
#include "colltune/c_guard.h"
#include "colltune/collectives/mpi.h"
#include "colltune/collectives/running_mpi.h"
#include "colltune/collectives_mpi.h"
#include "colltune/kernels/catalogue.h"
#include "colltune/kernels/mpi_library/mpi_communicator.h"
#include "one_rank.h"

namespace colltune {
namespace {

void require_usable(MPI_Comm comm) {
  int initialized = 0;
  int finalized = 0;
  PMPI_Initialized(&initialized);
  PMPI_Finalized(&finalized);
  if (initialized == 0 || finalized != 0)
    throw Error(StatusCode::failed_precondition,
                initialized == 0 ? "MPI_Init has not been called" : "MPI_Finalize has been called");
  if (comm == MPI_COMM_NULL)
    throw Error(StatusCode::invalid_argument, "the communicator is MPI_COMM_NULL");
  int is_inter = 0;
  PMPI_Comm_test_inter(comm, &is_inter);
  if (is_inter != 0)
    throw Error(StatusCode::invalid_argument,
                "the communicator is an intercommunicator; an intracommunicator is needed");
}

/// Our kernels for processors, and what the library does of compositions.
Implementations make_program_catalogue() {
  Implementations all = make_host_catalogue();
  for (auto& one : make_library_parts()) all.push_back(std::move(one));
  return all;
}

/// Throws on all ranks if one lacks settings, or has others than rank 0. `own_error`: why this rank
/// has none.
void require_alike(Agreement& agreement, const std::string& fingerprint,
                   const std::optional<Error>& own_error) {
  const std::string mark = "fails ";
  const std::vector<std::string> all =
      agreement.gather(own_error ? mark + own_error->what() : fingerprint);
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank].starts_with(mark))
      throw Error(StatusCode::invalid_argument,
                  fmt::format("rank {}: {}", rank, all[rank].substr(mark.size())));
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank] != all.front())
      throw Error(StatusCode::failed_precondition,
                  fmt::format("build, memory and numerics of rank {} are {}, of rank 0 {}: they "
                              "must be the same on all ranks",
                              rank, all[rank], all.front()));
}

/// `read` the settings: a rank where it throws tells the others.
Collectives make_over_mpi(MPI_Comm comm, const std::function<ProgramSettings()>& read) {
  require_usable(comm);
  ProgramSettings settings;
  std::string fingerprint;
  std::optional<Error> own_error;
  try {
    settings = read();
    settings.mpi_library = running_mpi();
    fingerprint = fingerprint_of(settings);
  } catch (const Error& error) {
    own_error = error;
  }
  // Set below: the wait comes first.
  const auto made = std::make_shared<Communicator*>(nullptr);
  auto waits = std::make_shared<RankWaits>([made] {
    if (*made != nullptr) (*made)->progress();
  });
  auto communicator = make_program_communicator(&comm, waits->abort_flag, settings.memory);
  *made = communicator.get();
  const auto agreement = make_mpi_agreement(communicator->native_mpi());
  require_alike(*agreement, fingerprint, own_error);
  return Collectives(std::make_shared<Collectives::Impl>(
      OneRankParts{.keeps = {},
                   .waits = std::move(waits),
                   .communicator = std::move(communicator),
                   .catalogue = std::make_shared<const Implementations>(make_program_catalogue()),
                   .plain = make_library_way(),
                   .abandon = [] {},
                   .reports = settings.reports},
      *agreement, settings));
}

/// For C.
Collectives make_into(colltune_collectives** place, MPI_Comm comm,
                      const colltune_collectives_options* options) {
  return make_over_mpi(comm, [&] {
    clear_place(place, "collectives");
    return settings_of(options_of(options));
  });
}

}  // namespace

Collectives make_collectives(MPI_Comm comm, const CollectivesOptions& options) {
  return make_over_mpi(comm, [&] { return settings_of(options); });
}

}  // namespace colltune

extern "C" int colltune_collectives_of_mpi(MPI_Comm comm,
                                           const colltune_collectives_options* options,
                                           colltune_collectives** collectives,
                                           colltune_error* error) {
  return colltune::guard_for_c(error, [&] {
    *collectives = new colltune_collectives{colltune::make_into(collectives, comm, options)};
  });
}
