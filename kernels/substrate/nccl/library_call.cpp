// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "nccl/library_call.h"

#include <array>
#include <cstdio>
#include <functional>
#include <tuple>
#include <utility>

#include "colltune/kernels/bounded_wait.h"
#include "colltune/vocabulary/error.h"
#include "typed.h"

namespace colltune::nccl {
namespace {

// Looks at the device between two looks at what NCCL says of its communicator: that takes a lock.
constexpr int looks_between_checks = 1024;
constexpr std::size_t widest_element = 8;

std::uint64_t count_asked(const Member& member) {
  const auto seen = member.last_call();
  return seen ? seen->count : 0;
}

}  // namespace

std::string choice_text(const Choice& choice) {
  std::string text = "algorithm=" + std::string(name_of(choice.algorithm));
  if (choice.channels > 0) text += ",channels=" + std::to_string(choice.channels);
  return text + ",protocol=" + std::string(name_of(choice.protocol));
}

Registration::Registration(std::shared_ptr<Member> member, const void* memory, std::size_t bytes) {
  if (bytes == 0) return;
  const Functions& nccl = member->functions();
  check_nccl(nccl, member->handle(),
             nccl.register_buffer(member->handle(), const_cast<void*>(memory), bytes, &handle_),
             "ncclCommRegister");
  member_ = std::move(member);
}

Registration::~Registration() {
  // An aborted communicator has forgotten them.
  if (member_ == nullptr || handle_ == nullptr || !member_->is_usable()) return;
  const Functions& nccl = member_->functions();
  if (const Result result = nccl.deregister_buffer(member_->handle(), handle_);
      result != result_success && result != result_in_progress)
    std::fprintf(stderr, "colltune: ncclCommDeregister: %s\n", nccl.get_error_string(result));
}

PremultipliedSum::PremultipliedSum(std::shared_ptr<Member> member, DataType type)
    : member_(std::move(member)) {
  std::array<std::byte, widest_element> share{};
  with_element_type(type, [&]<class T>(T) {
    store_element<T>(share.data(), 0,
                     Accumulator<T>(1) / static_cast<Accumulator<T>>(member_->ranks()));
  });
  const Functions& nccl = member_->functions();
  check_nccl(nccl, member_->handle(),
             nccl.create_premultiplied_sum(&number_, share.data(), native_type(type),
                                           scalar_host_immediate, member_->handle()),
             "ncclRedOpCreatePreMulSum");
}

PremultipliedSum::~PremultipliedSum() {
  // An aborted communicator has forgotten it.
  if (!member_->is_usable()) return;
  const Functions& nccl = member_->functions();
  if (const Result result = nccl.destroy_op(number_, member_->handle()); result != result_success)
    std::fprintf(stderr, "colltune: ncclRedOpDestroy: %s\n", nccl.get_error_string(result));
}

LibraryCall::LibraryCall(std::shared_ptr<Member> member, const NativeCall& call,
                         const std::optional<Choice>& choice, Windows windows)
    : member_(std::move(member)),
      call_(call),
      choice_(choice),
      function_(member_->why_not_forced().empty() ? function_of(call.collective) : std::nullopt),
      windows_(std::move(windows)),
      launch_(member_->device().make_library_launch(*this)) {
  if (call.is_premultiplied) own_op_.emplace(member_, call.type);
  if (!call.registers) return;
  send_registration_ = Registration(member_, call.send, call.send_bytes);
  // In place one lies in the other, or is the same.
  const auto* const begin = static_cast<const std::byte*>(call.send);
  const auto* const at = static_cast<const std::byte*>(call.receive);
  if (call.send_bytes == 0 || std::less<>{}(at, begin) ||
      std::less<>{}(begin + call.send_bytes, at + call.receive_bytes))
    receive_registration_ = Registration(member_, call.receive, call.receive_bytes);
}

LibraryCall::~LibraryCall() {
  if (is_under_way_) member_->abort("an operation was given up while it ran");
}

void LibraryCall::start() {
  member_->require_usable();
  if (function_) {
    member_->force(choice_, *function_);
    if (!executed_) {
      asked_before_ = count_asked(*member_);
      member_->observe(true);
    }
  }
  member_->begin_call();
  is_under_way_ = true;
  launch_->start();
}

void LibraryCall::submit(void* queue) {
  const Functions& nccl = member_->functions();
  const NativeHandle handle = member_->handle();
  const int type = native_type(call_.type);
  const int op = own_op_ ? own_op_->number() : native_op(call_.op);
  const auto [send, receive, count] = std::tuple(call_.send, call_.receive, call_.count);
  const auto ask = [&] {
    switch (call_.collective) {
      case Collective::all_reduce:
        return nccl.all_reduce(send, receive, count, type, op, handle, queue);
      case Collective::reduce_scatter:
        return nccl.reduce_scatter(send, receive, count, type, op, handle, queue);
      case Collective::all_gather:
        return nccl.all_gather(send, receive, count, type, handle, queue);
      case Collective::broadcast:
        return nccl.broadcast(send, receive, count, type, call_.root, handle, queue);
      case Collective::reduce:
        return nccl.reduce(send, receive, count, type, op, call_.root, handle, queue);
      case Collective::all_to_all:
        return nccl.all_to_all(send, receive, count, type, handle, queue);
      case Collective::gather:
        return nccl.gather(send, receive, count, type, call_.root, handle, queue);
      case Collective::scatter:
        return nccl.scatter(send, receive, count, type, call_.root, handle, queue);
    }
    return result_invalid_argument;
  };
  is_submitted_ = false;
  const Result result = ask();
  check_nccl(nccl, handle, result, "a call of NCCL");
  is_submitted_ = result == result_success;
}

bool LibraryCall::is_submitted() {
  if (!is_submitted_) is_submitted_ = member_->is_ready();
  return is_submitted_;
}

void LibraryCall::wait(Deadline deadline) {
  member_->require_usable();
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
  if (function_ && !executed_) read_back();
}

void LibraryCall::give_up(bool is_aborted) {
  const int late = member_->who_is_late();
  const std::string text = "NCCL's " + std::string(name_of(call_.collective));
  member_->abort(text + (is_aborted ? " was given up on the abort flag" : " timed out"));
  // The others may have what this rank has not, and wait for it.
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
  throw UnavailableHere("NCCL marks " + std::string(name_of(choice_->algorithm)) + " with " +
                        std::string(name_of(choice_->protocol)) + " as unavailable for calls of " +
                        format_bytes({seen->bytes}) + ", though not for a small one");
}

void LibraryCall::read_back() {
  member_->observe(false);
  require_forced();
  const auto seen = member_->last_call();
  if (!windows_.empty() && count_asked(*member_) == asked_before_) {
    executed_ = Executed{.choice = "tuner=not_asked"};
    return;
  }
  if (!seen || seen->algorithm < 0) return;
  const Choice ran{.algorithm = static_cast<Algorithm>(seen->algorithm),
                   .protocol = static_cast<Protocol>(seen->protocol),
                   .channels = seen->channels};
  // What lies in windows was to be done by other kernels than those of the table.
  const bool is_as_asked =
      (!choice_ && windows_.empty()) ||
      (choice_ && seen->outcome == colltune_nccl_forced && ran.algorithm == choice_->algorithm &&
       ran.protocol == choice_->protocol);
  executed_ = Executed{.choice = choice_text(ran), .is_what_was_named = is_as_asked};
}

}  // namespace colltune::nccl
