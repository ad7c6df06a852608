// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "mpi_messages.h"

#include <thread>
#include <utility>
#include <vector>

namespace colltune {
namespace {

/// At most Messages::largest_size bytes.
int count_of(std::size_t bytes) { return static_cast<int>(bytes); }

class MpiMessages final : public Messages {
 public:
  MpiMessages(MpiComm comm, std::size_t numbers)
      : comm_(std::move(comm)), receives_(numbers), requests_(numbers, MPI_REQUEST_NULL) {}
  MpiMessages(const MpiMessages&) = delete;
  MpiMessages& operator=(const MpiMessages&) = delete;
  ~MpiMessages() override { (void)give_up(Clock::now()); }

  void send(std::size_t number, int to, int tag, std::span<const std::byte> bytes) override {
    receives_[number] = false;
    check_mpi(PMPI_Isend(bytes.data(), count_of(bytes.size()), MPI_BYTE, to, tag, comm_.get(),
                         &requests_[number]),
              "MPI_Isend");
  }

  void receive(std::size_t number, int from, int tag, std::span<std::byte> bytes) override {
    receives_[number] = true;
    check_mpi(PMPI_Irecv(bytes.data(), count_of(bytes.size()), MPI_BYTE, from, tag, comm_.get(),
                         &requests_[number]),
              "MPI_Irecv");
  }

  bool is_done(std::size_t number) override {
    if (requests_[number] == MPI_REQUEST_NULL) return true;
    int done = 0;
    check_mpi(PMPI_Test(&requests_[number], &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
  }

  void advance() override {
    int found = 0;
    check_mpi(PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_.get(), &found, MPI_STATUS_IGNORE),
              "MPI_Iprobe");
  }

  bool give_up(Deadline deadline) override {
    // A receive without a matching message can be cancelled; a send cannot.
    for (std::size_t number = 0; number < requests_.size(); ++number)
      if (requests_[number] != MPI_REQUEST_NULL && receives_[number])
        PMPI_Cancel(&requests_[number]);
    int are_done = 0;
    const auto test = [&] {
      PMPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &are_done,
                   MPI_STATUSES_IGNORE);
      return are_done != 0;
    };
    while (!test() && Clock::now() < deadline) std::this_thread::yield();
    for (MPI_Request& request : requests_)
      if (request != MPI_REQUEST_NULL) PMPI_Request_free(&request);
    return are_done != 0;
  }

 private:
  using Clock = Deadline::clock;
  MpiComm comm_;
  std::vector<bool> receives_;  ///< whether the number's message is a receive
  std::vector<MPI_Request> requests_;
};

}  // namespace

std::unique_ptr<Messages> make_mpi_messages(MpiComm comm, std::size_t numbers) {
  return std::make_unique<MpiMessages>(std::move(comm), numbers);
}

}  // namespace colltune
