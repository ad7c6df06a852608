// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// Fits that are stored with generations.

#include "fits.h"

#include <algorithm>
#include <array>

#include "samples.h"

namespace colltune::test {
namespace {

/// Every field differs from its default.
VariantFit some_fit(std::uint64_t first_size, const Environment& environment,
                    const std::string& variant = "mpi.ring{segment=8192}", double alpha = 1234.5) {
  return {.key = some_key(first_size, environment),
          .variant = parse_variant(variant),
          .model = "some_model",
          .segments = {{.from = {first_size}, .alpha = alpha, .beta = 0.1},
                       {.from = {2 * first_size}, .alpha = -7.25, .beta = -1e-7},
                       {.from = {1ULL << 40U}, .alpha = 1.0 / 3, .beta = 1e9}},
          .inside = {.low = 0.9, .high = 1.1},
          .below = {.low = 0.75, .high = 1.5},
          .beyond = {.low = 1.0 / 3, .high = 3}};
}

/// A store with an environment.
class Fits : public ::testing::Test {
 protected:
  Fits() { store_.put_environment(environment_); }

  Generation publish(std::vector<VariantFit> fits, const std::vector<Decision>& decisions) {
    return store_.publish(decisions, "t",
                          [&](std::span<const Decision>) { return std::move(fits); });
  }
  Generation publish(std::vector<VariantFit> fits) {
    return publish(std::move(fits), {some_decision(1024, environment_)});
  }
  [[nodiscard]] std::vector<VariantFit> fits(
      const std::optional<std::uint64_t>& number = {}) const {
    return StoreReader(path()).published(number).fits;
  }
  [[nodiscard]] std::filesystem::path path() const { return folder_ / "a.db"; }
  [[nodiscard]] std::int64_t rows() const {
    db::Connection connection(path(), db::OpenMode::reader);
    return connection.integer("SELECT count(*) FROM variant_fit");
  }

  TemporaryFolder folder_;
  Environment environment_ = some_environment();
  Store store_{folder_ / "a.db"};
};

TEST_F(Fits, AreReadAsTheyWereGiven) {
  const std::vector<VariantFit> given{some_fit(2048, environment_), some_fit(1024, environment_),
                                      some_fit(1024, environment_, "cpu.ring")};
  publish(given);
  // By key and variant.
  EXPECT_EQ(fits(), (std::vector<VariantFit>{given[2], given[1], given[0]}));
  EXPECT_EQ(StoreReader(snapshot_path(path())).published().fits, fits());
}

TEST_F(Fits, AreMadeFromAllDecisionsOfTheGeneration) {
  publish({}, {some_decision(1024, environment_), some_decision(4096, environment_)});
  std::vector<Decision> seen;
  const std::vector<Decision> changed{some_decision(4096, environment_, "cpu.two_shot")};
  store_.publish(changed, "t", [&](std::span<const Decision> all) {
    seen.assign(all.begin(), all.end());
    return std::vector<VariantFit>();
  });
  EXPECT_EQ(seen, (std::vector<Decision>{some_decision(1024, environment_), changed.front()}));
  seen.clear();
  store_.publish_again(1, "t", [&](std::span<const Decision> all) {
    seen.assign(all.begin(), all.end());
    return std::vector<VariantFit>();
  });
  EXPECT_EQ(seen, (std::vector<Decision>{some_decision(1024, environment_),
                                         some_decision(4096, environment_)}));
}

TEST_F(Fits, EachGenerationKeepsItsOwn) {
  const VariantFit stays = some_fit(1024, environment_);
  const VariantFit before = some_fit(2048, environment_);
  const VariantFit after = some_fit(2048, environment_, "mpi.ring{segment=8192}", 99);
  publish({stays, before});
  publish({stays, after});
  publish({after});
  publish({});
  EXPECT_EQ(fits(1), (std::vector<VariantFit>{stays, before}));
  EXPECT_EQ(fits(2), (std::vector<VariantFit>{stays, after}));
  EXPECT_EQ(fits(3), std::vector{after});
  EXPECT_TRUE(fits().empty());
  EXPECT_EQ(rows(), 3) << "what stays is not written again";
}

TEST_F(Fits, AGenerationWithoutAMakerHasNone) {
  publish({some_fit(1024, environment_)});
  store_.publish(std::vector<Decision>(), "t");
  EXPECT_TRUE(fits().empty());
  EXPECT_EQ(fits(1).size(), 1U);
}

TEST_F(Fits, ChangeNoDigestOfTheDecisions) {
  const Generation without = publish({});
  const Generation with = publish({some_fit(1024, environment_)});
  EXPECT_EQ(without.content_digest, with.content_digest);
}

TEST_F(Fits, MalformedOnesAreRefusedAndNothingIsPublished) {
  VariantFit no_order = some_fit(1024, environment_);
  std::swap(no_order.segments[1], no_order.segments[2]);
  VariantFit elsewhere = some_fit(1024, environment_);
  elsewhere.segments.front().from = {512};
  VariantFit short_one = some_fit(1024, environment_);
  short_one.segments.resize(1);
  VariantFit outside = some_fit(1024, environment_);
  outside.inside.high = 0.95;
  VariantFit infinite = some_fit(1024, environment_);
  infinite.segments.front().alpha = std::numeric_limits<double>::infinity();
  for (const VariantFit& fit : {no_order, elsewhere, short_one, outside, infinite})
    EXPECT_EQ(error_of([&] { publish({fit}); }), StatusCode::invalid_argument);
  std::string message;
  EXPECT_EQ(error_of(
                [&] {
                  publish({some_fit(1024, environment_), some_fit(1024, environment_)});
                },
                &message),
            StatusCode::invalid_argument);
  EXPECT_NE(message.find("is given twice"), std::string::npos) << message;
  EXPECT_EQ(error_of([&] { (void)fits(); }), StatusCode::not_found);
  EXPECT_EQ(publish({some_fit(1024, environment_)}).number, 1U);
}

TEST_F(Fits, DamageIsNoticed) {
  publish({some_fit(1024, environment_), some_fit(2048, environment_)});
  const std::array<const char*, 4> damages{"UPDATE variant_fit SET model = 'another' WHERE id = 1",
                                           "DELETE FROM variant_fit WHERE id = 2",
                                           "UPDATE generation SET fit_count = 1",
                                           "UPDATE variant_fit SET valid_to = 1 WHERE id = 1"};
  for (const char* damage : damages) {
    const auto copy = folder_ / "copy.db";
    std::filesystem::copy_file(snapshot_path(path()), copy,
                               std::filesystem::copy_options::overwrite_existing);
    {
      db::Connection connection(copy, db::OpenMode::owner);
      connection.execute(damage);
    }
    EXPECT_EQ(error_of([&] { (void)StoreReader(copy).published(); }), StatusCode::data_loss)
        << damage;
  }
}

}  // namespace
}  // namespace colltune::test
