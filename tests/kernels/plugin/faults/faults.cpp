// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The faults, one class or one line each. README.md beside this file says what each one does.

#include "faults.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace faults {
namespace {

// ---- Faults that never come back, or take the process with them.

[[noreturn]] void spin_forever() {
  // Volatile: a loop without effect may be assumed to end.
  for (volatile unsigned turns = 0;;) turns = turns + 1;
}

[[noreturn]] void block_forever(std::string_view how) {
  std::array<int, 2> ends{};
  if (how == "read" && ::pipe(ends.data()) == 0) {
    char byte = 0;
    for (;;) (void)!::read(ends[0], &byte, 1);  // nobody writes; a signal only interrupts
  }
  for (;;) ::pause();
}

[[noreturn]] void crash() {
  // A page that may not be touched: the compiler cannot see it coming, as it would a null pointer.
  void* const page = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  static_cast<volatile char*>(page)[0] = 1;
  ::_exit(1);
}

/// Says when it happens, on the clock of CLOCK_MONOTONIC: who measures how long it takes to find
/// needs a witness that is not the finder.
void announce(std::int64_t now_ns) {
  std::array<char, 64> line{};
  const int size = std::snprintf(line.data(), line.size(), "planted fault at %lld ns\n",
                                 static_cast<long long>(now_ns));
  (void)!::write(STDERR_FILENO, line.data(), static_cast<std::size_t>(size));
}

/// Strikes in the function that the word `at` names (wait, start or prepare); `act` says how.
template <auto act>
class Strikes final : public AllReduce {
 public:
  explicit Strikes(const Request& request)
      : AllReduce(request),
        strikes_in_start_(request.settings.word("at") == "start"),
        word_(request.settings.word("how")),
        number_(request.settings.number("code")) {
    if (request.settings.word("at") == "prepare" && rank_ == request.settings.number("rank"))
      strike();
  }
  colltune_status start() override {
    begin_call();
    if (strikes_in_start_ && is_due()) strike();
    stage_input();
    return colltune_ok;
  }
  colltune_status wait(std::int64_t deadline_ns) override {
    if (!strikes_in_start_ && is_due()) strike();
    return AllReduce::wait(deadline_ns);
  }

 private:
  void strike() {
    announce(host_.now_ns());
    act(word_, number_);
  }
  bool strikes_in_start_;
  std::string word_;
  std::int64_t number_;
};

void spin(const std::string&, std::int64_t) { spin_forever(); }
void block(const std::string& how, std::int64_t) { block_forever(how); }
void crash_now(const std::string&, std::int64_t) { crash(); }
void exit_now(const std::string&, std::int64_t code) { ::_exit(static_cast<int>(code)); }

/// Returns from this call at once, without telling the others that it came.
class LeavesOneWaiting final : public AllReduce {
 public:
  using AllReduce::AllReduce;
  colltune_status start() override {
    begin_call();
    if (is_due())
      announce(host_.now_ns());
    else
      stage_input();
    return colltune_ok;
  }
  colltune_status wait(std::int64_t deadline_ns) override {
    return is_due() ? colltune_ok : AllReduce::wait(deadline_ns);
  }
};

/// Ends with an error, as a library does that notices something.
class Fails final : public AllReduce {
 public:
  explicit Fails(const Request& request)
      : AllReduce(request),
        status_(static_cast<colltune_status>(request.settings.number("status"))) {}
  colltune_status wait(std::int64_t deadline_ns) override {
    if (!is_due()) return AllReduce::wait(deadline_ns);
    host_.fail(communicator_, "planted failure");
    return status_;
  }

 private:
  colltune_status status_;
};

// ---- Faults in the result.

class WrongElement : public AllReduce {
 public:
  explicit WrongElement(const Request& request)
      : AllReduce(request),
        element_(static_cast<std::size_t>(request.settings.number("element"))) {}
  colltune_status wait(std::int64_t deadline_ns) override {
    const colltune_status status = AllReduce::wait(deadline_ns);
    if (status == colltune_ok && is_due() && is_wrong_now()) spoil(place());
    return status;
  }

