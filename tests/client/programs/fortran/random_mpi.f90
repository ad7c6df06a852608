! SPDX-FileCopyrightText: The colltune authors
! SPDX-License-Identifier: Apache-2.0
program random_mpi
  use mpi
  implicit none
  integer :: elements(3), element, laid_out(2), every_other
  integer :: comms(3), comm
  integer :: ops(4), op
  integer :: requests(2)
  include 'random_calls.inc'
end program
