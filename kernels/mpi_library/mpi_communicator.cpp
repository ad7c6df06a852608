// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/mpi_library/mpi_communicator.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

#include "called_from_mpi.h"
#include "colltune/machine/descriptor.h"
#include "colltune/machine/hardware_topology.h"
#include "colltune/machine/mapping.h"
#include "colltune/machine/usable_cores.h"
#include "communication/rank_places.h"
#include "control_variable.h"
#include "launch_check.h"
#include "live_memory.h"
#include "meeting.h"
#include "mpi_call.h"
#include "mpi_handles.h"
#include "mpi_messages.h"
#include "mpi_types.h"
#include "word_exchange.h"

namespace colltune {
namespace {

/// A rank's number in the world, its node, and the cores where it may run. Determined once and kept
/// in every communicator made from the world.
struct Seat {
  int world_rank = 0;
  int node = 0;     ///< as the ranks are told
  int machine = 0;  ///< the real one; differs from `node` only if nodes are pretended
  RankCores cores{};
  int numa = -1;   ///< the NUMA domain that contains all of them
  int cache = -1;  ///< the last-level cache that contains all of them
};

RankPlaces places_of(std::span<const Seat> seats) {
  RankPlaces places;
  for (const Seat& seat : seats) {
    places.node.push_back(seat.node);
    places.numa.push_back(seat.numa);
    places.cache.push_back(seat.cache);
  }
  return renumber_places(places, static_cast<int>(seats.size()));
}

/// Whether ranks share cores on a machine of `members`; `running` are all ranks that run at the
/// same time.
bool share_cores(std::span<const Seat> members, std::span<const Seat> running) {
  std::set<int> machines;
  for (const Seat& seat : members) machines.insert(seat.machine);
  std::map<int, std::vector<RankCores>> ranks_on;
  for (const Seat& seat : running)
    if (machines.contains(seat.machine)) ranks_on[seat.machine].push_back(seat.cores);
  return std::ranges::any_of(
      ranks_on, [](const auto& machine) { return have_to_share_cores(machine.second); });
}

int rank_in(MPI_Comm comm) {
  int rank = 0;
  check_mpi(PMPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  return rank;
}

class MpiCommunicator final : public Communicator {
 public:
  /// `running`: the ranks that run at the same time; null: only its own.
  MpiCommunicator(std::shared_ptr<const MpiToolSession> tools, std::shared_ptr<LiveMemory> live,
                  MpiComm comm, AbortFlag& abort_flag, std::vector<Seat> seats, Device* device,
                  std::shared_ptr<const std::vector<Seat>> running = nullptr)
      : Communicator({.rank = rank_in(comm.get()),
                      .size = static_cast<int>(seats.size()),
                      .places = places_of(seats),
                      .is_oversubscribed = share_cores(seats, running ? *running : seats),
                      .abort_flag = &abort_flag,
                      .device = device}),
        tools_(std::move(tools)),
        live_(std::move(live)),
        comm_(std::move(comm)),
        abort_flag_(abort_flag),
        seats_(std::move(seats)),
        running_(running ? std::move(running) : std::make_shared<const std::vector<Seat>>(seats_)),
        device_(device),
        rank_(rank()) {}

  Attachments& attachments() override { return attachments_; }
  const void* native_mpi() const override { return &comm_.get(); }

  std::unique_ptr<Operation> call_through_library(std::unique_ptr<Operation>& prepared,
                                                  const Call& call) const override {
    return call_from_mpi(*this, prepared, call);
  }

  void barrier(Deadline /*deadline*/) override {
    check_mpi(PMPI_Barrier(comm_.get()), "MPI_Barrier");
  }

  void progress() override {
    int found = 0;
    check_mpi(PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_.get(), &found, MPI_STATUS_IGNORE),
              "MPI_Iprobe");
  }

  std::int64_t all_reduce_max(std::int64_t value, Deadline /*deadline*/) override {
    std::int64_t largest = value;
    check_mpi(PMPI_Allreduce(&value, &largest, 1, MPI_INT64_T, MPI_MAX, comm_.get()),
              "MPI_Allreduce");
    return largest;
  }

  void send_word(int to, std::int64_t word, Deadline deadline) override {
    colltune::send_word(comm_.get(), to, word, {deadline, abort_flag_});
  }

  std::int64_t receive_word(int from, Deadline deadline) override {
    return colltune::receive_word(comm_.get(), from, {deadline, abort_flag_});
  }

  std::unique_ptr<Communicator> duplicate(Deadline deadline) override {
    meet(comm_.get(), deadline, abort_flag_);
    return std::make_unique<MpiCommunicator>(tools_, live_, MpiComm::duplicate(comm_.get()),
                                             abort_flag_, seats_, device_, running_);
  }

  std::unique_ptr<Communicator> duplicate_preferring(const char* component, Deadline deadline) {
    meet(comm_.get(), deadline, abort_flag_);
    return std::make_unique<MpiCommunicator>(tools_, live_,
                                             MpiComm::duplicate_preferring(comm_.get(), component),
                                             abort_flag_, seats_, device_, running_);
  }
  [[nodiscard]] bool spans_hosts() const {
    return std::ranges::any_of(
        seats_, [&](const Seat& seat) { return seat.machine != seats_.front().machine; });
  }

  std::unique_ptr<Communicator> split(int color, int key, OtherRanks others,
                                      Deadline deadline) override {
    return make_part(color, key, others == OtherRanks::running ? running_ : nullptr, deadline);
  }

  std::unique_ptr<SymmetricMemory> allocate(Bytes bytes_per_rank, Deadline deadline) override;
  std::optional<SymmetricAddress> symmetric_address_of(
      std::span<const std::byte> own) const override {
    return live_->symmetric_address_of(own);
  }
  std::byte* find(const SymmetricAddress& address, int rank) const override {
    const auto index = static_cast<std::size_t>(rank);
    return shares_node_with(index) ? live_->find(address, seats_[index].world_rank) : nullptr;
  }
  std::unique_ptr<Messages> open_messages(std::size_t numbers, Deadline deadline) override {
    meet(comm_.get(), deadline, abort_flag_);
    return make_mpi_messages(MpiComm::duplicate(comm_.get()), numbers);
  }

 private:
  [[nodiscard]] bool shares_node_with(std::size_t rank) const {
    return nodes()[rank] == nodes()[static_cast<std::size_t>(rank_)];
  }
  [[nodiscard]] std::vector<int> world_ranks() const {
    std::vector<int> ranks;
    for (const Seat& seat : seats_) ranks.push_back(seat.world_rank);
    return ranks;
  }
  std::unique_ptr<Communicator> make_part(int color, int key,
                                          std::shared_ptr<const std::vector<Seat>> running,
                                          Deadline deadline) {
    meet(comm_.get(), deadline, abort_flag_);
    MpiComm comm = MpiComm::split(comm_.get(), color, key);
    if (comm.get() == MPI_COMM_NULL) return nullptr;
    std::vector<Seat> seats = seats_of_members(comm.get());
    return std::make_unique<MpiCommunicator>(tools_, live_, std::move(comm), abort_flag_,
                                             std::move(seats), device_, std::move(running));
  }
  std::vector<Seat> seats_of_members(MPI_Comm comm) const {
    int members = 0;
    check_mpi(PMPI_Comm_size(comm, &members), "MPI_Comm_size");
    std::vector<int> ranks(static_cast<std::size_t>(members));
    check_mpi(PMPI_Allgather(&rank_, 1, MPI_INT, ranks.data(), 1, MPI_INT, comm), "MPI_Allgather");
    std::vector<Seat> seats;
    for (const int r : ranks) seats.push_back(seats_[static_cast<std::size_t>(r)]);
    return seats;
  }

  // Of a program's communicator null: sessions are for who sets variables. Else kept open from the
  // world on: the first session of a process makes Open MPI load all of its
  // components, and the end of the last session unloads them (0.1 s each time).
  std::shared_ptr<const MpiToolSession> tools_;
  std::shared_ptr<LiveMemory> live_;
  MpiComm comm_;
  AbortFlag& abort_flag_;
  std::vector<Seat> seats_;
  std::shared_ptr<const std::vector<Seat>> running_;
  Device* device_;
  int rank_ = 0;
  Attachments attachments_;
};

/// Which file of which process holds a rank's part; -1 if it could not be made.
struct PartAddress {
  AllocationName name;  ///< rank 0's is the name of the allocation
  std::int64_t descriptor = -1;
  std::uint64_t bytes = 0;
  std::uint64_t inode = 0;  ///< of the file, on its machine
};

std::uint64_t inode_of(int descriptor) {
  struct stat file {};
  return ::fstat(descriptor, &file) == 0 ? file.st_ino : 0;
}

std::unique_ptr<SymmetricMemory> MpiCommunicator::allocate(Bytes bytes_per_rank,
                                                           Deadline deadline) {
  meet(comm_.get(), deadline, abort_flag_);
  std::string failure;
  std::unique_ptr<MemoryFile> own;
  try {
    live_->require_room(bytes_per_rank);
    require_free_memory(bytes_per_rank * static_cast<std::uint64_t>(size()));
    own = std::make_unique<MemoryFile>(bytes_per_rank);
  } catch (const std::exception& error) {
    failure = error.what();
  }
  meet(comm_.get(), deadline, abort_flag_, failure, StatusCode::resource_exhausted);

  const PartAddress address{live_->make_name(), own->descriptor(), bytes_per_rank.value,
                            inode_of(own->descriptor())};
  std::vector<PartAddress> addresses(static_cast<std::size_t>(size()));
  check_mpi(PMPI_Allgather(&address, sizeof address, MPI_BYTE, addresses.data(), sizeof address,
                           MPI_BYTE, comm_.get()),
            "MPI_Allgather");
  for (const PartAddress& other : addresses)  // every rank sees the same addresses
    if (other.bytes != addresses.front().bytes)
      throw Error(StatusCode::invalid_argument,
                  "the ranks asked for unlike amounts of symmetric memory: rank 0 for " +
                      format_bytes({addresses.front().bytes}) + ", another for " +
                      format_bytes({other.bytes}));

  std::vector<Mapping> parts;
  try {
    for (std::size_t r = 0; r < addresses.size(); ++r) {
      if (!shares_node_with(r)) {
        parts.emplace_back();
        continue;
      }
      const PartAddress& other = addresses[r];
      const std::string path =
          "/proc/" + std::to_string(other.name.process) + "/fd/" + std::to_string(other.descriptor);
      const Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
      if (file.get() < 0)
        throw Error(StatusCode::unavailable,
                    "cannot open a peer's memory at " + path + " (" + std::strerror(errno) +
                        "); the ranks of a node must share one process namespace and one user");
      // If process numbers here belong to another namespace, the path may name a different file.
      if (inode_of(file.get()) != other.inode)
        throw Error(StatusCode::unavailable,
                    path + " is not the memory of rank " + std::to_string(r) +
                        "; the ranks of a node must share one process namespace");
      parts.push_back(Mapping::shared(file.get(), bytes_per_rank));
      parts.back().fill_page_tables();
      parts.back().keep_from_children();
    }
  } catch (const std::exception& error) {
    failure = error.what();
  }
  meet(comm_.get(), deadline, abort_flag_, failure, StatusCode::unavailable);
  return live_->add(addresses.front().name, std::move(parts), world_ranks(), rank_);
}

/// A communicator keeps the algorithms that were named when it was made (coll/tuned). After this,
/// no new communicator has one. Needs a session.
void clear_named_algorithms() {
  int count = 0;
  check_mpi(MPI_T_cvar_get_num(&count), "MPI_T_cvar_get_num");
  for (int index = 0; index < count; ++index) {
    auto variable = ControlVariable::at(index);
    if (variable && variable->name().starts_with("coll_tuned_") &&
        variable->name().ends_with("_algorithm") && variable->is_writable() &&
        variable->read() != 0)
      variable->write(0);
  }
}

/// The seat without NUMA domain and cache. The rank's number in `comm` takes the place of that in
/// the world.
Seat find_own_node(MPI_Comm comm) {
  Seat seat;
  const MpiComm node = MpiComm::split_by_node(comm);
  check_mpi(PMPI_Comm_rank(comm, &seat.world_rank), "MPI_Comm_rank");
  check_mpi(PMPI_Allreduce(&seat.world_rank, &seat.machine, 1, MPI_INT, MPI_MIN, node.get()),
            "MPI_Allreduce");
  seat.node = seat.machine;
  seat.cores = own_cores();
  return seat;
}

Seat find_own_seat(MPI_Comm world, const PretendedMachine& pretended) {
  Seat seat = find_own_node(world);
  if (pretended.ranks_per_node > 0) seat.node = seat.world_rank / pretended.ranks_per_node;
  if (pretended.ranks_per_domain > 0) {
    seat.numa = seat.cache = seat.world_rank / pretended.ranks_per_domain;
  } else {
    const HardwareTopology hardware;
    seat.numa = hardware.numa_of(seat.cores.threads);
    seat.cache = hardware.cache_of(seat.cores.threads);
  }
  return seat;
}

std::vector<Seat> exchange_seats(MPI_Comm comm, const Seat& own) {
  int size = 0;
  check_mpi(PMPI_Comm_size(comm, &size), "MPI_Comm_size");
  std::vector<Seat> seats(static_cast<std::size_t>(size));
  check_mpi(PMPI_Allgather(&own, sizeof own, MPI_BYTE, seats.data(), sizeof own, MPI_BYTE, comm),
            "MPI_Allgather");
  return seats;
}

}  // namespace

std::unique_ptr<Communicator> make_mpi_world(AbortFlag& abort_flag, Deadline deadline,
                                             const PretendedMachine& pretended, Device* device,
                                             NamedAlgorithms named) {
  int initialized = 0;
  PMPI_Initialized(&initialized);
  if (initialized == 0)
    throw Error(StatusCode::failed_precondition, "MPI_Init has not been called");
  int size = 0;
  check_mpi(PMPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  if (const std::string why = why_separate_worlds(
          size, [](const char* name) { return static_cast<const char*>(std::getenv(name)); });
      !why.empty())
    throw Error(StatusCode::failed_precondition, why);
  PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  meet(MPI_COMM_WORLD, deadline, abort_flag);
  auto tools = std::make_shared<const MpiToolSession>();
  if (named == NamedAlgorithms::cleared) clear_named_algorithms();
  MpiComm comm = MpiComm::duplicate(MPI_COMM_WORLD);
  const Seat own = find_own_seat(comm.get(), pretended);
  std::vector<Seat> seats = exchange_seats(comm.get(), own);
  return std::make_unique<MpiCommunicator>(std::move(tools), std::make_shared<LiveMemory>(),
                                           std::move(comm), abort_flag, std::move(seats), device);
}

std::unique_ptr<Communicator> make_program_communicator(const void* comm, AbortFlag& abort_flag,
                                                        Bytes most_memory) {
  MpiComm own = MpiComm::of_same_ranks(*static_cast<const MPI_Comm*>(comm));
  std::vector<Seat> seats = exchange_seats(own.get(), find_own_node(own.get()));
  return std::make_unique<MpiCommunicator>(nullptr, std::make_shared<LiveMemory>(most_memory),
                                           std::move(own), abort_flag, std::move(seats), nullptr);
}

std::unique_ptr<Communicator> make_measured_communicator(const void* comm, AbortFlag& abort_flag,
                                                         Deadline deadline) {
  MpiComm own = MpiComm::of_same_ranks(*static_cast<const MPI_Comm*>(comm));
  meet(own.get(), deadline, abort_flag);
  auto tools = std::make_shared<const MpiToolSession>();
  std::vector<Seat> seats = exchange_seats(own.get(), find_own_seat(own.get(), {}));
  return std::make_unique<MpiCommunicator>(std::move(tools), std::make_shared<LiveMemory>(),
                                           std::move(own), abort_flag, std::move(seats), nullptr);
}

bool spans_hosts(const Communicator& communicator) {
  const auto* const over_mpi = dynamic_cast<const MpiCommunicator*>(&communicator);
  return over_mpi != nullptr && over_mpi->spans_hosts();
}

std::unique_ptr<Communicator> duplicate_preferring(Communicator& communicator,
                                                   const char* component, Deadline deadline) {
  auto* const over_mpi = dynamic_cast<MpiCommunicator*>(&communicator);
  if (over_mpi == nullptr)
    throw Error(StatusCode::failed_precondition, "this communicator has no MPI behind it");
  return over_mpi->duplicate_preferring(component, deadline);
}

}  // namespace colltune
