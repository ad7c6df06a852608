// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/client/local_table.h"

#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "colltune/apply/settings.h"
#include "colltune/table/decision_table.h"
#include "colltune/table_file/table_content.h"
#include "colltune/table_file/table_file.h"
#include "colltune/vocabulary/problem_form.h"

namespace colltune {
namespace {

/// The environment of all decisions.
std::string only_environment(const DecisionSet& set) {
  std::set<std::string> digests;
  for (const Decision& decision : set.decisions) digests.insert(decision.key.environment_digest);
  if (digests.empty())
    throw Error(StatusCode::not_found, "generation " + std::to_string(set.generation.number) +
                                           " has no decision for the worlds and the environment "
                                           "asked for");
  if (digests.size() == 1) return *digests.begin();
  std::string all;
  for (const std::string& digest : digests) all += "\n  " + digest;
  throw Error(StatusCode::invalid_argument,
              "the decisions are of several environments, and a table is of one; name it by its "
              "digest:" +
                  all);
}

/// The bytes that `colltune export table` would write of these decisions.
std::string encode(const DecisionTable& table) {
  return encode_table({.set = table.set(),
                       .environment_digest = only_environment(table.set()),
                       .groups = table.answer_groups()});
}

bool fits(const auto& wanted, const auto& has) { return !wanted || *wanted == has; }

bool is_admitted(const LookupQuery& query, const TableView& view,
                 const table_file::WorldRecord& world) {
  return fits(query.nodes, world.nodes) && fits(query.ranks_per_node, world.ranks_per_node) &&
         query.placement.value_or(Placement::dedicated) ==
             static_cast<Placement>(world.placement) &&
         fits(query.architecture, view.string(world.architecture)) &&
         fits(query.layout_digest, view.string(world.layout_digest)) &&
         fits(query.interconnect, view.string(world.interconnect));
}

/// The groups of the worlds that fit.
std::vector<TableView::Group> fitting_groups(const LookupQuery& query, const TableView& view) {
  const Problem problem = in_its_form(query.problem);
  const std::string mesh = problem.mesh ? mesh_name(*problem.mesh) : std::string();
  GroupKey key{.call = pack_call(problem, regime_of(query)), .family = query.family, .mesh = mesh};
  std::vector<TableView::Group> found;
  for (std::uint32_t number = 0; number < view.worlds().size(); ++number) {
    if (!is_admitted(query, view, view.worlds()[number])) continue;
    key.world = number;
    if (const auto group = view.resolve(key)) found.push_back(*group);
  }
  return found;
}

}  // namespace

class LocalTable::Impl {
 public:
  Impl(TableFile&& from, DecisionSet decisions)
      : file(std::move(from)),
        table(std::move(decisions)),
        environment(file.environment_digest()),
        digest(file.digest()) {
    variants.reserve(view().variants());
    for (std::uint32_t number = 0; number < view().variants(); ++number)
      variants.emplace_back(view().variant(number).text);
  }

  [[nodiscard]] const TableView& view() const noexcept { return file.view(); }

  TableFile file;
  DecisionTable table;
  std::string environment;
  std::string digest;
  std::vector<std::string> variants;  ///< with a 0 at their ends, which the file has not
};

LocalTable::LocalTable(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

LocalTable LocalTable::open(const std::string& path, const std::optional<std::string>& digest) {
  TableFile file{std::filesystem::path(path)};
  try {
    DecisionSet set = file.read_decisions();
    LocalTable table(std::make_shared<const Impl>(std::move(file), std::move(set)));
    if (digest) demand_digest(table, *digest, path);
    return table;
  } catch (const Error& error) {
    if (error.code() != StatusCode::invalid_argument) throw;
    throw Error(StatusCode::data_loss, path + ": " + error.what());
  }
}

LocalTable LocalTable::open(const std::string& path, const GroupCalls& group) {
  return open_in_group(group, [&](const std::optional<TableIdentity>& wanted) {
    return open(path, wanted ? std::optional(wanted->digest) : std::nullopt);
  });
}

LocalTable LocalTable::of(DecisionSet set) {
  std::string bytes;
  {
    const DecisionTable table(std::move(set));
    bytes = encode(table);
    set = table.set();
  }
  return LocalTable(std::make_shared<const Impl>(TableFile(bytes, "the table"), std::move(set)));
}

TableIdentity LocalTable::identity() const {
  return {
      .generation = generation(), .environment_digest = environment_digest(), .digest = digest()};
}

const Generation& LocalTable::generation() const { return impl_->table.generation(); }

const std::string& LocalTable::environment_digest() const { return impl_->environment; }

const std::string& LocalTable::digest() const { return impl_->digest; }

LookupAnswer LocalTable::find(const LookupQuery& query) const { return impl_->table.find(query); }

LocalTable::Group LocalTable::resolve(const LookupQuery& query) const {
  if (query.members || query.form)
    throw Error(StatusCode::invalid_argument,
                "members, or the form of a mesh reduction, are asked for by a lookup of each call");
  check(query.problem);
  const bool is_of_this = fits(query.generation, generation().number) &&
                          fits(query.environment_digest, environment_digest());
  const auto groups =
      is_of_this ? fitting_groups(query, impl_->view()) : std::vector<TableView::Group>();
  if (groups.size() == 1) return groups.front();
  // Says why there is none, or which there are.
  const LookupAnswer answer = find(query);
  throw Error(StatusCode::not_found,
              "the table is of environment " + environment_digest() + ", and " +
                  query.environment_digest.value_or("another") + " is asked for; " +
                  describe(answer.decision.key.topology) + " has an answer there");
}

std::optional<TableFound> LocalTable::find(Group group, Bytes size) const noexcept {
  const TableView& view = impl_->view();
  if (group >= view.groups().size()) return std::nullopt;
  const auto answer = view.find(group, size);
  if (!answer) return std::nullopt;
  const auto interval = answer->interval().value_or(TableInterval{});
  return TableFound{.variant = answer->variant,
                    .baseline = answer->baseline,
                    .is_baseline = answer->is_baseline,
                    .source = answer->source,
                    .verdict = answer->verdict,
                    .status = answer->status,
                    .size = answer->size,
                    .time = answer->time(),
                    .baseline_time = answer->baseline == table_file::none
                                         ? std::chrono::nanoseconds{}
                                         : answer->baseline_time(),
                    .low = interval.low,
                    .high = interval.high,
                    .model = interval.model == table_file::none ? std::string_view()
                                                                : view.string(interval.model)};
}

std::string_view LocalTable::variant(std::uint32_t number) const noexcept {
  return number < impl_->variants.size() ? std::string_view(impl_->variants[number])
                                         : std::string_view();
}

const DecisionSet& LocalTable::set() const { return impl_->table.set(); }

void demand_digest(const LocalTable& table, const std::string& digest, const std::string& what) {
  if (table.digest() == digest) return;
  throw Error(StatusCode::failed_precondition,
              what + " is generation " + std::to_string(table.generation().number) + " of store " +
                  table.generation().store_uuid + " in environment " + table.environment_digest() +
                  ", digest " + table.digest() + "; demanded is the table with digest " + digest);
}

std::vector<ApplySettings> apply_settings_of(const FoundAnswer& found) {
  return settings_to_apply(found.answer.decision,
                           found.environment ? &*found.environment : nullptr);
}

}  // namespace colltune
