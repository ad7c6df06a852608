// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/collectives/collectives.h"

#include <fmt/format.h>

#include <atomic>
#include <vector>

#include "colltune/kernels/catalogue.h"
#include "colltune/kernels/communication/thread_communicator.h"
#include "one_rank.h"

namespace colltune {

/// What the ranks of a group share.
class RankThreads::Impl {
 public:
  Impl(int ranks, const CollectivesOptions& options)
      : settings(settings_of(options)),
        catalogue(std::make_shared<const Implementations>(make_host_catalogue())),
        texts(static_cast<std::size_t>(ranks)),
        is_taken_(static_cast<std::size_t>(ranks)) {
    std::vector<AbortFlag*> flags;
    for (int rank = 0; rank < ranks; ++rank) {
      waits.push_back(std::make_shared<RankWaits>([] {}));
      flags.push_back(&waits.back()->abort_flag);
    }
    world = make_program_threads(flags, settings.memory);
  }

  /// Throws Error(invalid_argument) if there is no such rank, or it is taken already.
  void take(int rank) {
    if (rank < 0 || static_cast<std::size_t>(rank) >= world.size())
      throw Error(StatusCode::invalid_argument,
                  fmt::format("rank {} of a group of {} threads; allowed are 0 to {}", rank,
                              world.size(), world.size() - 1));
    if (is_taken_[static_cast<std::size_t>(rank)].exchange(true))
      throw Error(
          StatusCode::invalid_argument,
          fmt::format("rank {} of this group of threads has its collectives already", rank));
  }
  void abandon() const noexcept {
    for (const auto& one : waits) one->abort_flag.raise();
  }

  const ProgramSettings settings;
  const std::shared_ptr<const Implementations> catalogue;
  std::vector<std::shared_ptr<RankWaits>> waits;     ///< by rank
  std::vector<std::unique_ptr<Communicator>> world;  ///< by rank; each is given away once
  std::vector<std::string> texts;                    ///< of the agreement, guarded by its barriers

 private:
  std::vector<std::atomic<bool>> is_taken_;
};

namespace {

/// Through memory that all ranks see.
class ThreadAgreement final : public Agreement {
 public:
  /// All outlive this.
  ThreadAgreement(Communicator& communicator, std::vector<std::string>& texts)
      : communicator_(communicator), texts_(texts) {}

  std::vector<std::string> gather(const std::string& own) override {
    texts_[static_cast<std::size_t>(communicator_.rank())] = own;
    communicator_.barrier(no_deadline);
    std::vector<std::string> all = texts_;
    communicator_.barrier(no_deadline);
    return all;
  }
  std::string share(std::string text) override { return std::move(gather(text).front()); }

