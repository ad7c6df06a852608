// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "tuned_launch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string_view>
#include <utility>

#include "colltune/collectives/program_numerics.h"
#include "colltune/export/export_open_mpi_han.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view component_file = "mca_coll_colltune.so";
constexpr std::string_view preloaded_file = "libcolltune_mpi.so";
constexpr std::string_view recorder_file = "mca_coll_colltune_recorder.so";
constexpr const char* component_path = "OMPI_MCA_mca_base_component_path";
constexpr const char* rules_switch = "OMPI_MCA_coll_tuned_use_dynamic_rules";
constexpr const char* rules_file = "OMPI_MCA_coll_tuned_dynamic_rules_filename";
constexpr const char* han_switch = "OMPI_MCA_coll_han_use_dynamic_file_rules";
constexpr const char* han_file = "OMPI_MCA_coll_han_dynamic_rules_filename";
constexpr const char* han_priority = "OMPI_MCA_coll_han_priority";
constexpr const char* tuner = "NCCL_TUNER_PLUGIN";
constexpr const char* preload_variable = "LD_PRELOAD";

/// Lets Open MPI find our component in `folder` beside its own.
void add_component_path(Variables& variables, const fs::path& folder,
                        const FindVariable& variable) {
  const auto found =
      std::ranges::find_if(variables, [](const auto& one) { return one.first == component_path; });
  if (found != variables.end()) {
    found->second = folder.string() + ':' + found->second;
    return;
  }
  const char* const own = variable(component_path);
  variables.emplace_back(
      component_path,
      folder.string() + ':' + (own == nullptr ? "SYSTEM_DEFAULT:USER_DEFAULT" : std::string(own)));
}

/// A setting of our components, as mpirun passes it on to all hosts. A variable that the user has
/// set would come before it, so that is set, too.
void add_component_setting(Variables& variables, const std::string& name, const std::string& value,
                           const FindVariable& variable) {
  std::string own = "COLLTUNE_";
  for (const char letter : name) own += static_cast<char>(std::toupper(letter));
  if (variable(own.c_str()) != nullptr) variables.emplace_back(std::move(own), value);
  variables.emplace_back("OMPI_MCA_coll_colltune_" + name, value);
}

/// Slurm starts the ranks, not mpirun: all of the environment reaches them.
bool is_by_srun(const std::vector<std::string>& command) {
  return std::ranges::any_of(
      command, [](const std::string& word) { return fs::path(word).filename() == "srun"; });
}

/// What is said of a part that does nothing in this launch.
struct LaunchPart {
  std::string does;     ///< empty: nothing
  std::string why_not;  ///< then
};

/// The class of numbers that this launch accepts: as wished, else as the user's environment says.
std::string numerics_of(const LaunchWishes& wishes, const FindVariable& variable) {
  std::string named = wishes.numerics;
  if (const char* const own = variable("COLLTUNE_NUMERICS"); named.empty() && own != nullptr)
    named = own;
  if (!named.empty()) (void)parse_name<ProgramNumerics>(named);
  return named;
}

class Maker {
 public:
  Maker(const LaunchTable& table, const Runners& runners, const LaunchWishes& wishes,
        const FindVariable& variable)
      : table_(table),
        runners_(runners),
        wishes_(wishes),
        variable_(variable),
        numerics_(numerics_of(wishes, variable)) {}

