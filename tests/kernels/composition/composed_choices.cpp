// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "composed_choices.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "colltune/vocabulary/error.h"
#include "grouped_checks.h"
#include "mesh_checks.h"
#include "random_calls.h"
#include "stub_implementation.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

/// Variants that are numbers of a list; a word each, so that all of them count as unlike.
template <class Made>
class Numbered {
 public:
  Numbered(std::string name, std::vector<Made> all)
      : name_(std::move(name)), all_(std::move(all)) {}
  [[nodiscard]] std::vector<Variant> variants() const {
    std::vector<Variant> made;
    for (std::size_t i = 0; i < all_.size(); ++i)
      made.push_back({name_, {{"choice", "c" + std::to_string(i)}}});
    return made;
  }
  [[nodiscard]] const Made& of(const Variant& variant) const {
    return all_.at(std::stoul(word(variant, "choice").substr(1)));
  }

 private:
  std::string name_;
  std::vector<Made> all_;
};

class GroupedChoices final : public StubImplementation {
 public:
  GroupedChoices(Collective collective, std::vector<Grouping> all, GroupedRanks ranks,
                 const Implementations& catalogue)
      : StubImplementation(collective, "test.grouped_" + std::string(name_of(collective))),
        all_(name(), std::move(all)),
        ranks_(std::move(ranks)),
        catalogue_(catalogue) {}

  std::vector<Variant> variants(const Problem&, const Topology&, const Capability&) const override {
    return all_.variants();
  }
  Support can_run(const Problem& problem, const Topology&, const Capability&,
                  const Variant& variant) const override {
    return supports_grouped(problem, all_.of(variant), ranks_, catalogue_);
  }
  Numerics numerics(const Problem& problem, const Variant& variant) const override {
    return grouped_numerics(problem, all_.of(variant), catalogue_);
  }
  CallTraits traits(const Problem&, const Topology&, const Variant&) const override {
    return {.why_not_bound = {}, .why_not_rebound = {}};
  }
  std::unique_ptr<Operation> prepare(Communicator& communicator, const Call& call,
                                     const Variant& variant, Deadline deadline) const override {
    return prepare_grouped(communicator, call, all_.of(variant), catalogue_, deadline);
  }

 private:
  Numbered<Grouping> all_;
  GroupedRanks ranks_;
  const Implementations& catalogue_;
};

class FormChoices final : public StubImplementation {
 public:
  FormChoices(Subgroups& ranks, std::vector<Composition> all, Capability capability,
              const Implementations& catalogue)
      : StubImplementation(Collective::all_reduce, "test.mesh_forms",
                           ranks.all().device() != nullptr),
        all_(name(), std::move(all)),
        ranks_(ranks),
        capability_(std::move(capability)),
        catalogue_(catalogue) {}

  std::vector<Variant> variants(const Problem&, const Topology&, const Capability&) const override {
    return all_.variants();
  }
  Support can_run(const Problem& problem, const Topology&, const Capability&,
                  const Variant& variant) const override {
    const Composition& composition = all_.of(variant);
    if (std::string why = why_not_mesh(problem, composition); !why.empty()) return Support::no(why);
    if (std::string why = why_not_verifiable(problem); !why.empty()) return Support::no(why);
    const MeshForm form = mesh_form(problem, composition);
    // An operation takes either these or those.
    if (problem.registered && form.padded != problem.message_size)
      return Support::no("registered messages are whole shares here");
    for (const MeshCall& call : form.calls)
      for (const MeshGroup& group : mesh_groups(call, ranks_.all().nodes()))
        if (Support support =
                find_implementation(catalogue_, call.part->variant.implementation)
                    ->supports(call.problem, group.topology, capability_, call.part->variant);
            !support)
          return support;
    return Support::yes();
  }
  Numerics numerics(const Problem& problem, const Variant& variant) const override {
    return mesh_numerics(problem, all_.of(variant), catalogue_);
  }
  CallTraits traits(const Problem& problem, const Topology&,
                    const Variant& variant) const override {
    CallTraits all{.why_not_bound = {}, .why_not_rebound = {}};
    // On devices not everything takes other buffers, or other sizes.
    if (why_not_mesh(problem, all_.of(variant)).empty())
      all.why_not_rebound =
          why_not_mesh_rebound(problem, all_.of(variant), ranks_.all().nodes(), catalogue_);
    return all;
  }
  std::unique_ptr<Operation> prepare(Communicator&, const Call& call, const Variant& variant,
                                     Deadline deadline) const override {
    return prepare_mesh_reduce(ranks_, call, all_.of(variant), {}, catalogue_, deadline);
  }

