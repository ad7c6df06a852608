// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <optional>
#include <utility>

#include "colltune/kernels/composition/composed.h"
#include "colltune/kernels/composition/mesh_reduce.h"
#include "colltune/vocabulary/error.h"
#include "grouped_groups.h"
#include "joint_stages.h"
#include "mesh_layout.h"

namespace colltune {
namespace {

constexpr std::string_view mesh_words = "a mesh reduction";
constexpr std::string_view step_words = "its part of a step of a mesh reduction";

[[noreturn]] void refuse_mesh(const std::string& what) {
  throw Error(StatusCode::invalid_argument, "mesh reduction: " + what);
}

/// What bounds the calls of one collective of a form.
struct Bound {
  Limits limits{};
  int ranks = 0;  ///< of a group; 0: no group has several
  std::string variant{};
};

/// The stages are: what is copied first, the collectives of the form, then what is divided and
/// copied back.
class MeshOperation final : public Operation {
 public:
  MeshOperation(const Communicator& all, const Call& call)
      : prepared_(call),
        rank_(all.rank()),
        ranks_(all.size()),
        stages_(mesh_words, all, call.buffers) {}

  [[nodiscard]] JointStages& stages() { return stages_; }
  /// Keeps a communicator that a stage uses, and counts the time `making` that it took to make.
  void keep(std::shared_ptr<Communicator> communicator, std::chrono::nanoseconds making) {
    communicators_.push_back(std::move(communicator));
    communicators_time_ += making;
  }
  void bound_by(Bound bound) { bounds_.push_back(std::move(bound)); }
  /// Why the calls that follow must have the size of this one.
  void keep_size(std::string why) { why_not_rebound_ = std::move(why); }

  /// Adds the stages of `form`, without what runs its collectives. Local, may throw on this rank
  /// only.
  void lay_out(const MeshForm& form) {
    layout_.emplace(prepared_.problem, form, rank_);
    if (!form.divisors.empty())
      divisor_ = form.divisors[static_cast<std::size_t>(
          form.component_of_rank[static_cast<std::size_t>(rank_)])];
    const Bytes size = prepared_.problem.message_size;
    Bytes padding = form.padded == size ? Bytes{} : form.padded;
    if (follows() && form.shares > 1) padding = layout_->most_padded(std::max(size, capacity()));
    if (padding != Bytes{}) padding_ = stages_.memory().add(padding, stages_.device());
    stages_.add({});
    for (std::size_t i = 0; i < form.calls.size(); ++i) {
      JointStage stage{.waiting_for = step_words};
      stage.call = {.problem = form.calls[i].problem,
                    .buffers = {},
                    .longest_wait = prepared_.longest_wait,
                    .capacity = follows()
                                    ? layout_->size_of_call(i, layout_->most_padded(capacity()))
                                    : Bytes{},
                    .is_persistent = prepared_.is_persistent};
      stages_.add(std::move(stage));
    }
    stages_.add({});
    use(prepared_);
  }
  /// The stage of collective `index`.
  [[nodiscard]] JointStage& stage_of(std::size_t index) { return stages_.at(index + 1); }

  void bind(const CallBuffers& buffers) override { stages_.bind(buffers); }
  void rebind(const Call& call) override {
    if (!why_not_rebound_.empty())
      throw Error(StatusCode::failed_precondition,
                  "this mesh reduction keeps the size it was prepared for: " + why_not_rebound_);
    check_rebound(prepared_, call, rank_, ranks_);
    check_next(call);
    use(call);
    stages_.rebind(call.buffers);
  }
  void start() override { stages_.start(); }
  void wait(Deadline deadline) override { stages_.wait(deadline); }
  [[nodiscard]] std::optional<std::chrono::nanoseconds> device_time() const override {
    return stages_.device_time();
  }
  [[nodiscard]] std::optional<Executed> executed() const override { return stages_.executed(); }
  [[nodiscard]] bool is_lost() const override { return stages_.is_lost(); }
  void give_up() noexcept override { stages_.give_up(); }
  [[nodiscard]] std::optional<std::chrono::nanoseconds> communicators_time() const override {
    return communicators_time_;
  }

 private:
  [[nodiscard]] Bytes capacity() const { return prepared_.capacity; }
  /// Whether calls of other sizes may follow.
  [[nodiscard]] bool follows() const { return capacity() != Bytes{} && why_not_rebound_.empty(); }

  /// Throws Error(invalid_argument), on all ranks alike, if `call` is none that may follow.
  void check_next(const Call& call) const {
    const Problem& problem = call.problem;
    if (problem.mesh != prepared_.problem.mesh)
      refuse_mesh(describe(problem) + ": it was prepared for " + operation_text(prepared_.problem));
    if (const std::string why = layout_->why_not(problem.message_size, problem.data_type);
        !why.empty())
      refuse_mesh(describe(problem) + ": " + why);
    const Bytes padded = layout_->padded(problem.message_size, problem.data_type);
    for (std::size_t i = 0; i < bounds_.size(); ++i) {
      if (bounds_[i].ranks == 0) continue;
      Problem part = const_stage_of(i).call.problem;
      part.data_type = problem.data_type;
      part.message_size = layout_->size_of_call(i, padded);
      if (const std::string why = why_outside(bounds_[i].limits, part, bounds_[i].ranks);
          !why.empty())
        refuse_mesh(bounds_[i].variant + " for " + describe(part) + ": " + why);
    }
  }

