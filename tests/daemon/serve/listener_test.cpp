// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <latch>
#include <mutex>
#include <thread>

#include "acceptor.h"
#include "literals.h"
#include "temporary_folder.h"

namespace colltune {
namespace {

using namespace literals;
using namespace std::chrono_literals;
using ::testing::HasSubstr;

sockaddr_un address_of(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, path.c_str());
  return address;
}

/// A bound Unix socket; listening or, as after a kill, not.
FileDescriptor bind_socket(const std::filesystem::path& path, bool listens) {
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  const sockaddr_un address = address_of(path);
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  if (listens) {
    EXPECT_EQ(::listen(socket.get(), 1), 0);
  }
  return socket;
}

/// A connection to `path`; -1 inside where there is none.
FileDescriptor connect_to(const std::filesystem::path& path) {
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = address_of(path);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return FileDescriptor();
  return socket;
}

class UnixListener : public ::testing::Test {
 protected:
  [[nodiscard]] ListenAddress address() const { return {.socket = path_, .host = {}}; }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "a.sock";
};

TEST_F(UnixListener, ListensAndLeavesNothingBehind) {
  {
    const Listener listener(address());
    EXPECT_GE(connect_to(path_).get(), 0);
    struct stat facts {};
    ASSERT_EQ(::stat(path_.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777U, 0660U);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(UnixListener, TakesOverOnlyWhatNobodyListensOn) {
  bind_socket(path_, false);
  ASSERT_TRUE(std::filesystem::exists(path_));
  { const Listener listener(address()); }
  const FileDescriptor other = bind_socket(path_, true);
  EXPECT_THAT(error_of_action(StatusCode::already_exists, [&] { const Listener one(address()); }),
              HasSubstr("another process listens"));
  EXPECT_GE(connect_to(path_).get(), 0);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a.sock.lock"));
}

TEST_F(UnixListener, OfManyThatBeginTogetherOneListens) {
  constexpr int together = 8;
  for (int round = 0; round < 20; ++round) {
    std::latch begin(together);
    std::latch tried(together);
    std::atomic<int> listening = 0;
    std::vector<std::jthread> threads;
    for (int i = 0; i < together; ++i)
      threads.emplace_back([&] {
        begin.arrive_and_wait();
        try {
          const Listener listener(address());
          ++listening;
          tried.arrive_and_wait();
          EXPECT_GE(connect_to(path_).get(), 0);
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), StatusCode::already_exists) << error.what();
          tried.arrive_and_wait();
        }
      });
    threads.clear();
    ASSERT_EQ(listening, 1);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(UnixListener, RemovesOnlyItsOwnSocket) {
  FileDescriptor other;
  {
    const Listener listener(address());
    std::filesystem::remove(path_);
    other = bind_socket(path_, true);
  }
  EXPECT_GE(connect_to(path_).get(), 0);
}

TEST_F(UnixListener, LeavesOtherFilesAlone) {
  std::ofstream(path_) << "precious";
  EXPECT_THAT(
      error_of_action(StatusCode::failed_precondition, [&] { const Listener one(address()); }),
      HasSubstr("is no socket"));
  EXPECT_EQ(std::filesystem::file_size(path_), 8U);
  path_ = folder_ / "missing/a.sock";
  EXPECT_THAT(
      error_of_action(StatusCode::failed_precondition, [&] { const Listener one(address()); }),
      HasSubstr("does not exist"));
}

TEST_F(UnixListener, DoesNotFollowALinkInThePlaceOfItsLock) {
  std::ofstream(folder_ / "victim") << "precious";
  std::filesystem::create_symlink(folder_ / "victim", folder_ / "a.sock.lock");
  EXPECT_THAT(
      error_of_action(StatusCode::failed_precondition, [&] { const Listener one(address()); }),
      HasSubstr("cannot open the lock file"));
  EXPECT_EQ(std::filesystem::file_size(folder_ / "victim"), 8U);
}

TEST(TcpListener, SaysWhichPortAndWhatIsWrong) {
  const Listener listener({.socket = {}, .host = "127.0.0.1", .port = 0});
  EXPECT_NE(listener.address().port, 0);
  EXPECT_THAT(
      error_of_action(StatusCode::already_exists, [&] { const Listener one(listener.address()); }),
      HasSubstr("in use"));
  EXPECT_THAT(error_of_action(
                  StatusCode::failed_precondition,
                  [&] { const Listener one({.socket = {}, .host = "203.0.113.77", .port = 0}); }),
              HasSubstr("cannot listen on 203.0.113.77:0"));
}

/// Keeps what an acceptor hands over, and what it warns of.
class Receiver {
 public:
  Acceptor::Callbacks callbacks() {
    return {.hand_over =
                [this](int descriptor) {
                  const std::lock_guard lock(mutex_);
                  held_.emplace_back(descriptor);
                  changed_.notify_all();
                },
            .warn =
                [this](const std::string& text) {
                  const std::lock_guard lock(mutex_);
                  warnings_.push_back(text);
                  changed_.notify_all();
                }};
  }
  /// Waits until so many were handed over in all.
  [[nodiscard]] bool wait_for(std::size_t connections) {
    return wait([&] { return held_.size() >= connections; });
  }
  [[nodiscard]] bool wait_for_warning() {
    return wait([&] { return !warnings_.empty(); });
  }
  void close(std::size_t index) {
    const std::lock_guard lock(mutex_);
    held_[index].reset();
  }
  std::vector<std::string> warnings() {
    const std::lock_guard lock(mutex_);
    return warnings_;
  }

 private:
  template <class Condition>
  bool wait(Condition condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 30s, condition);
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<FileDescriptor> held_;
  std::vector<std::string> warnings_;
};

class Accepting : public UnixListener {
 protected:
  std::unique_ptr<Acceptor> accept(std::size_t most_connections) {
    std::vector<Listener> listeners;
    listeners.emplace_back(address());
    return std::make_unique<Acceptor>(std::move(listeners), most_connections,
                                      receiver_.callbacks());
  }
  Receiver receiver_;
};

TEST_F(Accepting, OthersWaitWhileThereIsNoRoomAndComeWhenThereIs) {
  const auto acceptor = accept(3);
  std::vector<FileDescriptor> clients;
  for (int i = 0; i < 5; ++i) clients.push_back(connect_to(path_));
  ASSERT_TRUE(receiver_.wait_for(3));
  ASSERT_TRUE(receiver_.wait_for_warning());
  EXPECT_THAT(receiver_.warnings().front(), HasSubstr("3 connections are open"));
  receiver_.close(1);
  ASSERT_TRUE(receiver_.wait_for(4));
  receiver_.close(0);
  ASSERT_TRUE(receiver_.wait_for(5));
}

TEST_F(Accepting, WhoIsConnectedIsToldOfTheEndAndNobodyElseComes) {
  const auto acceptor = accept(3);
  const FileDescriptor client = connect_to(path_);
  ASSERT_TRUE(receiver_.wait_for(1));
  acceptor->stop();
  EXPECT_LT(connect_to(path_).get(), 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  acceptor->hang_up();
  pollfd waited{.fd = client.get(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&waited, 1, 30'000), 1);
  char byte = 0;
  EXPECT_EQ(::read(client.get(), &byte, 1), 0);
}

TEST_F(Accepting, GoesOnAfterTheDescriptorsRanOut) {
  const auto acceptor = accept(1000);
  std::vector<FileDescriptor> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(connect_to(path_));
  ASSERT_TRUE(receiver_.wait_for(4));
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  // A descriptor of this process's own for the client, none for the server's side.
  FileDescriptor late(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  rlimit none = usual;
  none.rlim_cur = 3;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const sockaddr_un where = address_of(path_);
  const int connected =
      ::connect(late.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where);
  const bool is_warned = receiver_.wait_for_warning();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
  ASSERT_EQ(connected, 0);
  ASSERT_TRUE(is_warned);
  EXPECT_THAT(receiver_.warnings().front(), HasSubstr("cannot accept connections"));
  EXPECT_TRUE(receiver_.wait_for(5));
}

TEST(DescriptorLimit, TooFewAreRefusedWithTheNumber) {
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  rlimit few = usual;
  few.rlim_cur = 10;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  raise_descriptor_limit();  // to the hard limit
  rlimit raised{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &raised), 0);
  EXPECT_EQ(raised.rlim_cur, usual.rlim_max);
  EXPECT_GT(room_for_connections(), 0U);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const std::string message = error_of_action(StatusCode::resource_exhausted,
                                              [] { (void)room_for_connections(); });
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
  EXPECT_THAT(message, HasSubstr("may open 10 files"));
}

}  // namespace
}  // namespace colltune
