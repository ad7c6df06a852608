// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// When the steps of a mesh reduction merge, against what they do to each rank's input by itself.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <regex>

#include "colltune/vocabulary/mesh.h"
#include "support/sanitizer.h"

namespace colltune::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A fraction in its lowest terms.
struct Fraction {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;

  friend bool operator==(const Fraction&, const Fraction&) = default;
};
Fraction make(std::int64_t numerator, std::int64_t denominator) {
  const std::int64_t common = std::gcd(numerator, denominator);
  return {numerator / common, denominator / common};
}
Fraction operator+(Fraction a, Fraction b) {
  return make(a.numerator * b.denominator + b.numerator * a.denominator,
              a.denominator * b.denominator);
}
Fraction operator/(Fraction a, std::int64_t b) { return make(a.numerator, a.denominator * b); }

/// Whether two ranks stand in one group of the step, by their coordinates.
bool go_together(const MeshReduction& mesh, const MeshStep& step, int a, int b) {
  const auto at = [](int rank) { return static_cast<std::size_t>(rank); };
  if (!step.dimension) return step.groups[at(a)] == step.groups[at(b)];
  for (int d = static_cast<int>(mesh.shape.size()) - 1; d >= 0; --d) {
    const int extent = mesh.shape[at(d)];
    if (d != *step.dimension && a % extent != b % extent) return false;
    a /= extent;
    b /= extent;
  }
  return true;
}

/// What the steps do, found by doing them.
class Truth {
 public:
  explicit Truth(const MeshReduction& mesh) : ranks_(ranks_of(mesh)) {
    for (const MeshStep& step : mesh.steps) {
      auto& members = members_.emplace_back(ranks_);
      bool works = false;
      for (int a = 0; a < ranks_; ++a)
        for (int b = 0; b < ranks_; ++b)
          if (go_together(mesh, step, a, b)) {
            members[at(a)].push_back(b);
            works = works || a != b;
          }
      if (works) ops_.push_back(step.op);
    }
    for (int source = 0; source < ranks_; ++source) {
      weights_.push_back(weights_from(source, mesh));
      reached_.push_back(reached_from(source));
    }
    connect();
  }

  /// The part of `source`'s input in `rank`'s result, where the steps are sums and averages.
  [[nodiscard]] Fraction weight(int rank, int source) const {
    return weights_[at(source)][at(rank)];
  }
  /// Whether the input comes there at all.
  [[nodiscard]] bool reaches(int source, int rank) const { return reached_[at(source)][at(rank)]; }
  [[nodiscard]] bool is_connected(int a, int b) const { return part_[at(a)] == part_[at(b)]; }
  /// By rank: what the merged sum is divided by; empty where the steps do not merge.
  [[nodiscard]] std::vector<std::int64_t> divisors(DataType type) const {
    const auto count = [&](ReduceOp op) {
      return static_cast<std::size_t>(std::ranges::count(ops_, op));
    };
    const std::size_t steps = ops_.size();
    const bool is_choice = count(ReduceOp::max) == steps || count(ReduceOp::min) == steps;
    const bool is_product = count(ReduceOp::prod) == steps;
    const bool is_linear = count(ReduceOp::sum) + count(ReduceOp::avg) == steps;
    if (!is_choice && !is_product && !is_linear) return {};
    if (count(ReduceOp::avg) > 0 && !is_floating(type)) return {};
    std::vector<std::int64_t> all;
    for (int rank = 0; rank < ranks_; ++rank) {
      const Fraction own = is_choice ? Fraction{1, 1} : weight(rank, rank);
      for (int source = 0; source < ranks_; ++source) {
        if (!is_connected(rank, source)) continue;
        if (is_choice ? !reaches(source, rank) : weight(rank, source) != own) return {};
      }
      if (own.numerator != 1 || (is_product && own.denominator != 1)) return {};
      all.push_back(own.denominator);
    }
    for (int rank = 0; rank < ranks_; ++rank)
      for (int other = 0; other < ranks_; ++other)
        if (is_connected(rank, other) && all[at(rank)] != all[at(other)]) return {};
    return all;
  }

 private:
  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