  TunedLaunch make() {
    const fs::path table = table_file_in(wishes_.folder, table_.digest);
    const std::array<LaunchPart, 3> parts{use_component(table), use_open_mpi(), use_tuner(table)};
    std::vector<std::string> does;
    std::vector<std::string> why_not;
    for (const LaunchPart& part : parts)
      (part.does.empty() ? why_not : does).push_back(part.does.empty() ? part.why_not : part.does);
    if (does.empty())
      throw Error(
          StatusCode::not_found,
          fmt::format("nothing of this table can run in a program: {}", fmt::join(why_not, "; ")));
    if (!table_.bytes.empty()) made_.files.emplace_back(table, table_.bytes);
    if (std::string malloc = use_malloc(); !malloc.empty()) does.push_back(std::move(malloc));
    made_.lines = {
        fmt::format("{}; decided for {} (generation {}, digest {})", fmt::join(does, "; "),
                    table_.facts.worlds, table_.facts.generation, table_.digest.substr(0, 12)),
        fmt::format("not in this launch: {}",
                    why_not.empty() ? "nothing" : fmt::to_string(fmt::join(why_not, "; ")))};
    return std::move(made_);
  }

 private:
  void set(std::string name, std::string value) {
    made_.variables.emplace_back(std::move(name), std::move(value));
  }
  void set_component(const std::string& name, const std::string& value) {
    add_component_setting(made_.variables, name, value, variable_);
  }
  [[nodiscard]] bool is_set(const char* name) const { return variable_(name) != nullptr; }

  /// colltune's kernels for processors, by the component.
  LaunchPart use_component(const fs::path& table) {
    const std::size_t winners = table_.facts.component_keys;
    if (winners == 0) return {"", "colltune's kernels (none displaced the default)"};
    if (wishes_.is_preloaded) return preload(table, winners);
    if (runners_.component_folder.empty())
      return {"", "colltune's kernels (this installation has no component for Open MPI)"};
    add_component_path(made_.variables, runners_.component_folder, variable_);
    set_component("table", table.string());
    set_component("table_digest", table_.digest);
    if (!wishes_.numerics.empty()) set_component("numerics", wishes_.numerics);
    if (!wishes_.memory.empty()) set_component("memory", wishes_.memory);
    if (wishes_.reports && !is_set("COLLTUNE_REPORT")) set_component("report", "1");
    return {fmt::format("Open MPI runs colltune's kernels where they won ({} keys)", winners), ""};
  }

  /// The same by libcolltune_mpi.so.
  LaunchPart preload(const fs::path& table, std::size_t winners) {
    const char* const own = variable_(preload_variable);
    const bool has_own = own != nullptr && *own != '\0';
    set(preload_variable, runners_.preloaded.string() + (has_own ? ':' + std::string(own) : ""));
    set("COLLTUNE_TABLE", table.string());
    set("COLLTUNE_TABLE_DIGEST", table_.digest);
    if (!wishes_.numerics.empty()) set("COLLTUNE_NUMERICS", wishes_.numerics);
    if (!wishes_.memory.empty()) set("COLLTUNE_MEMORY", wishes_.memory);
    if (wishes_.reports && !is_set("COLLTUNE_REPORT")) set("COLLTUNE_REPORT", "1");
    return {fmt::format("a preloaded library runs colltune's kernels where they won ({} keys)",
                        winners),
            ""};
  }

  /// Open MPI's own algorithms, where they are not its default.
  LaunchPart use_open_mpi() {
    if (!table_.facts.has_rules_release)
      return {"", "Open MPI's rules (not measured with a release that we write them for)"};
    const bool has_several = may_have_several_hosts(wishes_.command, variable_);
    if (!wishes_.is_folder_everywhere && has_several)
      return {
          "",
          "Open MPI's rules (each rank reads their file, and the launch may have several hosts: "
          "name a folder that all see with --files)"};
    const LaunchRules algorithms =
        unless_users(table_.facts.algorithms, std::array{rules_switch, rules_file});
    const LaunchRules han =
        has_several ? unless_users(table_.facts.han, std::array{han_switch, han_file, han_priority})
                    : LaunchRules{.why_not = "of one host"};
    // Rules for algorithms also change what coll/han calls inside, which was measured without any:
    // so a launch has the one or the other, whichever says more.
    if (han.why_not.empty() && (!algorithms.why_not.empty() || han.changed > algorithms.changed)) {
      const fs::path file = write(han, "han-rules");
      set(han_priority, std::to_string(han_priority_to_use));
      set(han_switch, "1");
      set(han_file, file.string());
      return {fmt::format("coll/han runs where it won ({} of {} keys)", han.changed, han.keys), ""};
    }
    if (!algorithms.why_not.empty())
      return {"", fmt::format("Open MPI's rules ({})", algorithms.why_not)};
    set(rules_switch, "1");
    set(rules_file, write(algorithms, "rules").string());
    return {fmt::format("its own algorithms follow rules ({} of {} keys)", algorithms.changed,
                        algorithms.keys),
            ""};
  }

