! SPDX-FileCopyrightText: The colltune authors
! SPDX-License-Identifier: Apache-2.0
program with_mpi
  use mpi
  implicit none
  integer :: absolute
  integer :: ierr, rank, ranks, wrong, turn, step, count, root, peer, lengths(1)
  integer(kind=MPI_ADDRESS_KIND) :: places(1)
  integer, allocatable, asynchronous :: one(:), all(:)
  double precision, allocatable :: reals(:)
  include 'calls.inc'
end program
