// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <iostream>
#include <new>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "colltune/client/client.h"
#include "colltune/vocabulary/canonical.h"
#include "literal_decisions.h"

// Ranks of a group as threads of several processes, and what they say to each other.

namespace colltune::testing {

using Clock = std::chrono::steady_clock;

inline constexpr int ranks = 64;
inline constexpr int processes = 8;  ///< besides that of the test, each with as many of the ranks
inline constexpr std::size_t largest_message = 1024;
inline constexpr std::chrono::seconds patience(100);

/// Memory that all processes have, with what the ranks say to each other.
struct Board {
  std::atomic<std::uint64_t> arrived{0};
  std::atomic<std::uint64_t> rounds{0};   ///< those in which all ranks opened a table
  std::atomic<std::uint64_t> refused{0};  ///< those in which all ranks got an error
  std::atomic<std::uint64_t> divergent{0};
  std::atomic<std::uint64_t> lookups{0};
  std::atomic<std::uint64_t> joined{0};     ///< late ones that got the group's table
  std::atomic<std::uint64_t> published{0};  ///< generations
  std::atomic<std::uint64_t> restarts{0};   ///< that are wanted
  std::atomic<bool> is_over{false};
  std::array<char, 160> identity{};  ///< of the last common table, as lines
  std::atomic<std::uint64_t> identity_number{0};
  std::array<std::array<char, largest_message>, ranks> said{};
};

/// A barrier of all ranks. Throws where some rank does not come: it ended.
inline void meet(Board& board, std::uint64_t& step) {
  ++step;
  board.arrived.fetch_add(1);
  const auto end = Clock::now() + patience;
  while (board.arrived.load() < step * ranks) {
    if (Clock::now() > end) throw std::runtime_error("a rank did not come");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

inline GroupCalls calls_of(Board& board, int rank, std::uint64_t& step) {
  return {.rank = rank,
          .size = ranks,
          .broadcast =
              [&board, rank, &step](void* data, std::size_t bytes) {
                if (bytes > largest_message) throw std::runtime_error("the message is too large");
                if (rank == 0) std::memcpy(board.said[0].data(), data, bytes);
                meet(board, step);
                std::memcpy(data, board.said[0].data(), bytes);
                meet(board, step);
              },
          .all_gather =
              [&board, rank, &step](const void* own, void* all, std::size_t bytes) {
                if (bytes > largest_message) throw std::runtime_error("the message is too large");
                std::memcpy(board.said[static_cast<std::size_t>(rank)].data(), own, bytes);
                meet(board, step);
                for (std::size_t i = 0; i < ranks; ++i)
                  std::memcpy(static_cast<char*>(all) + i * bytes, board.said[i].data(), bytes);
                meet(board, step);
              }};
}

inline LookupQuery question(std::uint64_t bytes) {
  return {.problem = test_key(bytes).problem, .nodes = 1, .ranks_per_node = 2};
}

/// What many short answers and a whole one are, as one number.
inline std::uint64_t ask(const LocalTable& table, int lookups) {
  const LocalTable::Group group = table.resolve(question(8));
  std::uint64_t sum =
      std::hash<std::string>{}(digest_of_value(table.find(question(2048)).decision));
  for (int i = 0; i < lookups; ++i) {
    const auto found = table.find(group, Bytes{static_cast<std::uint64_t>(8 * i)});
    sum = sum * 31 + (found ? static_cast<std::uint64_t>(found->time.count()) + found->variant : 0);
  }
  return sum;
}

/// One rank: opens with the others, asks, and compares with the others, until it is over.
inline void run_rank(Board& board, int rank, const std::string& address) {
  constexpr int lookups = 1000;
  const Client client(address, std::chrono::seconds(5));
  std::uint64_t step = 0;
  const GroupCalls group = calls_of(board, rank, step);
  while (true) {
    struct Seen {
      bool is_over = false;
      bool has_table = false;
      std::uint64_t sum = 0;
    } own{.is_over = board.is_over.load()};
    std::optional<LocalTable> table;
    try {
      table = client.fetch_table(WorldFilter{}, group);
      own.has_table = true;
      own.sum = ask(*table, lookups);
      board.lookups += lookups;
    } catch (const Error&) {
      // No daemon is there, or not this generation any more: again, when it has had time to start.
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    std::array<Seen, ranks> all;
    group.all_gather(&own, all.data(), sizeof own);
    if (rank == 0) {
      const bool is_common = std::ranges::all_of(all, [&](const Seen& seen) {
        return seen.has_table == own.has_table && seen.sum == own.sum;
      });
      if (!is_common) ++board.divergent;
      ++(own.has_table ? board.rounds : board.refused);
      if (table) {  // for those that come late
        const std::string text = std::to_string(table->generation().number) + '\n' +
                                 table->generation().content_digest + '\n' +
                                 table->environment_digest() + '\n' + table->digest() + '\n' +
                                 std::to_string(own.sum) + '\n';
        ++board.identity_number;  // odd: being written
        board.identity.fill(0);
        text.copy(board.identity.data(), board.identity.size() - 1);
        ++board.identity_number;
      }
    }
    if (all[0].is_over) return;
  }
}

/// The last common table and what its answers add up to; empty while it is written or there is
/// none.
inline std::optional<std::pair<TableIdentity, std::uint64_t>> last_common(const Board& board) {
  const auto before = board.identity_number.load();
  std::istringstream text(std::string(board.identity.data()));
  TableIdentity table;
  std::uint64_t sum = 0;
  text >> table.generation.number >> table.generation.content_digest >> table.environment_digest >>
      table.digest >> sum;
  if (before == 0 || before % 2 == 1 || board.identity_number.load() != before) return std::nullopt;
  return std::pair(table, sum);
}

/// Starts the processes of the ranks; the test's own process has no thread yet.
inline std::vector<pid_t> start_ranks(Board& board, const std::string& address) {
  std::vector<pid_t> children;
  for (int process = 0; process < processes; ++process) {
    const pid_t child = ::fork();
    if (child == 0) {
      std::atomic<int> code = 0;
      {
        std::vector<std::jthread> threads;
        for (int i = 0; i < ranks / processes; ++i)
          threads.emplace_back([&, rank = process * (ranks / processes) + i] {
            try {
              run_rank(board, rank, address);
            } catch (const std::exception& error) {
              std::cerr << "rank " << rank << ": " << error.what() << '\n';
              code = 1;
            }
          });
      }
      ::_exit(code);
    }
    children.push_back(child);
  }
  return children;
}

/// One that comes late opens the table that the others have, or gets an error. Asks until the group
/// has opened `rounds` tables or it is `end`.
inline void join_late(Board& board, const Client& late, std::uint64_t rounds,
                      Clock::time_point end) {
  while (board.rounds < rounds && Clock::now() < end) {
    if (const auto common = last_common(board)) {
      try {
        const LocalTable table = late.fetch_table(WorldFilter{}, common->first);
        if (ask(table, 1000) != common->second) ++board.divergent;
        ++board.joined;
      } catch (const Error& error) {
        EXPECT_STRNE(error.what(), "");
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

/// The board, in memory that forked processes share.
class SharedBoard {
 public:
  SharedBoard() {
    void* const memory =
        ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no memory to share");
    board_ = new (memory) Board;
  }
  ~SharedBoard() { ::munmap(board_, sizeof(Board)); }
  SharedBoard(const SharedBoard&) = delete;
  SharedBoard& operator=(const SharedBoard&) = delete;
  [[nodiscard]] Board& operator*() const { return *board_; }
  [[nodiscard]] Board* operator->() const { return board_; }

 private:
  Board* board_ = nullptr;
};

/// Of generation `number`: winners and times change with it.
inline std::vector<Decision> decisions_of(std::uint64_t number) {
  const int change = static_cast<int>(number % 500);
  return {decision(test_key(1024), {ranked(number % 2 == 0 ? "cpu.one_shot{n=2}" : "cpu.ring{n=4}",
                                           1000 + change, 2.0),
                                    ranked("mpi.default", 2 * (1000 + change), 1.0)}),
          decision(test_key(4096), {ranked("mpi.default", 9000 + change, 1.0)})};
}

/// What happened, in a line.
inline std::string describe(const Board& board, std::chrono::duration<double> time) {
  return std::to_string(board.rounds) + " rounds of " + std::to_string(ranks) + " ranks, " +
         std::to_string(board.refused) + " refused, " + std::to_string(board.lookups) +
         " lookups, " + std::to_string(board.divergent) + " divergent, " +
         std::to_string(board.joined) + " late ones with the table; " +
         std::to_string(board.published) + " generations in " + std::to_string(time.count()) +
         " s, " + std::to_string(static_cast<double>(board.published) / time.count()) +
         " a second\n";
}

}  // namespace colltune::testing
