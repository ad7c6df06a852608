// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "program_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "colltune/collectives/build_id.h"
#include "colltune/kernels/catalogue.h"
#include "colltune/kernels/mpi_library/mpi_communicator.h"
#include "launch/agreement.h"
#include "launch/mpi_control_plane.h"
#include "program_meeting.h"

namespace colltune {
namespace {

using Clock = std::chrono::steady_clock;

/// For the ranks to come to what they do together, and to do it.
constexpr auto preparation_limit = meeting_limit;
/// For the ranks to tell each other how it went: longer, so that the ones that waited in vain say
/// for whom.
constexpr auto agreement_limit = 2 * preparation_limit;
/// A rank that waits looks this seldom whether another has refused the call: it costs a line of
/// each.
constexpr std::uint64_t turns_between_looks = 64;

/// Collective: throws on all ranks unless all give what rank 0 gives.
void require_alike(ControlPlane& control, const std::string& own, const char* what) {
  const auto all = control.gather({own.begin(), own.end()});
  run_on_rank_zero(control, [&] {
    for (std::size_t rank = 1; rank < all.size(); ++rank)
      if (all[rank] != all.front())
        throw Error(StatusCode::failed_precondition,
                    fmt::format("{} of rank {}: {}, of rank 0: {}", what, rank,
                                std::string(all[rank].begin(), all[rank].end()), own));
  });
}

/// The ranks' means to agree in `comm`, once all have come.
MpiControlPlane make_control(MPI_Comm comm, const char* what) {
  meet_in_program(comm, what);
  return MpiControlPlane(comm, agreement_limit,
                         [comm](const std::string& message, int) { end_program(comm, message); });
}

/// "rank 1: …" of "rank 0: rank 1: …"; any other text as it is.
std::string without_first_of_two_ranks(const std::string& text) {
  constexpr std::string_view word = "rank ";
  constexpr std::string_view end = ": ";
  const auto first = text.find(end);
  if (!text.starts_with(word) || first == std::string::npos) return text;
  std::string rest = text.substr(first + end.size());
  return rest.starts_with(word) ? rest : text;
}

/// run_on_all_ranks for steps in which the ranks meet: what these throw names the rank at fault,
/// and the others throw the same.
void run_meeting_steps(ControlPlane& control, const std::function<void()>& steps) {
  try {
    run_on_all_ranks(control, steps);
  } catch (const Error& error) {
    throw Error(error.code(), without_first_of_two_ranks(error.what()));
  }
}

}  // namespace

ProgramRunner::ProgramRunner(MPI_Comm comm, const std::string& call)
    : comm_(comm),
      catalogue_(make_catalogue()),
      meanwhile_([this] {
        if (ranks_ != nullptr) ranks_->progress();
        if (refused_ != nullptr && ++turns_ % turns_between_looks == 0) refused_->look();
      }),
      abort_flag_(meanwhile_) {
  MpiControlPlane control = make_control(comm, "the search for what they can run");
  std::string build;
  run_on_all_ranks(control, [&] {
    const auto asked = nlohmann::json::parse(call, nullptr, false);
    if (!asked.is_object())
      throw Error(StatusCode::invalid_argument, "the call is no JSON object: " + call);
    call_ = read_call(asked, control.size());
    build = own_build_id();
  });
  require_alike(control, fmt::format("{}, root {}", describe(call_.problem), call_.root),
                "the call");
  require_alike(control, build, "the build");
  ranks_ = make_measured_communicator(&comm, abort_flag_, Clock::now() + preparation_limit);
  Capability own;
  run_meeting_steps(control, [&] { own = detect_capability(catalogue_, *ranks_); });
  availability_ = exchange_capabilities(control, *ranks_, own);
  std::vector<int> all(static_cast<std::size_t>(control.size()));
  std::iota(all.begin(), all.end(), 0);
  topology_ = topology_of(availability_, all);
}

ProgramRunner::~ProgramRunner() = default;

const Implementation& ProgramRunner::find(const Variant& variant) const {
  const Implementation* const found = find_implementation(catalogue_, variant.implementation);
  if (found == nullptr)
    throw Error(StatusCode::not_found,
                "this library has no implementation " + variant.implementation);
  return *found;
}

std::string ProgramRunner::why_not(const std::string& text) const {
  try {
    const Variant variant = parse_variant(text);
    const Implementation& implementation = find(variant);
    if (implementation.collective() != call_.problem.collective)
      return fmt::format("it is for {}", name_of(implementation.collective()));
    for (int rank = 0; rank < topology_.ranks; ++rank) {
      const Capability& capability = availability_.capability_of(rank);
      std::string why =
          implementation.supports(call_.problem, topology_, capability, variant).reason();
      if (why.empty()) why = implementation.traits(call_.problem, topology_, variant).why_not_bound;
      if (!why.empty())
        return availability_.kinds.size() == 1 ? why : fmt::format("{} (rank {})", why, rank);
    }
    return {};
  } catch (const Error& error) {  // a name or a parameter that this build does not know
    return error.what();
  }
}

void ProgramRunner::prepare(const std::string& text) {
  MpiControlPlane control = make_control(comm_, "the preparation of a call");
  operation_.reset();
  operations_.reset();
  refused_.reset();
  failure_.clear();
  has_run_ = false;
  const Deadline deadline = Clock::now() + preparation_limit;
  const bool is_root = ranks_->rank() == call_.root;
  try {
    run_meeting_steps(control, [&] {
      const Variant variant = parse_variant(text);
      const Implementation& implementation = find(variant);
      if (const std::string why = why_not(text); !why.empty())
        throw Error(StatusCode::failed_precondition, why);
      const std::size_t send = send_size(call_.problem, call_.ranks, is_root).value;
      const std::size_t receive = receive_size(call_.problem, call_.ranks, is_root).value;
      // Not touched, so it takes addresses alone. One buffer serves for both where they are one.
      const std::size_t apart = call_.problem.in_place ? 0 : send;
      first_buffers_ = std::make_unique_for_overwrite<std::byte[]>(apart + receive);
      operations_ = ranks_->duplicate(deadline);
      operation_ =
          implementation.prepare(*operations_,
                                 {.problem = call_.problem,
                                  .root = call_.root,
                                  .buffers = {.send = {first_buffers_.get(), send},
                                              .receive = {first_buffers_.get() + apart, receive}}},
                                 variant, deadline);
      alignment_ = std::max<std::size_t>(1, implementation.limits(variant).alignment.value);
      // In a call of the MPI library nobody looks at anything.
      if (implementation.family() != "mpi")
        refused_ = std::make_unique<RefusedCalls>(*ranks_, deadline);
    });
  } catch (const Error&) {
    operation_.reset();
    operations_.reset();
    refused_.reset();
    throw;
  }
}

void ProgramRunner::check_buffers(const CallBuffers& buffers) const {
  const bool is_root = ranks_->rank() == call_.root;
  const auto check = [&](const char* what, const std::byte* data, std::size_t got, Bytes wanted) {
    if (got != wanted.value || (got > 0 && data == nullptr))
      throw Error(StatusCode::invalid_argument,
                  fmt::format("{}: rank {} needs {} bytes to {}, not {}", describe(call_.problem),
                              ranks_->rank(), wanted.value, what, data == nullptr ? 0 : got));
    if (got > 0 && reinterpret_cast<std::uintptr_t>(data) % alignment_ != 0)
      throw Error(StatusCode::invalid_argument,
                  fmt::format("{}: the buffer to {} is not aligned to {} bytes",
                              describe(call_.problem), what, alignment_));
  };
  const auto& [send, receive] = buffers;
  check("send", send.data(), send.size(), send_size(call_.problem, call_.ranks, is_root));
  check("receive", receive.data(), receive.size(),
        receive_size(call_.problem, call_.ranks, is_root));
  if (send.empty() || receive.empty()) return;
  if (call_.problem.in_place) {
    if (send.data() != receive.data())
      throw Error(StatusCode::invalid_argument,
                  describe(call_.problem) + " has one buffer, and not two");
    return;
  }
  // As addresses: pointers to different arrays have no order.
  const auto first = reinterpret_cast<std::uintptr_t>(send.data());
  const auto other = reinterpret_cast<std::uintptr_t>(receive.data());
  if (first < other + receive.size() && other < first + send.size())
    throw Error(StatusCode::invalid_argument,
                describe(call_.problem) +
                    ": the buffers overlap; what was decided is for buffers that do not");
}

void ProgramRunner::require_prepared() const {
  if (operation_ == nullptr || !failure_.empty())
    throw Error(StatusCode::failed_precondition,
                failure_.empty() ? "nothing is prepared" : "an earlier call failed: " + failure_);
}

void ProgramRunner::settle() {
  if (refused_ == nullptr || !refused_->is_open()) return;
  try {
    const Deadline deadline = Clock::now() + usual_longest_wait;
    while (!refused_->agrees()) {
      if (Clock::now() > deadline)
        throw Error(StatusCode::aborted,
                    fmt::format("another rank has not come to the call that rank {} refused",
                                ranks_->rank()));
      ranks_->progress();
      std::this_thread::yield();
    }
  } catch (const std::exception& error) {
    give_up(error.what());
    throw;
  }
}

void ProgramRunner::give_up(const std::string& why) {
  failure_ = why;
  if (refused_ != nullptr) refused_->end();
}

void ProgramRunner::refuse() {
  require_prepared();
  settle();
  if (refused_ != nullptr) refused_->refuse();
}

void ProgramRunner::call() {
  try {
    if (refused_ != nullptr) refused_->begin();
    operation_->bind(last_);
    operation_->start();
    operation_->wait(Clock::now() + usual_longest_wait);
  } catch (const std::exception& error) {
    give_up(error.what());
    throw;
  }
}

void ProgramRunner::run(const CallBuffers& buffers) {
  require_prepared();
  settle();
  try {
    check_buffers(buffers);
  } catch (const Error&) {
    if (refused_ != nullptr) refused_->refuse();
    throw;
  }
  last_ = buffers;
  call();
  has_run_ = true;
  first_buffers_.reset();
}

void ProgramRunner::repeat() {
  require_prepared();
  if (!has_run_)
    throw Error(StatusCode::failed_precondition, "there was no call that could be repeated");
  settle();
  call();
}

}  // namespace colltune