 private:
  Numbered<Composition> all_;
  Subgroups& ranks_;
  Capability capability_;
  const Implementations& catalogue_;
};

/// Elements of a message for which variants are chosen: they do shorter and longer ones as well.
constexpr std::size_t elements_of_a_block = 48;

}  // namespace

Implementations grouped_choices(Communicator& communicator, const Implementations& catalogue,
                                ChosenVariants& known, std::size_t turn) {
  const auto size = static_cast<std::size_t>(communicator.size());
  const GroupedRanks ranks{
      .nodes = {communicator.nodes().begin(), communicator.nodes().end()},
      .capabilities = std::vector<Capability>(size, detect_capability(catalogue, communicator))};
  Implementations made;
  for (const auto& named : enum_names(Collective{})) {
    const std::size_t blocks = shape_of(named.value).has_block_per_rank() ? size : 1;
    Problem problem = problem_of(named.value, elements_of_a_block * blocks * sizeof(std::int32_t));
    // MPI's own broadcast has one buffer.
    problem.in_place = named.value == Collective::broadcast;
    std::vector<Grouping> all;
    for (const std::vector<int>& groups : groupings_of(communicator.size()))
      all.push_back(choose_grouping(problem, groups, ranks, catalogue, known, turn += 3));
    if (!all.empty())
      made.push_back(
          std::make_unique<GroupedChoices>(named.value, std::move(all), ranks, catalogue));
  }
  return made;
}

Implementations mesh_choices(Subgroups& ranks, const Implementations& catalogue,
                             ChosenVariants& known, const MeshReduction& mesh, std::size_t turn) {
  const Capability capability = detect_capability(catalogue, ranks.all());
  std::vector<Composition> all;
  std::vector<Composition> outlines{outline_of(mesh, CompositionMode::sequential, 0),
                                    outline_of(mesh, CompositionMode::merged, 0)};
  for (int inside = 0; static_cast<std::size_t>(inside) < mesh.steps.size(); ++inside)
    outlines.push_back(outline_of(mesh, CompositionMode::hierarchical, inside));
  for (const DataType type : {DataType::f32, DataType::i32})
    for (const Composition& outline : outlines) {
      const Problem problem = mesh_problem(mesh, type, elements_of_a_block);
      if (!why_not_mesh(problem, outline).empty()) continue;
      all.push_back(choose_composition(problem, outline, ranks.all(), capability, catalogue, known,
                                       turn += 3));
    }
  Implementations made;
  made.push_back(std::make_unique<FormChoices>(ranks, std::move(all), capability, catalogue));
  return made;
}

void make_composed_random_calls(Communicator& communicator, const Implementations& catalogue,
                                ChosenVariants& known, int calls, std::size_t seed) {
  // Fewer operations than of plain collectives: each has communicators and memory for its stages.
  constexpr int operations = 8;
  constexpr int meshes_of_a_set = 3;
  // By groups devices do few collectives: they lack gathers between plain buffers.
  if (communicator.size() > 1 && communicator.device() == nullptr) {
    const Implementations grouped = grouped_choices(communicator, catalogue, known, seed);
    EXPECT_EQ(find_fault_in_random_calls(communicator, grouped,
                                         {.calls = calls, .operations = operations, .seed = seed}),
              "");
  }
  Subgroups ranks(communicator);
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
  const std::vector<MeshReduction> meshes = meshes_of(communicator.size());
  const std::vector<std::vector<ReduceOp>> operators = operators_in_turn();
  for (int i = 0; i < meshes_of_a_set; ++i) {
    const MeshReduction& shape = meshes[random() % meshes.size()];
    // Sums and their averages have all forms.
    const std::vector<ReduceOp> ops = i % 2 == 0 ? std::vector{ReduceOp::sum, ReduceOp::avg}
                                                 : operators[random() % operators.size()];
    const MeshReduction mesh = i == 0 ? shape : with_operators(shape, ops);
    if (!why_not_verifiable(mesh_problem(mesh, DataType::f32, 1)).empty()) continue;
    const Implementations forms = mesh_choices(ranks, catalogue, known, mesh, random());
    EXPECT_EQ(find_fault_in_random_calls(communicator, forms,
                                         {.calls = calls / meshes_of_a_set,
                                          .operations = operations,
                                          .seed = seed + static_cast<std::uint64_t>(i),
                                          .mesh = mesh}),
              "")
        << operation_text(mesh_problem(mesh, DataType::f32, 1));
  }
  communicator.barrier(soon_enough());
}

}  // namespace colltune::test
