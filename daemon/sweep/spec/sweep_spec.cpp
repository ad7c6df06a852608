// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/spec/sweep_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "checked_json.h"
#include "colltune/json/json.h"
#include "colltune/vocabulary/series_launch.h"
#include "configuration_form.h"
#include "control/shared_result.h"

namespace colltune {

extern const std::string_view embedded_sweep_schema;

namespace {

using nlohmann::json;

// A value of the key "synchronization": each cell uses what works there.
constexpr std::string_view automatic = "auto";

std::string_view trim(std::string_view text) {
  constexpr std::string_view blank = " \t\n\r";
  const auto first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

// A sweep of more sizes would take years.
constexpr std::size_t most_sizes = 4096;

[[noreturn]] void fail_sizes(std::string_view item, const std::string& why) {
  throw Error(StatusCode::invalid_argument, "'" + std::string(item) + "': " + why +
                                                "; write sizes such as 8, 64KiB or ranges such as "
                                                "1KiB..64MiB x2, separated by commas");
}

/// Reads "1KiB..64MiB x2"; the upper end is included if the factor reaches it.
void append_range(std::string_view item, std::size_t dots, std::vector<Bytes>& sizes) {
  const auto factor_at = item.find_last_of('x');
  if (factor_at == std::string_view::npos || factor_at < dots)
    fail_sizes(item, "a range needs a factor");
  const std::string_view digits = trim(item.substr(factor_at + 1));
  std::uint64_t factor = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), factor);
  if (error != std::errc{} || end != digits.data() + digits.size() || factor < 2)
    fail_sizes(item, "the factor must be a whole number of at least 2");
  const Bytes first = parse_bytes(trim(item.substr(0, dots)));
  const Bytes last = parse_bytes(trim(item.substr(dots + 2, factor_at - dots - 2)));
  if (first.value == 0) fail_sizes(item, "a range cannot begin at 0");
  if (first > last) fail_sizes(item, "the range ends before it begins");
  for (std::uint64_t size = first.value;; size *= factor) {
    sizes.push_back({size});
    if (size > last.value / factor) break;
  }
}

/// Throws if a size is too large, or there are too many.
void check_sizes(const std::vector<Bytes>& sizes) {
  if (sizes.size() > most_sizes)
    throw Error(StatusCode::invalid_argument, std::to_string(sizes.size()) + " sizes; at most " +
                                                  std::to_string(most_sizes) + " are allowed");
  for (const Bytes size : sizes)
    if (size > largest_size)
      throw Error(StatusCode::invalid_argument, "the size " + format_bytes(size) +
                                                    " is too large; at most " +
                                                    format_bytes(largest_size) + " is allowed");
}

void sort_unique(std::vector<Bytes>& sizes) {
  std::ranges::sort(sizes);
  const auto [first, last] = std::ranges::unique(sizes);
  sizes.erase(first, last);
}

std::vector<Bytes> read_sizes(const json& value, const std::string& where) {
  std::vector<Bytes> sizes;
  const auto append = [&](const json& item, const std::string& place) {
    try {
      if (item.is_string()) {
        const auto more = parse_sizes(item.get_ref<const std::string&>());
        sizes.insert(sizes.end(), more.begin(), more.end());
      } else {
        sizes.push_back(from_json_value<Bytes>(item, place));
      }
    } catch (const Error& error) {
      throw Error(error.code(), place + ": " + error.what());
    }
  };
  if (value.is_array())
    for (std::size_t i = 0; i < value.size(); ++i)
      append(value[i], where + "/" + std::to_string(i));
  else
    append(value, where);
  sort_unique(sizes);
  try {
    check_sizes(sizes);
  } catch (const Error& error) {
    throw Error(error.code(), where + ": " + error.what());
  }
  return sizes;
}

void read_holdout(const json& root, const std::string& where, SweepSpec& spec) {
  spec.holdout_sizes = read_sizes(root.at("holdout_sizes"), where);
  for (const Bytes size : spec.holdout_sizes)
    if (std::ranges::binary_search(spec.sizes, size))
      throw Error(StatusCode::invalid_argument,
                  where + ": " + format_bytes(size) +
                      " is one of /sizes as well; held-out sizes are those that do not decide");
}

Bytes read_size(const json& value, const std::string& where) {
  try {
    const Bytes size = value.is_string() ? parse_bytes(value.get_ref<const std::string&>())
                                         : from_json_value<Bytes>(value, where);
    check_sizes({size});
    return size;
  } catch (const Error& error) {
    throw Error(error.code(), where + ": " + error.what());
  }
}

CallSpec read_call(const json& item, const std::string& where) {
  const auto fail = [&](const std::string& what) {
    throw Error(StatusCode::invalid_argument, where + ": " + what);
  };
  CallSpec call{
      .collective = from_json_value<Collective>(item.at("collective"), where + "/collective"),
      .data_type = from_json_value<DataType>(item.at("type"), where + "/type"),
      .size = read_size(item.at("size"), where + "/size"),
      .weight = item.value("weight", 1.0)};
  const std::string name(name_of(call.collective));
  const bool reduces = shape_of(call.collective).reduces;
  if (reduces && !item.contains("op"))
    fail("key 'op' is missing; " + name + " reduces, and needs one of sum, prod, min, max, avg");
  if (!reduces && item.contains("op"))
    fail("key 'op' stands there, and " + name + " does not reduce; leave it out");
  if (reduces) call.reduce_op = from_json_value<ReduceOp>(item.at("op"), where + "/op");
  if (item.contains("counts")) {
    call.counts = from_json_value<Counts>(item.at("counts"), where + "/counts");
    if (call.counts != Counts::equal && !may_have_unequal_counts({.collective = call.collective}))
      fail("the counts of " + name +
           " are equal; unequal ones are for all_gather and reduce_scatter");
  }
  const bool has_nodes = item.contains("nodes");
  if (has_nodes != item.contains("ranks_per_node"))
    fail(std::string(has_nodes ? "'nodes' stands there without 'ranks_per_node'"
                               : "'ranks_per_node' stands there without 'nodes'") +
         "; give both, or neither for the whole launch");
  if (has_nodes)
    call.world = WorldSpec{.nodes = item.at("nodes").get<int>(),
                           .ranks_per_node = item.at("ranks_per_node").get<int>()};
  return call;
}

std::vector<CallSpec> read_calls(const json& list, const std::string& where) {
  std::vector<CallSpec> calls;
  for (const json& item : list)
    calls.push_back(read_call(item, where + "/" + std::to_string(calls.size())));
  return calls;
}

/// Throws unless there is something to measure, with all that it needs and nothing that would have
/// no effect.
void check_what_is_measured(const json& root, const std::string& file_name) {
  const auto fail = [&](const std::string& what) {
    throw Error(StatusCode::invalid_argument, file_name + ": /" + what);
  };
  const bool has_product =
      std::ranges::any_of(keys_of_products, [&](auto key) { return root.contains(key); });
  if (!has_product && !root.contains(key_of_calls))
    fail(
        ": nothing to measure: give 'collectives', a list of collectives, 'meshes', a list of "
        "reductions over process meshes, or 'calls', a list of single calls");
  if (has_product && !root.contains("sizes"))
    fail(": key 'sizes' is missing; 'collectives' and 'meshes' are measured at these sizes");
  for (const std::string_view key : keys_of_the_lists)
    if (!has_product && root.contains(key))
      fail(std::string(key) +
           ": there are neither 'collectives' nor 'meshes' that it could belong to; each of "
           "'calls' says for itself what it is");
}

std::vector<MeshReduction> read_meshes(const json& list, const std::string& where) {
  std::vector<MeshReduction> meshes;
  for (const json& item : list) {
    const std::string place = where + "/" + std::to_string(meshes.size());
    try {
      meshes.push_back(
          parse_mesh(item.at("shape").get<std::string>(), item.at("reduce").get<std::string>()));
    } catch (const Error& error) {
      throw Error(error.code(), place + ": " + error.what());
    }
    if (std::ranges::count(meshes, meshes.back()) > 1)
      throw Error(StatusCode::invalid_argument, place + ": " + shape_text(meshes.back()) + " " +
                                                    steps_text(meshes.back()) +
                                                    " stands there twice");
  }
  return meshes;
}

BooleanAxis read_axis(const json& list) {
  BooleanAxis axis{.off = false, .on = false};
  for (const auto& item : list) (item.get<bool>() ? axis.on : axis.off) = true;
  return axis;
}

std::vector<ParameterOverride> read_parameters(const json& patterns) {
  std::vector<ParameterOverride> overrides;
  for (const auto& [pattern, parameters] : patterns.items())
    for (const auto& [parameter, values] : parameters.items()) {
      ParameterOverride item{.pattern = pattern, .parameter = parameter, .values = {}};
      for (const auto& value : values)
        item.values.push_back(value.is_string() ? value.get<std::string>() : value.dump());
      overrides.push_back(std::move(item));
    }
  return overrides;
}

std::vector<LaunchEnvironment> read_launch_environments(const json& list,
                                                        const std::string& where) {
  std::vector<LaunchEnvironment> environments;
  const auto fail = [](const std::string& place, const std::string& what) {
    throw Error(StatusCode::invalid_argument, place + ": " + what);
  };
  for (const json& item : list) {
    const std::string place = where + "/" + std::to_string(environments.size());
    LaunchEnvironment environment{.name = item.at("name").get<std::string>(), .variables = {}};
    if (environment.name == unchanged_environment)
      fail(place + "/name", "'" + environment.name +
                                "' is what the environment without further variables is called; "
                                "it is launched in any case");
    for (const auto& [name, value] : item.at("variables").items()) {
      if (const std::string why = why_not_set_per_process(name); !why.empty())
        fail(place + "/variables", "'" + name + "': " + why);
      environment.variables.push_back({.name = name, .value = value.get<std::string>()});
      if (environment.variables.back().value.find('\0') != std::string::npos)
        fail(place + "/variables/" + name, "a value holds no character 0");
    }
    std::ranges::sort(environment.variables);
    for (const LaunchEnvironment& other : environments) {
      if (other.name == environment.name)
        fail(place + "/name", "'" + other.name + "' stands there twice");
      if (other.variables == environment.variables)
        fail(place + "/variables", "are those of '" + other.name + "' as well");
    }
    environments.push_back(std::move(environment));
  }
  return environments;
}

}  // namespace

