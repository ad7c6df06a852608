// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin_implementation.h"

#include <algorithm>
#include <array>
#include <bit>

#include "host.h"

namespace colltune {
namespace {

/// The numbers of ranks and nodes, as a plug-in is told them.
struct CallerRanks {
  int ranks;
  int nodes;
  int ranks_per_node;
};

CallerRanks ranks_of(const Communicator& communicator) {
  std::vector<int> ranks_on;  // by node
  for (const int node : communicator.nodes()) {
    ranks_on.resize(std::max(ranks_on.size(), static_cast<std::size_t>(node) + 1));
    ++ranks_on[static_cast<std::size_t>(node)];
  }
  return {communicator.size(), static_cast<int>(ranks_on.size()), std::ranges::max(ranks_on)};
}

/// A problem as a plug-in sees it. The names are string literals, so they are null-terminated.
colltune_problem to_plugin_problem(const Problem& problem, const CallerRanks& ranks) {
  return {.struct_size = sizeof(colltune_problem),
          .collective = name_of(problem.collective).data(),
          .data_type = name_of(problem.data_type).data(),
          .reduce_op = name_of(problem.reduce_op).data(),
          .numeric_class = name_of(problem.numeric_class).data(),
          .message_size = problem.message_size.value,
          .block_elements = block_elements(problem, ranks.ranks),
          .element_size = size_of(problem.data_type),
          .ranks = ranks.ranks,
          .nodes = ranks.nodes,
          .ranks_per_node = ranks.ranks_per_node,
          .flags = (problem.in_place ? std::uint32_t{colltune_in_place} : 0U) |
                   (problem.registered ? std::uint32_t{colltune_registered} : 0U)};
}

/// A call as a plug-in sees it. `problem` is that of `call` and outlives what is returned.
colltune_call to_plugin_call(const Call& call, const colltune_problem& problem, Bytes capacity) {
  const CallBuffers& buffers = call.buffers;
  return {.struct_size = sizeof(colltune_call),
          .problem = &problem,
          .root = call.root,
          .send = buffers.send.empty() ? nullptr : buffers.send.data(),
          .send_size = buffers.send.size(),
          .receive = buffers.receive.empty() ? nullptr : buffers.receive.data(),
          .receive_size = buffers.receive.size(),
          .capacity = capacity.value};
}

/// A variant as a plug-in sees it; owns the arrays that the view points into.
class VariantView {
 public:
  VariantView(const std::string& implementation, const Variant& variant) {
    values_.reserve(variant.parameters.size());
    for (const auto& parameter : variant.parameters) {
      values_.push_back(to_string(parameter.value));
      names_.push_back(parameter.name.c_str());
      value_texts_.push_back(values_.back().c_str());
      const auto* const number = std::get_if<std::int64_t>(&parameter.value);
      numbers_.push_back(number != nullptr ? *number : 0);
    }
    view_ = {.struct_size = sizeof(colltune_variant),
             .implementation = implementation.c_str(),
             .parameter_names = names_.data(),
             .parameter_values = value_texts_.data(),
             .parameter_numbers = numbers_.data(),
             .parameter_count = names_.size()};
  }
  VariantView(const VariantView&) = delete;
  VariantView& operator=(const VariantView&) = delete;
  [[nodiscard]] const colltune_variant& view() const { return view_; }

 private:
  std::vector<std::string> values_;
  std::vector<const char*> names_;
  std::vector<const char*> value_texts_;
  std::vector<std::int64_t> numbers_;
  colltune_variant view_{};
};

/// Calls into the plug-in for one operation, and turns what it returns into exceptions.
class Caller {
 public:
  Caller(Communicator& communicator, std::string variant)
      : handle_(communicator), variant_(std::move(variant)) {}

  [[nodiscard]] colltune_communicator& handle() { return handle_; }

  /// Throws what `act`'s status, and what the host recorded meanwhile, mean.
  template <class Act>
  void call(const char* function, Act act) {
    handle_.missing.reset();
    handle_.message.clear();
    const colltune_status status = run(function, act);
    if (status != colltune_ok || !handle_.misuse.empty()) fail(function, status);
  }

 private:
  /// Plug-ins must not throw. If one does, the exception must not end the whole job.
  template <class Act>
  colltune_status run(const char* function, Act act) {
    try {
      return act();
    } catch (const std::exception& error) {
      throw Error(StatusCode::internal, about(function) + "threw an exception, which no plug-in " +
                                            "may do: " + error.what());
    }
  }

  [[noreturn]] void fail(const char* function, colltune_status status) const {
    if (!handle_.misuse.empty())
      throw Error(StatusCode::internal, about(function) + "misused the host: " + handle_.misuse);
    // The codes of StatusCode are contiguous, as gRPC's are.
    if (status < to_plugin_status(StatusCode::invalid_argument) ||
        status > to_plugin_status(StatusCode::data_loss))
      throw Error(StatusCode::internal,
                  about(function) + "returned status " + std::to_string(status) +
                      "; allowed are 0 and gRPC's codes from 3 to 15" + explanation());
    const auto code = static_cast<StatusCode>(status);
    if (handle_.missing && handle_.missing->code() == code) throw *handle_.missing;
    throw Error(code, about(function) + "failed with status " + std::to_string(status) +
                          (handle_.message.empty() ? " and gave no reason" : explanation()));
  }

