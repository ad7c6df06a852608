// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "descriptor_mailbox.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <random>
#include <set>
#include <string>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

constexpr int milliseconds_between_looks = 2;  // between checks of the deadline and the abort flag

/// The data sent with a descriptor.
struct Label {
  std::uint64_t token = 0;
  std::uint32_t round = 0;
  std::int32_t from = -1;
};

[[noreturn]] void fail(const char* call) {
  throw Error(StatusCode::resource_exhausted,
              std::string(call) + " for passing file descriptors: " + std::strerror(errno));
}

std::uint64_t make_token() {
  std::random_device source;
  return std::uint64_t{source()} << 32 | source();
}

/// A message of one label and one descriptor, and room for both.
struct Message {
  Label label{};
  ::iovec piece{&label, sizeof label};
  alignas(::cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  ::msghdr header{};

  Message() {
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
};

/// The descriptor that came with `message`, which this process has to close; none if none came.
Descriptor descriptor_of(const Message& message) {
  const ::cmsghdr* const with = CMSG_FIRSTHDR(&message.header);
  if (with == nullptr || with->cmsg_level != SOL_SOCKET || with->cmsg_type != SCM_RIGHTS ||
      with->cmsg_len != CMSG_LEN(sizeof(int)))
    return {};
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(with), sizeof descriptor);
  return Descriptor(descriptor);
}

}  // namespace

DescriptorMailbox::DescriptorMailbox(int rank)
    : rank_(rank), socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  if (socket_.get() < 0) fail("socket");
  ::sockaddr_un name{};
  name.sun_family = AF_UNIX;
  // Without a name the kernel chooses one in the abstract namespace, outside the file system.
  if (::bind(socket_.get(), reinterpret_cast<::sockaddr*>(&name), sizeof name.sun_family) != 0)
    fail("bind");
  ::socklen_t length = sizeof name;
  if (::getsockname(socket_.get(), reinterpret_cast<::sockaddr*>(&name), &length) != 0)
    fail("getsockname");
  const std::size_t chosen = length - offsetof(::sockaddr_un, sun_path);
  if (chosen > address_.name.size())
    throw Error(StatusCode::internal, "the kernel chose a name of " + std::to_string(chosen) +
                                          " bytes for a socket; " +
                                          std::to_string(address_.name.size()) + " were expected");
  std::memcpy(address_.name.data(), name.sun_path, chosen);
  address_.name_length = static_cast<std::uint16_t>(chosen);
  address_.token = make_token();
}

bool DescriptorMailbox::send(std::uint32_t round, const Letter& letter) const {
  ::sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, letter.address.name.data(), letter.address.name_length);
  Message message;
  message.label = {.token = letter.address.token, .round = round, .from = rank_};
  message.header.msg_name = &name;
  message.header.msg_namelen =
      static_cast<::socklen_t>(offsetof(::sockaddr_un, sun_path) + letter.address.name_length);
  ::cmsghdr* const with = CMSG_FIRSTHDR(&message.header);
  with->cmsg_level = SOL_SOCKET;
  with->cmsg_type = SCM_RIGHTS;
  with->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(with), &letter.descriptor, sizeof letter.descriptor);
  if (::sendmsg(socket_.get(), &message.header, MSG_NOSIGNAL) >= 0) return true;
  // The receiver's queue is full, or too many descriptors are in flight; a later try will succeed.
  if (errno == EAGAIN || errno == EINTR || errno == ENOBUFS || errno == ETOOMANYREFS) return false;
  throw Error(StatusCode::unavailable,
              "rank " + std::to_string(letter.to) + " takes no file descriptor (" +
                  std::strerror(errno) +
                  "): it has ended, or runs in another namespace of the network");
}

bool DescriptorMailbox::receive(std::uint32_t round, std::span<const int> senders,
                                std::vector<Descriptor>& got) const {
  Message message;
  const auto length = ::recvmsg(socket_.get(), &message.header, MSG_CMSG_CLOEXEC);
  if (length < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (length < 0) fail("recvmsg");
  Descriptor descriptor = descriptor_of(message);
  const bool is_ours = length == sizeof message.label && message.label.token == address_.token &&
                       message.label.round == round && descriptor.get() >= 0;
  if (!is_ours) return true;
  for (std::size_t i = 0; i < senders.size(); ++i)
    if (senders[i] == message.label.from && got[i].get() < 0) {
      got[i] = std::move(descriptor);
      break;
    }
  return true;
}

std::vector<Descriptor> DescriptorMailbox::exchange(std::uint32_t round,
                                                    std::span<const Letter> letters,
                                                    std::span<const int> senders, Deadline deadline,
                                                    const AbortFlag& abort_flag) {
  std::vector<Descriptor> got(senders.size());
  std::vector<Letter> left(letters.begin(), letters.end());
  const auto is_missing = [](const Descriptor& one) { return one.get() < 0; };
  for (;;) {
    std::set<int> full;  // ranks whose queue was full get no later letter either, to keep the order
    std::erase_if(left, [&](const Letter& letter) {
      if (full.contains(letter.to)) return false;
      const bool is_sent = send(round, letter);
      if (!is_sent) full.insert(letter.to);
      return is_sent;
    });
    while (receive(round, senders, got)) {
    }
    const auto missing = std::ranges::find_if(got, is_missing);
    if (missing == got.end() && left.empty()) return got;
    const bool was_aborted = abort_flag.is_raised();
    if (was_aborted || std::chrono::steady_clock::now() >= deadline) {
      if (missing == got.end())
        throw RankMissing(left.front().to, "room in the mailbox", was_aborted);
      throw RankMissing(senders[static_cast<std::size_t>(missing - got.begin())],
                        "a file descriptor", was_aborted);
    }
    ::pollfd look{socket_.get(), POLLIN, 0};
    static_cast<void>(::poll(&look, 1, milliseconds_between_looks));
  }
}

}  // namespace colltune
