// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "set_up.h"

#include <array>

#include "colltune/kernels/mpi_library/mpi_communicator.h"

namespace colltune {

SetUp set_up(MPI_Comm comm, AbortFlag& abort_flag, const ProgramSettings& settings,
             const Implementations& catalogue, ChoiceCache& cache) {
  const auto begun = CallTimer::steady_now();
  auto communicator = make_program_communicator(&comm, abort_flag, settings.memory);
  SetUp done{.rank = communicator->rank()};
  // Of the same kind as preparing a variant, and all that is known before one was prepared.
  const auto preparing = settings.patience.count() == 0
                             ? std::chrono::nanoseconds(0)
                             : agreed_time(*communicator, CallTimer::steady_now() - begun);
  const auto agreement = make_mpi_agreement(communicator->native_mpi());
  constexpr std::array ordinary{ProgramCalling{}};
  AgreedChoices agreed = agree_on_choices(*communicator, *agreement, settings, catalogue,
                                          {.callings = ordinary}, cache);
  if (agreed.are_unlike) {
    done.lines.push_back(
        "the ranks of a communicator run on unlike processors: the library's own collectives run "
        "there");
    return done;
  }
  if (agreed.table_error) {
    done.lines.push_back(std::string(agreed.table_error->what()) +
                         "; the library's own collectives run");
    return done;
  }
  Choices& choices = agreed.of_calling.front();
  if (settings.reports || choices.rows.empty())
    for (const std::string& line : choices.left_out) done.lines.push_back("not used: " + line);
  if (choices.rows.empty()) return done;
  done.executor =
      std::make_unique<Executor>(std::move(communicator), catalogue, std::move(choices),
                                 settings.reports ? CallTimer::steady_now : nullptr, preparing);
  return done;
}

}  // namespace colltune