  [[nodiscard]] std::string about(const char* function) const {
    return "plug-in " + variant_ + ": " + function + " ";
  }
  [[nodiscard]] std::string explanation() const {
    return handle_.message.empty() ? "" : ": " + handle_.message;
  }

  colltune_communicator handle_;
  std::string variant_;
};

class PluginOperation final : public Operation {
 public:
  /// `limits` outlive it.
  PluginOperation(std::shared_ptr<const LoadedPlugin> plugin, Communicator& communicator,
                  const Call& call, const Limits& limits, std::string variant)
      : plugin_(std::move(plugin)),
        caller_(communicator, std::move(variant)),
        rank_(communicator.rank()),
        ranks_(ranks_of(communicator)),
        limits_(limits),
        prepared_(call),
        buffers_(call.buffers) {}
  ~PluginOperation() override {
    if (operation_ != nullptr) plugin_->table->destroy(operation_);
  }
  PluginOperation(const PluginOperation&) = delete;
  PluginOperation& operator=(const PluginOperation&) = delete;

  void prepare(const colltune_variant& variant, Deadline deadline) {
    const colltune_problem problem = to_plugin_problem(prepared_.problem, ranks_);
    const colltune_call call = to_plugin_call(prepared_, problem, prepared_.capacity);
    colltune_communicator& handle = caller_.handle();
    handle.is_preparing = true;
    caller_.call("prepare", [&] {
      colltune_operation* made = nullptr;
      const colltune_status status = plugin_->table->prepare(
          &plugin_host(), &handle, &call, &variant, to_plugin_deadline(deadline), &made);
      if (status != colltune_ok) return status;  // ignores anything it may have left in `made`
      operation_ = made;
      if (operation_ == nullptr) handle.misuse = "returned no operation";
      return status;
    });
    handle.is_preparing = false;
  }

  void bind(const CallBuffers& buffers) override {
    if (plugin_->bind == nullptr) return Operation::bind(buffers);
    check_bound_sizes(buffers_, buffers);
    caller_.call("bind", [&] {
      return plugin_->bind(operation_, buffers.send.empty() ? nullptr : buffers.send.data(),
                           buffers.receive.empty() ? nullptr : buffers.receive.data());
    });
  }

  void rebind(const Call& call) override {
    if (plugin_->rebind == nullptr) return Operation::rebind(call);
    check_rebound(prepared_, call, rank_, ranks_.ranks);
    if (const std::string why = why_outside(limits_, call.problem, ranks_.ranks); !why.empty())
      throw Error(StatusCode::invalid_argument, describe(call.problem) + ": " + why);
    const colltune_problem problem = to_plugin_problem(call.problem, ranks_);
    const colltune_call given = to_plugin_call(call, problem, Bytes{});
    caller_.call("rebind", [&] { return plugin_->rebind(operation_, &given); });
    buffers_ = call.buffers;
  }

  void start() override {
    caller_.call("start", [this] { return plugin_->table->start(operation_); });
  }

  void wait(Deadline deadline) override {
    caller_.call("wait", [this, deadline] {
      return plugin_->table->wait(operation_, to_plugin_deadline(deadline));
    });
  }

 private:
  std::shared_ptr<const LoadedPlugin> plugin_;  // first, so that it is unloaded after everything
                                                // else is gone
  Caller caller_;
  int rank_;
  CallerRanks ranks_;
  const Limits& limits_;
  Call prepared_;
  CallBuffers buffers_;  ///< of the last call
  colltune_operation* operation_ = nullptr;
};

/// Every combination of the values; the last parameter changes fastest.
std::vector<Variant> expand(const std::string& name,
                            const std::vector<ParameterRange>& parameters) {
  std::vector<Variant> all{{name, {}}};
  for (const auto& parameter : parameters) {
    std::vector<Variant> longer;
    longer.reserve(all.size() * parameter.values.size());
    for (const auto& variant : all)
      for (const auto& value : parameter.values) {
        longer.push_back(variant);
        longer.back().parameters.push_back({parameter.name, value});
      }
    all = std::move(longer);
  }
  return all;
}

class PluginImplementation final : public Implementation {
 public:
  PluginImplementation(std::shared_ptr<const LoadedPlugin> plugin,
                       DescribedImplementation described)
      : Implementation({.name = plugin->family + "." + described.name,
                        .description = described.description,
                        .collective = described.collective,
                        .family = plugin->family}),
        plugin_(std::move(plugin)),
        described_(std::move(described)),
        feature_("plugin." + name()) {}

  Limits limits(const Variant&) const override { return described_.limits; }

  std::vector<Variant> variants(const Problem&, const Topology&, const Capability&) const override {
    return expand(name(), described_.parameters);
  }