  /// A file of rules, named by what it is made of: another launch may read it meanwhile.
  fs::path write(const LaunchRules& rules, std::string_view ending) {
    fs::path file = wishes_.folder / fmt::format("{}-{}.{}", table_.digest.substr(0, 32),
                                                 numerics_.empty() ? "all" : numerics_, ending);
    made_.files.emplace_back(file, rules.text);
    return file;
  }

  /// None where the user has set one of these variables himself.
  [[nodiscard]] LaunchRules unless_users(const LaunchRules& rules,
                                         std::span<const char* const> names) const {
    const auto own = std::ranges::find_if(names, [&](const char* name) { return is_set(name); });
    if (own == names.end()) return rules;
    return {.why_not = fmt::format("{} is yours", *own)};
  }

  /// malloc as the decisions were measured with, in the variables that the user has not set.
  /// Returns what it does; empty: nothing was set there either.
  std::string use_malloc() {
    std::vector<std::string> names;
    for (const auto& [name, value] : table_.facts.malloc_variables) {
      if (is_set(name.c_str())) continue;
      names.push_back(name);
      set(name, value);
    }
    if (names.empty()) return {};
    return fmt::format(
        "malloc as measured ({}{})", fmt::join(names, ", "),
        may_have_several_hosts(wishes_.command, variable_) && !is_by_srun(wishes_.command)
            ? "; mpirun hands them to other hosts by its -x alone"
            : "");
  }

  /// NCCL's algorithms, by the tuner.
  LaunchPart use_tuner(const fs::path& table) {
    const std::size_t winners = table_.facts.nccl_keys;
    if (winners == 0) return {"", "NCCL (no choice displaced its own)"};
    if (runners_.nccl_tuner.empty()) return {"", "NCCL (this installation has no tuner for it)"};
    if (is_set(tuner)) return {"", fmt::format("NCCL ({} is yours)", tuner)};
    set(tuner, runners_.nccl_tuner.string());
    for (const auto& [name, value] :
         {std::pair<std::string, std::string>("COLLTUNE_TABLE", table.string()),
          {"COLLTUNE_TABLE_DIGEST", table_.digest}})
      if (std::ranges::none_of(made_.variables, [&](const auto& one) { return one.first == name; }))
        set(name, value);
    return {fmt::format("NCCL's tuner follows the table ({} keys)", winners), ""};
  }

  const LaunchTable& table_;
  const Runners& runners_;
  const LaunchWishes& wishes_;
  const FindVariable& variable_;
  std::string numerics_;  ///< empty: the component's default
  TunedLaunch made_;
};

/// In single quotes, as a POSIX shell reads it.
std::string in_shell(const std::string& text) {
  std::string all = "'";
  for (const char letter : text)
    all += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return all + "'";
}

/// In double quotes, as YAML reads it.
std::string in_yaml(const std::string& text) {
  std::string all = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') all += '\\';
    all += letter;
  }
  return all + "\"";
}

}  // namespace

