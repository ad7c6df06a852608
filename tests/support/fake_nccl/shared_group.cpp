// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "support/fake_nccl/shared_group.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

namespace colltune::test {
namespace {

std::string file_of(std::uint64_t name) { return "/colltune-fake-nccl-" + std::to_string(name); }

}  // namespace

void Unmap::operator()(SharedGroup* group) const noexcept { ::munmap(group, sizeof *group); }

std::shared_ptr<SharedGroup> open_shared_group(std::uint64_t name) {
  const int file = ::shm_open(file_of(name).c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) return nullptr;
  void* const memory =
      ::ftruncate(file, sizeof(SharedGroup)) == 0
          ? ::mmap(nullptr, sizeof(SharedGroup), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
          : MAP_FAILED;
  ::close(file);
  if (memory == MAP_FAILED) return nullptr;
  // Zeros are what all of it begins with.
  return {static_cast<SharedGroup*>(memory), Unmap{}};
}

void forget_shared_group(std::uint64_t name) { ::shm_unlink(file_of(name).c_str()); }

}  // namespace colltune::test
