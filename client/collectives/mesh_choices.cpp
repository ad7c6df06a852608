// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/collectives/mesh_choices.h"

#include <fmt/format.h>

#include <algorithm>

#include "choosing.h"
#include "colltune/kernels/catalogue.h"
#include "colltune/kernels/composition/mesh_reduce.h"

namespace colltune {
namespace {

/// Chooses among the forms that one table has.
class MeshChooser {
 public:
  MeshChooser(const ProgramRanks& ranks, std::span<const int> nodes, ProgramNumerics numerics,
              const Implementations& catalogue, Calling calling)
      : ranks_(ranks),
        nodes_(nodes),
        numerics_(numerics),
        catalogue_(catalogue),
        calling_(calling) {}

  /// Why the ranks cannot run `composition`; empty if they can.
  [[nodiscard]] std::string why_not(const Problem& problem, const Composition& composition) const {
    if (std::string why = why_not_mesh(problem, composition); !why.empty()) return why;
    if (composition.mode == CompositionMode::substituted ||
        composition.mode == CompositionMode::grouped)
      return "it is for unlike ranks";
    for (const Part& part : composition.parts)
      if (find_implementation(catalogue_, part.variant.implementation) == nullptr)
        return part.variant.implementation +
               " is neither a kernel of ours for processors nor the library's own choice here";
    const MeshForm form = mesh_form(problem, composition);
    for (const MeshCall& call : form.calls)
      for (const MeshGroup& group : mesh_groups(call, nodes_)) {
        const Variant& variant = call.part->variant;
        const Support support =
            find_implementation(catalogue_, variant.implementation)
                ->supports(call.problem, group.topology, ranks_.capability, variant);
        if (!support) return support.reason();
      }
    const bool order_shows = is_floating(problem.data_type) &&
                             std::ranges::any_of(problem.mesh->steps, [](const MeshStep& step) {
                               return step.op != ReduceOp::min && step.op != ReduceOp::max;
                             });
    const auto least = demanded_class(order_shows, ranks_.topology.ranks, numerics_);
    if (!least) return "its order of adding would not be the library's (COLLTUNE_NUMERICS=library)";
    if (mesh_numerics(problem, composition, catalogue_).numeric_class < *least)
      return fmt::format("it does not guarantee {}", name_of(*least));
    if (calling_ == Calling::persistent) return {};
    return why_not_mesh_rebound(problem, composition, nodes_, catalogue_);
  }

 private:
  const ProgramRanks& ranks_;
  std::span<const int> nodes_;
  ProgramNumerics numerics_;
  const Implementations& catalogue_;
  Calling calling_;
};

/// The form that may be proven at both sizes of a range: what the table names between them or,
/// where it expects another one to be faster by fits, what won at the smaller size.
std::uint32_t form_of(const TableView& view, TableView::Group group,
                      const table_file::RangeRecord& range, std::uint64_t start) {
  const auto answer = view.find(group, {start});
  if (!answer || answer->fit_choice() == FitChoice::none) return range.variant;
  const auto at_smaller = view.find(group, {range.from});
  return at_smaller ? at_smaller->variant : table_file::none;
}

/// Whether the form that the table names for `size` was proven to be faster there.
bool is_proven(const TableView& view, TableView::Group group, std::uint64_t size,
               std::uint32_t variant) {
  const auto answer = view.find(group, {size});
  return answer && answer->variant == variant && answer->verdict == Verdict::displaced &&
         !answer->is_baseline && answer->baseline != table_file::none &&
         (answer->source == Source::measured || answer->source == Source::interpolated);
}

const Composition* find_composition(const DecisionSet& set, const std::string& text) {
  const Variant variant = parse_variant(text);
  const std::string_view name = parts_named_by(variant);
  for (const Composition& one : set.compositions)
    if (!name.empty() && parts_name(one) == name) return &one;
  return nullptr;
}

}  // namespace

MeshChoices choose_meshes(const TableFile& table, const ProgramRanks& ranks,
                          std::span<const int> nodes, ProgramNumerics numerics,
                          const Implementations& catalogue, Calling calling) {
  MeshChoices choices;
  const TableView& view = table.view();
  const auto world = find_world(view, ranks.topology);
  if (!world) return choices;  // Choices::left_out says so
  const DecisionSet set = table.read_decisions();
  const MeshChooser chooser(ranks, nodes, numerics, catalogue, calling);
  for (const Decision& decision : set.decisions) {
    // One decision of each group tells its mesh; the group has the ranges of all its sizes.
    const TuningKey& key = decision.key;
    if (key.problem.kind != ProblemKind::mesh_reduce || key.problem.in_place ||
        key.problem.registered || key.problem.numeric_class != NumericClass::any ||
        regime_of(key) != Regime{.calling = calling} || decision.family != any_family)
      continue;
    const auto group = resolve(view, key, any_family);
    if (!group || view.groups()[*group].key.world != *world) continue;
    const std::string mesh = mesh_name(*key.problem.mesh);
    for (std::size_t i = 0; i < view.ranges_of(*group).size(); ++i) {
      const table_file::RangeRecord& range = view.ranges_of(*group)[i];
      const std::uint32_t form = form_of(view, *group, range, view.starts_of(*group)[i]);
      if (form == table_file::none || std::ranges::any_of(choices.all, [&](const MeshChoice& one) {
            return one.mesh == mesh && one.data_type == key.problem.data_type &&
                   one.from.value == range.from && one.to.value == range.to;
          }))
        continue;
      if (!is_proven(view, *group, range.from, form) || !is_proven(view, *group, range.to, form))
        continue;
      const std::string text(view.variant(form).text);
      const Composition* const composition = find_composition(set, text);
      std::string why = composition == nullptr ? "the table lacks its parts" : "";
      for (const std::uint64_t size : {range.from, range.to}) {
        if (!why.empty()) break;
        Problem problem = key.problem;
        problem.message_size = {size};
        why = chooser.why_not(problem, *composition);
      }
      if (why.empty())
        choices.all.push_back({.mesh = mesh,
                               .data_type = key.problem.data_type,
                               .from = {range.from},
                               .to = {range.to},
                               .composition = *composition});
      else
        choices.left_out.push_back(fmt::format("{} of {} {}: {}", text, operation_text(key.problem),
                                               name_of(key.problem.data_type), why));
    }
  }
  std::ranges::sort(choices.left_out);
  const auto repeated = std::ranges::unique(choices.left_out);
  choices.left_out.erase(repeated.begin(), repeated.end());
  return choices;
}

}  // namespace colltune
