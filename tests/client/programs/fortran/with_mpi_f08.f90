! SPDX-FileCopyrightText: The colltune authors
! SPDX-License-Identifier: Apache-2.0
program with_mpi_f08
  use mpi_f08
  implicit none
  type(MPI_Datatype) :: absolute
  integer :: ierr, rank, ranks, wrong, turn, step, count, root, peer, lengths(1)
  integer(kind=MPI_ADDRESS_KIND) :: places(1)
  integer, allocatable, asynchronous :: one(:), all(:)
  double precision, allocatable :: reals(:)
  include 'calls.inc'
end program
