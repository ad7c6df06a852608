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
  explicit StepChain(const CallBuffers& buffers) : buffers_(buffers) {}

  /// The next step, on `communicator`, which is kept.
  void add(std::shared_ptr<Communicator> communicator, std::unique_ptr<Operation> step) {
    steps_.emplace_back(std::move(communicator), std::move(step));
  }
  /// Instead of the first step, on a rank that is alone in its group.
  void copy_first() { copies_ = true; }
  void start() override {}
  void wait(Deadline deadline) override {
    if (copies_) std::memcpy(buffers_.receive.data(), buffers_.send.data(), buffers_.send.size());
    for (const auto& [communicator, step] : steps_) {
      step->start();
      step->wait(deadline);
    }
  }

 private:
  CallBuffers buffers_;
  bool copies_ = false;
  std::vector<std::pair<std::shared_ptr<Communicator>, std::unique_ptr<Operation>>> steps_;
};

}  // namespace

std::unique_ptr<Operation> make_step_chain(Subgroups& ranks, const Call& call,
                                           const PlainWay& way) {
  auto chain = std::make_unique<StepChain>(call.buffers);
  Call next = call;
  next.problem.kind = ProblemKind::collective;
  next.problem.mesh.reset();
  for (const MeshStep& step : call.problem.mesh->steps) {
    const Subgroups::Group group = ranks.of(groups_of(*call.problem.mesh, step), never);
    next.problem.reduce_op = step.op;
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
    if (ranks.all().all_reduce_max(failure ? 1 : 0, never) != 0)
      throw failure ? *failure
                    : Error(StatusCode::resource_exhausted,
                            "a step of a mesh reduction could not be prepared on another rank");
    if (made != nullptr)
      chain->add(group.communicator, std::move(made));
    else if (!next.problem.in_place)
      chain->copy_first();
    // The following steps work on the result, on all ranks.
    next.problem.in_place = true;
    next.buffers.send = next.buffers.receive;
  }
  return chain;
}

}  // namespace colltune
