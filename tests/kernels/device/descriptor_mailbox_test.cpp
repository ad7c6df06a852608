// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// File descriptors from process to process.

#include "device/descriptor_mailbox.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>

#include "support/run_ranks.h"

namespace colltune::test {
namespace {

using namespace std::chrono_literals;
using Letter = DescriptorMailbox::Letter;

/// A file with `text` in it.
Descriptor file_of(const std::string& text) {
  Descriptor file(::memfd_create("text", MFD_CLOEXEC));
  EXPECT_EQ(::pwrite(file.get(), text.data(), text.size(), 0), static_cast<::ssize_t>(text.size()));
  return file;
}
std::string text_of(const Descriptor& file) {
  std::string text(64, '\0');
  const auto length = ::pread(file.get(), text.data(), text.size(), 0);
  return length < 0 ? "unreadable" : text.substr(0, static_cast<std::size_t>(length));
}

int count_descriptors() {
  int count = 0;
  for (int descriptor = 0; descriptor < 1024; ++descriptor)
    if (::fcntl(descriptor, F_GETFD) >= 0) ++count;
  return count;
}

/// Memory that a process and its children share.
template <class Value>
class Shared {
 public:
  Shared()
      : value_(::new (::mmap(nullptr, sizeof(Value), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Value) {}
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { ::munmap(value_, sizeof(Value)); }
  Value* operator->() const { return value_; }

 private:
  Value* value_;
};

/// Runs `body` in a process of its own, which ends with what it returns.
template <class Body>
class Child {
 public:
  explicit Child(Body body) : process_(::fork()) {
    if (process_ == 0) ::_exit(body());
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { EXPECT_EQ(join(), 0); }
  int join() {
    if (process_ < 0) return status_;
    ::waitpid(process_, &status_, 0);
    process_ = -1;
    return status_;
  }

 private:
  ::pid_t process_;
  int status_ = 0;
};

struct Addresses {
  DescriptorMailbox::Address of[3]{};
  std::atomic<int> known{0};
};
void await(const std::atomic<int>& count, int wanted) {
  const auto give_up = soon_enough();
  while (count.load() < wanted) {
    ASSERT_LT(std::chrono::steady_clock::now(), give_up);
    std::this_thread::sleep_for(1ms);
  }
}

TEST(Descriptors, GoFromProcessToProcessBothWays) {
  const Shared<Addresses> addresses;
  const AbortFlag nobody_aborts;
  const auto act = [&](int rank) {
    DescriptorMailbox mailbox(rank);
    addresses->of[rank] = mailbox.address();
    ++addresses->known;
    await(addresses->known, 2);
    const int peer = 1 - rank;
    for (std::uint32_t round = 1; round <= 3; ++round) {
      const Descriptor own =
          file_of("round " + std::to_string(round) + " of " + std::to_string(rank));
      const Letter letter{peer, addresses->of[peer], own.get()};
      const auto got =
          mailbox.exchange(round, {&letter, 1}, {&peer, 1}, soon_enough(), nobody_aborts);
      if (got.size() != 1 ||
          text_of(got.front()) != "round " + std::to_string(round) + " of " + std::to_string(peer))
        return 1;
      // Nobody begins a round while another one is in the last.
      ++addresses->known;
      await(addresses->known, 2 + 2 * static_cast<int>(round));
    }
    return 0;
  };
  Child child([&] { return act(1); });
  EXPECT_EQ(act(0), 0);
}

// More letters to one mailbox than it has room for, while its owner sends as many.
TEST(Descriptors, ThereMayBeMoreThanAMailboxHolds) {
  constexpr int ranks = 40;
  std::vector<DescriptorMailbox> mailboxes;
  for (int rank = 0; rank < ranks; ++rank) mailboxes.emplace_back(rank);
  const Descriptor file = file_of("all the same");
  const AbortFlag nobody_aborts;
  const int before = count_descriptors();
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        std::vector<Letter> letters;
        std::vector<int> senders;
        for (int peer = 0; peer < ranks; ++peer) {
          if (peer == rank) continue;
          letters.push_back(
              {peer, mailboxes[static_cast<std::size_t>(peer)].address(), file.get()});
          senders.push_back(peer);
        }
        const auto got = mailboxes[static_cast<std::size_t>(rank)].exchange(
            1, letters, senders, soon_enough(), nobody_aborts);
        for (const Descriptor& one : got) EXPECT_EQ(text_of(one), "all the same");
      });
  }
  EXPECT_EQ(count_descriptors(), before) << "some were not closed";
}

// Also where the mailbox has no room for them at once.
TEST(Descriptors, SeveralOfOneRankComeInItsOrder) {
  constexpr int count = 60;
  DescriptorMailbox sender(0);
  DescriptorMailbox taker(1);
  const AbortFlag nobody_aborts;
  std::jthread sends([&] {
    std::vector<Descriptor> files;
    std::vector<Letter> letters;
    for (int i = 0; i < count; ++i) {
      files.push_back(file_of(std::to_string(i)));
      letters.push_back({1, taker.address(), files.back().get()});
    }
    EXPECT_TRUE(sender.exchange(1, letters, {}, soon_enough(), nobody_aborts).empty());
  });
  const std::vector<int> senders(count, 0);
  const auto got = taker.exchange(1, {}, senders, soon_enough(), nobody_aborts);
  for (int i = 0; i < count; ++i)
    EXPECT_EQ(text_of(got[static_cast<std::size_t>(i)]), std::to_string(i));
}

TEST(Descriptors, WhoNeverSendsIsNamedAtTheDeadline) {
  DescriptorMailbox own(0);
  DescriptorMailbox sends(1);
  const DescriptorMailbox never_sends(2);
  const Descriptor file = file_of("here");
  const AbortFlag nobody_aborts;
  const Letter letter{0, own.address(), file.get()};
  EXPECT_TRUE(sends.exchange(1, {&letter, 1}, {}, soon_enough(), nobody_aborts).empty());
  const std::vector<int> senders{1, 2};
  try {
    static_cast<void>(
        own.exchange(1, {}, senders, std::chrono::steady_clock::now() + 30ms, nobody_aborts));
    ADD_FAILURE() << "nothing was missing";
  } catch (const RankMissing& error) {
    EXPECT_EQ(error.rank(), 2);
    EXPECT_EQ(error.code(), StatusCode::deadline_exceeded);
  }
}

TEST(Descriptors, WhoNeverTakesIsNamedAtTheDeadline) {
  DescriptorMailbox own(0);
  const DescriptorMailbox never_takes(1);
  const Descriptor file = file_of("here");
  const AbortFlag nobody_aborts;
  // One more than the kernel keeps for a mailbox is enough; that number is the system's.
  const std::vector<Letter> letters(5000, Letter{1, never_takes.address(), file.get()});
  try {
    static_cast<void>(
        own.exchange(1, letters, {}, std::chrono::steady_clock::now() + 30ms, nobody_aborts));
    ADD_FAILURE() << "all were taken";
  } catch (const RankMissing& error) {
    EXPECT_EQ(error.rank(), 1);
  }
}

TEST(Descriptors, TheAbortFlagEndsTheWait) {
  DescriptorMailbox own(0);
  AbortFlag flag;
  const std::vector<int> senders{1};
  std::jthread other([&] { flag.raise(); });
  try {
    static_cast<void>(own.exchange(1, {}, senders, soon_enough(), flag));
    ADD_FAILURE() << "something came";
  } catch (const RankMissing& error) {
    EXPECT_EQ(error.rank(), 1);
    EXPECT_EQ(error.code(), StatusCode::aborted);
  }
}

TEST(Descriptors, WhoHasEndedIsNamedAtOnce) {
  const Shared<Addresses> addresses;
  Child child([&] {
    const DescriptorMailbox mailbox(1);
    addresses->of[1] = mailbox.address();
    return 0;
  });
  ASSERT_EQ(child.join(), 0);
  DescriptorMailbox own(0);
  const Descriptor file = file_of("here");
  const AbortFlag nobody_aborts;
  const Letter letter{1, addresses->of[1], file.get()};
  try {
    static_cast<void>(own.exchange(1, {&letter, 1}, {}, soon_enough(), nobody_aborts));
    ADD_FAILURE() << "a mailbox that is gone took something";
  } catch (const RankMissing&) {
    ADD_FAILURE() << "it was waited for";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::unavailable);
    EXPECT_NE(std::string(error.what()).find("rank 1 takes no file descriptor"), std::string::npos)
        << error.what();
  }
}

// Whoever knows the name of a socket may write to it; an earlier round may be late.
TEST(Descriptors, WhatIsNotOfThisRoundIsDroppedAndClosed) {
  DescriptorMailbox own(0);
  DescriptorMailbox peer(1);
  const Descriptor wrong = file_of("wrong");
  const Descriptor right = file_of("right");
  const AbortFlag nobody_aborts;
  const int before = count_descriptors();
  DescriptorMailbox::Address guessed = own.address();
  ++guessed.token;
  const Letter of_a_stranger{0, guessed, wrong.get()};
  const Letter too_old{0, own.address(), wrong.get()};
  DescriptorMailbox unasked(7);
  static_cast<void>(peer.exchange(2, {&of_a_stranger, 1}, {}, soon_enough(), nobody_aborts));
  static_cast<void>(peer.exchange(1, {&too_old, 1}, {}, soon_enough(), nobody_aborts));
  static_cast<void>(unasked.exchange(2, {&too_old, 1}, {}, soon_enough(), nobody_aborts));
  {
    ::sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path, own.address().name.data(), own.address().name_length);
    const Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::sendto(socket.get(), "noise", 5, 0, reinterpret_cast<::sockaddr*>(&name),
                       static_cast<::socklen_t>(offsetof(::sockaddr_un, sun_path) +
                                                own.address().name_length)),
              5);
  }
  const Letter letter{0, own.address(), right.get()};
  static_cast<void>(peer.exchange(2, {&letter, 1}, {}, soon_enough(), nobody_aborts));
  const std::vector<int> senders{1};
  {
    const auto got = own.exchange(2, {}, senders, soon_enough(), nobody_aborts);
    EXPECT_EQ(text_of(got.front()), "right");
  }
  EXPECT_EQ(count_descriptors(), before + 1) << "of those, the unasked one's mailbox is left";
}

}  // namespace
}  // namespace colltune::test
