// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// How fast one core reduces and copies, by instruction set, type, op, number of sources and size,
// beside the C library's memcpy and a STREAM-like add (plain doubles, compiled for the widest
// instruction set) of as many bytes: the limits of this machine. A rate counts all bytes that are
// moved, the sources' and the result's, so that a reduction of any number of sources can be set
// against the add. Bodies of one size take turns in random order. Times are processor time of
// this thread: what other processes take of the core is not the arithmetic's.

#include <fmt/core.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "arithmetic/isa/isa.h"
#include "colltune/vocabulary/bytes.h"

namespace colltune {
namespace {

constexpr int most_sources = 8;

struct Options {
  std::vector<std::string> isas;
  std::vector<std::string> types;
  std::vector<std::string> ops{"sum"};
  std::vector<int> sources{2, 3, 4, 8};
  std::vector<std::string> sizes{"4KiB", "64KiB", "1MiB", "16MiB"};
  std::vector<std::string> modes{"cached"};
  int rounds = 21;
};

/// What is timed: `run` moves `bytes`.
struct TimedBody {
  std::string name;
  std::string isa;
  int sources = 1;
  double bytes = 0;
  std::function<void()> run;
  std::vector<double> rates = {};  ///< GB/s, one per round
};

struct Free {
  void operator()(std::byte* bytes) const { std::free(bytes); }
};

/// Blocks of `size` bytes that all types read as ordinary numbers, none a page's multiple from the
/// next one: equal low address bits of loads and stores cost time that is not the arithmetic's.
struct Buffers {
  std::array<std::unique_ptr<std::byte, Free>, most_sources + 1> blocks;

  explicit Buffers(std::size_t size) {
    constexpr std::size_t page = 4096;
    for (auto& block : blocks) {
      block.reset(static_cast<std::byte*>(std::aligned_alloc(page, (size / page + 2) * page)));
      if (!block) throw std::bad_alloc();
      std::memset(block.get(), 0x3c, (size / page + 2) * page);
    }
  }
  std::byte* source(std::size_t i) const { return blocks[i].get() + 64 + 384 * i; }
  std::byte* destination() const { return blocks.back().get(); }
};

#if defined(__x86_64__)
[[gnu::target_clones("avx512f", "avx2", "default"), gnu::optimize("O3")]]
#endif
void add_doubles(double* sum, const double* a, const double* b, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) sum[i] = a[i] + b[i];
}

double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// GB/s of one sample: at least 100 us, since reading the clock takes one.
double measure_rate(const TimedBody& body) {
  constexpr double least = 100e-6;
  for (int repeats = 1;; repeats *= 4) {
    const double begin = thread_seconds();
    for (int i = 0; i < repeats; ++i) body.run();
    const double seconds = thread_seconds() - begin;
    if (seconds >= least) return repeats * body.bytes / seconds * 1e-9;
  }
}

double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

template <class Value>
bool is_wanted(const std::vector<Value>& wanted, const Value& value) {
  return wanted.empty() || std::ranges::find(wanted, value) != wanted.end();
}

std::vector<TimedBody> make_limits(const Buffers& buffers, std::size_t size) {
  const auto bytes = static_cast<double>(size);
  return {
      {.name = "memcpy",
       .isa = "libc",
       .bytes = 2 * bytes,
       .run = [&buffers, size] { std::memcpy(buffers.destination(), buffers.source(0), size); }},
      {.name = "add of doubles",
       .isa = "compiler",
       .sources = 2,
       .bytes = 3 * bytes,
       .run = [&buffers, size] {
         add_doubles(reinterpret_cast<double*>(buffers.destination()),
                     reinterpret_cast<const double*>(buffers.source(0)),
                     reinterpret_cast<const double*>(buffers.source(1)), size / sizeof(double));
       }}};
}

void add_isa(std::vector<TimedBody>& bodies, const Isa& isa, const Options& options,
             const Buffers& buffers, std::size_t size) {
  for (const std::string& mode_name : options.modes) {
    const bool streams = mode_name == "non_temporal";
    const CopyMode mode = streams ? CopyMode::non_temporal : CopyMode::cached;
    const std::string suffix = streams ? " non-temporal" : "";
    bodies.push_back({.name = "copy" + suffix,
                      .isa = isa.name,
                      .bytes = 2 * static_cast<double>(size),
                      .run = [&isa, &buffers, size, mode] {
                        isa.copy(buffers.destination(), buffers.source(0), size, mode);
                        fence_non_temporal_stores();
                      }});
    for (const auto& type : enum_names(DataType{}))
      for (const auto& op : enum_names(ReduceOp{}))
        for (const int sources : options.sources) {
          if (op.value == ReduceOp::none || !is_wanted(options.types, std::string(type.name)) ||
              !is_wanted(options.ops, std::string(op.name)))
            continue;
          bodies.push_back({.name = fmt::format("{} {}{}", type.name, op.name, suffix),
                            .isa = isa.name,
                            .sources = sources,
                            .bytes = (sources + 1.0) * static_cast<double>(size),
                            .run = [&isa, &buffers, size, mode, sources,
                                    reduction = Reduction{type.value, op.value, sources}] {
                              std::array<const std::byte*, most_sources> from;
                              for (std::size_t i = 0; i < from.size(); ++i)
                                from[i] = buffers.source(i);
                              reduce_in_rank_order(isa,
                                                   {from.data(), static_cast<std::size_t>(sources)},
                                                   {buffers.destination(), mode}, {},
                                                   size / size_of(reduction.type), reduction);
                              fence_non_temporal_stores();
                            }});
        }
  }
}

std::string first_line_with(const char* file, std::string_view key) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);)
    if (line.starts_with(key)) return line;
  return {};
}

