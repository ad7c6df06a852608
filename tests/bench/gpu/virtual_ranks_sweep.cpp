// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "virtual_ranks_sweep.h"

#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "colltune/decide/decide.h"
#include "colltune/journal/fit_maker.h"
#include "colltune/journal/sweep_journal.h"
#include "colltune/kernels/catalogue.h"
#include "colltune/kernels/communication/thread_communicator.h"

namespace colltune {
namespace {

using namespace std::chrono_literals;

Environment environment_of(const Capability& capability) {
  return {.mpi_library = "none: virtual ranks",
          .gpu_model = std::string(capability.value("device.name")),
          .gpu_driver = std::string(capability.value("cuda.driver")),
          .cuda_version = std::string(capability.value("cuda.runtime"))};
}

/// What the ranks share.
struct Job {
  int ranks;
  const SweepSpec& spec;
  const std::filesystem::path& database;
  AbortFlag stop{};
  VirtualRanksSweep result{};  ///< rank 0's
};

void run_rank(Job& job, ControlPlane& control, Communicator& launch) {
  const bool is_first = control.rank() == 0;
  const Implementations catalogue = make_catalogue();
  const SweepSpec spec = share_sweep_spec(control, [&] { return job.spec; });
  const Capability own = detect_capability(catalogue, launch);
  const Environment environment = environment_of(own);
  const std::string digest = digest_of(environment);
  const Availability availability = exchange_capabilities(control, launch, own);
  const SweepPlan plan = share_plan(control, spec, availability, catalogue, digest);
  std::unique_ptr<SweepJournal> journal;
  if (is_first) {
    journal = std::make_unique<SweepJournal>(job.database, std::nullopt);
    journal->file_under({.uuid = random_uuid(),
                         .started_at = utc_now(),
                         .finished_at = {},
                         .configuration = spec.text,
                         .environment_digest = digest,
                         .launch = std::to_string(job.ranks) + " virtual ranks",
                         .seed = plan.seed,
                         .summary = {}},
                        environment, plan, Resume::never);
  }
  SweepOutcome outcome = run_sweep({.control = control,
                                    .launch = launch,
                                    .implementations = catalogue,
                                    .journal = journal.get(),
                                    .begin = {},
                                    .stop = job.stop},
                                   plan, {});
  if (!is_first) return;
  job.result.decisions = decide(outcome.measurements, plan.decision, journal->sweep_uuid());
  const SweepState state =
      outcome.end == SweepEnd::complete ? SweepState::complete : SweepState::partial;
  job.result.generation = *journal->finish(state, job.result.decisions, job.result.decisions, "{}",
                                           fit_maker_of(catalogue));
  job.result.outcome = std::move(outcome);
}

}  // namespace

VirtualRanksSweep sweep_virtual_ranks(Device& device, int ranks, const SweepSpec& spec,
                                      const std::filesystem::path& database) {
  Job job{.ranks = ranks, .spec = spec, .database = database};
  AbortFlag abort;
  const std::vector<Device*> devices(static_cast<std::size_t>(ranks), &device);
  const auto planes = make_thread_control_planes(ranks, 120s);
  const auto world = make_thread_world(ranks, abort, {}, devices);
  std::mutex mutex;
  std::exception_ptr first;  // guarded by mutex
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < planes.size(); ++rank)
      threads.emplace_back([&, rank] {
        try {
          run_rank(job, *planes[rank], *world[rank]);
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (!first) first = std::current_exception();
          abort.raise();
        }
      });
  }
  if (first) std::rethrow_exception(first);
  return std::move(job.result);
}

}  // namespace colltune