  Support can_run(const Problem& problem, const Topology& topology, const Capability& capability,
                  const Variant& variant) const override {
    if (problem.collective != described_.collective)
      return Support::no("it is for " + std::string(name_of(described_.collective)));
    if (!capability.has(feature_)) return Support::no("the plug-in is not loaded there");
    if (capability.value(feature_) != plugin_->digest)
      return Support::no("another version of the plug-in is loaded there");
    if (problem.graph_capture) return Support::no("no device graph can hold a plug-in's call");
    if (std::string why = why_foreign(variant); !why.empty()) return Support::no(std::move(why));
    if (std::string why = why_outside(described_.limits, problem, topology.ranks); !why.empty())
      return Support::no(std::move(why));
    if (numerics(problem, variant).numeric_class < problem.numeric_class)
      return Support::no("its numeric class is " + std::string(name_of(described_.numeric_class)) +
                         ", not " + std::string(name_of(problem.numeric_class)));
    return ask_plugin(problem, topology, variant);
  }

  std::string protocol(const Problem& problem, const Variant& variant) const override {
    return to_string(variant) + ";" + std::string(name_of(problem.data_type)) + ";" +
           std::string(name_of(problem.reduce_op));
  }

  Cost cost(const Problem& problem, const Topology& topology, const Variant&) const override {
    const double n = topology.ranks;
    const double log2_n = std::bit_width(static_cast<unsigned>(topology.ranks) - 1U);
    const auto bytes = [&](const SizeTerms& terms) {
      return static_cast<double>(problem.message_size.value) *
             (terms.size + terms.size_times_ranks * n + terms.size_over_ranks / n +
              terms.size_times_log2_ranks * log2_n);
    };
    const StepTerms& steps = described_.cost.steps;
    return {.steps = steps.constant + steps.ranks * n + steps.log2_ranks * log2_n,
            .bytes_per_rank = bytes(described_.cost.bytes_per_rank),
            .reduced_bytes = bytes(described_.cost.reduced_bytes)};
  }

  Numerics numerics(const Problem& problem, const Variant&) const override {
    // An operation that never rounds is exact, whatever the plug-in declares for the others.
    const bool may_round = shape_of(problem.collective).reduces && is_floating(problem.data_type) &&
                           problem.reduce_op != ReduceOp::min && problem.reduce_op != ReduceOp::max;
    return {.rounding = may_round ? described_.rounding : Rounding::exact,
            .numeric_class = described_.numeric_class};
  }

  CallTraits traits(const Problem&, const Topology&, const Variant&) const override {
    return {.why_not_bound = plugin_->bind != nullptr
                                 ? ""
                                 : "the plug-in has no bind: its operations keep their buffers",
            .why_not_rebound =
                plugin_->rebind != nullptr
                    ? ""
                    : "the plug-in has no rebind: its operations keep their size and root"};
  }

  void detect(Communicator&, Capability& capability) const override {
    capability.features[feature_] = plugin_->digest;
  }

  std::unique_ptr<Operation> prepare(Communicator& communicator, const Call& call,
                                     const Variant& variant, Deadline deadline) const override {
    auto operation = std::make_unique<PluginOperation>(plugin_, communicator, call,
                                                       described_.limits, to_string(variant));
    operation->prepare(VariantView(described_.name, variant).view(), deadline);
    return operation;
  }

 private:
  /// Empty if `variant` sets exactly the described parameters, each to a value of its type.
  std::string why_foreign(const Variant& variant) const {
    const auto matches = [](const Parameter& given, const ParameterRange& described) {
      return given.name == described.name &&
             given.value.index() == described.values.front().index();
    };
    if (variant.implementation == name() &&
        std::ranges::equal(variant.parameters, described_.parameters, matches))
      return {};
    Variant example{name(), {}};
    for (const auto& parameter : described_.parameters)
      example.parameters.push_back({parameter.name, parameter.values.front()});
    return to_string(variant) + " is none of its variants; one is " + to_string(example);
  }

  Support ask_plugin(const Problem& problem, const Topology& topology,
                     const Variant& variant) const {
    const colltune_problem plugin_problem =
        to_plugin_problem(problem, {topology.ranks, topology.nodes, topology.ranks_per_node});
    std::array<char, 512> reason{};
    const VariantView view(described_.name, variant);
    if (plugin_->table->supports(&plugin_problem, &view.view(), reason.data(), reason.size()) ==
        colltune_ok)
      return Support::yes();
    reason.back() = '\0';
    return Support::no(reason.front() == '\0' ? "the plug-in gives no reason" : reason.data());
  }

  std::shared_ptr<const LoadedPlugin> plugin_;
  DescribedImplementation described_;
  std::string feature_;  ///< the capability of having loaded the plug-in
};

}  // namespace

std::unique_ptr<const Implementation> make_plugin_implementation(
    std::shared_ptr<const LoadedPlugin> plugin, DescribedImplementation described) {
  return std::make_unique<PluginImplementation>(std::move(plugin), std::move(described));
}

}  // namespace colltune