 protected:
  [[nodiscard]] virtual bool is_wrong_now() { return true; }
  [[nodiscard]] virtual std::size_t place() const { return element_; }

 private:
  std::size_t element_;
};

class WrongLast final : public WrongElement {
 public:
  using WrongElement::WrongElement;

 protected:
  std::size_t place() const override { return elements_ - 1; }  // none: spoil does nothing
};

class WrongType final : public WrongElement {
 public:
  explicit WrongType(const Request& request)
      : WrongElement(request), is_meant_(data_type_ == request.settings.word("type")) {}

 protected:
  bool is_wrong_now() override { return is_meant_; }

 private:
  bool is_meant_;
};

/// Wrong with a chance of 1 in n, in the same calls on all ranks.
class WrongSometimes final : public WrongElement {
 public:
  explicit WrongSometimes(const Request& request)
      : WrongElement(request),
        n_(static_cast<std::uint64_t>(request.settings.number("n"))),
        seed_(static_cast<std::uint64_t>(request.settings.number("seed"))) {}

 protected:
  // Scattered over the calls (splitmix64), so that no check at equal distances hits or misses all.
  bool is_wrong_now() override {
    std::uint64_t x = (seed_ << 32) + calls_ * 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return (x ^ (x >> 31)) % n_ == 0;
  }

 private:
  std::uint64_t n_;
  std::uint64_t seed_;
};

/// Hands out the result of the call before; the first call is right.
class Stale final : public AllReduce {
 public:
  explicit Stale(const Request& request) : AllReduce(request), last_(size_) {}
  colltune_status wait(std::int64_t deadline_ns) override {
    const colltune_status status = AllReduce::wait(deadline_ns);
    if (status != colltune_ok || size_ == 0) return status;
    if (calls_ > 1 && is_due())
      std::swap_ranges(last_.begin(), last_.end(), receive_);
    else
      std::memcpy(last_.data(), receive_, size_);
    return status;
  }

 private:
  std::vector<std::byte> last_;
};

/// Goes on with the buffers of `prepare`.
class KeepsBuffers final : public AllReduce {
 public:
  using AllReduce::AllReduce;
  colltune_status bind(const void*, void*) override { return colltune_ok; }
};

// ---- Faults beside the result.

/// Flips every bit of `bytes` bytes, so that no guard value survives.
void flip(std::byte* at, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) at[i] = ~at[i];
}

class WritesOutside : public AllReduce {
 public:
  explicit WritesOutside(const Request& request)
      : AllReduce(request), bytes_(static_cast<std::size_t>(request.settings.number("bytes"))) {}
  colltune_status wait(std::int64_t deadline_ns) override {
    const colltune_status status = AllReduce::wait(deadline_ns);
    if (status == colltune_ok && is_due() && size_ > 0) flip(place(), bytes_);
    return status;
  }

 protected:
  [[nodiscard]] virtual std::byte* place() const = 0;
  std::size_t bytes_;
};

class WritesBefore final : public WritesOutside {
 public:
  using WritesOutside::WritesOutside;

 protected:
  std::byte* place() const override { return receive_ - bytes_; }
};

class WritesPast final : public WritesOutside {
 public:
  using WritesOutside::WritesOutside;

 protected:
  std::byte* place() const override { return receive_ + size_; }
};

class ChangesInput final : public AllReduce {
 public:
  using AllReduce::AllReduce;
  colltune_status wait(std::int64_t deadline_ns) override {
    const colltune_status status = AllReduce::wait(deadline_ns);
    if (status == colltune_ok && is_due() && size_ > 0) flip(const_cast<std::byte*>(send_), 1);
    return status;
  }
};

/// Right, but takes `factor` times as long.
class Slow final : public AllReduce {
 public:
  explicit Slow(const Request& request)
      : AllReduce(request), factor_(request.settings.number("factor")) {}
  colltune_status start() override {
    began_ = host_.now_ns();
    return AllReduce::start();
  }
  colltune_status wait(std::int64_t deadline_ns) override {
    const colltune_status status = AllReduce::wait(deadline_ns);
    const std::int64_t end = began_ + (host_.now_ns() - began_) * factor_;
    while (host_.now_ns() < std::min(end, deadline_ns)) {
    }
    return status;
  }

