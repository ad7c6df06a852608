// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace colltune {

/// An address in a process's memory, to be passed to another process. Trivially copyable.
struct ProcessMemory {
  std::int64_t process = 0;
  std::uint64_t address = 0;
};

[[nodiscard]] ProcessMemory own_memory(std::span<const std::byte> bytes);

/// Copies from or to another process through the kernel (Cross Memory Attach, process_vm_readv(2)):
/// one copy, no shared memory. Throws Error(unavailable) if the kernel refuses.
void read_memory(const ProcessMemory& from, std::size_t offset, std::span<std::byte> to);
void write_memory(const ProcessMemory& to, std::size_t offset, std::span<const std::byte> from);

/// The capability's feature if every rank of the node can do that with every other rank's memory.
inline constexpr std::string_view cma_feature = "memory.cma";

}  // namespace colltune
