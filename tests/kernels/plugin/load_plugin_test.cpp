// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// What the loader takes, and what it says of what it does not take.

#include "colltune/plugin/load_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "colltune/kernels/catalogue.h"
#include "colltune/vocabulary/decision.h"
#include "flaw.h"
#include "plugin_files.h"

namespace colltune::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Thrown thrown_by_loading(const std::filesystem::path& path) {
  return thrown_by([&] { (void)load_plugin(path); });
}

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content)
      : path_(std::filesystem::temp_directory_path() /
              ("colltune_load_plugin_test." + std::to_string(::getpid()))) {
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// ---- The file

TEST(LoadPlugin, SaysThatThereIsNoFile) {
  const Thrown thrown = thrown_by_loading("/nowhere/ring.so");
  EXPECT_EQ(thrown.code, static_cast<int>(StatusCode::failed_precondition));
  EXPECT_EQ(thrown.text, "plug-in /nowhere/ring.so: there is no such file");
}

TEST(LoadPlugin, RefusesADirectory) {
  const Thrown thrown = thrown_by_loading(std::filesystem::temp_directory_path());
  EXPECT_EQ(thrown.code, static_cast<int>(StatusCode::invalid_argument));
  EXPECT_THAT(thrown.text, HasSubstr("is no regular file"));
}

TEST(LoadPlugin, RefusesWhatIsNoSharedObject) {
  for (const std::string content : {"", "\x7f", "int main() {}", "!<arch>\n"}) {
    const TemporaryFile file(content);
    const Thrown thrown = thrown_by_loading(file.path());
    EXPECT_EQ(thrown.code, static_cast<int>(StatusCode::invalid_argument));
    EXPECT_THAT(thrown.text,
                AllOf(HasSubstr(file.path().string()), HasSubstr("is no shared object")));
  }
}

TEST(LoadPlugin, RefusesAnObjectThatIsCutOff) {
  std::ifstream whole(example_plugin, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(whole), {}};
  ASSERT_GT(bytes.size(), 8192U);
  // Behind the last segment lie sections that the linker does not read.
  for (const std::size_t kept : {std::size_t{100}, std::size_t{1000}, bytes.size() / 4}) {
    const TemporaryFile file(bytes.substr(0, kept));
    const Thrown thrown = thrown_by_loading(file.path());
    EXPECT_EQ(thrown.code, static_cast<int>(StatusCode::invalid_argument)) << kept;
    EXPECT_THAT(thrown.text, HasSubstr("is cut off")) << kept;
  }
}

TEST(LoadPlugin, GivesTheLinkersReasonForADamagedFile) {
  const TemporaryFile file(
      "\x7f"
      "ELF and nothing behind");
  const Thrown thrown = thrown_by_loading(file.path());
  EXPECT_EQ(thrown.code, static_cast<int>(StatusCode::failed_precondition));
  EXPECT_THAT(thrown.text, AllOf(HasSubstr(file.path().string()), HasSubstr("cannot be loaded")));
}

TEST(LoadPlugin, GivesTheLinkersReasonForAnUnresolvedSymbol) {
  const Thrown thrown = thrown_by_loading(unresolved_plugin);
  EXPECT_EQ(thrown.code, static_cast<int>(StatusCode::failed_precondition));
  EXPECT_THAT(thrown.text,
              AllOf(HasSubstr(unresolved_plugin), HasSubstr("colltune_test_symbol_of_nobody")));
}

TEST(LoadPlugin, RefusesASharedObjectThatIsNoPlugin) {
  const Thrown thrown = thrown_by_loading(no_entry_plugin);
  EXPECT_EQ(thrown.code, static_cast<int>(StatusCode::invalid_argument));
  EXPECT_THAT(thrown.text, AllOf(HasSubstr(no_entry_plugin),
                                 HasSubstr("does not export colltune_plugin_entry")));
}

TEST(LoadPlugin, TakesAPathWithoutADirectory) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(std::filesystem::path(example_plugin).parent_path());
  const Implementations made = load_plugin(std::filesystem::path(example_plugin).filename());
  std::filesystem::current_path(before);
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made.front()->name(), "example.broadcast_staged");
}

