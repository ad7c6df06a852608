// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/table_file/table_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "colltune/vocabulary/field_limits.h"
#include "evidence.h"

namespace colltune {
namespace {

[[noreturn]] void fail_to_read(const std::string& name, const std::string& why) {
  throw Error(StatusCode::failed_precondition, name + " cannot be read as a table file: " + why);
}

/// Throws the error that the damage is.
void check(const TableDamage& damage, const std::string& name) {
  if (damage.what == nullptr) return;
  if (damage.is_other_version)
    throw Error(StatusCode::failed_precondition,
                name + ": table file of version " + std::to_string(damage.version) +
                    "; this colltune reads versions " + std::to_string(table_file::first_version) +
                    " to " + std::to_string(table_file::newest_version) +
                    ": write it again with 'colltune export table' of this release, or update "
                    "the reader");
  if (damage.is_foreign) fail_to_read(name, damage.what);
  const std::string place =
      std::string_view(damage.section) == "header"
          ? "header"
          : std::string(damage.section) + ", record " + std::to_string(damage.record);
  throw Error(StatusCode::data_loss, name + " is no whole table file (" + place +
                                         "): " + damage.what +
                                         "; write it again with 'colltune export table'");
}

}  // namespace

/// The bytes of the file: mapped, or a copy.
class TableFile::Mapping {
 public:
  explicit Mapping(const std::string& name) {
    // O_NONBLOCK, because a path to a pipe instead of a file must not block.
    const int file = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) fail_to_read(name, std::strerror(errno));
    struct stat status {};
    std::string why;
    if (::fstat(file, &status) != 0) {
      why = std::strerror(errno);
    } else if (!S_ISREG(status.st_mode)) {
      why = "it is no regular file";
    } else if (status.st_size > 0) {
      const auto size = static_cast<std::size_t>(status.st_size);
      void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
      if (memory == MAP_FAILED)
        why = std::strerror(errno);
      else
        mapped_ = {static_cast<const std::byte*>(memory), size};
    }
    ::close(file);
    if (!why.empty()) fail_to_read(name, why);
  }
  explicit Mapping(std::string_view bytes) : copied_((bytes.size() + 7) / 8), size_(bytes.size()) {
    if (!bytes.empty()) std::memcpy(copied_.data(), bytes.data(), bytes.size());
  }
  ~Mapping() {
    if (!mapped_.empty())
      ::munmap(const_cast<std::byte*>(mapped_.data()), mapped_.size());  // NOLINT: munmap's type
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const {
    return mapped_.empty() ? std::as_bytes(std::span(copied_)).first(size_) : mapped_;
  }

 private:
  std::span<const std::byte> mapped_;
  std::vector<std::uint64_t> copied_;
  std::size_t size_ = 0;
};

TableFile::TableFile(const std::filesystem::path& path)
    : name_(path.string()), mapping_(std::make_unique<const Mapping>(name_)) {
  check(TableView::read(mapping_->bytes(), view_), name_);
}

TableFile::TableFile(std::string_view bytes, std::string name)
    : name_(std::move(name)), mapping_(std::make_unique<const Mapping>(bytes)) {
  check(TableView::read(mapping_->bytes(), view_), name_);
}

TableFile::~TableFile() = default;
TableFile::TableFile(TableFile&&) noexcept = default;
TableFile& TableFile::operator=(TableFile&&) noexcept = default;

const TableView& TableFile::view() const noexcept { return view_; }

Generation TableFile::generation() const {
  const table_file::Header& header = view_.header();
  return {.store_uuid = std::string(view_.string(header.store_uuid)),
          .number = header.generation,
          .content_digest = std::string(view_.string(header.content_digest))};
}

std::string TableFile::environment_digest() const {
  return std::string(view_.string(view_.header().environment_digest));
}

std::string TableFile::digest() const { return table_file::to_text(view_.header().digest); }

DecisionSet TableFile::read_decisions() const {
  try {
    return colltune::read_decisions(view_);
  } catch (const Error& error) {
    throw Error(error.code(),
                name_ + ": " + error.what() + "; write it again with 'colltune export table'");
  }
}

DecisionSet read_decisions(const TableView& view) {
  const table_file::Header& header = view.header();
  if (table_file::digest_of(view.evidence()) != header.evidence_digest)
    throw Error(StatusCode::data_loss, "the evidence is not what its digest was made of");
  DecisionSet set = decode_evidence(view.evidence(), view.header().version);
  const Generation generation{.store_uuid = std::string(view.string(header.store_uuid)),
                              .number = header.generation,
                              .content_digest = std::string(view.string(header.content_digest))};
  if (set.generation != generation || set.decisions.size() != header.decisions)
    throw Error(StatusCode::data_loss,
                "the evidence is not of the generation that the header names");
  try {
    for (std::size_t i = 0; i < set.fits.size(); ++i)
      check_value(set.fits[i], FieldPath{.name = "fit " + std::to_string(i)});
  } catch (const Error& error) {
    throw Error(StatusCode::data_loss, std::string("evidence, ") + error.what());
  }
  return set;
}

std::optional<TableView::Group> resolve(const TableView& view, const TuningKey& key,
                                        std::string_view family) {
  if (view.string(view.header().environment_digest) != key.environment_digest) return std::nullopt;
  const auto world = view.find_world(table_file::digest_of_topology(key.topology));
  if (!world) return std::nullopt;
  const std::string mesh = key.problem.mesh ? mesh_name(*key.problem.mesh) : std::string();
  return view.resolve({.call = pack_call(key.problem, regime_of(key)),
                       .world = *world,
                       .family = family,
                       .mesh = mesh});
}

}  // namespace colltune
