// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/supervise/in_flight_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sstream>
#include <utility>
#include <vector>

#include "colltune/flight/flight_recorder.h"
#include "colltune/hosts/launch_supervisor.h"
#include "colltune/machine/descriptor.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

using Word = std::atomic<std::uint64_t>;
constexpr std::uint64_t magic_word = 0x67696c666e746c63;  // "cltnflig" in memory
constexpr std::uint64_t layout_version = 3;
constexpr std::size_t header_size = 4096;  // keeps the records aligned

std::size_t size_for(std::uint64_t records, std::uint64_t bytes_of_hosts = 0) {
  return header_size + records * flight_region_size + bytes_of_hosts;
}

/// One line per host: its name, its ranks and its witness's port, with tabs between them.
std::string render(const std::vector<LaunchHost>& hosts) {
  std::string text;
  for (const LaunchHost& host : hosts)
    text += fmt::format("{}\t{}\t{}\n", host.name, host.ranks, host.witness_port);
  return text;
}

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& what, int error) {
  const bool is_full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  throw Error(is_full ? StatusCode::resource_exhausted : StatusCode::failed_precondition,
              fmt::format("{}: {}: {}", path.string(), what, std::strerror(error)));
}

/// Writes zeros. A hole in the file would cause SIGBUS once the disk is full.
void fill(const Descriptor& file, std::size_t size, const std::filesystem::path& path) {
  const std::vector<char> zeros(1 << 16);
  while (size > 0) {
    const ssize_t written = write(file.get(), zeros.data(), std::min(size, zeros.size()));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail(path, "cannot be written", written < 0 ? errno : ENOSPC);
    size -= static_cast<std::size_t>(written);
  }
}

}  // namespace

struct InFlightFile::Header {
  Word magic;  // stored last
  Word version;
  Word records;
  Word bytes_of_hosts;  // after the records
  Word created_ns;
  Word state;
  Word uuid_size;
  std::array<Word, 8> uuid;
};

void InFlightFile::Unmap::operator()(std::byte* memory) const noexcept { munmap(memory, size); }

InFlightFile::InFlightFile(std::unique_ptr<std::byte, Unmap> memory, const FileIdentity& identity)
    : memory_(std::move(memory)), identity_(identity) {}

InFlightFile::Header& InFlightFile::header() const {
  return *std::launder(reinterpret_cast<Header*>(memory_.get()));
}

std::filesystem::path InFlightFile::path_for(const std::filesystem::path& database) {
  std::filesystem::path path = database;
  path += ".in-flight";
  return path;
}

bool InFlightFile::is_awaited() { return std::getenv(supervised_variable) != nullptr; }