Runners find_runners(const fs::path& program) {
  const fs::path root = program.parent_path().parent_path();
  Runners runners;
  for (const char* const folder : {"lib/openmpi", COLLTUNE_LIBRARY_FOLDER "/colltune/openmpi"})
    if (runners.component_folder.empty() && fs::exists(root / folder / component_file))
      runners.component_folder = root / folder;
  for (const char* const folder :
       {"lib/openmpi-recorder", COLLTUNE_LIBRARY_FOLDER "/colltune/openmpi-recorder"})
    if (runners.recorder_folder.empty() && fs::exists(root / folder / recorder_file))
      runners.recorder_folder = root / folder;
  for (const char* const folder : {"lib/preload", COLLTUNE_LIBRARY_FOLDER "/colltune/preload"})
    if (const fs::path file = root / folder / preloaded_file;
        runners.preloaded.empty() && fs::exists(file))
      runners.preloaded = file;
  for (const char* const folder : {"lib", COLLTUNE_LIBRARY_FOLDER})
    if (const fs::path file = root / folder / "libnccl-tuner-colltune.so";
        runners.nccl_tuner.empty() && fs::exists(file))
      runners.nccl_tuner = file;
  return runners;
}

bool may_have_several_hosts(const std::vector<std::string>& command, const FindVariable& variable) {
  for (const char* const name : {"SLURM_JOB_NUM_NODES", "SLURM_NNODES", "PBS_NUM_NODES", "NHOSTS"})
    if (const char* const nodes = variable(name);
        nodes != nullptr && std::string_view(nodes) != "1")
      return true;
  for (const char* const name : {"PBS_NODEFILE", "LSB_HOSTS", "LSB_DJOB_HOSTFILE",
                                 "COBALT_NODEFILE", "OMPI_MCA_orte_default_hostfile"})
    if (variable(name) != nullptr && variable("PBS_NUM_NODES") == nullptr) return true;
  // Outside of an allocation srun asks for the nodes itself, in many ways.
  if (is_by_srun(command) && variable("SLURM_JOB_NUM_NODES") == nullptr) return true;
  constexpr std::array<std::string_view, 8> options{
      "H", "host", "hostfile", "machinefile", "default-hostfile", "rankfile", "hosts", "nodelist"};
  return std::ranges::any_of(command, [&](std::string_view word) {
    if (!word.starts_with('-')) return false;
    word.remove_prefix(word.starts_with("--") ? 2 : 1);
    return std::ranges::find(options, word.substr(0, word.find('='))) != options.end();
  });
}

bool leaves_sums_to_library(const LaunchWishes& wishes, const FindVariable& variable) {
  return numerics_of(wishes, variable) == name_of(ProgramNumerics::library);
}

TunedLaunch make_tuned_launch(const LaunchTable& table, const Runners& runners,
                              const LaunchWishes& wishes, const FindVariable& variable) {
  if (!wishes.memory.empty()) (void)parse_bytes(wishes.memory);
  if (wishes.is_preloaded && runners.preloaded.empty())
    throw Error(StatusCode::failed_precondition,
                fmt::format("--preload: this installation has no {}", preloaded_file));
  return Maker(table, runners, wishes, variable).make();
}

void add_recording(TunedLaunch& launch, const Runners& runners, const fs::path& trace,
                   const FindVariable& variable) {
  if (runners.recorder_folder.empty())
    throw Error(StatusCode::failed_precondition,
                fmt::format("--record: this installation has no recorder for Open MPI ({})",
                            recorder_file));
  add_component_path(launch.variables, runners.recorder_folder, variable);
  add_component_setting(launch.variables, "trace", trace.string(), variable);
  launch.lines.push_back(fmt::format(
      "the program's collective calls are recorded in {}, which its first rank writes at the end",
      trace.string()));
}

std::string print_variables(const Variables& variables, const std::string& form) {
  if (form != "sh" && form != "kubernetes")
    throw Error(StatusCode::invalid_argument,
                fmt::format("--dry-run: '{}' is no form; allowed are sh, kubernetes", form));
  std::string text;
  for (const auto& [name, value] : variables)
    text += form == "sh" ? fmt::format("export {}={}\n", name, in_shell(value))
                         : fmt::format("- name: {}\n  value: {}\n", name, in_yaml(value));
  return text;
}

}  // namespace colltune
