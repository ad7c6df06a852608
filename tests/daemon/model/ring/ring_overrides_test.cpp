// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/ring/ring_overrides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

RingOverrides read(const std::vector<std::string>& assignments) {
  return read_ring_overrides(assignments);
}

std::string refusal(const std::vector<std::string>& assignments) {
  try {
    const RingOverrides overrides = read(assignments);
    check_ring_overrides(overrides);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::invalid_argument);
    return error.what();
  }
  return "";
}

TEST(RingOverrides, AreReadByTheirWholeNamesOrWithoutThePrefix) {
  const RingOverrides overrides =
      read({"NCCL_CTRAN_ALLREDUCE_RING_TMPBUF_CHUNK_SIZE=2097152", "TMPBUF_NUM_CHUNKS=8",
            "BIDIR_AG_MAX_SIZE=-1", "TMPBUF_NUM_CHUNKS=4"});
  EXPECT_EQ(overrides.chunk_bytes, 2097152);
  EXPECT_EQ(overrides.chunks, 4);
  EXPECT_EQ(overrides.both_ways_max_bytes, -1);
  EXPECT_THAT(ring_assignments(overrides),
              ElementsAre("NCCL_CTRAN_ALLREDUCE_RING_TMPBUF_CHUNK_SIZE=2097152",
                          "NCCL_CTRAN_ALLREDUCE_RING_TMPBUF_NUM_CHUNKS=4",
                          "NCCL_CTRAN_ALLREDUCE_RING_BIDIR_AG_MAX_SIZE=-1"));
  EXPECT_EQ(read(ring_assignments(overrides)), overrides);
  EXPECT_THAT(ring_assignments({}), IsEmpty());
}

TEST(RingOverrides, EachVariableHasAFieldOfItsOwnAndItsInitialValueIsAllowed) {
  std::set<std::string_view> names;
  RingOverrides all;
  std::int64_t next = 1000;
  for (const RingVariable& variable : ring_variables()) {
    EXPECT_TRUE(names.insert(variable.name).second) << variable.name;
    EXPECT_GE(RingOverrides{}.*variable.value, variable.least) << variable.name;
    EXPECT_FALSE(variable.what.empty()) << variable.name;
    set_ring_override(all, variable.name, std::to_string(next++));
  }
  next = 1000;
  for (const RingVariable& variable : ring_variables()) EXPECT_EQ(all.*variable.value, next++);
}

TEST(RingOverrides, ABadValueNamesTheVariableTheValueAndWhatIsAllowed) {
  for (const char* const value :
       {"", "-1", "2M", "1.5", " 1", "1 ", "0x10", "+1", "9223372036854775808"}) {
    const std::string why = refusal({std::string("TMPBUF_CHUNK_SIZE=") + value});
    EXPECT_THAT(why, HasSubstr("NCCL_CTRAN_ALLREDUCE_RING_TMPBUF_CHUNK_SIZE"));
    EXPECT_THAT(why, HasSubstr("'" + std::string(value) + "'"));
    EXPECT_THAT(why, HasSubstr("whole numbers from 0 to 9223372036854775807"));
  }
  EXPECT_THAT(refusal({"BIDIR_AG_MAX_SIZE=-3"}), HasSubstr("from -2"));
  EXPECT_THAT(refusal({"QP_SCALING_TH_MIN=-1"}), IsEmpty());
}

TEST(RingOverrides, AnUnknownNameListsTheKnownOnes) {
  const std::string why = refusal({"NCCL_CTRAN_ALLREDUCE_RING_CHUNK=1"});
  EXPECT_THAT(why, HasSubstr("'NCCL_CTRAN_ALLREDUCE_RING_CHUNK'"));
  for (const RingVariable& variable : ring_variables())
    EXPECT_THAT(why, HasSubstr(std::string(variable.name)));
  EXPECT_THAT(refusal({"TMPBUF_CHUNK_SIZE"}), HasSubstr("NAME=value"));
}

TEST(RingOverrides, MoreBlocksThanTheirCapAreRefused) {
  const std::string why = refusal({"NUM_THREAD_BLOCKS=16", "MAX_NUM_THREAD_BLOCKS=8"});
  EXPECT_THAT(why, HasSubstr("NCCL_CTRAN_ALLREDUCE_RING_NUM_THREAD_BLOCKS: 16"));
  EXPECT_THAT(why, HasSubstr("at most 8"));
  EXPECT_THAT(refusal({"NUM_THREAD_BLOCKS=8", "MAX_NUM_THREAD_BLOCKS=8"}), IsEmpty());
  EXPECT_THAT(refusal({"NUM_THREAD_BLOCKS=16"}), IsEmpty());
}

TEST(RingOverrides, SaysWhatARuleSetDoesNotRead) {
  const RingOverrides overrides =
      read({"TMPBUF_CHUNK_SIZE=4096", "NUM_THREAD_BLOCKS=2", "STAGING_BUF_SIZE=1048576"});
  EXPECT_THAT(unread_ring_overrides(overrides, RingRules::v1),
              ElementsAre("NCCL_CTRAN_ALLREDUCE_RING_NUM_THREAD_BLOCKS",
                          "NCCL_CTRAN_ALLREDUCE_RING_STAGING_BUF_SIZE"));
  EXPECT_THAT(unread_ring_overrides(overrides, RingRules::v2),
              ElementsAre("NCCL_CTRAN_ALLREDUCE_RING_STAGING_BUF_SIZE"));
  EXPECT_THAT(unread_ring_overrides(overrides, RingRules::v3), IsEmpty());
}

}  // namespace
}  // namespace colltune
