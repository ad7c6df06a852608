// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The formats of short messages: what is read is what was written, whatever it is, and nothing is
// read that has not come.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <numeric>
#include <thread>

#include "shared_memory/mail.h"
#include "shared_memory/slots.h"
#include "support/full_run.h"

namespace colltune::test {
namespace {

class EveryFormat : public testing::TestWithParam<const char*> {
 protected:
  static constexpr std::size_t largest = 4096;

  const std::unique_ptr<const MailFormat> format_ = make_mail_format(GetParam());
  alignas(128) std::array<std::byte, 8448> slot_{};
  std::array<std::byte, space_for(largest)> space_{};

  void SetUp() override { ASSERT_LE(format_->slot_size(largest), slot_.size()); }

  std::vector<std::byte> read(std::size_t size, std::uint64_t number) {
    const std::byte* const data = format_->read(slot_.data(), size, number, space_);
    if (data == nullptr) return {};
    return {data, data + size};
  }
  void write(std::span<const std::byte> message, std::uint64_t number) {
    format_->write(slot_.data(), message, number, CopyMode::cached);
  }
};

std::vector<std::byte> counting(std::size_t size, int from = 0) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>(static_cast<std::size_t>(from) + i);
  return bytes;
}

TEST_P(EveryFormat, GivesBackWhatWasWrittenOfEverySize) {
  std::uint64_t number = 0;
  for (const std::size_t size : {1U, 3U, 4U, 7U, 8U, 17U, 56U, 57U, 64U, 300U, 511U, 512U, 4096U})
    for (const CopyMode stores : {CopyMode::cached, CopyMode::non_temporal}) {
      if (stores == CopyMode::non_temporal && !format_->streams()) continue;
      const auto message = counting(size, 7 + static_cast<int>(number));
      format_->clear(slot_.data(), size);
      ++number;
      EXPECT_EQ(read(size, number).size(), 0U) << "nothing has come";
      format_->write(slot_.data(), message, number, stores);
      EXPECT_EQ(read(size, number), message) << size;
    }
}

TEST_P(EveryFormat, AnOlderMessageIsNotTakenForTheNextInItsSlot) {
  const auto message = counting(24);
  format_->clear(slot_.data(), 24);
  write(message, 1);
  EXPECT_EQ(read(24, 1), message);
  if (format_->needs_clearing()) format_->clear(slot_.data(), 24);
  EXPECT_TRUE(read(24, 1 + usual_slots).empty());
}

TEST_P(EveryFormat, NumbersMayPassTheEndOf32Bits) {
  const auto message = counting(24);
  constexpr std::uint64_t end = std::uint64_t{1} << 32;
  for (std::uint64_t number = end - 3; number < end + 4; ++number) {
    format_->clear(slot_.data(), 24);
    EXPECT_TRUE(read(24, number).empty());
    write(message, number);
    EXPECT_EQ(read(24, number), message);
    if (format_->needs_clearing()) format_->clear(slot_.data(), 24);
    EXPECT_TRUE(read(24, number + usual_slots).empty());
  }
}

TEST_P(EveryFormat, AnyBitsAreAPayload) {
  // What an empty slot holds is what a format may take for nothing.
  format_->clear(slot_.data(), 64);
  std::vector<std::byte> message(slot_.begin(), slot_.begin() + 64);
  for (std::size_t i = 16; i < 40; ++i) message[i] = static_cast<std::byte>(i);
  write(message, 1);
  EXPECT_EQ(read(64, 1), message);
  for (const auto bits : {std::byte{0}, std::byte{0xFF}}) {
    message.assign(64, bits);
    format_->clear(slot_.data(), 64);
    write(message, 2);
    EXPECT_EQ(read(64, 2), message);
  }
}

/// A few words of each are what an empty slot holds.
template <std::size_t size>
std::array<std::uint64_t, size / 8> content_of(std::uint64_t number, int side) {
  std::array<std::uint64_t, size / 8> words{};
  for (std::size_t i = 0; i < words.size(); ++i)
    words[i] =
        (number + i) % 5 == 0 ? 0x7FFC'0DE5'7FFC'0DE5 : number * 8 + i + (side ? 1U << 20 : 0);
  return words;
}

/// Two threads, each polling what the other has just written, in slots taken in turn. Returns how
/// many messages of `size` bytes did not arrive whole.
template <std::size_t size, std::size_t slot_size>
std::uint64_t exchange(const MailFormat& format, std::uint64_t messages) {
  using Slots = std::array<std::array<std::byte, slot_size>, usual_slots>;
  static_assert(slot_size % 128 == 0);
  alignas(128) std::array<Slots, 2> mail{};
  EXPECT_LE(format.slot_size(size), slot_size);
  for (Slots& slots : mail)
    for (auto& slot : slots) format.clear(slot.data(), size);
  std::atomic<std::uint64_t> wrong{0};
  const auto play = [&](int side) {
    std::array<std::byte, space_for(size)> space{};
    auto& own = mail[static_cast<std::size_t>(side)];
    auto& peer = mail[static_cast<std::size_t>(1 - side)];
    for (std::uint64_t number = 1; number <= messages; ++number) {
      const auto words = content_of<size>(number, side);
      // Where it can, every other one past the caches: then only the fence orders it.
      const bool streams = format.streams() && number % 2 == 0;
      format.write(own[number % usual_slots].data(), std::as_bytes(std::span(words)), number,
                   streams ? CopyMode::non_temporal : CopyMode::cached);
      // Known before the message comes: a while later what was missing would be there, too.
      const auto expected = content_of<size>(number, 1 - side);
      const std::byte* data = nullptr;
      while ((data = format.read(peer[number % usual_slots].data(), size, number, space)) ==
             nullptr)
        std::this_thread::yield();
      if (std::memcmp(data, expected.data(), size) != 0) ++wrong;
      if (format.needs_clearing())
        format.clear(own[(number + MailFormat::cleared_ahead) % usual_slots].data(), size);
    }
  };
  {
    std::jthread other([&] { play(1); });
    play(0);
  }
  return wrong;
}

/// A million in a full run.
std::uint64_t messages() {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  return 10'000;
#else
  return is_full_run() ? 1'000'000 : 100'000;
#endif
}

TEST_P(EveryFormat, ManyMessagesArriveWhole) {
  EXPECT_EQ((exchange<72, 512>(*format_, messages())), 0U);
}

TEST_P(EveryFormat, LongMessagesArriveWholeAlsoPastTheCaches) {
  if (!format_->streams()) GTEST_SKIP() << "its messages never go past the caches";
  EXPECT_EQ((exchange<512, 640>(*format_, messages())), 0U);
  EXPECT_EQ((exchange<4096, 4224>(*format_, messages() / 10)), 0U);
}

INSTANTIATE_TEST_SUITE_P(Formats, EveryFormat,
                         testing::Values("line", "header", "lines", "word", "poison"),
                         [](const auto& one) { return std::string(one.param); });

TEST(MailFormats, TheTestsKnowThemAll) {
  EXPECT_EQ(make_mail_formats().size(), 5U);
  EXPECT_EQ(make_mail_format("post"), nullptr);
  EXPECT_TRUE(make_mail_format("header")->streams());
}

}  // namespace
}  // namespace colltune::test
