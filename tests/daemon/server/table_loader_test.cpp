// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "table_loader.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "colltuned_fixture.h"

namespace colltune {
namespace {

using namespace literals;
using namespace std::chrono_literals;

class Loader : public Colltuned {
 protected:
  void SetUp() override { publish("ring"); }

  /// What `load` gives where no further file can be opened.
  std::string load_without_descriptors(TableLoader& loader, TableLoader::Clock::time_point now) {
    rlimit usual{};
    ::getrlimit(RLIMIT_NOFILE, &usual);
    rlimit none = usual;
    none.rlim_cur = 3;
    ::setrlimit(RLIMIT_NOFILE, &none);
    std::string what = "nothing was thrown";
    try {
      if (loader.load_if_changed(now) == nullptr) what = "nothing was tried";
    } catch (const std::exception& error) {
      what = error.what();
    }
    ::setrlimit(RLIMIT_NOFILE, &usual);
    return what;
  }

  static constexpr TableLoader::Clock::time_point start_{1h};
};

TEST_F(Loader, TriesAFileAgainThatCouldNotBeReadForAMoment) {
  TableLoader loader(database());
  EXPECT_NE(load_without_descriptors(loader, start_), "nothing was thrown");
  EXPECT_EQ(loader.failures(), 1);
  EXPECT_EQ(loader.wait(), TableLoader::first_wait);
  EXPECT_EQ(loader.load_if_changed(start_ + 249ms), nullptr);
  EXPECT_NE(load_without_descriptors(loader, start_ + 250ms), "nothing was tried");
  EXPECT_EQ(loader.failures(), 2);
  EXPECT_EQ(loader.wait(), 2 * TableLoader::first_wait);
  EXPECT_EQ(loader.load_if_changed(start_ + 749ms), nullptr);
  const auto table = loader.load_if_changed(start_ + 750ms);
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(loader.failures(), 0);
  EXPECT_EQ(loader.load_if_changed(start_ + 1h), nullptr);
}

TEST_F(Loader, WaitsGrowUpToALimitAndAReplacedFileIsTriedAtOnce) {
  TableLoader loader(database());
  auto now = start_;
  for (int i = 0; i < 12; ++i) {
    EXPECT_NE(load_without_descriptors(loader, now), "nothing was tried");
    now += loader.wait();
  }
  EXPECT_EQ(loader.wait(), TableLoader::longest_wait);
  EXPECT_NE(load_without_descriptors(loader, now), "nothing was tried");
  publish("tree");
  EXPECT_NE(loader.load_if_changed(now), nullptr);
}

TEST_F(Loader, ForgetsWhatItReadWhereAsked) {
  TableLoader loader(database());
  EXPECT_NE(loader.load_if_changed(start_), nullptr);
  EXPECT_EQ(loader.load_if_changed(start_), nullptr);
  loader.forget();
  EXPECT_NE(loader.load_if_changed(start_), nullptr);
}

}  // namespace
}  // namespace colltune