 private:
  Communicator& communicator_;
  std::vector<std::string>& texts_;
};

int positive(int ranks) {
  if (ranks < 1)
    throw Error(StatusCode::invalid_argument,
                fmt::format("a group of {} threads; it needs at least 1", ranks));
  return ranks;
}

}  // namespace

RankThreads::RankThreads(int ranks, const CollectivesOptions& options)
    : impl_(std::make_shared<Impl>(positive(ranks), options)) {}
RankThreads::~RankThreads() = default;
void RankThreads::abandon() noexcept { impl_->abandon(); }

Collectives::Collectives(RankThreads& threads, int rank) {
  const std::shared_ptr<RankThreads::Impl> group = threads.impl_;
  group->take(rank);
  const auto index = static_cast<std::size_t>(rank);
  try {
    Communicator& communicator = *group->world[index];
    ThreadAgreement agreement(communicator, group->texts);
    impl_ =
        std::make_shared<Impl>(OneRankParts{.keeps = group,
                                            .waits = group->waits[index],
                                            .communicator = std::move(group->world[index]),
                                            .catalogue = group->catalogue,
                                            .plain = make_thread_way(group->catalogue),
                                            .abandon = [waits = group.get()] { waits->abandon(); },
                                            .reports = group->settings.reports},
                               agreement, group->settings);
  } catch (const RankMissing&) {
    throw;  // the group was abandoned
  } catch (const Error&) {
    throw;  // on all ranks
  } catch (const std::exception&) {
    group->abandon();
    throw;
  }
}
Collectives::Collectives(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Collectives::~Collectives() = default;
Collectives::Collectives(Collectives&&) noexcept = default;
Collectives& Collectives::operator=(Collectives&&) noexcept = default;

int Collectives::rank() const { return impl_->rank(); }
int Collectives::size() const { return impl_->size(); }
void Collectives::run(const CollectiveCall& call) { impl_->run(call); }
void Collectives::mesh_reduce(const MeshReductionCall& call) { impl_->run(call); }
std::string Collectives::report() const { return impl_->report(); }

class PersistentCall::Impl {
 public:
  Impl(std::shared_ptr<Collectives::Impl> of, Collectives::Impl::Prepared prepared)
      : of_(std::move(of)), prepared_(std::move(prepared)) {}

  void start() {
    if (is_under_way_)
      throw Error(StatusCode::failed_precondition,
                  describe(prepared_.checked.program) + " is under way; wait for it first");
    if (prepared_.operation != nullptr) of_->start(prepared_);
    is_under_way_ = true;
  }
  void wait() {
    if (!is_under_way_)
      throw Error(StatusCode::failed_precondition,
                  describe(prepared_.checked.program) + " was not started");
    is_under_way_ = false;
    if (prepared_.operation != nullptr)
      of_->wait(prepared_);
    else if (of_->size() == 1)
      Collectives::Impl::move_alone(prepared_.checked, prepared_.own);
  }
  [[nodiscard]] const std::string& variant() const { return prepared_.variant; }

 private:
  std::shared_ptr<Collectives::Impl> of_;
  Collectives::Impl::Prepared prepared_;
  bool is_under_way_ = false;
};

PersistentCall Collectives::prepare(const CollectiveCall& call) {
  return PersistentCall(std::make_unique<PersistentCall::Impl>(impl_, impl_->prepare(call)));
}
PersistentCall Collectives::prepare(const MeshReductionCall& call) {
  return PersistentCall(std::make_unique<PersistentCall::Impl>(impl_, impl_->prepare(call)));
}
PersistentCall::PersistentCall(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PersistentCall::~PersistentCall() = default;
PersistentCall::PersistentCall(PersistentCall&&) noexcept = default;
PersistentCall& PersistentCall::operator=(PersistentCall&&) noexcept = default;
void PersistentCall::start() { impl_->start(); }
void PersistentCall::wait() { impl_->wait(); }
const std::string& PersistentCall::variant() const { return impl_->variant(); }

class SymmetricBuffer::Impl {
 public:
  Impl(std::shared_ptr<Collectives::Impl> of, Bytes bytes)
      : of_(std::move(of)), bytes_(bytes), memory_(of_->allocate(bytes)) {}

  [[nodiscard]] int rank() const { return of_->rank(); }
  [[nodiscard]] std::span<std::byte> part(int rank) const {
    if (rank < 0 || rank >= of_->size())
      throw Error(StatusCode::invalid_argument,
                  fmt::format("the part of rank {}; allowed are 0 to {}", rank, of_->size() - 1));
    const std::span<std::byte> whole = memory_->part(rank);
    return whole.empty() ? whole : whole.first(bytes_.value);
  }

 private:
  std::shared_ptr<Collectives::Impl> of_;
  Bytes bytes_;
  std::unique_ptr<SymmetricMemory> memory_;
};

SymmetricBuffer Collectives::allocate(Bytes bytes) {
  return SymmetricBuffer(std::make_unique<SymmetricBuffer::Impl>(impl_, bytes));
}
SymmetricBuffer::SymmetricBuffer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SymmetricBuffer::~SymmetricBuffer() = default;
SymmetricBuffer::SymmetricBuffer(SymmetricBuffer&&) noexcept = default;
SymmetricBuffer& SymmetricBuffer::operator=(SymmetricBuffer&&) noexcept = default;
std::span<std::byte> SymmetricBuffer::bytes() const { return impl_->part(impl_->rank()); }
std::span<std::byte> SymmetricBuffer::part(int rank) const { return impl_->part(rank); }

}  // namespace colltune
