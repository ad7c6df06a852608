// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// What a call costs that is not the one that was prepared, beside the persistent call of the same
// variant and the MPI library's ordinary call. All ways are timed in turns in every round; the time
// of a round is the MAX over the ranks.
//   mpirun -n 2 rebind_time
//   mpirun -n 8 --oversubscribe rebind_time --rounds 31

#include <fmt/core.h>
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "colltune/kernels/catalogue.h"
#include "colltune/kernels/mpi_library/mpi_communicator.h"
#include "colltune/kernels/mpi_library/mpi_settings.h"

namespace {

using namespace colltune;
using Clock = std::chrono::steady_clock;

Deadline soon() { return Clock::now() + std::chrono::minutes(1); }

struct Options {
  int rounds = 101;
  int calls = 200;
};

/// One variant at one size, among those that sweeps find here.
struct Target {
  Collective collective = Collective::all_reduce;
  std::uint64_t bytes = 8;
  std::string variant;
};

std::vector<Target> targets() {
  const std::string line = "{format=line,slots=4,stores=cached,taken_back=";
  const std::string staged = "{access=staged,chunk=131072,slots=4,stores=cached}";
  return {{Collective::all_reduce, 8, "cpu.all_reduce_low_latency" + line + "cleared}"},
          {Collective::broadcast, 8, "cpu.broadcast_low_latency" + line + "fetched}"},
          {Collective::reduce, 8, "cpu.reduce_low_latency" + line + "fetched}"},
          {Collective::all_reduce, 16384, "cpu.all_reduce_one_shot" + staged},
          {Collective::reduce, 16384, "cpu.reduce_flat" + staged},
          {Collective::reduce, 1 << 20, "cpu.reduce_flat" + staged}};
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

double slowest(double time) {
  double most = 0;
  MPI_Allreduce(&time, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

/// A way to make a call.
struct Way {
  const char* name = "";
  std::function<void(int call)> call;
  std::vector<double> times{};  ///< of rounds, ns for each call
};

class Bench {
 public:
  Bench(Communicator& world, const Implementations& catalogue, const Options& options)
      : world_(world), catalogue_(catalogue), options_(options) {}

  void run(const Target& target) {
    const Variant variant = parse_variant(target.variant);
    const Implementation* const implementation =
        find_implementation(catalogue_, variant.implementation);
    const auto mpi = "mpi." + std::string(name_of(target.collective));
    // Room for three pairs of buffers, for every root.
    std::vector<std::byte> memory(6 * target.bytes);
    const bool has_root = shape_of(target.collective).has_root;
    const auto call_of = [&](int turn, int root) {
      Call call{.problem = {.collective = target.collective, .message_size = {target.bytes}},
                .root = root};
      if (!shape_of(target.collective).reduces) call.problem.reduce_op = ReduceOp::none;
      call.problem.in_place = target.collective == Collective::broadcast;
      const bool is_root = world_.rank() == root;
      const auto pair = std::span(memory).subspan(2 * (turn % 3) * target.bytes, 2 * target.bytes);
      const std::size_t sends = send_size(call.problem, world_.size(), is_root).value;
      call.buffers = {pair.first(sends),
                      pair.subspan(call.problem.in_place ? 0 : target.bytes,
                                   receive_size(call.problem, world_.size(), is_root).value)};
      return call;
    };
    // As a program has them at hand: by turn, then root.
    std::vector<std::vector<Call>> calls(3);
    for (int turn = 0; turn < 3; ++turn)
      for (int root = 0; root < world_.size(); ++root)
        calls[static_cast<std::size_t>(turn)].push_back(call_of(turn, root));
    const auto made = [&](int call, int root) -> const Call& {
      return calls[static_cast<std::size_t>(call % 3)][static_cast<std::size_t>(root)];
    };
    const auto prepare = [&](const Implementation& by, const Variant& with, bool any) {
      Call call = call_of(0, 0);
      if (any) call.capacity = {target.bytes};
      return by.prepare(world_, call, with, soon());
    };
    const auto kept = prepare(*implementation, variant, false);
    const auto bound = prepare(*implementation, variant, false);
    const auto other = prepare(*implementation, variant, true);
    const auto roots = prepare(*implementation, variant, true);
    const auto library = prepare(*find_implementation(catalogue_, mpi), {mpi, {}}, false);
    const auto finish = [](Operation& one) {
      one.start();
      one.wait(soon());
    };
    std::vector<Way> ways;
    ways.push_back({"persistent", [&](int) { finish(*kept); }});
    ways.push_back({"bind", [&](int call) {
                      bound->bind(made(call, 0).buffers);
                      finish(*bound);
                    }});
    ways.push_back({"rebind", [&](int call) {
                      other->rebind(made(call, 0));
                      finish(*other);
                    }});
    if (has_root)
      ways.push_back({"rebind, another root each time", [&](int call) {
                        roots->rebind(made(call, call % world_.size()));
                        finish(*roots);
                      }});
    ways.push_back({"MPI library", [&](int call) {
                      library->bind(made(call, 0).buffers);
                      finish(*library);
                    }});
    for (int round = -2; round < options_.rounds; ++round)
      for (Way& way : ways) {
        world_.barrier(soon());
        const auto began = Clock::now();
        for (int call = 0; call < options_.calls; ++call) way.call(call);
        const double took = std::chrono::duration<double, std::nano>(Clock::now() - began).count();
        const double time = slowest(took) / options_.calls;
        if (round >= 0) way.times.push_back(time);
      }
    print(target, ways);
    if (has_root) time_new_root(*implementation, variant, call_of);
  }

 private:
  void print(const Target& target, const std::vector<Way>& ways) const {
    if (world_.rank() != 0) return;
    fmt::print("\n{} {} {}\n", name_of(target.collective), format_bytes({target.bytes}),
               target.variant);
    for (const Way& way : ways) {
      std::vector<double> ratios;
      for (std::size_t i = 0; i < way.times.size(); ++i)
        ratios.push_back(way.times[i] / ways.front().times[i]);
      std::ranges::sort(ratios);
      fmt::print(
          "  {:32} {:10.1f} ns   {:6.3f} of persistent ({:.3f} to {:.3f} in half of the "
          "rounds)\n",
          way.name, median(way.times), median(ratios), ratios[ratios.size() / 4],
          ratios[ratios.size() * 3 / 4]);
    }
  }

  /// The first and the second call with a root that the operation has not had: once per operation.
  void time_new_root(const Implementation& implementation, const Variant& variant,
                     const std::function<Call(int, int)>& call_of) {
    std::vector<double> first;
    std::vector<double> second;
    for (int again = 0; again < 21; ++again) {
      Call call = call_of(0, 0);
      call.capacity = call.problem.message_size;
      const auto operation = implementation.prepare(world_, call, variant, soon());
      for (std::vector<double>* times : {&first, &second}) {
        world_.barrier(soon());
        const auto began = Clock::now();
        operation->rebind(call_of(0, world_.size() - 1));
        operation->start();
        operation->wait(soon());
        times->push_back(
            slowest(std::chrono::duration<double, std::micro>(Clock::now() - began).count()));
      }
    }
    if (world_.rank() != 0) return;
    fmt::print("  first call with a new root {:.1f} us (at most {:.1f}), the second {:.1f} us\n",
               median(first), *std::ranges::max_element(first), median(second));
  }

  Communicator& world_;
  const Implementations& catalogue_;
  const Options& options_;
};

void run(const Options& options) {
  AbortFlag abort_flag;
  const auto world = make_mpi_world(abort_flag, soon());
  const Implementations catalogue = make_catalogue();
  if (world->rank() == 0)
    fmt::print("{} ranks, {} rounds of {} calls each way; medians\n", world->size(), options.rounds,
               options.calls);
  Bench bench(*world, catalogue, options);
  for (const Target& target : targets()) bench.run(target);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("What calls cost that are bound to other buffers, sizes and roots.");
  app.add_option("--rounds", options.rounds, "rounds, in which all ways take turns")
      ->check(CLI::Range(3, 100000));
  app.add_option("--calls", options.calls, "calls of each way in a round")
      ->check(CLI::Range(1, 1000000));
  CLI11_PARSE(app, argc, argv);
  prepare_mpi_environment();
  MPI_Init(&argc, &argv);
  int code = 0;
  try {
    run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "rebind_time: {}\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
    code = 1;
  }
  MPI_Finalize();
  return code;
}
