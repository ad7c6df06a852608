// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// What a lookup costs by one thread and by several at once, in C++ (TableView) and in C
// (colltune_table_find), of a table file: lookup_threads FILE [THREADS]. And how often memory was
// asked for meanwhile.

#include <colltune/client.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <random>
#include <thread>
#include <vector>

#include "colltune/table_file/table_file.h"

namespace {
std::atomic<std::uint64_t> allocations{0};
}

// glibc's own, counted: of this program and of all libraries in it.
extern "C" void* __libc_malloc(std::size_t size);  // NOLINT: glibc's name
extern "C" void* malloc(std::size_t size) {
  ++allocations;
  return __libc_malloc(size);
}

namespace colltune {
namespace {

constexpr std::size_t lookups = 8'000'000;
constexpr int repeats = 15;

struct Question {
  TableView::Group group;
  Bytes size;
};

/// Questions of one thread, which no other reads.
std::vector<Question> draw(const TableView& view, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<Question> questions(4096);
  for (Question& one : questions)
    one = {static_cast<TableView::Group>(random() % view.groups().size()),
           {random() % (1U << 26U)}};
  return questions;
}

/// Lookups per microsecond of all threads together, of the best run: what other programs take of
/// the machine is no property of the lookup.
template <class Find>
double rate(const TableView& view, unsigned threads, Find find) {
  std::vector<double> rates;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    std::vector<std::chrono::nanoseconds> begins(threads);
    std::vector<std::chrono::nanoseconds> ends(threads);
    std::barrier together(static_cast<std::ptrdiff_t>(threads));
    std::atomic<std::uint64_t> during = 0;
    {
      std::vector<std::jthread> running;
      for (unsigned thread = 0; thread < threads; ++thread)
        running.emplace_back([&, thread] {
          const auto questions = draw(view, thread + 1);
          const auto now = [] { return std::chrono::steady_clock::now().time_since_epoch(); };
          together.arrive_and_wait();
          begins[thread] = now();
          std::uint64_t sum = 0;
          const std::uint64_t first = allocations;
          for (std::size_t i = 0; i < lookups; ++i) sum += find(questions[i % questions.size()]);
          if (thread == 0) during = allocations - first;
          ends[thread] = now();
          if (sum == 0) std::abort();
        });
    }
    if (repeat == 0 && threads == 1)
      fmt::print("{} allocations in {} lookups\n", during.load(), lookups);
    const auto spent = *std::ranges::max_element(ends) - *std::ranges::min_element(begins);
    rates.push_back(static_cast<double>(lookups * threads) /
                    (static_cast<double>(spent.count()) / 1e3));
  }
  return *std::ranges::max_element(rates);
}

template <class Find>
void compare(const char* what, const TableView& view, unsigned threads, Find find) {
  const double one = rate(view, 1, find);
  const double several = rate(view, threads, find);
  fmt::print("{:<8} 1 thread {:7.1f} lookups/us, {} threads {:7.1f}: {:.2f} times\n", what, one,
             threads, several, several / one);
}

void run(const char* path, unsigned threads) {
  const TableFile file{std::filesystem::path(path)};
  colltune_error error{.struct_size = sizeof error, .code = 0, .message = ""};
  colltune_table* table = nullptr;
  if (colltune_table_open(path, file.digest().c_str(), &table, &error) != 0)
    throw Error(static_cast<StatusCode>(error.code), error.message);
  compare("C++", file.view(), threads, [&](const Question& asked) -> std::uint64_t {
    const auto answer = file.view().find(asked.group, asked.size);
    return answer ? answer->variant + 1 : 0;
  });
  compare("C", file.view(), threads, [&](const Question& asked) -> std::uint64_t {
    colltune_found found;
    return colltune_table_find(table, asked.group, asked.size.value, &found) == 0
               ? found.variant + 1
               : 0;
  });
  colltune_table_close(table);
}

}  // namespace
}  // namespace colltune

int main(int argc, char** argv) {
  try {
    if (argc < 2) throw std::runtime_error("usage: lookup_threads FILE [THREADS]");
    colltune::run(argv[1], argc > 2 ? static_cast<unsigned>(std::stoi(argv[2])) : 2);
  } catch (const std::exception& error) {
    std::cerr << "lookup_threads: " << error.what() << '\n';
    return 1;
  }
}
