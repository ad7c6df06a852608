// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <mpi.h>

#include <cstdint>
#include <numeric>

#include "colltune/collectives/agreement.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

void check(int code, const char* call) {
  if (code != MPI_SUCCESS)
    throw Error(StatusCode::internal, fmt::format("{} failed while colltune was set up", call));
}

class MpiAgreement final : public Agreement {
 public:
  explicit MpiAgreement(MPI_Comm comm) : comm_(comm) {
    check(PMPI_Comm_size(comm_, &ranks_), "MPI_Comm_size");
  }

  std::vector<std::string> gather(const std::string& own) override {
    const int size = static_cast<int>(own.size());
    std::vector<int> sizes(static_cast<std::size_t>(ranks_));
    check(PMPI_Allgather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, comm_), "MPI_Allgather");
    std::vector<int> places(sizes.size());
    std::exclusive_scan(sizes.begin(), sizes.end(), places.begin(), 0);
    std::string all(static_cast<std::size_t>(places.back() + sizes.back()), '\0');
    check(PMPI_Allgatherv(own.data(), size, MPI_CHAR, all.data(), sizes.data(), places.data(),
                          MPI_CHAR, comm_),
          "MPI_Allgatherv");
    std::vector<std::string> texts;
    for (std::size_t rank = 0; rank < sizes.size(); ++rank)
      texts.push_back(all.substr(static_cast<std::size_t>(places[rank]),
                                 static_cast<std::size_t>(sizes[rank])));
    return texts;
  }

  std::string share(std::string text) override {
    std::uint64_t bytes = text.size();
    check(PMPI_Bcast(&bytes, 1, MPI_UINT64_T, 0, comm_), "MPI_Bcast");
    text.resize(bytes);
    check(PMPI_Bcast(text.data(), static_cast<int>(bytes), MPI_CHAR, 0, comm_), "MPI_Bcast");
    return text;
  }

 private:
  MPI_Comm comm_;
  int ranks_ = 0;
};

}  // namespace

std::unique_ptr<Agreement> make_mpi_agreement(const void* comm) {
  return std::make_unique<MpiAgreement>(*static_cast<const MPI_Comm*>(comm));
}

}  // namespace colltune