// ---- The table

struct TableFlaw {
  const char* flaw;
  StatusCode code;
  const char* text;
};
class LoadPluginTable : public testing::TestWithParam<TableFlaw> {};

TEST_P(LoadPluginTable, IsRefused) {
  const Flaw flaw(GetParam().flaw);
  const Thrown thrown = thrown_by_loading(flawed_plugin);
  EXPECT_EQ(thrown.code, static_cast<int>(GetParam().code));
  EXPECT_THAT(thrown.text, AllOf(HasSubstr(flawed_plugin), HasSubstr(GetParam().text)));
}

INSTANTIATE_TEST_SUITE_P(
    Flaws, LoadPluginTable,
    testing::Values(
        TableFlaw{"null table", StatusCode::failed_precondition,
                  "does not serve version 1 of the plug-in interface"},
        TableFlaw{"small struct", StatusCode::failed_precondition,
                  "struct_size of 64 bytes; at least 72 are needed"},
        TableFlaw{"newer version", StatusCode::failed_precondition,
                  "is of version 2 of the plug-in interface; this colltune speaks version 1"},
        TableFlaw{"null family", StatusCode::invalid_argument, "'family' is NULL"},
        TableFlaw{"null describe", StatusCode::invalid_argument, "'describe' is NULL"},
        TableFlaw{"null supports", StatusCode::invalid_argument, "'supports' is NULL"},
        TableFlaw{"null prepare", StatusCode::invalid_argument, "'prepare' is NULL"},
        TableFlaw{"null start", StatusCode::invalid_argument, "'start' is NULL"},
        TableFlaw{"null wait", StatusCode::invalid_argument, "'wait' is NULL"},
        TableFlaw{"null destroy", StatusCode::invalid_argument, "'destroy' is NULL"},
        TableFlaw{"rebind without bind", StatusCode::invalid_argument,
                  "'bind' is NULL in its table, but not 'rebind'"},
        TableFlaw{"null description", StatusCode::invalid_argument, "describe() returned NULL"}));

TEST(LoadPlugin, TakesATableOfALaterRevision) {
  const Flaw flaw("large struct");
  EXPECT_EQ(load_plugin(flawed_plugin).size(), 1U);
}

// ---- The family

TEST(LoadPlugin, RefusesFamiliesThatAreNoName) {
  for (const char* family : {"", "two words", "a.b", "a{b=1}", "größe"}) {
    const Setting setting("COLLTUNE_TEST_FAMILY", family);
    const Thrown thrown = thrown_by_loading(flawed_plugin);
    EXPECT_EQ(thrown.code, static_cast<int>(StatusCode::invalid_argument));
    EXPECT_THAT(thrown.text, AllOf(HasSubstr(flawed_plugin),
                                   HasSubstr("its family '" + std::string(family) + "'")));
  }
}

TEST(LoadPlugin, ReservesTheFamiliesAndPrefixesOfColltune) {
  std::set<std::string> own{std::string(any_family), "nccl", "cuda", "mpi"};
  for (const auto& implementation : make_catalogue()) {
    own.emplace(implementation->family());
    const std::string_view name = implementation->name();
    own.emplace(name.substr(0, name.find('.')));
  }
  for (const std::string& family : own) {
    const Setting setting("COLLTUNE_TEST_FAMILY", family);
    const Thrown thrown = thrown_by_loading(flawed_plugin);
    EXPECT_EQ(thrown.code, static_cast<int>(StatusCode::invalid_argument)) << family;
    EXPECT_THAT(thrown.text,
                HasSubstr("its family '" + family + "' is reserved, as are any, colltune"));
  }
}

// ---- The description

/// An entry with `member` behind the keys that must be there.
std::string entry_with(const std::string& member) {
  return R"({"name":"ring","collective":"all_reduce","description":"a ring",)"
         R"("rounding":"each_step","numeric_class":"same_bits")" +
         (member.empty() ? "" : "," + member) + "}";
}
std::string describe(const std::string& entries) {
  return R"({"implementations":[)" + entries + "]}";
}
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

