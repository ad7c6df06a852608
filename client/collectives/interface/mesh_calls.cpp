// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "mesh_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "colltune/collectives/executor.h"
#include "colltune/kernels/composition/mesh_reduce.h"
#include "colltune/table_file/table_view.h"
#include "colltune/vocabulary/canonical.h"
#include "step_chain.h"

namespace colltune {
namespace {

/// What runs some of the calls over a mesh.
struct Runner {
  const Composition* form = nullptr;  ///< null: plain calls, one for each step
  Bytes capacity = any_size;
  CallSamples* samples = nullptr;
  bool has_failed = false;
  std::unique_ptr<Operation> operation{};
  // Of the latest call.
  DataType data_type = DataType::f32;
  Bytes message_size{};
  bool in_place = false;

  [[nodiscard]] bool was_made_for(const Problem& problem) const {
    return problem.data_type == data_type && problem.message_size == message_size &&
           problem.in_place == in_place;
  }
  void made_for(const Problem& problem) {
    data_type = problem.data_type;
    message_size = problem.message_size;
    in_place = problem.in_place;
  }
};

/// A number of 60 bits for a text.
std::int64_t number_for(const std::string& text) {
  const std::string digits = digest_of_text(text).substr(0, 15);
  std::int64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  return number;
}

}  // namespace

class MeshCalls::Mesh {
 public:
  Mesh(const MeshReduction& mesh, int number, const MeshChoices& choices,
       std::map<std::string, CallSamples>& samples)
      : number_(number) {
    call_.problem.kind = ProblemKind::mesh_reduce;
    call_.problem.reduce_op = ReduceOp::none;
    call_.problem.mesh = mesh;
    runners_.push_back({.samples = &samples["left to the library: mesh_reduce"]});
    const std::string name = mesh_name(mesh);
    for (const MeshChoice& choice : choices.all) {
      if (choice.mesh != name) continue;
      auto runner = std::ranges::find_if(runners_, [&](const Runner& one) {
        return one.form != nullptr && *one.form == choice.composition;
      });
      if (runner == runners_.end())
        runner =
            runners_.insert(runner, {.form = &choice.composition,
                                     .capacity = {},
                                     .samples = &samples[to_string(name_composition(
                                         operation_name(call_.problem), choice.composition))]});
      runner->capacity = std::max(runner->capacity, choice.to);
      ranges_.push_back({.data_type = choice.data_type,
                         .from = choice.from,
                         .to = choice.to,
                         .runner = static_cast<std::size_t>(runner - runners_.begin())});
    }
  }

  [[nodiscard]] const MeshReduction& mesh() const { return *call_.problem.mesh; }
  [[nodiscard]] int number() const { return number_; }
  /// The whole call.
  const Call& complete(const Call& call) {
    call_.problem.data_type = call.problem.data_type;
    call_.problem.message_size = call.problem.message_size;
    call_.problem.in_place = call.problem.in_place;
    call_.buffers = call.buffers;
    return call_;
  }
  [[nodiscard]] Runner& runner_of(const Problem& problem) {
    for (const Range& range : ranges_)
      if (range.data_type == problem.data_type && range.from <= problem.message_size &&
          problem.message_size <= range.to && !runners_[range.runner].has_failed)
        return runners_[range.runner];
    return runners_.front();
  }

 private:
  struct Range {
    DataType data_type;
    Bytes from;
    Bytes to;
    std::size_t runner;
  };
  int number_;
  Call call_;
  std::vector<Runner> runners_;  ///< the first one is the plain one
  std::vector<Range> ranges_;
};

MeshCalls::MeshCalls(Subgroups& subgroups, MeshChoices choices, const Implementations& catalogue,
                     PlainWay way)
    : subgroups_(subgroups),
      choices_(std::move(choices)),
      catalogue_(catalogue),
      way_(std::move(way)) {}
MeshCalls::~MeshCalls() = default;

MeshCalls::Mesh* MeshCalls::find(const MeshReduction& mesh) {
  const auto found =
      std::ranges::find_if(kept_, [&](const auto& one) { return one->mesh() == mesh; });
  if (found == kept_.end()) return nullptr;
  std::rotate(kept_.begin(), found, found + 1);
  return kept_.front().get();
}

MeshCalls::Mesh& MeshCalls::add(const MeshReduction& mesh) {
  added_ = std::make_unique<Mesh>(mesh, meshes_ + 1, choices_, samples_);
  return *added_;
}

int MeshCalls::number_of(const Mesh& mesh) { return mesh.number(); }

bool MeshCalls::is_prepared(Mesh& mesh, const Call& call) const {
  return mesh.runner_of(call.problem).operation != nullptr;
}

void MeshCalls::agree(const Mesh& mesh, const Call& call) const {
  const std::string own = fmt::format("mesh_reduce {} {} {} of {} bytes", shape_text(mesh.mesh()),
                                      steps_text(mesh.mesh()), name_of(call.problem.data_type),
                                      call.problem.message_size.value);
  const std::int64_t number = number_for(own);
  Communicator& all = subgroups_.all();
  const std::int64_t largest = all.all_reduce_max(number, no_deadline);
  const std::int64_t smallest = -all.all_reduce_max(-number, no_deadline);
  if (largest != smallest)
    throw Error(StatusCode::invalid_argument,
                fmt::format("the ranks ask for different mesh reductions; rank {} for a {}",
                            all.rank(), own));
}

void MeshCalls::keep(const Mesh& mesh) {
  if (&mesh != added_.get()) return;
  // All ranks have come to this call, so nobody is in an earlier one.
  if (kept_.size() == most_kept) kept_.pop_back();
  kept_.insert(kept_.begin(), std::move(added_));
  ++meshes_;
}

void MeshCalls::prepare(Mesh& mesh, const Call& call) {
  agree(mesh, call);
  keep(mesh);
  for (;;) {
    Runner& runner = mesh.runner_of(call.problem);
    if (runner.operation != nullptr) return;
    Call first = mesh.complete(call);
    first.capacity = runner.capacity;
    if (runner.form == nullptr) {
      runner.operation = make_step_chain(subgroups_, first, way_);
    } else {
      try {
        runner.operation =
            prepare_mesh_reduce(subgroups_, first, *runner.form, {}, catalogue_, no_deadline);
      } catch (const RankMissing&) {
        throw;
      } catch (const Error& error) {  // on all ranks or none
        runner.has_failed = true;
        notes_.push_back(
            fmt::format("a mesh reduction is not run by {}: {}",
                        to_string(name_composition(operation_name(first.problem), *runner.form)),
                        error.what()));
        continue;
      }
    }
    runner.made_for(call.problem);
  }
}

MeshCalls::Next MeshCalls::next(Mesh& mesh, const Call& call) {
  Runner& runner = mesh.runner_of(call.problem);
  if (runner.was_made_for(call.problem)) {
    runner.operation->bind(call.buffers);
  } else {
    runner.operation->rebind(mesh.complete(call));
    runner.made_for(call.problem);
  }
  return {*runner.operation, *runner.samples};
}

}  // namespace colltune
