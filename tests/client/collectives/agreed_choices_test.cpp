// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/collectives/agreed_choices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>
#include <vector>

#include "../../daemon/temporary_folder.h"
#include "colltune/kernels/catalogue.h"
#include "colltune/kernels/communication/thread_communicator.h"
#include "planted_table.h"

namespace colltune {
namespace {

using ::testing::HasSubstr;

/// Among threads that meet.
class MeetingAgreement final : public Agreement {
 public:
  struct Meeting {
    explicit Meeting(int ranks) : barrier(ranks), texts(static_cast<std::size_t>(ranks)) {}
    std::barrier<> barrier;
    std::vector<std::string> texts;
  };
  MeetingAgreement(Meeting& meeting, int rank)
      : meeting_(meeting), rank_(static_cast<std::size_t>(rank)) {}

  std::vector<std::string> gather(const std::string& own) override {
    meeting_.texts[rank_] = own;
    meeting_.barrier.arrive_and_wait();
    std::vector<std::string> all = meeting_.texts;
    meeting_.barrier.arrive_and_wait();
    return all;
  }
  std::string share(std::string text) override { return gather(text).front(); }

 private:
  Meeting& meeting_;
  std::size_t rank_;
};

/// What so many ranks agree on; each has a cache of its own.
std::vector<AgreedChoices> agree(const ProgramSettings& settings,
                                 std::vector<ChoiceCache>& caches) {
  static const Implementations catalogue = make_host_catalogue();
  AbortFlag abort;
  auto world = make_thread_world(static_cast<int>(caches.size()), abort);
  MeetingAgreement::Meeting meeting(static_cast<int>(caches.size()));
  std::vector<AgreedChoices> agreed(caches.size());
  std::vector<std::jthread> threads;
  for (std::size_t rank = 0; rank < caches.size(); ++rank)
    threads.emplace_back([&, rank] {
      constexpr std::array ordinary{ProgramCalling{}};
      MeetingAgreement agreement(meeting, static_cast<int>(rank));
      agreed[rank] = agree_on_choices(*world[rank], agreement, settings, catalogue,
                                      {.callings = ordinary}, caches[rank]);
    });
  threads.clear();
  return agreed;
}

class AgreedOnce : public ::testing::Test {
 protected:
  void plant(unsigned seed, const std::string& mpi_library = "") const {
    const std::array worlds{test::PlantedWorld{.ranks_per_node = 2, .in_both_placements = true},
                            test::PlantedWorld{.ranks_per_node = 3, .in_both_placements = true}};
    std::ofstream(table_, std::ios::binary)
        << test::planted_table(seed, worlds, {.all_types = false, .mpi_library = mpi_library});
  }
  literals::TemporaryFolder folder_;
  std::string table_ = (folder_ / "planted.ctt").string();
  ProgramSettings settings_{.table = table_};
};

TEST_F(AgreedOnce, ATableIsReadOnceForRanksThatAreAlike) {
  plant(1);
  std::vector<ChoiceCache> caches(2);
  const auto first = agree(settings_, caches);
  ASSERT_FALSE(first[0].of_calling.at(0).rows.empty());
  EXPECT_EQ(first[1].of_calling[0].rows.size(), first[0].of_calling[0].rows.size());
  plant(2);  // not looked at
  const auto second = agree(settings_, caches);
  for (const AgreedChoices& one : second) {
    EXPECT_EQ(one.of_calling.at(0).source, first[0].of_calling[0].source);
    EXPECT_EQ(one.of_calling[0].entries.size(), first[0].of_calling[0].entries.size());
  }
  std::filesystem::remove(table_);
  EXPECT_FALSE(agree(settings_, caches)[1].of_calling.at(0).rows.empty());
}

TEST_F(AgreedOnce, OtherRanksAndSettingsAreDecidedForThemselves) {
  plant(1);
  std::vector<ChoiceCache> caches(2);
  const auto pair = agree(settings_, caches);
  std::vector<ChoiceCache> more(3);
  EXPECT_FALSE(agree(settings_, more)[2].of_calling.at(0).rows.empty());
  ProgramSettings other = settings_;
  other.table_digest = "0000";
  const auto refused = agree(other, caches);
  ASSERT_TRUE(refused[1].table_error);
  EXPECT_THAT(refused[1].table_error->what(), HasSubstr("not COLLTUNE_TABLE_DIGEST=0000"));
  EXPECT_FALSE(agree(settings_, caches)[1].of_calling.at(0).rows.empty());
}

// Rank 0's cache decides; a rank that did not see it takes part all the same.
TEST_F(AgreedOnce, ARankThatKnowsNothingIsTold) {
  plant(1);
  std::vector<ChoiceCache> caches(2);
  (void)agree(settings_, caches);
  std::filesystem::remove(table_);
  std::vector<ChoiceCache> mixed(2);
  std::swap(mixed[0], caches[0]);
  EXPECT_FALSE(agree(settings_, mixed)[1].of_calling.at(0).rows.empty());
}

TEST_F(AgreedOnce, ATableOfAnotherMpiLibraryIsRefused) {
  plant(1, "Open MPI v4.1.4");
  settings_.mpi_library = "MPICH 4.0";
  std::vector<ChoiceCache> caches(2);
  for (const AgreedChoices& one : agree(settings_, caches)) {
    ASSERT_TRUE(one.table_error);
    EXPECT_EQ(one.table_error->code(), StatusCode::failed_precondition);
    EXPECT_THAT(one.table_error->what(),
                HasSubstr("was measured with Open MPI v4.1.4, and this program runs MPICH 4.0"));
  }
  settings_.mpi_library = "Open MPI 4.1";
  std::vector<ChoiceCache> others(2);
  EXPECT_FALSE(agree(settings_, others)[1].of_calling.at(0).rows.empty());
  // As MPICH names itself; and a table that tells no library.
  plant(1, "MPICH Version:      4.0.2");
  settings_.mpi_library = "MPICH 4.0";
  std::vector<ChoiceCache> alike(2);
  EXPECT_FALSE(agree(settings_, alike)[1].of_calling.at(0).rows.empty());
  plant(1);
  std::vector<ChoiceCache> untold(2);
  EXPECT_FALSE(agree(settings_, untold)[1].of_calling.at(0).rows.empty());
}

TEST_F(AgreedOnce, ATableThatWasNotThereIsLookedForAgain) {
  std::vector<ChoiceCache> caches(2);
  EXPECT_TRUE(agree(settings_, caches)[1].table_error);
  plant(1);
  EXPECT_FALSE(agree(settings_, caches)[1].of_calling.at(0).rows.empty());
}

}  // namespace
}  // namespace colltune
