// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "step_chain.h"

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "colltune/collectives/executor.h"
#include "colltune/vocabulary/mesh.h"

namespace colltune {
namespace {

class StepChain final : public Operation {
 public:
  StepChain(const Call& call, int rank, int ranks)
      : prepared_(call), rank_(rank), ranks_(ranks), buffers_(call.buffers) {}

  /// The next step, on `communicator`, which is kept, of the call that is set in `of_step`.
  void add(std::shared_ptr<Communicator> communicator, std::unique_ptr<Operation> operation,
           const Call& of_step, bool is_first) {
    steps_.push_back({std::move(communicator), std::move(operation), of_step, is_first});
  }
  /// Instead of the first step, on a rank that is alone in its group.
  void be_alone_in_first() { is_alone_ = true; }
  /// Sets size, type, `in_place` and buffers of a step's call.
  static void set(const Call& whole, bool is_first, Call& of_step) {
    of_step.problem.data_type = whole.problem.data_type;
    of_step.problem.message_size = whole.problem.message_size;
    // The steps behind the first one work on the result, on all ranks.
    of_step.problem.in_place = !is_first || whole.problem.in_place;
    of_step.buffers = whole.buffers;
    if (!is_first) of_step.buffers.send = whole.buffers.receive;
  }
  void copy_if_alone(const Problem& whole) { copies_ = is_alone_ && !whole.in_place; }

  void bind(const CallBuffers& buffers) override {
    check_bound_sizes(buffers_, buffers);
    buffers_ = buffers;
    for (Step& step : steps_) {
      step.call.buffers = buffers;
      if (!step.is_first) step.call.buffers.send = buffers.receive;
      step.operation->bind(step.call.buffers);
    }
  }
  void rebind(const Call& call) override {
    check_rebound(prepared_, call, rank_, ranks_);
    if (call.problem.mesh != prepared_.problem.mesh)
      throw Error(StatusCode::invalid_argument, describe(call.problem) + ": it was prepared for " +
                                                    operation_text(prepared_.problem));
    buffers_ = call.buffers;
    copy_if_alone(call.problem);
    for (Step& step : steps_) {
      set(call, step.is_first, step.call);
      step.operation->rebind(step.call);
    }
  }
  void start() override {}
  void wait(Deadline deadline) override {
    if (copies_) std::memcpy(buffers_.receive.data(), buffers_.send.data(), buffers_.send.size());
    for (const Step& step : steps_) {
      step.operation->start();
      step.operation->wait(deadline);
    }
  }

 private:
  struct Step {
    std::shared_ptr<Communicator> communicator;
    std::unique_ptr<Operation> operation;
    Call call;
    bool is_first = false;
  };

  Call prepared_;
  int rank_;
  int ranks_;
  CallBuffers buffers_;
  bool is_alone_ = false;
  bool copies_ = false;
  std::vector<Step> steps_;
};

}  // namespace

std::unique_ptr<Operation> make_step_chain(Subgroups& ranks, const Call& call,
                                           const PlainWay& way) {
  auto chain = std::make_unique<StepChain>(call, ranks.all().rank(), ranks.all().size());
  Call next = call;
  next.problem.kind = ProblemKind::collective;
  next.problem.mesh.reset();
  bool is_first = true;
  for (const MeshStep& step : call.problem.mesh->steps) {
    const Subgroups::Group group = ranks.of(groups_of(*call.problem.mesh, step), no_deadline);
    next.problem.reduce_op = step.op;
    StepChain::set(call, is_first, next);
    // Groups differ: where one fails, all ranks leave together.
    std::optional<Error> failure;
    std::unique_ptr<Operation> made;
    if (group.members.size() > 1) {
      try {
        made = way.prepare(*group.communicator, next);
      } catch (const RankMissing&) {
        throw;
      } catch (const Error& error) {
        failure = error;
      }
    }
    if (ranks.all().all_reduce_max(failure ? 1 : 0, no_deadline) != 0)
      throw failure ? *failure
                    : Error(StatusCode::resource_exhausted,
                            "a step of a mesh reduction could not be prepared on another rank");
    if (made != nullptr)
      chain->add(group.communicator, std::move(made), next, is_first);
    else if (is_first)
      chain->be_alone_in_first();
    is_first = false;
  }
  chain->copy_if_alone(call.problem);
  return chain;
}

}  // namespace colltune