  /// Every step on the input 1 of one rank, 0 of the others. Products: exponents.
  std::vector<Fraction> weights_from(int source, const MeshReduction& mesh) const {
    std::vector<Fraction> values(at(ranks_));
    values[at(source)] = {1, 1};
    for (std::size_t step = 0; step < members_.size(); ++step) {
      std::vector<Fraction> next(at(ranks_));
      for (int rank = 0; rank < ranks_; ++rank) {
        const auto& group = members_[step][at(rank)];
        for (const int other : group) next[at(rank)] = next[at(rank)] + values[at(other)];
        if (mesh.steps[step].op == ReduceOp::avg)
          next[at(rank)] = next[at(rank)] / static_cast<std::int64_t>(group.size());
      }
      values = next;
    }
    return values;
  }
  std::vector<bool> reached_from(int source) const {
    std::vector<bool> reached(at(ranks_));
    reached[at(source)] = true;
    for (const auto& members : members_) {
      std::vector<bool> next(at(ranks_));
      for (int rank = 0; rank < ranks_; ++rank)
        for (const int other : members[at(rank)])
          if (reached[at(other)]) next[at(rank)] = true;
      reached = next;
    }
    return reached;
  }
  void connect() {
    part_.resize(at(ranks_));
    std::iota(part_.begin(), part_.end(), 0);
    for (int turn = 0; turn < ranks_; ++turn)
      for (const auto& members : members_)
        for (int rank = 0; rank < ranks_; ++rank)
          for (const int other : members[at(rank)])
            part_[at(rank)] = std::min(part_[at(rank)], part_[at(other)]);
  }

  int ranks_;
  std::vector<std::vector<std::vector<int>>> members_;  ///< by step and rank
  std::vector<ReduceOp> ops_;                           ///< of the steps that do anything
  std::vector<std::vector<Fraction>> weights_;          ///< by source and rank
  std::vector<std::vector<bool>> reached_;              ///< by source and rank
  std::vector<int> part_;
};

using Random = std::mt19937;

int below(Random& random, int end) {
  return std::uniform_int_distribution<int>(0, end - 1)(random);
}

std::vector<int> numbered(const std::vector<int>& groups) {
  std::map<int, int> numbers;
  std::vector<int> out;
  for (const int group : groups)
    out.push_back(numbers.try_emplace(group, static_cast<int>(numbers.size())).first->second);
  return out;
}

std::vector<int> random_groups(Random& random, int ranks) {
  std::vector<int> groups(static_cast<std::size_t>(ranks));
  switch (below(random, 3)) {
    case 0: {  // any
      const int most = 1 + below(random, ranks);
      for (int& group : groups) group = below(random, most);
      break;
    }
    case 1: {  // pairs of any two
      std::vector<int> order(groups.size());
      std::iota(order.begin(), order.end(), 0);
      std::ranges::shuffle(order, random);
      for (std::size_t i = 0; i < order.size(); ++i)
        groups[static_cast<std::size_t>(order[i])] = static_cast<int>(i / 2);
      break;
    }
    default: {  // pairs at a distance that is the same for all: matchings that go together
      const int mask = 1 + below(random, std::max(1, ranks - 1));
      for (int rank = 0; rank < ranks; ++rank)
        groups[static_cast<std::size_t>(rank)] =
            (rank ^ mask) < ranks ? std::min(rank, rank ^ mask) : rank;
    }
  }
  return numbered(groups);
}

MeshReduction random_mesh(Random& random) {
  MeshReduction mesh;
  do {
    mesh.shape.clear();
    for (int d = 1 + below(random, 3); d > 0; --d) mesh.shape.push_back(1 + below(random, 6));
  } while (ranks_of(mesh) > 12);
  const int dimensions = static_cast<int>(mesh.shape.size());
  const int kind = below(random, 10);  // one operator, sums and averages, any
  const auto any_op = [&] { return static_cast<ReduceOp>(1 + below(random, 5)); };
  const ReduceOp op = any_op();
  const bool is_regular = below(random, 2) == 0;
  const int first = below(random, dimensions);
  for (int i = 0, steps = 1 + below(random, 4); i < steps; ++i) {
    MeshStep step{.op = kind < 5   ? op
                        : kind < 9 ? (below(random, 2) == 0 ? ReduceOp::sum : ReduceOp::avg)
                                   : any_op(),
                  .dimension = {},
                  .groups = {}};
    if (i > 0 && below(random, 8) == 0) {
      step.dimension = mesh.steps.back().dimension;
      step.groups = mesh.steps.back().groups;
    } else if (is_regular || below(random, 3) == 0) {
      step.dimension = (first + i) % dimensions;  // each once, where there are enough
    } else {
      step.groups = random_groups(random, ranks_of(mesh));
    }
    mesh.steps.push_back(std::move(step));
  }
  return mesh;
}