InFlightFile InFlightFile::create(const std::filesystem::path& path, int records,
                                  const std::vector<LaunchHost>& hosts) {
  if (records < 1)
    throw Error(StatusCode::invalid_argument,
                fmt::format("{}: {} records; at least 1 is needed", path.string(), records));
  // The file is complete before it gets its name, so that no reader sees half of it.
  std::filesystem::path draft = path;
  draft += fmt::format(".{}", getpid());
  const std::string text_of_hosts = render(hosts);
  const std::size_t begin_of_hosts = size_for(static_cast<std::uint64_t>(records));
  const std::size_t size = begin_of_hosts + text_of_hosts.size();
  const auto created = std::chrono::system_clock::now().time_since_epoch();
  try {
    // Removes what a killed process with the same pid left. A link in its place is not followed.
    unlink(draft.c_str());
    const Descriptor file(
        ::open(draft.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (!file) fail(draft, "cannot be created", errno);
    fill(file, size, draft);
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (memory == MAP_FAILED) fail(draft, "cannot be mapped", errno);
    const std::unique_ptr<std::byte, Unmap> owner(static_cast<std::byte*>(memory), Unmap{size});
    auto* header = new (memory) Header{};
    header->version.store(layout_version, std::memory_order_relaxed);
    header->records.store(static_cast<std::uint64_t>(records), std::memory_order_relaxed);
    header->bytes_of_hosts.store(text_of_hosts.size(), std::memory_order_relaxed);
    std::memcpy(static_cast<std::byte*>(memory) + begin_of_hosts, text_of_hosts.data(),
                text_of_hosts.size());
    header->created_ns.store(
        static_cast<std::uint64_t>(
            std::chrono::duration_cast<std::chrono::nanoseconds>(created).count()),
        std::memory_order_relaxed);
    header->magic.store(magic_word, std::memory_order_release);
    if (std::rename(draft.c_str(), path.c_str()) != 0) fail(path, "cannot be replaced", errno);
  } catch (const Error&) {
    unlink(draft.c_str());
    throw;
  }
  return join(path);
}

std::optional<InFlightFile> InFlightFile::map(const std::filesystem::path& path, bool writable) {
  const Descriptor file(
      ::open(path.c_str(), (writable ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return std::nullopt;
  struct stat status {};
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size < size_for(1)) return std::nullopt;
  void* memory =
      mmap(nullptr, size, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) return std::nullopt;
  InFlightFile mapped(
      std::unique_ptr<std::byte, Unmap>(static_cast<std::byte*>(memory), Unmap{size}),
      {.device = status.st_dev, .inode = status.st_ino});
  const Header& header = mapped.header();
  if (header.magic.load(std::memory_order_acquire) != magic_word) return std::nullopt;
  if (header.version.load(std::memory_order_relaxed) != layout_version) return std::nullopt;
  if (size != size_for(header.records.load(std::memory_order_relaxed),
                       header.bytes_of_hosts.load(std::memory_order_relaxed)))
    return std::nullopt;
  mapped.identity_.created_ns =
      static_cast<std::int64_t>(header.created_ns.load(std::memory_order_relaxed));
  return mapped;
}

std::optional<InFlightFile> InFlightFile::open(const std::filesystem::path& path) {
  return map(path, false);
}

InFlightFile InFlightFile::join(const std::filesystem::path& path) {
  if (auto mapped = map(path, true)) return std::move(*mapped);
  throw Error(StatusCode::failed_precondition,
              fmt::format("{} cannot be mapped, or is no file of colltune's running launch",
                          path.string()));
}

std::span<std::byte> InFlightFile::record(int index) {
  const auto records = header().records.load(std::memory_order_relaxed);
  if (index < 0 || static_cast<std::uint64_t>(index) >= records)
    throw Error(StatusCode::out_of_range,
                fmt::format("record {} of the in-flight file; it has {}", index, records));
  return board().subspan(static_cast<std::size_t>(index) * flight_region_size, flight_region_size);
}

std::span<std::byte> InFlightFile::board() {
  return {memory_.get() + header_size,
          header().records.load(std::memory_order_relaxed) * flight_region_size};
}

std::span<const std::byte> InFlightFile::board() const {
  return {memory_.get() + header_size,
          header().records.load(std::memory_order_relaxed) * flight_region_size};
}

std::vector<LaunchHost> InFlightFile::hosts() const {
  const std::size_t size = header().bytes_of_hosts.load(std::memory_order_relaxed);
  const std::string text(
      reinterpret_cast<const char*>(memory_.get() + memory_.get_deleter().size - size), size);
  std::istringstream lines(text);
  std::vector<LaunchHost> hosts;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    LaunchHost host;
    if (std::getline(fields, host.name, '\t') && std::getline(fields, host.ranks, '\t') &&
        fields >> host.witness_port)
      hosts.push_back(std::move(host));
  }
  return hosts;
}

void InFlightFile::set_sweep(std::string_view uuid) {
  Header& head = header();
  const std::size_t size = std::min(uuid.size(), head.uuid.size() * sizeof(Word));
  for (std::size_t at = 0; at < size; at += sizeof(Word)) {
    std::uint64_t word = 0;
    std::memcpy(&word, uuid.data() + at, std::min(sizeof word, size - at));
    head.uuid[at / sizeof(Word)].store(word, std::memory_order_relaxed);
  }
  head.uuid_size.store(size, std::memory_order_release);
}

std::string InFlightFile::sweep_uuid() const {
  const Header& head = header();
  std::string uuid(head.uuid.size() * sizeof(Word), '\0');
  const std::size_t size = head.uuid_size.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < head.uuid.size(); ++i) {
    const std::uint64_t word = head.uuid[i].load(std::memory_order_relaxed);
    std::memcpy(uuid.data() + i * sizeof word, &word, sizeof word);
  }
  uuid.resize(std::min(size, uuid.size()));
  return uuid;
}

void InFlightFile::set_state(LaunchState state) noexcept {
  header().state.store(static_cast<std::uint64_t>(state), std::memory_order_release);
}

LaunchState InFlightFile::state() const {
  const std::uint64_t state = header().state.load(std::memory_order_acquire);
  return state <= static_cast<std::uint64_t>(LaunchState::unfinished)
             ? static_cast<LaunchState>(state)
             : LaunchState::starting;
}

}  // namespace colltune
