// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "arithmetic/numerics.h"
#include "colltune/kernels/catalogue.h"
#include "colltune/kernels/verification/oracle.h"
#include "device/driver.h"
#include "support/fake_driver/fake_driver.h"
#include "support/run_ranks.h"

namespace colltune::test {

/// Memory as an allocator of somebody else's makes it of the driver's virtual memory (PyTorch's
/// expandable segments, ncclMemAlloc): one range of addresses, to which allocations of `sizes` are
/// mapped one by one.
class ForeignMemory {
 public:
  ForeignMemory(std::shared_ptr<const Driver> driver, std::vector<std::size_t> sizes,
                int handle_types = driver::as_file_descriptor)
      : driver_(std::move(driver)), sizes_(std::move(sizes)) {
    driver_->check(driver_->reserve(&address_, size(), fake_driver::granule, 0, 0), "reserve");
    const driver::AllocationProperties properties{.handle_types = handle_types};
    const driver::MappingRights access{};
    driver::Address at = address_;
    for (const std::size_t bytes : sizes_) {
      driver::Handle handle = 0;
      driver_->check(driver_->create(&handle, bytes, &properties, 0), "create");
      driver_->check(driver_->map(at, bytes, 0, handle, 0), "map");
      driver_->check(driver_->release(handle), "release");
      driver_->check(driver_->set_access(at, bytes, &access, 1), "set_access");
      at += bytes;
    }
  }
  ForeignMemory(const ForeignMemory&) = delete;
  ForeignMemory& operator=(const ForeignMemory&) = delete;
  ~ForeignMemory() {
    driver::Address at = address_;
    for (const std::size_t bytes : sizes_) {
      driver_->report(driver_->unmap(at, bytes), "unmap");
      at += bytes;
    }
    driver_->report(driver_->free_address(address_, size()), "free");
  }
  [[nodiscard]] std::span<std::byte> bytes() const {
    return {reinterpret_cast<std::byte*>(address_), size()};
  }

 private:
  [[nodiscard]] std::size_t size() const {
    return std::accumulate(sizes_.begin(), sizes_.end(), std::size_t{0});
  }
  std::shared_ptr<const Driver> driver_;
  std::vector<std::size_t> sizes_;
  driver::Address address_ = 0;
};

/// A registered sum of 4 KiB in the first 8 KiB of `bytes`, three times. Empty where all was right;
/// begins with "unavailable: " where it is.
inline std::string add_up(Communicator& communicator, std::span<std::byte> bytes) {
  const Problem problem{.collective = Collective::all_reduce,
                        .data_type = DataType::f32,
                        .reduce_op = ReduceOp::sum,
                        .message_size = {4096},
                        .registered = true};
  const std::span<std::byte> send = bytes.first(4096);
  const std::span<std::byte> receive = bytes.subspan(4096, 4096);
  const std::string name = "cuda.all_reduce_two_shot_push";
  const Implementations catalogue = make_catalogue();
  std::string said;
  try {
    const auto operation =
        find_implementation(catalogue, name)
            ->prepare(communicator, {problem, 0, {send, receive}},
                      parse_variant(name + "{blocks=1,launch=stream,scratch=device,threads=32,"
                                           "vector=16}"),
                      soon_enough());
    for (std::uint64_t call = 1; call <= 3; ++call) {
      const VerifiedCall verified{problem, communicator.size(), 0, DataPattern::exact, call};
      fill_send(verified, communicator.rank(), send);
      communicator.barrier(soon_enough());
      operation->start();
      operation->wait(soon_enough());
      if (find_mismatch(verified, communicator.rank(), rounding_at_once(problem), receive))
        said = "the sum is wrong";
      communicator.barrier(soon_enough());
    }
  } catch (const UnavailableHere& error) {
    said = std::string("unavailable: ") + error.what();
  }
  communicator.barrier(soon_enough());
  return said;
}

}  // namespace colltune::test
