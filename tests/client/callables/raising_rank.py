# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""A rank that ends by an exception does not wait in the end of MPI that the module started: the launcher ends the others, which
wait for it."""

import colltune

world = colltune.world()
if world.rank == 1:
    raise RuntimeError("planted exception")
world.allgather(0)
print("the wait ended")