struct WrongDescription {
  std::string json;
  const char* text;
};
class LoadPluginDescription : public testing::TestWithParam<WrongDescription> {};

TEST_P(LoadPluginDescription, IsRefusedWithItsPath) {
  const Setting setting("COLLTUNE_TEST_DESCRIPTION", GetParam().json);
  const Thrown thrown = thrown_by_loading(flawed_plugin);
  EXPECT_EQ(thrown.code, static_cast<int>(StatusCode::invalid_argument));
  EXPECT_THAT(thrown.text,
              AllOf(HasSubstr(std::string("plug-in ") + flawed_plugin + ": describe()"),
                    HasSubstr(GetParam().text)));
}

INSTANTIATE_TEST_SUITE_P(
    Shape, LoadPluginDescription,
    testing::Values(
        WrongDescription{"", "is not JSON"}, WrongDescription{"{\"implementations\":[", "line 1"},
        WrongDescription{"[]", "expected an object with the key 'implementations'"},
        WrongDescription{"{}", "key 'implementations' is missing"},
        WrongDescription{R"({"implementations":[1],"author":"me"})",
                         "unknown key 'author'; allowed is implementations"},
        WrongDescription{R"({"implementations":{}})", "/implementations: expected an array"},
        WrongDescription{describe(""), "/implementations: expected an array that is not empty"},
        WrongDescription{describe("7"), "/implementations/0: expected an object"},
        WrongDescription{describe("{}"), "/implementations/0: key 'name' is missing"},
        WrongDescription{describe(entry_with(R"("speed":1)")),
                         "/implementations/0: unknown key 'speed'; allowed are name, collective"},
        WrongDescription{describe(entry_with("") + "," + entry_with("")),
                         "/implementations/1/name: implementation 'ring' is described twice"},
        WrongDescription{describe(replaced(entry_with(""), "\"ring\"", "\"a ring\"")),
                         "/implementations/0/name: 'a ring' is no name"},
        WrongDescription{describe(replaced(entry_with(""), "\"ring\"", "3")),
                         "/implementations/0/name: expected a string"},
        WrongDescription{describe(replaced(entry_with(""), "\"a ring\"", "\"\"")),
                         "/implementations/0/description: must be one line"},
        WrongDescription{describe(replaced(entry_with(""), "a ring", "a\\nring")),
                         "/implementations/0/description: must be one line"},
        WrongDescription{describe(replaced(entry_with(""), "all_reduce", "allreduce")),
                         "/implementations/0/collective: unknown collective 'allreduce'; allowed "
                         "are all_reduce"},
        WrongDescription{describe(replaced(entry_with(""), "each_step", "twice")),
                         "/implementations/0/rounding: unknown rounding 'twice'; allowed are "
                         "exact, once, each_step"},
        WrongDescription{describe(replaced(entry_with(""), "same_bits", "some")),
                         "/implementations/0/numeric_class: unknown numeric class 'some'"},
        WrongDescription{describe(replaced(entry_with(""), "all_reduce", "broadcast")),
                         "/implementations/0/rounding: broadcast only moves data"}));