std::vector<Bytes> parse_sizes(std::string_view text) {
  std::vector<Bytes> sizes;
  for (std::string_view rest = text;;) {
    const auto comma = rest.find(',');
    const std::string_view item = trim(rest.substr(0, comma));
    if (item.empty()) fail_sizes(text, "a size is missing");
    if (const auto dots = item.find(".."); dots != std::string_view::npos)
      append_range(item, dots, sizes);
    else
      sizes.push_back(parse_bytes(item));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  sort_unique(sizes);
  return sizes;
}

SweepSpec parse_sweep_spec(std::string_view text, const std::string& file_name) {
  const json root = parse_checked_json(text, file_name, embedded_sweep_schema);
  const auto place = [&](const std::string& key) { return file_name + ": /" + key; };
  SweepSpec spec;
  spec.text = std::string(text);
  check_what_is_measured(root, file_name);
  if (root.contains("collectives"))
    spec.collectives =
        from_json_value<std::vector<Collective>>(root.at("collectives"), place("collectives"));
  if (root.contains("meshes")) spec.meshes = read_meshes(root.at("meshes"), place("meshes"));
  if (root.contains("calls")) spec.calls = read_calls(root.at("calls"), place("calls"));
  if (root.contains("sizes")) spec.sizes = read_sizes(root.at("sizes"), place("sizes"));
  if (root.contains("types"))
    spec.data_types = from_json_value<std::vector<DataType>>(root.at("types"), place("types"));
  if (root.contains("ops"))
    spec.reduce_ops = from_json_value<std::vector<ReduceOp>>(root.at("ops"), place("ops"));
  if (root.contains("worlds"))
    spec.worlds = from_json_value<std::vector<WorldSpec>>(root.at("worlds"), place("worlds"));
  spec.partial_worlds = root.value("partial_worlds", spec.partial_worlds);
  if (root.contains("compositions")) {
    spec.compositions = from_json_value<std::vector<CompositionMode>>(root.at("compositions"),
                                                                      place("compositions"));
    std::ranges::sort(spec.compositions);
  }
  if (root.contains("in_place")) spec.in_place = read_axis(root.at("in_place"));
  if (root.contains("registered")) spec.registered = read_axis(root.at("registered"));
  if (root.contains("graph_capture")) spec.graph_capture = read_axis(root.at("graph_capture"));
  if (root.contains("counts"))
    spec.counts = from_json_value<std::vector<Counts>>(root.at("counts"), place("counts"));
  if (root.contains("implementations")) {
    const json& patterns = root.at("implementations");
    spec.include = patterns.value("include", spec.include);
    spec.exclude = patterns.value("exclude", spec.exclude);
  }
  if (root.contains("parameters")) spec.parameters = read_parameters(root.at("parameters"));
  spec.budget = std::chrono::nanoseconds(std::llround(root.value("budget_seconds", 0.0) * 1e9));
  spec.passes = root.value("passes", spec.passes);
  spec.full_passes = root.value("full_passes", spec.full_passes);
  if (spec.full_passes > spec.passes)
    throw Error(StatusCode::invalid_argument,
                fmt::format("{}: found {}; allowed is a whole number from 1 to {}, the passes",
                            place("full_passes"), spec.full_passes, spec.passes));
  if (const double precision = root.value("precision", 0.0); precision > 0)
    spec.precision = precision;
  spec.seed = root.value("seed", spec.seed);
  if (root.contains("soak")) {
    const json& soak = root.at("soak");
    spec.soak.runs = soak.value("runs", spec.soak.runs);
    if (soak.contains("seconds"))
      spec.soak.time =
          std::chrono::nanoseconds(std::llround(soak.at("seconds").get<double>() * 1e9));
  }
  if (root.contains("calling"))
    spec.calling = from_json_value<Calling>(root.at("calling"), place("calling"));
  if (root.contains("input"))
    spec.input_mode = from_json_value<InputMode>(root.at("input"), place("input"));
  if (const auto& how = root.value("synchronization", std::string(automatic)); how != automatic)
    spec.synchronization = from_json_value<Synchronization>(how, place("synchronization"));
  if (root.contains("holdout_sizes")) read_holdout(root, place("holdout_sizes"), spec);
  if (root.contains("decision")) {
    const json& decision = root.at("decision");
    spec.decision.confidence = decision.value("confidence", spec.decision.confidence);
    spec.decision.minimum_margin = decision.value("minimum_margin", spec.decision.minimum_margin);
    if (decision.contains("most_kept_waiting"))
      spec.decision.most_kept_waiting = decision.at("most_kept_waiting").get<double>();
  }
  spec.null_test = root.value("null_test", spec.null_test);
  spec.prune = root.value("prune", spec.prune);
  spec.ring_prior = root.value("ring_prior", spec.ring_prior);
  if (root.contains("launch_environments"))
    spec.launch_environments =
        read_launch_environments(root.at("launch_environments"), place("launch_environments"));
  if (root.contains("launch_rounds") && spec.launch_environments.empty())
    throw Error(StatusCode::invalid_argument,
                place("launch_rounds") +
                    ": there are no /launch_environments whose launches it could count");
  spec.launch_turns = root.value("launch_rounds", spec.launch_turns);
  const std::filesystem::path folder = std::filesystem::path(file_name).parent_path();
  for (const auto& plugin : root.value("plugins", json::array()))
    spec.plugins.push_back((folder / plugin.get<std::string>()).lexically_normal().string());
  return spec;
}

std::string read_configuration(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  // A device or a pipe may never end.
  std::error_code unknown;
  if (const auto status = std::filesystem::status(path, unknown);
      std::filesystem::exists(status) && std::filesystem::is_character_file(status))
    throw Error(StatusCode::not_found,
                path.string() + ": the configuration is a device; give the path of a JSON file");
  // A directory can be opened but not read. An empty file reads as empty text, which is not JSON.
  std::error_code error;
  const bool is_empty = std::filesystem::file_size(path, error) == 0 && !error;
  if (!file || (!is_empty && !(text << file.rdbuf())))
    throw Error(StatusCode::failed_precondition,
                path.string() +
                    ": the configuration cannot be read; give the path of a JSON file "
                    "such as configs/quick.json");
  return std::move(text).str();
}

SweepSpec load_sweep_spec(const std::filesystem::path& path) {
  return parse_sweep_spec(read_configuration(path), path.string());
}

SweepSpec share_sweep_spec(ControlPlane& control, const std::function<SweepSpec()>& load) {
  return share_result<SweepSpec>(control, load);
}

std::string_view sweep_spec_schema() { return embedded_sweep_schema; }

}  // namespace colltune
