// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "library_call.h"

#include <array>
#include <cstdio>
#include <functional>
#include <tuple>
#include <utility>

#include "agreement.h"
#include "arithmetic/typed.h"
#include "colltune/kernels/communication/bounded_wait.h"
#include "colltune/vocabulary/error.h"
#include "native.h"

namespace colltune::nccl {
namespace {

// Checks of the device between two queries of NCCL's communicator, which take a lock.
constexpr int looks_between_checks = 1024;
// The ranks are connected by then, so NCCL only records what is to be done.
constexpr std::chrono::seconds longest_submission{60};

std::uint64_t count_asked(const NcclRank& member) {
  const auto seen = member.last_call();
  return seen ? seen->count : 0;
}

/// Whether the call that ran matches the one asked for.
bool is_run_of(const Choice& asked, const Choice& ran) {
  return asked.algorithm == ran.algorithm && asked.protocol == ran.protocol &&
         (asked.channels == 0 || asked.channels == ran.channels);
}

CallConfiguration configuration_of(const CallSelection& selection) {
  CallConfiguration configuration;
  configuration.selection = selection.names.c_str();
  if (!selection.choice || selection.choice->channels == 0) return configuration;
  configuration.fewest_ctas = configuration.most_ctas = selection.choice->channels;
  // In NVLink switches NCCL takes this number last.
  if (selection.choice->algorithm == Algorithm::nvls ||
      selection.choice->algorithm == Algorithm::nvls_tree)
    configuration.nvls_ctas = selection.choice->channels;
  return configuration;
}

Result call_nccl(const Functions& nccl, NativeHandle handle, const NativeCall& call, int op,
                 void* queue) {
  const int type = native_type(call.type);
  const auto [send, receive, count] = std::tuple(call.send, call.receive, call.count);
  const auto make = [&](auto plain, auto configured, auto... arguments) {
    // From a call without elements NCCL returns at once, and its buffers may lie in no window.
    if (!call.selection || call.count == 0) return plain(arguments...);
    const CallConfiguration configuration = configuration_of(*call.selection);
    return configured(arguments..., &configuration);
  };
  switch (call.collective) {
    case Collective::all_reduce:
      return make(nccl.all_reduce, nccl.all_reduce_config, send, receive, count, type, op, handle,
                  queue);
    case Collective::reduce_scatter:
      return make(nccl.reduce_scatter, nccl.reduce_scatter_config, send, receive, count, type, op,
                  handle, queue);
    case Collective::all_gather:
      return make(nccl.all_gather, nccl.all_gather_config, send, receive, count, type, handle,
                  queue);
    case Collective::broadcast:
      return make(nccl.broadcast, nccl.broadcast_config, send, receive, count, type, call.root,
                  handle, queue);
    case Collective::reduce:
      return make(nccl.reduce, nccl.reduce_config, send, receive, count, type, op, call.root,
                  handle, queue);
    case Collective::all_to_all:
      return nccl.all_to_all(send, receive, count, type, handle, queue);
    case Collective::gather:
      return nccl.gather(send, receive, count, type, call.root, handle, queue);
    case Collective::scatter:
      return nccl.scatter(send, receive, count, type, call.root, handle, queue);
  }
  return result_invalid_argument;
}

CallForm form_of(const NativeCall& call) {
  return {.count = call.count, .root = call.root, .type = call.type, .op = call.op};
}

/// Added to a choice that NCCL's profiler reported; other choices come from NCCL's tuner.
constexpr const char* told_by_profiler = ",told_by=profiler";

}  // namespace

std::string choice_text(const Choice& choice, bool has_limit) {
  std::string text = "algorithm=" + std::string(name_of(choice.algorithm));
  if (choice.channels > 0)
    text += (has_limit ? ",most_channels=" : ",channels=") + std::to_string(choice.channels);
  return text + ",protocol=" + std::string(name_of(choice.protocol));
}

NativeCall NativeCall::of(const Call& call, int ranks) {
  return {.collective = call.problem.collective,
          .type = call.problem.data_type,
          .op = call.problem.reduce_op,
          .root = call.root,
          .count = block_elements(call.problem, ranks),
          .send = call.buffers.send.data(),
          .receive = call.buffers.receive.data(),
          .registers = call.problem.registered,
          .send_bytes = call.buffers.send.size(),
          .receive_bytes = call.buffers.receive.size()};
}

bool has_shares(DataType type) { return is_floating(type) && size_of(type) > 1; }

Registration::Registration(std::shared_ptr<NcclRank> member, const void* memory,
                           std::size_t bytes) {
  if (bytes == 0) return;
  const auto in_use = member->use();
  const Functions& nccl = member->functions();
  check_nccl(nccl, member->handle(),
             nccl.register_buffer(member->handle(), const_cast<void*>(memory), bytes, &handle_),
             "ncclCommRegister");
  member_ = std::move(member);
}

Registration::~Registration() {
  if (member_ == nullptr || handle_ == nullptr) return;
  member_->give_back("ncclCommDeregister", [this] {
    return member_->functions().deregister_buffer(member_->handle(), handle_);
  });
}

PremultipliedSum::PremultipliedSum(std::shared_ptr<NcclRank> member, DataType type)
    : member_(std::move(member)) {
  std::array<std::byte, widest_element> share{};
  with_element_type(type, [&]<class T>(T) {
    store_element<T>(share.data(), 0,
                     Accumulator<T>(1) / static_cast<Accumulator<T>>(member_->ranks()));
  });
  const auto in_use = member_->use();
  const Functions& nccl = member_->functions();
  check_nccl(nccl, member_->handle(),
             nccl.create_premultiplied_sum(&number_, share.data(), native_type(type),
                                           scalar_host_immediate, member_->handle()),
             "ncclRedOpCreatePreMulSum");
}

PremultipliedSum::~PremultipliedSum() {
  member_->give_back("ncclRedOpDestroy", [this] {
    return member_->functions().destroy_op(number_, member_->handle());
  });
}

LibraryCall::LibraryCall(std::shared_ptr<NcclRank> member, const NativeCall& call,
                         const std::optional<Choice>& choice, Windows windows, const Call& prepared)
    : member_(std::move(member)),
      call_(call),
      choice_(choice),
      named_(choice_ || !call.selection ? choice_ : call.selection->choice),
      function_(member_->why_not_forced().empty() ? function_of(call.collective) : std::nullopt),
      prepared_(prepared),
      windows_(std::move(windows)),
      launch_(member_->device().make_library_launch(submission_)) {
  if (call.is_premultiplied)
    for (const auto& named : enum_names(DataType{}))
      if (named.value == call.type || (prepared.capacity > Bytes{} && has_shares(named.value)))
        own_ops_.try_emplace(named.value, member_, named.value);
  if (!call.registers) return;
  send_registration_ = Registration(member_, call.send, call.send_bytes);
  // In place, one buffer lies in the other or is the same.
  const auto* const begin = static_cast<const std::byte*>(call.send);
  const auto* const at = static_cast<const std::byte*>(call.receive);
  if (call.send_bytes == 0 || std::less<>{}(at, begin) ||
      std::less<>{}(begin + call.send_bytes, at + call.receive_bytes))
    receive_registration_ = Registration(member_, call.receive, call.receive_bytes);
}

LibraryCall::~LibraryCall() {
  if (is_under_way_) member_->abort("an operation was given up while it ran");
}

void LibraryCall::prepare_choice() {
  if (!function_) return;
  member_->force(choice_, *function_);
  if (executed_) return;
  asked_before_ = count_asked(*member_);
  member_->observe(true);
}

void LibraryCall::capture(Deadline deadline) {
  member_->require_usable();
  watch();
  graph_.emplace(member_, [&](void* queue) { ask_captured(queue, deadline); });
  read_back();
  if (!is_told_) watch();
}

void LibraryCall::bind(const CallBuffers& buffers) {
  if (graph_ || call_.registers || !windows_.empty()) return Operation::bind(buffers);
  if (buffers.send.size() != call_.send_bytes || buffers.receive.size() != call_.receive_bytes)
    throw Error(StatusCode::invalid_argument,
                "NCCL's call was prepared for buffers of other sizes");
  call_.send = buffers.send.data();
  call_.receive = buffers.receive.data();
}

void LibraryCall::rebind(const Call& call) {
  if (std::string why = why_not_bound_native(prepared_.problem); !why.empty())
    throw Error(StatusCode::failed_precondition, why);
  check_rebound(prepared_, call, member_->rank(), member_->ranks());
  // NCCL itself does not refuse these.
  std::string_view why = why_not_in_place(call.problem, member_->ranks());
  if (call_.is_premultiplied && why.empty()) why = why_not_premultiplied(call.problem);
  if (!why.empty())
    throw Error(StatusCode::invalid_argument, describe(call.problem) + ": " + std::string(why));
  const bool is_premultiplied = call_.is_premultiplied;
  const CallForm before = form_of(call_);
  call_ = NativeCall::of(call, member_->ranks());
  call_.is_premultiplied = is_premultiplied;
  is_other_form_ = is_other_form_ || form_of(call_) != before;
}

void LibraryCall::begin_form() {
  is_other_form_ = false;
  // NCCL returns at once from calls without elements, and asks no tuner about them.
  if (call_.count == 0 || !known_.note(form_of(call_))) return;
  is_first_ = true;
  executed_.reset();
  is_told_ = false;
}

void LibraryCall::start() {
  member_->require_usable();
  if (!graph_) {
    if (is_other_form_) begin_form();
    prepare_choice();
    if (is_first_) watch();
    asks_aside_ = std::exchange(is_first_, false);
  }
  member_->begin_call();
  is_under_way_ = true;
  try {
    launch_->start();
  } catch (const Error&) {
    if (!member_->is_overdue()) throw;
    give_up(false);
  }
}

void LibraryCall::submit(void* queue) {
  if (!graph_) return Operation::submit(queue);
  member_->require_usable();
  // Must come first: the communicator's end waits for every graph that holds the call.
  static_cast<void>(member_->device().keep_with_capture(queue, member_->held_by_graphs()));
  executed_.reset();  // will be determined anew
  is_told_ = false;
  watch();
  try {
    ask_captured(queue, std::chrono::steady_clock::now() + longest_submission);
  } catch (const Error& error) {
    member_->abort(error.what());
    throw;
  }
  read_back();
}

void LibraryCall::check_submitted() const {
  if (!member_->is_ready())
    throw Error(StatusCode::failed_precondition, "NCCL is not done with what was submitted");
}

void LibraryCall::Submission::submit(void* queue) {
  if (call_.graph_)
    call_.graph_->replay(queue);
  else if (call_.asks_aside_)
    call_.ask_aside(queue);
  else
    call_.ask(queue);
}

bool LibraryCall::Submission::is_submitted() {
  if (!call_.is_submitted_) call_.is_submitted_ = call_.member_->is_ready();
  return call_.is_submitted_;
}

void LibraryCall::ask_captured(void* queue, Deadline deadline) {
  prepare_choice();
  ask_aside(queue);
  member_->finish_capture("the capture of NCCL's " + std::string(name_of(call_.collective)),
                          deadline);
  is_submitted_ = true;
}

void LibraryCall::ask(void* queue) {
  is_submitted_ = false;
  member_->enter();
  const Result result = call_nccl(member_->functions(), member_->handle(), call_, op(), queue);
  member_->leave();
  member_->require_usable();
  check_nccl(member_->functions(), member_->handle(), result, "a call of NCCL");
  is_submitted_ = result == result_success;
}

void LibraryCall::ask_aside(void* queue) {
  is_submitted_ = false;
  // Captures copies of all it needs: this object may be gone when the ranks are connected.
  member_->begin("a call of NCCL", [nccl = member_->functions(), handle = member_->handle(),
                                    call = call_, op = op(), queue, is_refused = is_refused_] {
    const Result result = call_nccl(nccl, handle, call, op, queue);
    if (result != result_invalid_argument || !call.selection) return result;
    *is_refused = true;
    return result_success;  // nothing is on the queue
  });
}

int LibraryCall::op() const {
  return call_.is_premultiplied ? own_ops_.at(call_.type).number() : native_op(call_.op);
}

void LibraryCall::wait(Deadline deadline) {
  member_->require_usable();
  if (asks_aside_ && !graph_) member_->allow(deadline - std::chrono::steady_clock::now());
  try {
    BoundedWait wait(deadline, member_->abort_flag(), member_->yields_at_once());
    for (int looks = 1; !launch_->has_ended(); ++looks) {
      if (looks % looks_between_checks == 0) static_cast<void>(member_->is_ready());
      wait.step(0, "NCCL");
    }
  } catch (const RankMissing& missing) {
    give_up(missing.code() == StatusCode::aborted);
  } catch (const Error& error) {
    member_->abort(error.what());
    throw;
  }
  is_under_way_ = false;
  // If it is not usable, the wait ended because another thread aborted the communicator.
  member_->require_usable();
  if (graph_)
    read_told();
  else if (watched_ || (function_ && !executed_))
    read_back();
}

void LibraryCall::give_up(bool is_aborted) {
  const int late = member_->who_is_late();
  const std::string text = "NCCL's " + std::string(name_of(call_.collective));
  member_->abort(text + (is_aborted ? " was given up on the abort flag" : " timed out"));
  // Other ranks may be able to run the choice that this rank cannot, and wait for it.
  if (!executed_) require_forced();
  if (late >= 0) throw RankMissing(late, "the call of " + text, is_aborted);
  throw Error(is_aborted ? StatusCode::aborted : StatusCode::deadline_exceeded,
              text + (is_aborted ? " was given up on the abort flag" : " did not end in time") +
                  "; all ranks of this node had begun it");
}

void LibraryCall::require_forced() const {
  if (!function_ || !choice_ || count_asked(*member_) == asked_before_) return;
  const auto seen = member_->last_call();
  if (!seen || seen->outcome != colltune_nccl_force_unavailable) return;
  const bool is_rebound =
      prepared_.capacity > Bytes{} &&
      (call_.type != prepared_.problem.data_type || call_.op != prepared_.problem.reduce_op);
  throw UnavailableHere("NCCL marks " + std::string(name_of(choice_->algorithm)) + " with " +
                        std::string(name_of(choice_->protocol)) + " as unavailable for calls of " +
                        format_bytes({seen->bytes}) +
                        (is_rebound ? " with the type " + std::string(name_of(call_.type)) +
                                          " and the operator " + std::string(name_of(call_.op))
                                    : ", though not for a small one"));
}

void LibraryCall::require_selected() const {
  if (!*is_refused_) return;
  throw UnavailableHere("NCCL refuses such calls with algSelection=" + call_.selection->names +
                        ": it has nothing of that name for them, or not here");
}

void LibraryCall::watch() {
  // For other calls the profiler's report would be nothing new.
  if (function_of(call_.collective) || !windows_.empty())
    watched_.emplace(member_->profiler(), call_.send, call_.receive);
}

void LibraryCall::read_back() {
  if (function_) member_->observe(false);
  require_selected();
  read_told();
  if (!function_) return;
  require_forced();
  if (!is_told_) read_table();
}

void LibraryCall::read_told() {
  if (!watched_) return;
  const bool is_watched = watched_->is_watched();
  const auto ran = watched_->end();
  watched_.reset();
  const bool is_by_engines = member_->policy() == CtaPolicy::zero;
  const auto say = [&](const std::string& text, bool is_what_was_named) {
    executed_ = Executed{.choice = text + told_by_profiler, .is_what_was_named = is_what_was_named};
    is_told_ = true;
  };
  if (ran && ran->kind == colltune_nccl_ran_entry)
    // For buffers in windows, kernels other than those of the table were expected.
    say(choice_text(ran->choice), named_ ? is_run_of(*named_, ran->choice) : windows_.empty());
  else if (windows_.empty())
    return;
  else if (ran && ran->kind == colltune_nccl_ran_kernel)
    say("kernel=symmetric", !is_by_engines);
  else if (ran)
    say("kernel=transfers", false);
  else if (is_watched && is_by_engines && !executed_)
    say("kernel=none", true);
}

void LibraryCall::read_table() {
  const auto seen = member_->last_call();
  if (count_asked(*member_) == asked_before_) {
    if (!windows_.empty()) executed_ = Executed{.choice = "tuner=not_asked"};
    return;
  }
  if (!seen || seen->algorithm < 0) return;
  const Choice ran{.algorithm = static_cast<Algorithm>(seen->algorithm),
                   .protocol = static_cast<Protocol>(seen->protocol),
                   .channels = seen->channels};
  // NCCL may have taken fewer channels, so they are not known to be those that were asked for. How
  // many a selected call had the tuner does not know either.
  const bool is_limit = seen->channels_are == colltune_nccl_channels_most;
  const bool is_unknown = is_limit || (!choice_ && named_ && named_->channels > 0);
  // For buffers in windows, kernels other than those of the table were expected.
  const bool is_as_asked =
      (!named_ && windows_.empty()) ||
      (named_ && (!choice_ || seen->outcome == colltune_nccl_forced) &&
       ran.algorithm == named_->algorithm && ran.protocol == named_->protocol && !is_unknown);
  executed_ = Executed{.choice = choice_text(ran, is_limit), .is_what_was_named = is_as_asked};
}

void capture_together(Communicator& communicator, const std::shared_ptr<NcclRank>& member,
                      LibraryCall& call, Deadline deadline) {
  const Deadline vote = deadline + vote_time;
  std::string why_not_there;
  try {
    act_together(
        communicator, "could not capture a call of NCCL's",
        [&] {
          try {
            call.capture(deadline);
          } catch (const UnavailableHere& unavailable) {
            why_not_there = unavailable.what();
          }
        },
        vote);
  } catch (const Error& error) {
    member->abort(error.what());
    throw;
  }
  const int first = first_rank_where(communicator, !why_not_there.empty(), vote);
  if (first < 0) return;
  throw UnavailableHere(why_not_there.empty()
                            ? "rank " + std::to_string(first) + "'s NCCL cannot choose it"
                            : why_not_there);
}

}  // namespace colltune::nccl
