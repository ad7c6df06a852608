// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/nccl_tuner/snapshot_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <tuple>

#include "colltune/nccl_tuner/snapshot_layout.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

nccl::SnapshotRule pack(const NcclRule& rule) {
  return {.min_bytes = rule.min_message.value,
          .max_bytes = rule.max_message.value,
          .ranks = rule.ranks,
          .nodes = rule.nodes,
          .pipe_operations = rule.pipe_operations.value_or(nccl::any_pipe_operations),
          .time_us = rule.time_us,
          .channels = rule.choice.channels,
          .function = static_cast<std::uint8_t>(rule.function),
          .registered =
              rule.registered ? static_cast<std::uint8_t>(*rule.registered) : nccl::any_registered,
          .algorithm = static_cast<std::uint8_t>(rule.choice.algorithm),
          .protocol = static_cast<std::uint8_t>(rule.choice.protocol)};
}

NcclRule unpack(const nccl::SnapshotRule& rule) {
  NcclRule unpacked{.function = static_cast<nccl::Function>(rule.function),
                    .ranks = rule.ranks,
                    .nodes = rule.nodes,
                    .min_message = {rule.min_bytes},
                    .max_message = {rule.max_bytes},
                    .choice = {.algorithm = static_cast<nccl::Algorithm>(rule.algorithm),
                               .protocol = static_cast<nccl::Protocol>(rule.protocol),
                               .channels = rule.channels},
                    .time_us = rule.time_us};
  if (rule.pipe_operations != nccl::any_pipe_operations)
    unpacked.pipe_operations = rule.pipe_operations;
  if (rule.registered != nccl::any_registered) unpacked.registered = rule.registered != 0;
  return unpacked;
}

std::string describe(const nccl::SnapshotRule& rule) {
  const std::string collective =
      rule.function < nccl::function_count
          ? std::string(name_of(nccl::collective_of(static_cast<nccl::Function>(rule.function))))
          : "collective " + std::to_string(rule.function);
  return "the rule for " + collective + " of " + std::to_string(rule.min_bytes) + " to " +
         std::to_string(rule.max_bytes) + " bytes on " + std::to_string(rule.ranks) + " ranks, " +
         std::to_string(rule.nodes) + " nodes";
}

[[noreturn]] void fail_on(const std::filesystem::path& path, const std::string& what) {
  throw Error(StatusCode::unavailable, path.string() + ": " + what + ": " + std::strerror(errno));
}

/// A file that is removed unless it was renamed.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::filesystem::path& path) : path_(path.string() + ".XXXXXX") {
    file_ = mkstemp(path_.data());
    if (file_ < 0) fail_on(path, "cannot create a file beside it");
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    close(file_);
    if (!is_renamed_) std::remove(path_.c_str());
  }

  void write_all(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t written = write(file_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail_on(path_, "cannot write");
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    // Other users' processes read the file, but mkstemp created it for this user alone.
    if (fchmod(file_, 0644) != 0) fail_on(path_, "cannot set its permissions");
    if (fsync(file_) != 0) fail_on(path_, "cannot write");
  }
  void rename_to(const std::filesystem::path& path) {
    if (std::rename(path_.c_str(), path.c_str()) != 0) fail_on(path, "cannot rename to it");
    is_renamed_ = true;
  }

 private:
  std::string path_;
  int file_ = -1;
  bool is_renamed_ = false;
};

}  // namespace

std::vector<std::byte> encode(const NcclSnapshot& snapshot) {
  std::vector<nccl::SnapshotRule> rules;
  rules.reserve(snapshot.rules.size());
  for (const NcclRule& rule : snapshot.rules) rules.push_back(pack(rule));
  std::ranges::sort(rules, {}, [](const nccl::SnapshotRule& rule) {
    return std::tuple(nccl::key_of(rule), rule.min_bytes, rule.max_bytes);
  });
  nccl::SnapshotHeader header{.magic = nccl::snapshot_magic,
                              .version = nccl::snapshot_version,
                              .header_bytes = sizeof(nccl::SnapshotHeader),
                              .rule_bytes = sizeof(nccl::SnapshotRule),
                              .rules = rules.size(),
                              .generation = snapshot.generation};
  std::vector<std::byte> bytes(sizeof header + rules.size() * sizeof(nccl::SnapshotRule));
  std::memcpy(bytes.data(), &header, sizeof header);
  if (!rules.empty())
    std::memcpy(bytes.data() + sizeof header, rules.data(), bytes.size() - sizeof header);
  header.digest = nccl::digest_of_snapshot(bytes);
  std::memcpy(bytes.data(), &header, sizeof header);
  // Uses the tuner's own check, so that nothing is written that the tuner would refuse.
  const nccl::CheckedSnapshot checked = nccl::check_snapshot(bytes);
  if (checked.damage != nullptr)
    throw Error(StatusCode::invalid_argument,
                (checked.is_about_a_rule ? describe(rules[checked.rule]) : "the snapshot") + ": " +
                    checked.damage);
  return bytes;
}

NcclSnapshot decode_nccl_snapshot(std::span<const std::byte> bytes) {
  const nccl::CheckedSnapshot checked = nccl::check_snapshot(bytes);
  if (checked.damage != nullptr)
    throw Error(
        StatusCode::data_loss,
        (checked.is_about_a_rule ? "rule " + std::to_string(checked.rule) : "the snapshot") + ": " +
            checked.damage);
  NcclSnapshot snapshot{.generation = checked.header.generation};
  for (const nccl::SnapshotRule& rule : checked.rules) snapshot.rules.push_back(unpack(rule));
  return snapshot;
}

std::string digest_text(std::span<const std::byte> bytes) {
  std::string text;
  for (const unsigned char byte : nccl::digest_of_snapshot(bytes)) {
    constexpr std::string_view digits = "0123456789abcdef";
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::string write_nccl_snapshot(const std::filesystem::path& path, const NcclSnapshot& snapshot) {
  const std::vector<std::byte> bytes = encode(snapshot);
  TemporaryFile file(path);
  file.write_all(bytes);
  file.rename_to(path);
  return digest_text(bytes);
}

}  // namespace colltune