INSTANTIATE_TEST_SUITE_P(
    Parameters, LoadPluginDescription,
    testing::Values(
        WrongDescription{describe(entry_with(R"("parameters":{"chunk":[1]})")),
                         "/parameters: expected an array"},
        WrongDescription{describe(entry_with(R"("parameters":[{"name":"chunk"}])")),
                         "/parameters/0: key 'values' is missing"},
        WrongDescription{describe(entry_with(R"("parameters":[{"name":"chunk","values":[]}])")),
                         "/parameters/0/values: is empty"},
        WrongDescription{describe(entry_with(R"("parameters":[{"name":"a b","values":[1]}])")),
                         "/parameters/0/name: 'a b' is no name"},
        WrongDescription{describe(entry_with(R"("parameters":[{"name":"parts","values":[1]}])")),
                         "/parameters/0/name: 'parts' is what names compositions"},
        WrongDescription{describe(entry_with(R"("parameters":[{"name":"c","values":[1.5]}])")),
                         "/parameters/0/values/0: expected a whole number or a word"},
        WrongDescription{describe(entry_with(R"("parameters":[{"name":"c","values":[1,"x"]}])")),
                         "/parameters/0/values/1: numbers and words are mixed"},
        WrongDescription{describe(entry_with(R"("parameters":[{"name":"c","values":[1,2,1]}])")),
                         "/parameters/0/values/2: '1' is given twice"},
        WrongDescription{describe(entry_with(R"("parameters":[{"name":"c","values":["a,b"]}])")),
                         "/parameters/0/values/0: 'a,b' is no word"},
        WrongDescription{describe(entry_with(R"("parameters":[{"name":"c","values":["12"]}])")),
                         "/parameters/0/values/0: the word '12' reads as a number"},
        WrongDescription{
            describe(entry_with(
                R"("parameters":[{"name":"c","values":[1]},{"name":"c","values":[2]}])")),
            "/parameters/1/name: parameter 'c' is described twice"},
        WrongDescription{
            describe(entry_with(R"("parameters":[{"name":"a","values":[0,1,2,3,4,5,6,7]},)"
                                R"({"name":"b","values":[0,1,2,3,4,5,6,7]},)"
                                R"({"name":"c","values":[0,1,2,3,4,5,6,7]},)"
                                R"({"name":"d","values":[0,1,2,3,4,5,6,7,8]}])")),
            "/parameters: the search space has more than 4096 variants"}));

INSTANTIATE_TEST_SUITE_P(
    LimitsAndCost, LoadPluginDescription,
    testing::Values(
        WrongDescription{describe(entry_with(R"("limits":[])")), "/limits: expected an object"},
        WrongDescription{describe(entry_with(R"("limits":{"ranks":2})")),
                         "/limits: unknown key 'ranks'; allowed are min_ranks"},
        WrongDescription{describe(entry_with(R"("limits":{"min_ranks":0})")),
                         "/limits/min_ranks: must be at least 1"},
        WrongDescription{describe(entry_with(R"("limits":{"min_ranks":4,"max_ranks":3})")),
                         "/limits/max_ranks: must be 0 (no limit) or at least min_ranks"},
        WrongDescription{describe(entry_with(R"("limits":{"ranks_multiple_of":0})")),
                         "/limits/ranks_multiple_of: must be at least 1"},
        WrongDescription{
            describe(entry_with(R"("limits":{"min_message_bytes":8,"max_message_bytes":4})")),
            "/limits/max_message_bytes: must be 0"},
        WrongDescription{describe(entry_with(R"("limits":{"max_message_bytes":-1})")),
                         "/limits/max_message_bytes: the number is out of range"},
        WrongDescription{describe(entry_with(R"("limits":{"alignment_bytes":3})")),
                         "/limits/alignment_bytes: must be a power of two, not 3"},
        WrongDescription{describe(entry_with(R"("limits":{"data_types":["f32","float"]})")),
                         "/limits/data_types/1: unknown data type 'float'; allowed are i8"},
        WrongDescription{describe(entry_with(R"("limits":{"reduce_ops":["none"]})")),
                         "/limits/reduce_ops/0: 'none' does not fit the collective"},
        WrongDescription{describe(entry_with(R"("cost":{"time":1})")),
                         "/cost: unknown key 'time'; allowed are steps"},
        WrongDescription{describe(entry_with(R"("cost":{"steps":2})")),
                         "/cost/steps: expected an object"},
        WrongDescription{describe(entry_with(R"("cost":{"steps":{"constant":"1"}})")),
                         "/cost/steps/constant: expected a number"}));

// ---- What is made of a good one

