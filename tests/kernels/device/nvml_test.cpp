// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// What NVML tells of a GPU, with a library in its place.

#include "device/nvml.h"

#include <gtest/gtest.h>

#include <dlfcn.h>

#include <cstdlib>
#include <map>
#include <string>

namespace colltune::test {
namespace {

const std::string bus_id = "0000:3b:00.0";

class Nvml : public testing::Test {
 protected:
  ~Nvml() override {
    for (const auto& name : set_) ::unsetenv(name.c_str());
  }
  void say(const std::string& name, const std::string& value) {
    ::setenv(("FAKE_NVML_" + name).c_str(), value.c_str(), 1);
    set_.push_back("FAKE_NVML_" + name);
  }
  [[nodiscard]] static std::unique_ptr<NvmlDevice> open(const std::string& at = bus_id) {
    return NvmlDevice::open(at, COLLTUNE_FAKE_NVML);
  }

 private:
  std::vector<std::string> set_;
};

TEST_F(Nvml, TellsTheStateOfAGpu) {
  say("MHZ", "1755");
  say("STATE", "2");
  const auto gpu = open();
  ASSERT_NE(gpu, nullptr);
  EXPECT_EQ(gpu->state(), (DeviceState{.clock_khz = 1'755'000, .power_state = 2}));
}

TEST_F(Nvml, TellsWhatHoldsTheClocksDown) {
  const auto gpu = open();
  ASSERT_NE(gpu, nullptr);
  // Idle, the user's own setting and the display's are nobody's fault.
  const std::map<std::string, std::string> names{{"0x0", ""},
                                                 {"0x113", ""},
                                                 {"0x4", "power_cap"},
                                                 {"0x8", "slowdown"},
                                                 {"0x20", "thermal"},
                                                 {"0x48", "slowdown,thermal"},
                                                 {"0x84", "power_cap,power_brake"}};
  for (const auto& [bits, expected] : names) {
    say("REASONS", bits);
    EXPECT_EQ(names_of_throttles(gpu->state().throttles), expected) << bits;
  }
}

TEST(DeviceStates, TheWorstOfTwoIsWhatEitherTells) {
  const DeviceState fast{.clock_khz = 1'980'000, .power_state = 0};
  const DeviceState hot{.clock_khz = 900'000,
                        .throttles = static_cast<std::uint32_t>(DeviceThrottle::thermal),
                        .power_state = 2};
  const DeviceState silent{.throttles = static_cast<std::uint32_t>(DeviceThrottle::power_cap)};
  EXPECT_EQ(worst_of(fast, hot), hot);
  EXPECT_EQ(worst_of(hot, fast), hot);
  EXPECT_EQ(worst_of(fast, silent), (DeviceState{1'980'000, silent.throttles, 0}));
  EXPECT_EQ(worst_of(silent, silent), silent);
}

TEST_F(Nvml, APowerStateThatIsUnknownIsNotTold) {
  say("STATE", "32");
  const auto gpu = open();
  ASSERT_NE(gpu, nullptr);
  EXPECT_EQ(gpu->state().power_state, -1);
}

TEST_F(Nvml, CountsTheLinksThatAreUp) {
  say("LINKS", "12");
  const auto gpu = open();
  ASSERT_NE(gpu, nullptr);
  EXPECT_EQ(gpu->count_links(), 12);
}

TEST_F(Nvml, WhatIsNotThereIsNoError) {
  EXPECT_EQ(NvmlDevice::open(bus_id, "libthere_is_no_such_library.so.1"), nullptr);
  EXPECT_EQ(NvmlDevice::open(bus_id, "libm.so.6"), nullptr) << "it lacks the functions";
  EXPECT_EQ(open("0000:99:00.0"), nullptr) << "there is no such GPU";
  say("BROKEN", "1");
  EXPECT_EQ(open(), nullptr);
}

TEST_F(Nvml, IsShutDownAsOftenAsItWasInitialized) {
  void* const library = ::dlopen(COLLTUNE_FAKE_NVML, RTLD_NOW);
  ASSERT_NE(library, nullptr);
  const auto initialized = reinterpret_cast<int (*)()>(::dlsym(library, "fake_nvml_initialized"));
  {
    const auto one = open();
    const auto other = open();
    EXPECT_EQ(open("0000:99:00.0"), nullptr);
    EXPECT_EQ(initialized(), 2);
  }
  EXPECT_EQ(initialized(), 0);
  ::dlclose(library);
}

}  // namespace
}  // namespace colltune::test
