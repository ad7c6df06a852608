// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// What is set in NCCL's files counts as what is set in the environment does.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "colltune/kernels/nccl_library/nccl_environment.h"
#include "daemon/temporary_folder.h"
#include "nccl_fixture.h"

namespace colltune::test {
namespace {

using testing::HasSubstr;

class NcclEnvironment : public testing::Test {
 protected:
  NcclEnvironment() { clear(); }
  ~NcclEnvironment() override { clear(); }
  static void clear() {
    for (const char* const name : {"NCCL_ALGO", "NCCL_PROTO", "NCCL_MAX_CTAS", "NCCL_CTA_POLICY",
                                   "NCCL_TUNER_PLUGIN", "NCCL_CONF_FILE", "NCCL_NET"})
      ::unsetenv(name);
  }
  void write_user(const std::string& text) const { std::ofstream(files_.user) << text; }
  void write_system(const std::string& text) const { std::ofstream(files_.system) << text; }
  [[nodiscard]] NcclVariables read() const { return read_nccl_environment(files_); }

  literals::TemporaryFolder folder_;
  NcclFiles files_{.user = folder_ / "user.conf", .system = folder_ / "system.conf"};
};

TEST_F(NcclEnvironment, TheEnvironmentWinsThenTheUsersFile) {
  ::setenv("NCCL_ALGO", "ring", 1);
  ::setenv("NCCL_PROTO", "", 1);  // set, to nothing
  write_user("NCCL_ALGO=tree\nNCCL_PROTO=ll\nNCCL_MAX_CTAS=4\nNCCL_MAX_CTAS=5\n");
  write_system("NCCL_ALGO=nvls\nNCCL_MAX_CTAS=6\nNCCL_NET=Socket");
  const NcclVariables found = read();
  EXPECT_EQ(found.at("NCCL_ALGO"), "ring");
  EXPECT_EQ(found.at("NCCL_PROTO"), "");
  EXPECT_EQ(found.at("NCCL_MAX_CTAS"), "4");
  EXPECT_EQ(found.at("NCCL_NET"), "Socket");
  EXPECT_EQ(std::getenv("NCCL_NET"), nullptr) << "what is read is not set";
}

TEST_F(NcclEnvironment, LinesAreReadAsNcclReadsThem) {
  write_user(
      "#NCCL_ALGO=ring\n\n=nobody\nNCCL_PROTO\n NCCL_NET=Socket\nNCCL_IB_HCA==mlx5_0 # one\n" +
      ("NCCL_MAX_CTAS=" + std::string(2000, '1')) + "\n");
  const NcclVariables found = read();
  for (const char* const name : {"NCCL_ALGO", "#NCCL_ALGO", "", "NCCL_PROTO", "NCCL_NET"})
    EXPECT_FALSE(found.contains(name)) << name;
  EXPECT_EQ(found.at(" NCCL_NET"), "Socket");
  EXPECT_EQ(found.at("NCCL_IB_HCA"), "=mlx5_0 # one");
  EXPECT_EQ(found.at("NCCL_MAX_CTAS"), std::string(1023, '1'));
}

TEST_F(NcclEnvironment, FilesThatAreNotThereSayNothing) {
  EXPECT_EQ(read(), read_nccl_environment({}));
  EXPECT_EQ(read_nccl_environment({.user = folder_.path(), .system = {}}),
            read_nccl_environment({}));
}

TEST_F(NcclEnvironment, TheUsersFileIsWhereNcclLooksForIt) {
  EXPECT_EQ(find_nccl_files().system, "/etc/nccl.conf");
  const passwd* const user = ::getpwuid(::getuid());
  ASSERT_NE(user, nullptr);
  EXPECT_EQ(find_nccl_files().user, std::filesystem::path(user->pw_dir) / ".nccl.conf");
  ::setenv("NCCL_CONF_FILE", "", 1);
  EXPECT_EQ(find_nccl_files().user.filename(), ".nccl.conf");
  ::setenv("NCCL_CONF_FILE", "/somewhere/nccl.conf", 1);
  EXPECT_EQ(find_nccl_files().user, "/somewhere/nccl.conf");
}

TEST_F(NcclEnvironment, AFileDecidesWhatCanBeTried) {
  const FakeNccl nccl;
  ::unsetenv("NCCL_TUNER_PLUGIN");
  write_user("NCCL_MAX_CTAS=8\nNCCL_CTA_POLICY=1\nNCCL_ALGO=allreduce:tree\nNCCL_DEBUG=INFO\n");
  write_system("NCCL_TUNER_PLUGIN=" COLLTUNE_NCCL_TUNER
               "\nCOLLTUNE_NCCL_LIBRARY=" COLLTUNE_FAKE_NCCL "\n");
  const nccl::Places places = nccl::places_in(read());
  EXPECT_EQ(places.environment, "NCCL_ALGO=allreduce:tree NCCL_CTA_POLICY=1 NCCL_MAX_CTAS=8");
  EXPECT_EQ(places.tuner, COLLTUNE_NCCL_TUNER);
  const Implementations entries = FakeNccl::entries(places);
  const PretendedGpus gpus(2);
  Capability capability;
  gpus.run([&](Communicator& communicator) {
    Capability own = detect_capability(entries, communicator);
    if (communicator.rank() == 0) capability = std::move(own);
  });
  EXPECT_EQ(capability.value("nccl.environment"), places.environment);
  const auto why_not = [&](const std::string& variant) {
    const Variant parsed = parse_variant(variant);
    return find_implementation(entries, parsed.implementation)
        ->supports({.collective = Collective::all_reduce,
                    .data_type = DataType::f32,
                    .reduce_op = ReduceOp::sum,
                    .message_size = {1 << 20}},
                   {.ranks_per_node = 2, .ranks = 2}, capability, parsed)
        .reason();
  };
  EXPECT_THAT(why_not(forced("ring", "ll", 0)), HasSubstr("NCCL_ALGO"));
  EXPECT_EQ(why_not(forced("tree", "ll", 0)), "");
  EXPECT_THAT(why_not("nccl.all_reduce_configured{ctas=32,policy=default}"), HasSubstr("NCCL_"));
}

TEST_F(NcclEnvironment, WhatAFileSetsIsLeftAlone) {
  std::filesystem::create_directories(folder_ / "lib");
  std::ofstream(folder_ / "lib/libnccl-tuner-colltune.so").flush();
  write_user("NCCL_TUNER_PLUGIN=of_the_user\nNCCL_NET=IB\n");
  ::setenv("NCCL_CONF_FILE", files_.user.c_str(), 1);
  prepare_nccl_environment(folder_ / "bin/colltune-agent");
  EXPECT_EQ(std::getenv("NCCL_TUNER_PLUGIN"), nullptr);
  EXPECT_EQ(nccl::find_places().tuner, "of_the_user");
  pretend_own_host(3);
  EXPECT_EQ(std::getenv("NCCL_NET"), nullptr);
  ::unsetenv("NCCL_HOSTID");
  ::unsetenv("NCCL_PROFILER_PLUGIN");
}

}  // namespace
}  // namespace colltune::test