void print_machine(const char* when) {
  fmt::print("# {}: load {}\n", when, first_line_with("/proc/loadavg", ""));
}

void compare_size(std::size_t size, const Options& options, std::mt19937& random) {
  const Buffers buffers(size);
  std::vector<TimedBody> bodies = make_limits(buffers, size);
  for_each_supported_isa([&](const Isa& isa) {
    if (is_wanted(options.isas, std::string(isa.name)))
      add_isa(bodies, isa, options, buffers, size);
  });
  std::vector<std::size_t> order(bodies.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (int round = 0; round < options.rounds; ++round) {
    std::ranges::shuffle(order, random);
    for (const std::size_t i : order) bodies[i].rates.push_back(measure_rate(bodies[i]));
  }
  const double copy = quantile(bodies[0].rates, 0.5);
  const double add = quantile(bodies[1].rates, 0.5);
  for (const TimedBody& body : bodies) {
    const double rate = quantile(body.rates, 0.5);
    fmt::print("{:>7} {:>11} {:<24} {:>2} {:>8.2f} {:>8.2f}..{:<8.2f} {:>8.2f} {:>6.2f} {:>6.2f}\n",
               format_bytes({size}), body.isa, body.name, body.sources, rate,
               quantile(body.rates, 0.1), quantile(body.rates, 0.9), rate / (body.sources + 1),
               rate / copy, rate / add);
  }
  std::fflush(stdout);
}

/// The values' names, of which an option takes some.
template <class Values>
CLI::IsMember one_of(const Values& values) {
  std::vector<std::string> names;
  for (const auto& value : values) names.emplace_back(value.name);
  return CLI::IsMember(names);
}

int compare(int argc, char** argv) {
  Options options;
  std::vector<Isa> isas;
  for_each_supported_isa([&isas](const Isa& isa) { isas.push_back(isa); });
  CLI::App app("Rates of the reductions and copies of this processor's instruction sets");
  app.add_option("--isas", options.isas, "default: all")->delimiter(',')->check(one_of(isas));
  app.add_option("--types", options.types, "default: all")
      ->delimiter(',')
      ->check(one_of(enum_names(DataType{})));
  app.add_option("--ops", options.ops, "default: sum")
      ->delimiter(',')
      ->check(one_of(enum_names(ReduceOp{})));
  app.add_option("--sources", options.sources)->delimiter(',')->check(CLI::Range(1, most_sources));
  app.add_option("--sizes", options.sizes, "of the result")->delimiter(',');
  app.add_option("--modes", options.modes)
      ->delimiter(',')
      ->check(CLI::IsMember({"cached", "non_temporal"}));
  app.add_option("--rounds", options.rounds)->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);

  fmt::print("# {}\n# compiler {}\n", first_line_with("/proc/cpuinfo", "model name"), __VERSION__);
  print_machine("before");
  fmt::print(
      "# medians of {} rounds; moved: bytes of all sources and the result, 1e9 per second of "
      "processor time\n",
      options.rounds);
  fmt::print("{:>7} {:>11} {:<24} {:>2} {:>8} {:>8}  {:<8} {:>8} {:>6} {:>6}\n", "size", "isa",
             "what", "n", "moved", "10%", "90%", "result", "/copy", "/add");
  std::mt19937 random(1);
  for (const std::string& size : options.sizes)
    compare_size(parse_bytes(size).value, options, random);
  print_machine("after");
  return 0;
}

}  // namespace
}  // namespace colltune

int main(int argc, char** argv) {
  try {
    return colltune::compare(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "reduction_bench: {}\n", error.what());
    return 1;
  }
}
