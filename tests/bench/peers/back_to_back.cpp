// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// How close a small all_reduce comes to what no all_reduce can beat: one hand-over of a cache line
// from core to core. Two ranks as threads, each on a core of its own, make calls back to back;
// between them, in the same rounds, the two cores hand a line to and fro, and exchange flags: each
// stores into a line of its own and waits for the other's, which is what is left of an all_reduce
// without its data, its sum and its deadline. Prints JSON: nanoseconds of all and the ratios of the
// same round, medians with the 10th and 90th percentile.

#include <CLI/CLI.hpp>
#include <array>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "colltune/kernels/catalogue.h"
#include "colltune/kernels/communication/thread_communicator.h"
#include "colltune/vocabulary/bytes.h"
#include "cores.h"

namespace colltune {
namespace {

using namespace std::chrono_literals;

/// Two cores that tell each other how far they are, each in a line of its own.
class FlagExchange {
 public:
  /// Both sides (0 and 1) call it at the same time. Returns the nanoseconds of one exchange.
  double run(int side, int times) {
    std::atomic<std::uint64_t>& own = lines_[side].flag;
    const std::atomic<std::uint64_t>& other = lines_[1 - side].flag;
    const std::uint64_t first = own.load(std::memory_order_relaxed) + 1;
    const auto begin = BenchClock::now();
    for (std::uint64_t flag = first; flag < first + static_cast<std::uint64_t>(times); ++flag) {
      own.store(flag, std::memory_order_release);
      while (other.load(std::memory_order_acquire) < flag) {
      }
    }
    return nanoseconds_since(begin) / times;
  }

 private:
  struct alignas(128) Line {
    std::atomic<std::uint64_t> flag{0};
  };
  std::array<Line, 2> lines_;
};

struct Times {
  std::vector<double> hand_over;
  std::vector<double> exchange;
  std::map<std::string, std::vector<double>> calls;  ///< by variant
};

class Bench {
 public:
  Bench(Bytes size, int rounds, int calls)
      : size_(size), rounds_(rounds), calls_(calls), catalogue_(make_catalogue()) {
    problem_.message_size = size;
  }

  Times run(const std::vector<int>& cores) {
    AbortFlag abort;
    const auto world = make_thread_world(2, abort);
    {
      std::vector<std::jthread> ranks;
      for (const auto& communicator : world)
        ranks.emplace_back([&, own = communicator.get()] {
          stay_on(cores[static_cast<std::size_t>(own->rank())]);
          play(*own);
        });
    }
    return std::move(times_);
  }

 private:
  void play(Communicator& communicator) {
    const auto deadline = BenchClock::now() + 60s;
    std::vector<std::byte> send(size_.value);
    std::vector<std::byte> receive(size_.value);
    const Implementation& implementation =
        *find_implementation(catalogue_, "cpu.all_reduce_low_latency");
    std::map<std::string, std::unique_ptr<Operation>> operations;
    for (const Variant& variant : implementation.variants(problem_, {}, {}))
      operations[to_string(variant)] = implementation.prepare(
          communicator, {.problem = problem_, .buffers = {send, receive}}, variant, deadline);
    for (int round = 0; round < rounds_; ++round) {
      meet_.arrive_and_wait();
      const double one_way = line_.pass(communicator.rank(), calls_);
      if (communicator.rank() == 0) times_.hand_over.push_back(one_way);
      meet_.arrive_and_wait();
      const double exchange = flags_.run(communicator.rank(), calls_);
      if (communicator.rank() == 0) times_.exchange.push_back(exchange);
      for (const auto& [name, operation] : operations) {
        meet_.arrive_and_wait();
        const auto begin = BenchClock::now();
        for (int call = 0; call < calls_; ++call) {
          operation->start();
          operation->wait(begin + 10s);
        }
        const double time = nanoseconds_since(begin) / calls_;
        if (communicator.rank() == 0) times_.calls[name].push_back(time);
      }
    }
  }

  Bytes size_;
  int rounds_;
  int calls_;
  Implementations catalogue_;
  Problem problem_;
  std::barrier<> meet_{2};
  HandOver line_;
  FlagExchange flags_;
  Times times_;  ///< written by rank 0
};

/// Round by round.
std::vector<double> over(const std::vector<double>& times, const std::vector<double>& units) {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < times.size(); ++round)
    ratios.push_back(times[round] / units[round]);
  return ratios;
}

int run(int argc, char** argv) {
  CLI::App app{"Small all_reduce calls back to back, beside a hand-over of a cache line, as JSON"};
  std::string size = "8";
  int rounds = 201;
  int calls = 2000;
  app.add_option("--size", size, "bytes of the message");
  app.add_option("--rounds", rounds)->check(CLI::Range(3, 100'000));
  app.add_option("--calls", calls, "of each round")->check(CLI::Range(10, 1'000'000));
  CLI11_PARSE(app, argc, argv);

  const std::vector<int> cores = usable_cores();
  if (cores.size() < 2) {
    std::cerr << "back_to_back: two cores are needed, this process may use " << cores.size()
              << "\n";
    return 2;
  }
  const Times times = Bench(parse_bytes(size), rounds, calls).run(cores);
  nlohmann::json found{{"bytes", parse_bytes(size).value},
                       {"hand_over_ns", summary_of(times.hand_over)}};
  found["exchange"] = {{"ns", summary_of(times.exchange)},
                       {"hand_overs", summary_of(over(times.exchange, times.hand_over))}};
  for (const auto& [name, of_rounds] : times.calls)
    found["variants"][name] = {{"call_ns", summary_of(of_rounds)},
                               {"hand_overs", summary_of(over(of_rounds, times.hand_over))},
                               {"exchanges", summary_of(over(of_rounds, times.exchange))}};
  std::cout << found.dump(1) << '\n';
  return 0;
}

}  // namespace
}  // namespace colltune

int main(int argc, char** argv) { return colltune::run(argc, argv); }
