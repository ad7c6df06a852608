// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "mpi_handles.h"

#include <string>
#include <utility>

#include "colltune/vocabulary/error.h"

namespace colltune {

void check_mpi(int code, std::string_view call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  PMPI_Error_string(code, text, &length);
  throw Error(StatusCode::internal, std::string(call) + " failed: " +
                                        std::string(text, static_cast<std::size_t>(length)));
}

MpiComm::MpiComm(MPI_Comm comm) : comm_(comm) {
  if (comm_ != MPI_COMM_NULL) PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
}

MpiComm MpiComm::duplicate(MPI_Comm parent) {
  MPI_Comm comm = MPI_COMM_NULL;
  check_mpi(PMPI_Comm_dup(parent, &comm), "MPI_Comm_dup");
  return MpiComm(comm);
}

MpiComm MpiComm::duplicate_preferring(MPI_Comm parent, const char* component) {
  MPI_Info info = MPI_INFO_NULL;
  check_mpi(PMPI_Info_create(&info), "MPI_Info_create");
  MPI_Comm comm = MPI_COMM_NULL;
  int code = PMPI_Info_set(info, "ompi_comm_coll_preference", component);
  if (code == MPI_SUCCESS) code = PMPI_Comm_dup_with_info(parent, info, &comm);
  PMPI_Info_free(&info);
  check_mpi(code, "MPI_Comm_dup_with_info");
  return MpiComm(comm);
}

MpiComm MpiComm::of_same_ranks(MPI_Comm parent) {
  MPI_Group group = MPI_GROUP_NULL;
  check_mpi(PMPI_Comm_group(parent, &group), "MPI_Comm_group");
  MPI_Comm comm = MPI_COMM_NULL;
  const int code = PMPI_Comm_create(parent, group, &comm);
  PMPI_Group_free(&group);
  check_mpi(code, "MPI_Comm_create");
  return MpiComm(comm);
}

MpiComm MpiComm::split(MPI_Comm parent, int color, int key) {
  MPI_Comm comm = MPI_COMM_NULL;
  check_mpi(PMPI_Comm_split(parent, color < 0 ? MPI_UNDEFINED : color, key, &comm),
            "MPI_Comm_split");
  return MpiComm(comm);
}

MpiComm MpiComm::split_by_node(MPI_Comm parent) {
  MPI_Comm comm = MPI_COMM_NULL;
  check_mpi(PMPI_Comm_split_type(parent, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm),
            "MPI_Comm_split_type");
  return MpiComm(comm);
}

MpiComm::MpiComm(MpiComm&& other) noexcept : comm_(std::exchange(other.comm_, MPI_COMM_NULL)) {}

MpiComm& MpiComm::operator=(MpiComm&& other) noexcept {
  std::swap(comm_, other.comm_);
  return *this;
}

MpiComm::~MpiComm() {
  int finalized = 0;
  PMPI_Finalized(&finalized);
  if (comm_ != MPI_COMM_NULL && finalized == 0) PMPI_Comm_free(&comm_);
}

}  // namespace colltune