 private:
  std::int64_t factor_;
  std::int64_t began_ = 0;
};

template <class Made>
std::unique_ptr<AllReduce> make(const Request& request) {
  return std::make_unique<Made>(request);
}

constexpr const char* where_and_when =
    R"([{"name":"at","values":["wait"]},{"name":"peers","values":["signals"]},
        {"name":"rank","values":[1]},{"name":"after","values":[0]}])";

constexpr std::array faults_of_this_plugin{
    Fault{"correct", "no fault", "[]", false, make<AllReduce>},
    Fault{"slow", "right, but takes factor times as long", R"([{"name":"factor","values":[10]}])",
          false, make<Slow>},
    Fault{"spins", "one rank spins forever", where_and_when, false, make<Strikes<spin>>},
    Fault{"blocks", "one rank blocks in a system call",
          R"([{"name":"at","values":["wait"]},{"name":"how","values":["pause","read"]},
              {"name":"peers","values":["signals"]},{"name":"rank","values":[1]},
              {"name":"after","values":[0]}])",
          false, make<Strikes<block>>},
    Fault{"crashes", "one rank crashes (SIGSEGV)", where_and_when, false, make<Strikes<crash_now>>},
    Fault{"exits", "one rank ends its process by _exit",
          R"([{"name":"at","values":["wait"]},{"name":"code","values":[0]},
              {"name":"peers","values":["signals"]},{"name":"rank","values":[1]},
              {"name":"after","values":[0]}])",
          false, make<Strikes<exit_now>>},
    Fault{"leaves_one_waiting", "one rank returns early without signalling",
          R"([{"name":"peers","values":["signals"]},{"name":"rank","values":[1]},
              {"name":"after","values":[0]}])",
          false, make<LeavesOneWaiting>},
    Fault{"fails", "one rank returns an error",
          R"([{"name":"status","values":[13]},{"name":"rank","values":[1]},
              {"name":"after","values":[0]}])",
          false, make<Fails>},
    Fault{"wrong_element", "one element is wrong on all ranks",
          R"([{"name":"element","values":[0]},{"name":"after","values":[0]}])", false,
          make<WrongElement>},
    Fault{"wrong_last", "the last element is wrong on all ranks",
          R"([{"name":"after","values":[0]}])", false, make<WrongLast>},
    Fault{"wrong_rank", "one element is wrong on one rank",
          R"([{"name":"element","values":[0]},{"name":"rank","values":[1]},
              {"name":"after","values":[0]}])",
          false, make<WrongElement>},
    Fault{"wrong_type", "one element is wrong for one data type",
          R"([{"name":"element","values":[0]},{"name":"type","values":["f32","f64","i32"]}])",
          false, make<WrongType>},
    Fault{"wrong_sometimes", "one element is wrong in 1 of n calls",
          R"([{"name":"element","values":[0]},{"name":"n","values":[1000]},
              {"name":"seed","values":[1]}])",
          false, make<WrongSometimes>},
    Fault{"stale", "the result is that of the call before", R"([{"name":"after","values":[0]}])",
          false, make<Stale>},
    Fault{"keeps_buffers", "goes on with the first buffers where it was given others", "[]", false,
          make<KeepsBuffers>},
    Fault{"writes_before", "bytes before the receive buffer are written",
          R"([{"name":"bytes","values":[1]},{"name":"after","values":[0]}])", false,
          make<WritesBefore>},
    Fault{"writes_past", "bytes past the receive buffer's end are written",
          R"([{"name":"bytes","values":[1]},{"name":"after","values":[0]}])", false,
          make<WritesPast>},
    Fault{"changes_input", "the first byte of the input is changed",
          R"([{"name":"after","values":[0]}])", true, make<ChangesInput>},
};

}  // namespace

std::span<const Fault> all_faults() { return faults_of_this_plugin; }

}  // namespace faults