TEST(LoadPlugin, MakesWhatIsDescribed) {
  const Setting setting(
      "COLLTUNE_TEST_DESCRIPTION",
      describe(entry_with(
          R"("parameters":[{"name":"way","values":["up","down"]},{"name":"chunk","values":[-1,64]}],)"
          R"("limits":{"min_ranks":2,"max_message_bytes":4096,"data_types":["f32","i32"]},)"
          R"("cost":{"steps":{"constant":-2,"ranks":2,"log2_ranks":1},)"
          R"("bytes_per_rank":{"size":2,"size_over_ranks":-2},)"
          R"("reduced_bytes":{"size_times_ranks":0.5,"size_times_log2_ranks":1}})")));
  const Implementations made = load_plugin(flawed_plugin);
  ASSERT_EQ(made.size(), 1U);
  const Implementation& ring = *made.front();
  EXPECT_EQ(ring.name(), "flawed.ring");
  EXPECT_EQ(ring.family(), "flawed");
  EXPECT_EQ(ring.facts().description, "a ring");
  EXPECT_EQ(ring.collective(), Collective::all_reduce);
  EXPECT_FALSE(ring.is_baseline());

  const Problem problem{.message_size = {1024}};
  const Topology topology{.ranks_per_node = 5, .ranks = 5};
  std::vector<std::string> variants;
  for (const Variant& variant : ring.variants(problem, topology, {}))
    variants.push_back(to_string(variant));
  EXPECT_THAT(variants,
              ElementsAre("flawed.ring{chunk=-1,way=up}", "flawed.ring{chunk=-1,way=down}",
                          "flawed.ring{chunk=64,way=up}", "flawed.ring{chunk=64,way=down}"));
  const Variant variant = parse_variant(variants.front());
  EXPECT_EQ(ring.limits(variant), (Limits{.min_ranks = 2,
                                          .max_message = {4096},
                                          .data_types = {DataType::f32, DataType::i32}}));
  EXPECT_EQ(ring.protocol(problem, variant), "flawed.ring{chunk=-1,way=up};f32;sum");
  const Cost cost = ring.cost(problem, topology, variant);
  EXPECT_DOUBLE_EQ(cost.steps, -2 + 2 * 5 + 3);
  EXPECT_DOUBLE_EQ(cost.bytes_per_rank, 1024 * (2 - 2 / 5.0));
  EXPECT_DOUBLE_EQ(cost.reduced_bytes, 1024 * (2.5 + 3));
}

TEST(LoadPlugin, CallsExactWhatNeverRounds) {
  const Setting setting("COLLTUNE_TEST_DESCRIPTION", describe(entry_with("")));
  const Implementations made = load_plugin(flawed_plugin);
  const auto numerics = [&](DataType type, ReduceOp op) {
    return made.front()->numerics({.data_type = type, .reduce_op = op}, {});
  };
  EXPECT_EQ(numerics(DataType::f32, ReduceOp::sum).rounding, Rounding::each_step);
  EXPECT_EQ(numerics(DataType::f32, ReduceOp::max).rounding, Rounding::exact);
  EXPECT_EQ(numerics(DataType::i32, ReduceOp::sum).rounding, Rounding::exact);
  EXPECT_EQ(numerics(DataType::i32, ReduceOp::sum).numeric_class, NumericClass::same_bits);
}

TEST(AddPlugin, KeepsTheCatalogueInOrder) {
  Implementations catalogue = make_catalogue();
  const std::size_t own = catalogue.size();
  add_plugin(catalogue, flawed_plugin);
  add_plugin(catalogue, example_plugin);
  EXPECT_EQ(catalogue.size(), own + 2);
  EXPECT_NE(find_implementation(catalogue, "example.broadcast_staged"), nullptr);
  EXPECT_TRUE(std::ranges::is_sorted(catalogue, {}, [](const auto& i) { return i->name(); }));
}

TEST(AddPlugin, RefusesANameThatIsTaken) {
  Implementations catalogue;
  add_plugin(catalogue, example_plugin);
  const Thrown thrown = thrown_by([&] { add_plugin(catalogue, example_plugin); });
  EXPECT_EQ(thrown.code, static_cast<int>(StatusCode::already_exists));
  EXPECT_THAT(thrown.text, AllOf(HasSubstr(example_plugin),
                                 HasSubstr("'example.broadcast_staged' is already there")));
  EXPECT_EQ(catalogue.size(), 1U);
}

}  // namespace
}  // namespace colltune::test