/// That an entry is wrong which a refusal names, and that it is as wrong as it says.
void expect_wrong_entry(const Truth& truth, const std::string& why) {
  const auto fraction = [](const std::ssub_match& a, const std::ssub_match& b) {
    return make(std::stoll(a), std::stoll(b));
  };
  const std::string entry = "rank (\\d+)'s input in rank (\\d+)'s result";
  const std::string weight = "(\\d+)/(\\d+)";
  std::smatch found;
  if (std::regex_match(why, found, std::regex("the steps leave " + entry + " out"))) {
    EXPECT_TRUE(truth.is_connected(std::stoi(found[1]), std::stoi(found[2]))) << why;
    EXPECT_FALSE(truth.reaches(std::stoi(found[1]), std::stoi(found[2]))) << why;
  } else if (std::regex_match(why, found,
                              std::regex("the steps count " + entry +
                                         " (once|\\d+ times), one (sum|prod) over all of its "
                                         "ranks counts it once"))) {
    const Fraction count = truth.weight(std::stoi(found[2]), std::stoi(found[1]));
    EXPECT_TRUE(truth.is_connected(std::stoi(found[1]), std::stoi(found[2]))) << why;
    EXPECT_NE(found[3], "once") << why;
    EXPECT_EQ(count, make(std::stoll(found[3]), 1)) << why;
  } else if (std::regex_match(why, found,
                              std::regex("the steps weigh " + entry + " " + weight + ", and " +
                                         entry + " " + weight))) {
    const int rank = std::stoi(found[2]);
    const int other = std::stoi(found[6]);
    EXPECT_EQ(truth.weight(rank, std::stoi(found[1])), fraction(found[3], found[4])) << why;
    EXPECT_EQ(truth.weight(other, std::stoi(found[5])), fraction(found[7], found[8])) << why;
    EXPECT_NE(fraction(found[3], found[4]), fraction(found[7], found[8])) << why;
    EXPECT_TRUE(truth.is_connected(rank, other)) << why;
  } else if (std::regex_match(why, found,
                              std::regex("the steps weigh each input " + weight +
                                         ", which is no sum divided by a whole number"))) {
    EXPECT_NE(fraction(found[1], found[2]).numerator, 1) << why;
  } else {
    EXPECT_TRUE(why == "steps of unlike operators merge only where all are sum or avg" ||
                why == "an average of integers truncates at each step")
        << why;
  }
}

std::string print(const MeshReduction& mesh) { return shape_text(mesh) + " " + steps_text(mesh); }

TEST(MeshMerge, VerdictsAreThoseOfTheStepsThemselves) {
  Random random(7);
  std::map<std::string, int> seen;
  constexpr int meshes = has_sanitizer ? 2000 : 10000;
  for (int i = 0; i < meshes && !testing::Test::HasFailure(); ++i) {
    const MeshReduction mesh = random_mesh(random);
    const DataType type = below(random, 8) == 0 ? DataType::i32 : DataType::bf16;
    const Truth truth(mesh);
    const std::vector<std::int64_t> divisors = truth.divisors(type);
    const Merge merge = merge_steps(mesh, type);
    SCOPED_TRACE(print(mesh) + " " + merge.why_not);
    EXPECT_EQ(merge.why_not.empty(), !divisors.empty());
    const auto ranks = static_cast<std::size_t>(ranks_of(mesh));
    ASSERT_EQ(merge.component_of_rank.size(), ranks);
    for (std::size_t a = 0; a < ranks; ++a)
      for (std::size_t b = 0; b < ranks; ++b)
        EXPECT_EQ(merge.component_of_rank[a] == merge.component_of_rank[b],
                  truth.is_connected(static_cast<int>(a), static_cast<int>(b)));
    if (!merge.why_not.empty()) {
      expect_wrong_entry(truth, merge.why_not);
      EXPECT_THAT(merge.divisors, IsEmpty());
      ++seen[merge.why_not.substr(0, 13)];
      continue;
    }
    const auto components = ranks_by_group(merge.component_of_rank);
    ASSERT_TRUE(merge.divisors.empty() || merge.divisors.size() == components.size());
    for (std::size_t component = 0; component < components.size(); ++component)
      for (const int rank : components[component]) {
        const std::int64_t divisor = merge.op == ReduceOp::avg
                                         ? static_cast<std::int64_t>(components[component].size())
                                     : merge.divisors.empty() ? 1
                                                              : merge.divisors[component];
        EXPECT_EQ(divisor, divisors[static_cast<std::size_t>(rank)]);
      }
    ++seen["merges by " + std::string(name_of(merge.op)) +
           (merge.divisors.empty() ? "" : " divided")];
    if (components.size() > 1) ++seen["merges in parts"];
  }
  for (const char* verdict :
       {"merges by sum", "merges by sum divided", "merges by prod", "merges by max",
        "merges by min", "merges by avg", "merges in parts", "the steps wei", "the steps cou",
        "the steps lea", "an average of", "steps of unli"})
    EXPECT_GT(seen[verdict], meshes / 100) << verdict;
}

