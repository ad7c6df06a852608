// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <utility>

#include "colltune/kernels/composition/composed.h"
#include "colltune/kernels/composition/mesh_reduce.h"
#include "colltune/vocabulary/error.h"
#include "grouped_groups.h"
#include "joint_stages.h"

namespace colltune {
namespace {

constexpr std::string_view joint_words = "a mesh reduction";
constexpr std::string_view step_words = "its part of a step of a mesh reduction";

[[noreturn]] void refuse(const std::string& what) {
  throw Error(StatusCode::invalid_argument, "mesh reduction: " + what);
}

class MeshOperation final : public Operation {
 public:
  MeshOperation(const Communicator& all, const CallBuffers& buffers)
      : stages_(joint_words, all, buffers) {}

  [[nodiscard]] JointStages& stages() { return stages_; }
  /// Keeps a communicator that a stage uses, and counts the time `making` that it took to make.
  void keep(std::shared_ptr<Communicator> communicator, std::chrono::nanoseconds making) {
    communicators_.push_back(std::move(communicator));
    communicators_time_ += making;
  }

  void bind(const CallBuffers& buffers) override { stages_.bind(buffers); }
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
  std::vector<std::shared_ptr<Communicator>> communicators_{};
  std::chrono::nanoseconds communicators_time_{};
  JointStages stages_;
};

/// Checks this rank's buffers only; other ranks' may be right.
void check_buffers(const Communicator& communicator, const Call& call) {
  const auto require = [&](std::string_view which, std::size_t given) {
    if (given != call.problem.message_size.value)
      refuse("rank " + std::to_string(communicator.rank()) + " gives " + format_bytes({given}) +
             " to " + std::string(which) + ", not " + format_bytes(call.problem.message_size));
  };
  require("send", call.buffers.send.size());
  require("receive", call.buffers.receive.size());
}

const Implementation& implementation_of(const MeshCall& call, const Implementations& catalogue) {
  const Variant& variant = call.part->variant;
  const auto* const found = find_implementation(catalogue, variant.implementation);
  if (found == nullptr) refuse("this build has no implementation " + variant.implementation);
  if (found->collective() != call.problem.collective)
    refuse(to_string(variant) + " is none of " + std::string(name_of(call.problem.collective)));
  return *found;
}

/// Checks what may be wrong on this rank only.
void check_own(const Communicator& communicator, const Call& call, const MeshForm& form,
               const Implementations& catalogue) {
  const bool is_on_device = communicator.device() != nullptr;
  for (const MeshCall& one : form.calls)
    if (implementation_of(one, catalogue).runs_on_device() != is_on_device)
      refuse("rank " + std::to_string(communicator.rank()) + " has its buffers " +
             (is_on_device ? "on a device" : "in the host's memory") + ", where " +
             to_string(one.part->variant) + " does not take them");
  check_buffers(communicator, call);
}

/// Checks what all ranks pass alike; no rank waits for another before this.
void check_calls(const MeshForm& form, const Communicator& all, const Implementations& catalogue) {
  for (const MeshCall& call : form.calls) {
    const Implementation& implementation = implementation_of(call, catalogue);
    const Variant& variant = call.part->variant;
    for (const MeshGroup& group : mesh_groups(call, all.nodes()))
      if (const std::string why =
              why_outside(implementation.limits(variant), call.problem, group.topology.ranks);
          !why.empty())
        refuse(to_string(variant) + " for " + describe(call.problem) + ": " + why);
  }
}

/// The buffers of each call on this rank, and the copies before and after all calls.
class MeshBuffers {
 public:
  MeshBuffers(const Call& call, const MeshForm& form, int rank, JointStages& stages)
      : whole_(call.buffers.receive), send_(call.buffers.send) {
    const bool is_padded = form.padded != call.problem.message_size;
    if (is_padded) {
      const std::span<std::byte> padded = stages.memory().add(form.padded, stages.device());
      before.add(padded.data(), send_.data(), send_.size());
      after.add(whole_.data(), padded.data(), whole_.size());
      whole_ = padded;
      send_ = whole_;
    }
    share_ = whole_;
    if (form.shares > 1) {
      const auto groups = ranks_by_group(form.sharing);
      const auto& own =
          groups[static_cast<std::size_t>(form.sharing[static_cast<std::size_t>(rank)])];
      const auto place = static_cast<std::size_t>(std::ranges::find(own, rank) - own.begin());
      const std::size_t size = whole_.size() / static_cast<std::size_t>(form.shares);
      share_ = whole_.subspan(place * size, size);
    }
    is_first_in_place_ = call.problem.in_place || is_padded;
    // A group of one rank has no first collective, so its input is copied here.
    const auto& first = form.calls.empty() ? form.component_of_rank : form.calls[0].group_of_rank;
    const bool is_alone =
        form.calls.empty() || std::ranges::count(first, first[static_cast<std::size_t>(rank)]) == 1;
    if (is_alone && !is_first_in_place_) before.add(whole_.data(), send_.data(), send_.size());
  }