  /// Sets what each stage does in `call`. The lists of copies keep their memory from call to call.
  void use(const Call& call) {
    const MeshLayout::Buffers buffers = layout_->buffers_of(call, padding_);
    Copies& in = stages_.at(0).copies;
    in.reset(1);
    if (buffers.copies_in)
      in.add(buffers.whole.data(), call.buffers.send.data(), call.buffers.send.size());
    for (std::size_t i = 0; i < layout_->count(); ++i)
      layout_->set(i, call.problem, buffers, stage_of(i).call);
    JointStage& last = stages_.at(stages_.size() - 1);
    if (divisor_ != 1)
      last.division = Division(buffers.whole, call.problem.data_type, divisor_, stages_.device());
    last.copies.reset(1);
    if (buffers.copies_out)
      last.copies.add(call.buffers.receive.data(), buffers.whole.data(),
                      call.buffers.receive.size());
  }

  [[nodiscard]] const JointStage& const_stage_of(std::size_t index) const {
    return stages_.at(index + 1);
  }

  std::vector<std::shared_ptr<Communicator>> communicators_{};
  std::chrono::nanoseconds communicators_time_{};
  Call prepared_;
  int rank_;
  int ranks_;
  std::string why_not_rebound_{};
  std::vector<Bound> bounds_{};  ///< by collective
  std::optional<MeshLayout> layout_{};
  std::span<std::byte> padding_{};  ///< for a message that is rounded up
  int divisor_ = 1;
  JointStages stages_;
};

/// Checks this rank's buffers only; other ranks' may be right.
void check_buffers(const Communicator& communicator, const Call& call) {
  const auto require = [&](std::string_view which, std::size_t given) {
    if (given != call.problem.message_size.value)
      refuse_mesh("rank " + std::to_string(communicator.rank()) + " gives " +
                  format_bytes({given}) + " to " + std::string(which) + ", not " +
                  format_bytes(call.problem.message_size));
  };
  require("send", call.buffers.send.size());
  require("receive", call.buffers.receive.size());
}

const Implementation& implementation_here(const MeshCall& call, const Implementations& catalogue) {
  const Variant& variant = call.part->variant;
  const auto* const found = find_implementation(catalogue, variant.implementation);
  if (found == nullptr) refuse_mesh("this build has no implementation " + variant.implementation);
  if (found->collective() != call.problem.collective)
    refuse_mesh(to_string(variant) + " is none of " +
                std::string(name_of(call.problem.collective)));
  return *found;
}

/// Checks what may be wrong on this rank only.
void check_own(const Communicator& communicator, const Call& call, const MeshForm& form,
               const Implementations& catalogue) {
  const bool is_on_device = communicator.device() != nullptr;
  for (const MeshCall& one : form.calls)
    if (implementation_here(one, catalogue).runs_on_device() != is_on_device)
      refuse_mesh("rank " + std::to_string(communicator.rank()) + " has its buffers " +
                  (is_on_device ? "on a device" : "in the host's memory") + ", where " +
                  to_string(one.part->variant) + " does not take them");
  check_buffers(communicator, call);
}

/// Checks what all ranks pass alike; no rank waits for another before this.
void check_calls(const MeshForm& form, const Communicator& all, const Implementations& catalogue) {
  for (const MeshCall& call : form.calls) {
    const Implementation& implementation = implementation_here(call, catalogue);
    const Variant& variant = call.part->variant;
    for (const MeshGroup& group : mesh_groups(call, all.nodes()))
      if (const std::string why =
              why_outside(implementation.limits(variant), call.problem, group.topology.ranks);
          !why.empty())
        refuse_mesh(to_string(variant) + " for " + describe(call.problem) + ": " + why);
  }
}

Bound bound_of(const MeshCall& call, const Communicator& all, const Implementations& catalogue) {
  const std::vector<MeshGroup> groups = mesh_groups(call, all.nodes());
  return {.limits = implementation_here(call, catalogue).limits(call.part->variant),
          .ranks = groups.empty() ? 0 : groups.front().topology.ranks,
          .variant = to_string(call.part->variant)};
}

std::unique_ptr<Operation> prepare_form(Subgroups& ranks, const Call& call,
                                        const Composition& composition,
                                        const Implementations& catalogue, Deadline deadline) {
  Communicator& all = ranks.all();
  const MeshForm form = mesh_form(call.problem, composition);
  check_calls(form, all, catalogue);
  auto operation = std::make_unique<MeshOperation>(all, call);
  operation->keep_size(why_not_mesh_rebound(call.problem, composition, all.nodes(), catalogue));
  attempt_together(all, mesh_words, deadline, [&] {
    check_own(all, call, form, catalogue);
    for (const MeshCall& one : form.calls) operation->bound_by(bound_of(one, all, catalogue));
    operation->lay_out(form);
  });
  for (std::size_t i = 0; i < form.calls.size(); ++i) {
    const MeshCall& one = form.calls[i];
    const Subgroups::Group& group = ranks.of(one.group_of_rank, deadline);
    const auto has_group = [&](const MeshCall& earlier) {
      return earlier.group_of_rank == one.group_of_rank;
    };
    const bool is_first = std::none_of(
        form.calls.begin(), form.calls.begin() + static_cast<std::ptrdiff_t>(i), has_group);
    operation->keep(group.communicator, is_first ? group.making : std::chrono::nanoseconds{});
    // One call after the other, each on all ranks: if a rank fails in one, no rank enters the next.
    attempt_together(all, mesh_words, deadline, [&] {
      JointStage& stage = operation->stage_of(i);
      stage.members = group.members;
      if (stage.members.size() > 1)
        stage.prepare(*group.communicator, {implementation_here(one, catalogue), one.part->variant},
                      Call(stage.call), deadline);
    });
  }
  return operation;
}

/// Why not all parts of a substituted composition of `problem` take other sizes; empty if they do.
/// A grouped one answers for itself.
std::string why_not_substituted(const Problem& problem, const Composition& composition,
                                const Communicator& all, const Implementations& catalogue) {
  if (composition.mode != CompositionMode::substituted) return {};
  const std::vector<int> together(static_cast<std::size_t>(all.size()));
  for (const Part& part : composition.parts) {
    const Implementation* const found = find_implementation(catalogue, part.variant.implementation);
    if (found == nullptr) continue;  // prepare_composed says so
    for (const MeshGroup& group :
         mesh_groups({.group_of_rank = together, .problem = problem}, all.nodes()))
      if (const std::string why =
              found->traits(problem, group.topology, part.variant).why_not_rebound;
          !why.empty())
        return to_string(part.variant) + ": " + why;
  }
  return {};
}

/// The merged all_reduce, among ranks that cannot all run one variant.
std::unique_ptr<Operation> prepare_among_unlike(Subgroups& ranks, const Call& call,
                                                const Composition& composition,
                                                const Members& members,
                                                const Implementations& catalogue,
                                                Deadline deadline) {
  if (const std::string why = why_not_mesh(call.problem, composition); !why.empty())
    refuse_mesh(describe(call.problem) + " is unavailable: " + why);
  int divisor = 1;
  const auto merged = merged_problem(call.problem, divisor);
  Communicator& all = ranks.all();
  const std::vector<int> together(static_cast<std::size_t>(all.size()));
  MeshForm form;
  form.calls.push_back({.group_of_rank = together, .problem = *merged});
  form.padded = call.problem.message_size;
  form.component_of_rank = together;
  form.is_merged = true;
  if (divisor != 1) form.divisors = {divisor};
  auto operation = std::make_unique<MeshOperation>(all, call);
  operation->keep_size(why_not_substituted(*merged, composition, all, catalogue));
  attempt_together(all, mesh_words, deadline, [&] {
    check_buffers(all, call);
    operation->lay_out(form);
  });
  JointStage& stage = operation->stage_of(0);
  for (int rank = 0; rank < all.size(); ++rank) stage.members.push_back(rank);
  stage.operation = prepare_composed(all, stage.call, composition, members, catalogue, deadline);
  return operation;
}

}  // namespace

std::string why_not_mesh_rebound(const Problem& problem, const Composition& composition,
                                 std::span<const int> nodes, const Implementations& catalogue) {
  const MeshForm form = mesh_form(problem, composition);
  for (const MeshCall& call : form.calls)
    for (const MeshGroup& group : mesh_groups(call, nodes))
      if (const std::string why = implementation_here(call, catalogue)
                                      .traits(call.problem, group.topology, call.part->variant)
                                      .why_not_rebound;
          !why.empty())
        return to_string(call.part->variant) + ": " + why;
  return {};
}

std::unique_ptr<Operation> prepare_mesh_reduce(Subgroups& ranks, const Call& call,
                                               const Composition& composition,
                                               const Members& members,
                                               const Implementations& catalogue,
                                               Deadline deadline) {
  check(call.problem);
  if (!call.problem.mesh) refuse_mesh(describe(call.problem) + " is none");
  if (ranks_of(*call.problem.mesh) != ranks.all().size())
    refuse_mesh("the mesh " + shape_text(*call.problem.mesh) + " has " +
                std::to_string(ranks_of(*call.problem.mesh)) + " ranks, the communicator " +
                std::to_string(ranks.all().size()));
  switch (composition.mode) {
    case CompositionMode::substituted:
    case CompositionMode::grouped:
      return prepare_among_unlike(ranks, call, composition, members, catalogue, deadline);
    case CompositionMode::sequential:
    case CompositionMode::merged:
    case CompositionMode::hierarchical:
      break;
  }
  return prepare_form(ranks, call, composition, catalogue, deadline);
}

}  // namespace colltune
