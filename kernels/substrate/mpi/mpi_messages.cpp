// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "mpi/mpi_messages.h"

#include <utility>
#include <vector>

namespace colltune {
namespace {

/// Not more than Messages::largest_size.
int count_of(std::size_t bytes) { return static_cast<int>(bytes); }

class MpiMessages final : public Messages {
 public:
  MpiMessages(MpiComm comm, std::size_t numbers)
      : comm_(std::move(comm)), receives_(numbers), requests_(numbers, MPI_REQUEST_NULL) {}
  MpiMessages(const MpiMessages&) = delete;
  MpiMessages& operator=(const MpiMessages&) = delete;
  ~MpiMessages() override {
    // A receive is cancelled; a send stays with the library, which may still read its bytes.
    for (std::size_t number = 0; number < requests_.size(); ++number) {
      if (requests_[number] == MPI_REQUEST_NULL) continue;
      if (receives_[number]) MPI_Cancel(&requests_[number]);
      MPI_Request_free(&requests_[number]);
    }
  }

  void send(std::size_t number, int to, int tag, std::span<const std::byte> bytes) override {
    receives_[number] = false;
    check_mpi(MPI_Isend(bytes.data(), count_of(bytes.size()), MPI_BYTE, to, tag, comm_.get(),
                        &requests_[number]),
              "MPI_Isend");
  }

  void receive(std::size_t number, int from, int tag, std::span<std::byte> bytes) override {
    receives_[number] = true;
    check_mpi(MPI_Irecv(bytes.data(), count_of(bytes.size()), MPI_BYTE, from, tag, comm_.get(),
                        &requests_[number]),
              "MPI_Irecv");
  }

  bool is_done(std::size_t number) override {
    if (requests_[number] == MPI_REQUEST_NULL) return true;
    int done = 0;
    check_mpi(MPI_Test(&requests_[number], &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
  }

  void advance() override {
    int found = 0;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_.get(), &found, MPI_STATUS_IGNORE),
              "MPI_Iprobe");
  }

 private:
  MpiComm comm_;
  std::vector<bool> receives_;  ///< whether the number's message is one to this rank
  std::vector<MPI_Request> requests_;
};

}  // namespace

std::unique_ptr<Messages> make_mpi_messages(MpiComm comm, std::size_t numbers) {
  return std::make_unique<MpiMessages>(std::move(comm), numbers);
}

}  // namespace colltune
