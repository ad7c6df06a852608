// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>
#include <sstream>

#include "colltune/export/export_mpi_environment.h"
#include "literal_decisions.h"

namespace colltune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Environment recorded() {
  return {.kernel = "6.1",
          .malloc_settings = "glibc 2.36 grown MALLOC_ARENA_MAX=1 /etc/malloc.conf=x",
          .mpi_library = "Open MPI v4.1.4",
          .mpi_transport = "btl=self,vader coll_tuned_note=\"it's \\\"so\\\" $HOME\" pml=ob1",
          .mpi_binding = "one hardware thread per rank, memory bind",
          .variables = "HOME/ucx.conf=0123 UCX_TLS=\"\"",
          .limits = "locked_memory=64KiB"};
}

std::string exported(const Environment& environment) {
  Decision decision =
      testing::decision(testing::test_key(64), {testing::ranked("mpi.default", 10, 1)});
  decision.key.environment_digest = digest_of(environment);
  return export_mpi_environment(
      {.generation = {.store_uuid = "s", .number = 3, .content_digest = "d"},
       .decisions = {decision},
       .environments = {{digest_of(environment), environment}}});
}

/// What a shell makes of the lines: `name`'s value behind them.
std::string sourced(const std::string& lines, const std::string& name) {
  const std::string path = ::testing::TempDir() + "mpi_environment_test.sh";
  FILE* const file = std::fopen(path.c_str(), "w");
  std::fputs(lines.c_str(), file);
  std::fclose(file);
  const std::string command = "set -eu; . " + path + "; printenv " + name;
  const std::unique_ptr<FILE, int (*)(FILE*)> shell(
      ::popen(("sh -c '" + command + "'").c_str(), "r"), &::pclose);
  std::string out;
  std::array<char, 256> part{};
  while (std::fgets(part.data(), part.size(), shell.get()) != nullptr) out += part.data();
  return out;
}

TEST(MpiEnvironment, SetsJustWhatWasRecordedAsSet) {
  const std::string text = exported(recorded());
  EXPECT_EQ(sourced(text, "MALLOC_ARENA_MAX"), "1\n");
  EXPECT_EQ(sourced(text, "OMPI_MCA_btl"), "self,vader\n");
  EXPECT_EQ(sourced(text, "OMPI_MCA_pml"), "ob1\n");
  EXPECT_EQ(sourced(text, "OMPI_MCA_coll_tuned_note"), "it's \"so\" $HOME\n");
  EXPECT_EQ(sourced(text, "UCX_TLS"), "\n");
  std::istringstream lines(text);
  int exports = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(line.starts_with("# ") || line.starts_with("export ")) << line;
    exports += line.starts_with("export ") ? 1 : 0;
  }
  EXPECT_EQ(exports, 5);
}

TEST(MpiEnvironment, SaysWhatNoVariableSets) {
  const std::string text = exported(recorded());
  EXPECT_THAT(text, HasSubstr("generation 3 (d), environment " + digest_of(recorded())));
  EXPECT_THAT(text, HasSubstr("calling=each, input=rewritten"));
  EXPECT_THAT(text, HasSubstr("# MPI library: Open MPI v4.1.4\n"));
  EXPECT_THAT(text, HasSubstr("# malloc: glibc 2.36 grown /etc/malloc.conf=x\n"));
  EXPECT_THAT(text, HasSubstr("# grown: the process had freed a large block before"));
  EXPECT_THAT(text, HasSubstr("# variables that libraries read: HOME/ucx.conf=0123\n"));
  EXPECT_THAT(text, HasSubstr("# binding: one hardware thread per rank, memory bind\n"));
  EXPECT_THAT(text, HasSubstr("# limits: locked_memory=64KiB\n"));
}

TEST(MpiEnvironment, OfAnotherLibraryTheDigestOfItsVariablesIsNoVariable) {
  Environment other = recorded();
  other.mpi_library = "MPICH 4.0.2";
  other.mpi_transport = "control_variables=0123abcd";
  other.malloc_settings = "glibc 2.36 fresh";
  const std::string text = exported(other);
  EXPECT_THAT(text, HasSubstr("# transport: control_variables=0123abcd\n"));
  EXPECT_THAT(text, Not(HasSubstr("export control_variables")));
  EXPECT_THAT(text, HasSubstr("# fresh: "));
}

TEST(MpiEnvironment, NothingRecordedEscapesItsComment) {
  Environment odd = recorded();
  odd.mpi_binding = "one\nrm -rf /";
  EXPECT_THAT(exported(odd), HasSubstr("# binding: one rm -rf /\n"));
}

TEST(MpiEnvironment, SaysWhyThereIsNothing) {
  const auto refusal = [](const Environment& environment) {
    try {
      (void)exported(environment);
    } catch (const Error& error) {
      return std::pair(error.code(), std::string(error.what()));
    }
    return std::pair(StatusCode::internal, std::string("nothing was refused"));
  };
  Environment without = recorded();
  without.mpi_library.clear();
  EXPECT_EQ(refusal(without).first, StatusCode::not_found);
  EXPECT_THAT(refusal(without).second, HasSubstr("no decision was measured with an MPI library"));
  Environment broken = recorded();
  broken.mpi_transport = "btl=\"self";
  EXPECT_EQ(refusal(broken).first, StatusCode::data_loss);
  EXPECT_THAT(refusal(broken).second, HasSubstr("records 'btl' in a form that cannot be read"));
}

}  // namespace
}  // namespace colltune
