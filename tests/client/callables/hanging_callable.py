# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""A callable that never returns on one rank ends the program within the calls' limit, and the reason names it."""

import threading

from mpi4py import MPI

import colltune

comm = MPI.COMM_WORLD


def hangs(send, receive, call):
    if comm.rank == 1:
        threading.Event().wait()
    comm.Barrier()


colltune.register("all_reduce", "hangs", hangs)
colltune.sweep(comm, ["all_reduce"], [4096], seconds=4, include=["python.*", "mpi.all_reduce"], allow_oversubscribe=True, call_limit=2)
print("the sweep ended")
