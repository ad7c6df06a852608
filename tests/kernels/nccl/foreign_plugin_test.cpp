// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// A plug-in that NCCL finds by itself is what the user has, and stays.

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "colltune/kernels/nccl_library/nccl_environment.h"
#include "daemon/temporary_folder.h"
#include "nccl_fixture.h"
#include "nccl_library/library.h"
#include "nccl_library/plugins.h"

namespace colltune::test {
namespace {

using nccl::default_plugins;
using nccl::find_foreign_plugin;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Files = std::vector<std::string>;

class NcclForeignPlugin : public testing::Test {
 protected:
  NcclForeignPlugin() { clear(); }
  ~NcclForeignPlugin() override { clear(); }
  static void clear() {
    ::unsetenv("NCCL_TUNER_PLUGIN");
    ::unsetenv("NCCL_PROFILER_PLUGIN");
  }
  /// Prepares for an agent that has its tuner beside it.
  void prepare(const std::function<std::string(const std::string&)>& find_foreign) const {
    std::filesystem::create_directories(folder_ / "lib");
    std::ofstream(tuner_).flush();
    prepare_nccl_environment(folder_ / "bin/colltune-agent", find_foreign);
  }

  literals::TemporaryFolder folder_;
  std::filesystem::path tuner_ = folder_ / "lib/libnccl-tuner-colltune.so";
};

TEST_F(NcclForeignPlugin, IsLookedForWhereNcclLooks) {
  EXPECT_THAT(default_plugins("tuner", {}), ElementsAre("libnccl-tuner.so", "libnccl-net.so"));
  EXPECT_THAT(default_plugins("profiler", {}),
              ElementsAre("libnccl-profiler.so", "libnccl-net.so"));
  for (const char* const none : {"none", "None", ""})
    EXPECT_THAT(default_plugins("tuner", {{"NCCL_NET_PLUGIN", none}}),
                ElementsAre("libnccl-tuner.so"));
  EXPECT_THAT(
      default_plugins("tuner", {{"NCCL_NET_PLUGIN", "aws-ofi,/opt/net.so,,libours.so"}}),
      ElementsAre("libnccl-tuner.so", "libnccl-net-aws-ofi.so", "/opt/net.so", "libours.so"));
}

TEST_F(NcclForeignPlugin, IsFoundByItsSymbolAndClosedAgain) {
  EXPECT_EQ(find_foreign_plugin("tuner", Files{COLLTUNE_FOREIGN_TUNER}), COLLTUNE_FOREIGN_TUNER);
  EXPECT_EQ(find_foreign_plugin("profiler", Files{COLLTUNE_FOREIGN_PROFILER}),
            COLLTUNE_FOREIGN_PROFILER);
  EXPECT_EQ(dlopen(COLLTUNE_FOREIGN_TUNER, RTLD_LAZY | RTLD_NOLOAD), nullptr);
  EXPECT_EQ(find_foreign_plugin("tuner", Files{"/nowhere.so", COLLTUNE_FOREIGN_TUNER}),
            COLLTUNE_FOREIGN_TUNER);
}

TEST_F(NcclForeignPlugin, IsNotThereWhereNcclTakesNone) {
  EXPECT_EQ(find_foreign_plugin("tuner", {}), "");
  EXPECT_EQ(find_foreign_plugin("tuner", Files{"/nowhere.so"}), "");
  EXPECT_EQ(find_foreign_plugin("profiler", Files{COLLTUNE_FOREIGN_TUNER}), "");
  EXPECT_EQ(find_foreign_plugin("tuner", Files{COLLTUNE_FOREIGN_PROFILER, COLLTUNE_FOREIGN_TUNER}),
            "")
      << "NCCL looks no further than the first that opens";
}

TEST_F(NcclForeignPlugin, IsNoneOfOurOwn) {
  for (const char* const kind : {"tuner", "profiler"})
    EXPECT_EQ(find_foreign_plugin(kind, Files{COLLTUNE_NCCL_TUNER}), "") << kind;
}

TEST_F(NcclForeignPlugin, IsNotDisplaced) {
  prepare([](const std::string& kind) { return kind == "tuner" ? "libnccl-tuner.so" : ""; });
  EXPECT_EQ(std::getenv("NCCL_TUNER_PLUGIN"), nullptr);
  EXPECT_STREQ(std::getenv("NCCL_PROFILER_PLUGIN"), tuner_.c_str());
  clear();
  prepare([](const std::string& kind) { return kind == "tuner" ? "" : "libnccl-net.so"; });
  EXPECT_STREQ(std::getenv("NCCL_TUNER_PLUGIN"), tuner_.c_str());
  EXPECT_EQ(std::getenv("NCCL_PROFILER_PLUGIN"), nullptr);
}

TEST_F(NcclForeignPlugin, IsNotEvenLookedForWhereTheUserHasSetOne) {
  ::setenv("NCCL_TUNER_PLUGIN", "mine", 1);
  ::setenv("NCCL_PROFILER_PLUGIN", "none", 1);
  int asked = 0;
  prepare([&](const std::string&) {
    ++asked;
    return std::string();
  });
  EXPECT_EQ(asked, 0);
  EXPECT_STREQ(std::getenv("NCCL_TUNER_PLUGIN"), "mine");
  EXPECT_STREQ(std::getenv("NCCL_PROFILER_PLUGIN"), "none");
}

TEST_F(NcclForeignPlugin, IsTheReasonWhyNothingIsForced) {
  const FakeNccl fake;
  nccl::Places places = fake.places();
  places.tuner.clear();
  places.foreign_tuner = "libnccl-net.so";
  places.foreign_profiler = "libnccl-profiler.so";
  places.own_tuner = "/opt/colltune/lib/libnccl-tuner-colltune.so";
  const nccl::Opened opened = nccl::open_libraries(places);
  EXPECT_THAT(opened.why_no_tuner,
              AllOf(HasSubstr("libnccl-net.so"),
                    HasSubstr("NCCL_TUNER_PLUGIN=/opt/colltune/lib/libnccl-tuner-colltune.so")));
  EXPECT_FALSE(opened.is_without_tuner);
  EXPECT_THAT(opened.why_no_profiler,
              AllOf(HasSubstr("libnccl-profiler.so"),
                    HasSubstr("NCCL_PROFILER_PLUGIN=/opt/colltune/lib/libnccl-tuner-colltune.so")));

  const Implementations entries = FakeNccl::entries(places);
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    const Capability capability = detect_capability(entries, communicator);
    const auto why_not = [&](const std::string& text) {
      const Variant variant = parse_variant(text);
      return find_implementation(entries, variant.implementation)
          ->supports({.collective = Collective::all_reduce,
                      .data_type = DataType::f32,
                      .reduce_op = ReduceOp::sum,
                      .message_size = {64 << 10}},
                     {.ranks_per_node = 2, .ranks = 2}, capability, variant)
          .reason();
    };
    EXPECT_THAT(why_not(forced("ring", "ll", 8)), HasSubstr("libnccl-net.so"));
    EXPECT_THAT(why_not("nccl.all_reduce"), IsEmpty()) << "the baseline is what the user has";
  });
}

}  // namespace
}  // namespace colltune::test
