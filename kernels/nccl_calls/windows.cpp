// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "windows.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iterator>
#include <string>
#include <utility>

#include "agreement.h"
#include "colltune/vocabulary/error.h"

namespace colltune::nccl {
namespace {

class Allocation final : public BufferMemory {
 public:
  Allocation(WindowMemory& source, const Functions& nccl, Device& device,
             std::span<std::byte> bytes)
      : source_(source), nccl_(nccl), device_(device), bytes_(bytes) {}
  ~Allocation() override {
    source_.forget(bytes_.data());
    try {
      device_.make_current();
      check_nccl(nccl_, nullptr, nccl_.free_memory(bytes_.data()), "ncclMemFree");
    } catch (const Error& error) {
      std::fprintf(stderr, "colltune: %s\n", error.what());
    }
  }
  std::span<std::byte> bytes() const override { return bytes_; }

 private:
  WindowMemory& source_;
  const Functions& nccl_;
  Device& device_;
  std::span<std::byte> bytes_;
};

}  // namespace

std::unique_ptr<BufferMemory> WindowMemory::allocate(Device& device, Bytes bytes) {
  const Functions& nccl = runtime_->open().functions;
  device.make_current();
  void* made = nullptr;
  check_nccl(nccl, nullptr, nccl.allocate_memory(&made, bytes.value), "ncclMemAlloc");
  const std::span memory(static_cast<std::byte*>(made), bytes.value);
  const std::lock_guard lock(mutex_);
  allocations_[memory.data()] = memory.size();
  return std::make_unique<Allocation>(*this, nccl, device, memory);
}

std::optional<std::span<std::byte>> WindowMemory::find(std::span<const std::byte> part) const {
  const std::lock_guard lock(mutex_);
  auto after = allocations_.upper_bound(const_cast<std::byte*>(part.data()));
  if (after == allocations_.begin()) return std::nullopt;
  const auto& [base, size] = *std::prev(after);
  if (std::less<>{}(base + size, part.data() + part.size())) return std::nullopt;
  return std::span(base, size);
}

void WindowMemory::forget(std::byte* memory) {
  const std::lock_guard lock(mutex_);
  allocations_.erase(memory);
}

Window::Window(std::shared_ptr<NcclRank> member, std::span<std::byte> memory, Deadline deadline)
    : member_(std::move(member)), memory_(memory) {
  const Functions& nccl = member_->functions();
  member_->begin("ncclCommWindowRegister", [register_window = nccl.register_window,
                                            handle = member_->handle(), memory, window = window_] {
    return register_window(handle, memory.data(), memory.size(), window.get(), symmetric_window);
  });
  try {
    member_->finish("ncclCommWindowRegister", deadline);
  } catch (...) {
    // NCCL's thread may still write the word after this object is gone.
    member_->keep_until_end(window_);
    throw;
  }
}

Window::~Window() {
  if (!is_there()) return;
  member_->give_back("ncclCommWindowDeregister", [this] {
    return member_->functions().deregister_window(member_->handle(), *window_);
  });
}

Windows open_windows(Communicator& communicator, const std::shared_ptr<NcclRank>& member,
                     const WindowMemory& memory, const CallBuffers& buffers, Deadline deadline) {
  const Deadline vote = deadline + vote_time;
  std::vector<std::span<std::byte>> allocations;
  act_together(
      communicator, "has buffers that are no memory of ncclMemAlloc",
      [&] {
        for (const std::span<const std::byte> buffer :
             {buffers.send, std::span<const std::byte>(buffers.receive)}) {
          if (buffer.empty()) continue;
          const auto found = memory.find(buffer);
          if (!found)
            throw Error(StatusCode::failed_precondition,
                        "symmetric windows need memory of ncclMemAlloc, where the buffers are not");
          if (allocations.empty() || allocations.front().data() != found->data())
            allocations.push_back(*found);
        }
      },
      vote);
  Windows windows;
  // All ranks open the same number, though a root may have one buffer more than others.
  const auto most =
      communicator.all_reduce_max(static_cast<std::int64_t>(allocations.size()), vote);
  const bool lacks_one = static_cast<std::int64_t>(allocations.size()) < most;
  if (first_rank_where(communicator, lacks_one, vote) >= 0)
    throw Error(StatusCode::failed_precondition,
                "the ranks' buffers do not lie in as many allocations on each");
  act_together(
      communicator, "got no symmetric window from NCCL",
      [&] {
        for (const auto& allocation : allocations)
          windows.push_back(std::make_unique<Window>(member, allocation, deadline));
      },
      vote);
  const bool lacks_window =
      std::ranges::any_of(windows, [](const auto& window) { return !window->is_there(); });
  if (const int first = first_rank_where(communicator, lacks_window, vote); first >= 0)
    throw UnavailableHere("NCCL makes no symmetric windows here (rank " + std::to_string(first) +
                          ")");
  return windows;
}

std::byte* place_in_window(Communicator& communicator, const Window& window,
                           std::span<const std::byte> own, Deadline deadline) {
  std::byte* const begin = window.memory().data();
  const std::int64_t offset = own.empty() ? -1 : own.data() - begin;
  const std::int64_t of_root = communicator.all_reduce_max(offset, deadline);
  return begin + (own.empty() ? std::max<std::int64_t>(0, of_root) : offset);
}

}  // namespace colltune::nccl