  [[nodiscard]] CallBuffers of(const MeshForm& form, std::size_t index) const {
    const MeshCall& call = form.calls[index];
    if (call.on_share) return {share_, share_};
    const std::span<const std::byte> from =
        index == 0 && !is_first_in_place_ ? send_ : std::span<const std::byte>(whole_);
    switch (call.problem.collective) {
      case Collective::reduce_scatter:
        return {from, share_};
      case Collective::all_gather:
        return {share_, whole_};
      case Collective::all_reduce:
      case Collective::broadcast:
      case Collective::reduce:
      case Collective::all_to_all:
      case Collective::gather:
      case Collective::scatter:
        break;
    }
    return {from, whole_};
  }
  [[nodiscard]] std::span<std::byte> results() const { return whole_; }

  Copies before{};
  Copies after{};

 private:
  std::span<std::byte> whole_;
  std::span<const std::byte> send_;
  std::span<std::byte> share_{};
  bool is_first_in_place_ = false;
};

std::unique_ptr<Operation> prepare_form(Subgroups& ranks, const Call& call,
                                        const Composition& composition,
                                        const Implementations& catalogue, Deadline deadline) {
  Communicator& all = ranks.all();
  const MeshForm form = mesh_form(call.problem, composition);
  check_calls(form, all, catalogue);
  const int rank = all.rank();
  auto operation = std::make_unique<MeshOperation>(all, call.buffers);
  JointStages& stages = operation->stages();
  std::optional<MeshBuffers> buffers;
  JointStage last;
  attempt_together(all, joint_words, deadline, [&] {
    check_own(all, call, form, catalogue);
    buffers.emplace(call, form, rank, stages);
    last.copies = std::move(buffers->after);
    if (!form.divisors.empty())
      last.division = Division(buffers->results(), call.problem.data_type,
                               form.divisors[static_cast<std::size_t>(
                                   form.component_of_rank[static_cast<std::size_t>(rank)])],
                               stages.device());
    stages.add({.copies = std::move(buffers->before)});
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
    attempt_together(all, joint_words, deadline, [&] {
      JointStage stage{.members = group.members, .waiting_for = step_words};
      if (stage.members.size() > 1)
        stage.prepare(*group.communicator, {implementation_of(one, catalogue), one.part->variant},
                      {.problem = one.problem,
                       .root = 0,
                       .buffers = buffers->of(form, i),
                       .longest_wait = call.longest_wait,
                       .is_persistent = call.is_persistent},
                      deadline);
      stages.add(std::move(stage));
    });
  }
  stages.add(std::move(last));
  return operation;
}

/// The merged all_reduce, among ranks that cannot all run one variant.
std::unique_ptr<Operation> prepare_among_unlike(Subgroups& ranks, const Call& call,
                                                const Composition& composition,
                                                const Members& members,
                                                const Implementations& catalogue,
                                                Deadline deadline) {
  if (const std::string why = why_not_mesh(call.problem, composition); !why.empty())
    refuse(describe(call.problem) + " is unavailable: " + why);
  int divisor = 1;
  const auto merged = merged_problem(call.problem, divisor);
  Communicator& all = ranks.all();
  attempt_together(all, joint_words, deadline, [&] { check_buffers(all, call); });
  auto operation = std::make_unique<MeshOperation>(all, call.buffers);
  JointStages& stages = operation->stages();
  JointStage stage{.waiting_for = step_words};
  for (int rank = 0; rank < all.size(); ++rank) stage.members.push_back(rank);
  stage.call = {.problem = *merged, .buffers = call.buffers, .is_persistent = call.is_persistent};
  stage.operation = prepare_composed(all, stage.call, composition, members, catalogue, deadline);
  stages.add(std::move(stage));
  if (divisor != 1)
    stages.add({.division = Division(call.buffers.receive, call.problem.data_type, divisor,
                                     stages.device())});
  return operation;
}

}  // namespace

std::unique_ptr<Operation> prepare_mesh_reduce(Subgroups& ranks, const Call& call,
                                               const Composition& composition,
                                               const Members& members,
                                               const Implementations& catalogue,
                                               Deadline deadline) {
  check(call.problem);
  if (!call.problem.mesh) refuse(describe(call.problem) + " is none");
  if (ranks_of(*call.problem.mesh) != ranks.all().size())
    refuse("the mesh " + shape_text(*call.problem.mesh) + " has " +
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