/// How it merges: the operator, and what it divides by; or why not.
std::string verdict(std::string_view shape, std::string_view steps, DataType type = DataType::f32) {
  const Merge merge = merge_steps(parse_mesh(shape, steps), type);
  if (!merge.why_not.empty()) return merge.why_not;
  std::string text(name_of(merge.op));
  for (const int divisor : merge.divisors) text += " /" + std::to_string(divisor);
  return text;
}

TEST(MeshMerge, AFullMeshMerges) {
  for (const char* op : {"sum", "prod", "max", "min", "avg"})
    EXPECT_EQ(verdict("2x3x2", "1:" + std::string(op) + ",0:" + op + ",2:" + op), op);
  EXPECT_EQ(verdict("2x3", "0:sum,1:avg"), "sum /3");
  EXPECT_EQ(verdict("2x3", "0:avg,1:sum"), "sum /2");
  // As large as meshes are.
  EXPECT_EQ(verdict("1024x1024", "0:sum,1:avg"), "sum /1024");
  EXPECT_EQ(verdict("1048576x1", "1:avg,0:sum"), "sum");
  EXPECT_EQ(verdict("65536", "{0-1|2-3}:avg"), "avg");
}

TEST(MeshMerge, ThreePerfectMatchingsOfFourRanksCountEachInputTwice) {
  const auto matchings = [](const std::string& op) {
    return "{0-1|2-3}:" + op + ",{0,2|1,3}:" + op + ",{0,3|1-2}:" + op;
  };
  EXPECT_EQ(verdict("4", matchings("avg")), "avg");
  EXPECT_EQ(verdict("4", matchings("max")), "max");
  for (const std::string op : {"sum", "prod"})
    EXPECT_EQ(verdict("4", matchings(op)),
              "the steps count rank 0's input in rank 0's result 2 times, one " + op +
                  " over all of its ranks counts it once");
}

TEST(MeshMerge, ADimensionReducedTwice) {
  EXPECT_EQ(verdict("2x3", "1:sum,1:sum"),
            "the steps count rank 0's input in rank 0's result 3 times, one sum over all of its "
            "ranks counts it once");
  EXPECT_EQ(verdict("2x3", "1:max,1:max"), "max");
  EXPECT_EQ(verdict("2x3", "1:avg,1:avg"), "avg");
  // k times, and a k-th of that.
  EXPECT_EQ(verdict("2x3", "1:sum,1:avg"), "sum");
  EXPECT_EQ(verdict("2x3", "1:sum,1:sum,0:avg"),
            "the steps weigh each input 3/2, which is no sum divided by a whole number");
}

TEST(MeshMerge, WhatNeverMerges) {
  EXPECT_EQ(verdict("2x2", "0:avg,1:avg", DataType::i32),
            "an average of integers truncates at each step");
  EXPECT_EQ(verdict("2x2", "0:sum,1:avg", DataType::u8),
            "an average of integers truncates at each step");
  EXPECT_EQ(verdict("2x2", "0:sum,1:max"),
            "steps of unlike operators merge only where all are sum or avg");
  EXPECT_EQ(verdict("2x2", "0:min,1:max"),
            "steps of unlike operators merge only where all are sum or avg");
  EXPECT_EQ(verdict("3", "{0-1}:max,{1-2}:max"),
            "the steps leave rank 2's input in rank 0's result out");
}

TEST(MeshMerge, StepsOfSingleRanksCountForNothing) {
  EXPECT_EQ(verdict("4x1", "0:sum,1:max"), "sum");
  EXPECT_EQ(verdict("4x1", "1:avg,0:sum", DataType::i32), "sum");
  EXPECT_EQ(verdict("1", "0:avg", DataType::i32), "avg");
}

TEST(MeshMerge, EveryComponentHasItsDivisor) {
  EXPECT_EQ(verdict("6", "{0-1|2-4}:avg"), "avg");
  EXPECT_EQ(verdict("6", "{0-1|2-4}:avg,{0-1|2-4}:sum"), "sum");
  EXPECT_EQ(verdict("9", "{0-1|2-3|4-6}:sum,{0,2|1,3}:avg"), "sum /2 /1 /1 /1");
  EXPECT_THAT(merge_steps(parse_mesh("9", "{0-1|2-3|4-6}:sum,{0,2|1,3}:avg"), DataType::f32)
                  .component_of_rank,
              ElementsAre(0, 0, 0, 0, 1, 1, 1, 2, 3));
}

TEST(MeshMerge, WeightsBeyondSixtyFourBitsAreNotCompared) {
  MeshReduction mesh = parse_mesh("7", "{0-2|3-6}:avg,0:sum");
  mesh.steps.resize(30, mesh.steps.front());
  EXPECT_THAT(merge_steps(mesh, DataType::f32).why_not,
              HasSubstr("is a fraction too long to be compared"));
}

}  // namespace
}  // namespace colltune::test
