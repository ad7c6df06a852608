! SPDX-FileCopyrightText: The colltune authors
! SPDX-License-Identifier: Apache-2.0
program random_mpi_f08
  use mpi_f08
  implicit none
  type(MPI_Datatype) :: elements(3), element, laid_out(2), every_other
  type(MPI_Comm) :: comms(3), comm
  type(MPI_Op) :: ops(4), op
  type(MPI_Request) :: requests(2)
  include 'random_calls.inc'
end program
