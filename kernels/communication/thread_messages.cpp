// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "thread_messages.h"

#include <algorithm>
#include <compare>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

struct Address {
  int from = 0;
  int to = 0;
  int tag = 0;
  friend auto operator<=>(const Address&, const Address&) = default;
};

}  // namespace

class Mailbox {
 public:
  /// A sent message; its fields are guarded by the mailbox's mutex.
  struct Letter {
    std::span<const std::byte> bytes;
    bool is_taken = false;
  };

  std::shared_ptr<Letter> post(const Address& address, std::span<const std::byte> bytes) {
    auto letter = std::make_shared<Letter>(Letter{.bytes = bytes});
    const std::scoped_lock lock(mutex_);
    letters_[address].push_back(letter);
    return letter;
  }

  /// Copies the next letter into `bytes`; false if there is none.
  bool take(const Address& address, std::span<std::byte> bytes) {
    const std::scoped_lock lock(mutex_);
    const auto found = letters_.find(address);
    if (found == letters_.end() || found->second.empty()) return false;
    Letter& letter = *found->second.front();
    if (letter.bytes.size() != bytes.size())
      throw Error(StatusCode::internal, "a message of " + std::to_string(letter.bytes.size()) +
                                            " bytes from rank " + std::to_string(address.from) +
                                            " where " + std::to_string(bytes.size()) +
                                            " were expected");
    std::ranges::copy(letter.bytes, bytes.begin());
    letter.is_taken = true;
    found->second.pop_front();
    return true;
  }

  [[nodiscard]] bool is_taken(const Letter& letter) const {
    const std::scoped_lock lock(mutex_);
    return letter.is_taken;
  }

  void withdraw(const std::shared_ptr<Letter>& letter) {
    const std::scoped_lock lock(mutex_);
    for (auto& [address, letters] : letters_) std::erase(letters, letter);
  }

 private:
  mutable std::mutex mutex_;
  std::map<Address, std::deque<std::shared_ptr<Letter>>> letters_;
};

namespace {

class ThreadMessages final : public Messages {
 public:
  ThreadMessages(std::shared_ptr<Mailbox> mailbox, int rank, std::size_t numbers)
      : mailbox_(std::move(mailbox)), rank_(rank), under_way_(numbers) {}
  ThreadMessages(const ThreadMessages&) = delete;
  ThreadMessages& operator=(const ThreadMessages&) = delete;
  ~ThreadMessages() override { withdraw_all(); }

  void send(std::size_t number, int to, int tag, std::span<const std::byte> bytes) override {
    under_way_[number] = {.letter = mailbox_->post({rank_, to, tag}, bytes)};
  }

  void receive(std::size_t number, int from, int tag, std::span<std::byte> bytes) override {
    under_way_[number] = {.is_receive = true, .address = {from, rank_, tag}, .into = bytes};
  }

  bool is_done(std::size_t number) override {
    UnderWay& one = under_way_[number];
    const bool is_done = one.is_receive ? mailbox_->take(one.address, one.into)
                                        : !one.letter || mailbox_->is_taken(*one.letter);
    if (is_done) one = {};
    return is_done;
  }

  void advance() override {}

  bool give_up(Deadline /*deadline*/) override {
    withdraw_all();
    return true;
  }

 private:
  struct UnderWay {
    std::shared_ptr<Mailbox::Letter> letter{};  ///< of a send
    bool is_receive = false;
    Address address{};
    std::span<std::byte> into{};
  };

  void withdraw_all() {
    for (UnderWay& one : under_way_) {
      if (one.letter) mailbox_->withdraw(one.letter);
      one = {};
    }
  }

  std::shared_ptr<Mailbox> mailbox_;
  int rank_;
  std::vector<UnderWay> under_way_;
};

}  // namespace

std::shared_ptr<Mailbox> make_mailbox() { return std::make_shared<Mailbox>(); }

std::unique_ptr<Messages> make_thread_messages(std::shared_ptr<Mailbox> mailbox, int rank,
                                               std::size_t numbers) {
  return std::make_unique<ThreadMessages>(std::move(mailbox), rank, numbers);
}

}  // namespace colltune
