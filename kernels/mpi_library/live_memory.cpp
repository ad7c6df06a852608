// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "live_memory.h"

#include <unistd.h>

#include <utility>

namespace colltune {

class LiveMemory::Memory final : public SymmetricMemory {
 public:
  Memory(std::shared_ptr<LiveMemory> live, std::vector<Mapping> parts,
         std::list<Allocation>::iterator place)
      : live_(std::move(live)), parts_(std::move(parts)), place_(place) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() override { live_->allocations_.erase(place_); }
  std::span<std::byte> part(int rank) const override {
    return parts_[static_cast<std::size_t>(rank)].bytes();
  }

 private:
  std::shared_ptr<LiveMemory> live_;
  std::vector<Mapping> parts_;
  std::list<Allocation>::iterator place_;
};

void LiveMemory::require_room(Bytes more) const {
  std::uint64_t live = 0;
  for (const Allocation& allocation : allocations_) live += allocation.own.size();
  if (more.value <= most_.value && live <= most_.value - more.value) return;
  throw Error(StatusCode::resource_exhausted,
              format_bytes(more) + " of symmetric memory would exceed the limit of " +
                  format_bytes(most_) + ", of which " + format_bytes({live}) + " are in use");
}

AllocationName LiveMemory::make_name() { return {::getpid(), ++made_}; }

std::unique_ptr<SymmetricMemory> LiveMemory::add(const AllocationName& name,
                                                 std::vector<Mapping> parts,
                                                 std::span<const int> world_ranks, int own) {
  Allocation allocation{
      .name = name, .own = parts[static_cast<std::size_t>(own)].bytes(), .parts = {}};
  for (std::size_t r = 0; r < parts.size(); ++r)
    if (!parts[r].bytes().empty()) allocation.parts.emplace(world_ranks[r], parts[r].bytes());
  const auto place = allocations_.insert(allocations_.end(), std::move(allocation));
  return std::make_unique<Memory>(shared_from_this(), std::move(parts), place);
}

std::optional<SymmetricAddress> LiveMemory::symmetric_address_of(
    std::span<const std::byte> own) const {
  const auto start = reinterpret_cast<std::uintptr_t>(own.data());
  for (const Allocation& allocation : allocations_) {
    const auto part = reinterpret_cast<std::uintptr_t>(allocation.own.data());
    if (start >= part && start + own.size() <= part + allocation.own.size())
      return SymmetricAddress{allocation.name, start - part};
  }
  return {};
}

std::byte* LiveMemory::find(const SymmetricAddress& address, int world_rank) const {
  for (const Allocation& allocation : allocations_) {
    if (allocation.name != address.allocation) continue;
    const auto part = allocation.parts.find(world_rank);
    if (part != allocation.parts.end()) return part->second.data() + address.offset;
  }
  return nullptr;
}

}  // namespace colltune
