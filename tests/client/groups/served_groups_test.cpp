// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The same while what is served changes a thousand times a second. No store could bring out that
// many generations, and no daemon looks for them so often; so the server of a daemon gets them
// directly, in a process of its own that is killed and started again.

#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <csignal>

#include "colltune/serve/lookup_server.h"
#include "process.h"
#include "ranks.h"
#include "support/full_run.h"

namespace colltune::testing {
namespace {

/// More than a thousand a second, the pauses of restarts included.
constexpr std::chrono::microseconds pace(750);
/// Three seconds of generations can be pinned: a round of 64 ranks takes a part of one.
constexpr std::size_t kept = 4000;

TableSource::Table table_of(std::uint64_t number) {
  return std::make_shared<const DecisionTable>(
      DecisionSet{.generation = {"store", number, "content-" + std::to_string(number)},
                  .decisions = decisions_of(number),
                  .environments = {{digest_of(test_environment()), test_environment()}}});
}

/// Serves, and makes each millisecond another generation the newest; where it is late it catches
/// up.
void serve(Board& board, const std::string& socket) {
  TableSource source(kept);
  source.replace(table_of(++board.published));
  LookupServer server(source, {.listen = {parse_listen_address(socket)}});
  server.set_serving(true);
  for (auto next = Clock::now(); !board.is_over; next += pace) {
    source.replace(table_of(++board.published));
    std::this_thread::sleep_until(next);
  }
  server.shutdown(std::chrono::milliseconds(0));
}

/// Ends with the process that started it.
pid_t fork_bound() {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  return 0;
}

/// A process without threads that starts the server, and, where a restart is wanted, kills it and
/// starts another one.
pid_t start_servers(Board& board, const std::string& socket) {
  const pid_t starter = fork_bound();
  if (starter != 0) return starter;
  int code = 0;
  while (!board.is_over) {
    const std::uint64_t restarts = board.restarts;
    const pid_t server = fork_bound();
    if (server == 0) {
      try {
        serve(board, socket);
        ::_exit(0);
      } catch (const std::exception& error) {
        std::cerr << "the server: " << error.what() << '\n';
        ::_exit(1);
      }
    }
    int status = 0;
    bool has_ended = false;
    while (!has_ended && !board.is_over && board.restarts == restarts) {
      has_ended = ::waitpid(server, &status, WNOHANG) == server;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (!has_ended) {
      ::kill(server, SIGKILL);
      (void)::waitpid(server, &status, 0);
    } else if (!board.is_over) {  // by itself
      code = 1;
      break;
    }
  }
  ::_exit(code);
}

TEST(ServedGroups, NeverHaveTwoAnswers) {
  const bool is_full = test::is_full_run();
  const std::uint64_t rounds = is_full ? 100 : 6;
  const TemporaryFolder folder;
  const std::string address = "unix:" + folder.file("socket");
  const SharedBoard board;
  const auto begin = Clock::now();
  std::vector<pid_t> children = start_ranks(*board, address);
  children.push_back(start_servers(*board, address));
  const auto end = Clock::now() + (is_full ? std::chrono::hours(1) : patience);
  while (board->rounds < rounds && Clock::now() < end) {
    const Client late(address, std::chrono::seconds(5));
    join_late(*board, late, board->rounds + std::max<std::uint64_t>(rounds / 4, 2), end);
    ++board->restarts;
  }
  board->is_over = true;
  std::cout << describe(*board, Clock::now() - begin) << board->restarts << " restarts\n";
  for (const pid_t child : children) EXPECT_EQ(wait_for_process(child), 0);
  EXPECT_EQ(board->divergent, 0U);
  EXPECT_GE(board->rounds, rounds);
  EXPECT_GE(board->restarts, 2U);
}

}  // namespace
}  // namespace colltune::testing
