# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""libcolltune_callables.so (client/callables) by ctypes, which is found where the other libraries are, and the ranks of a
running MPI program: mpi4py's communicators or this module's own."""

import atexit
import ctypes
import functools
import json
import os
import sys
import weakref
from pathlib import Path

from ._library import FAILED_PRECONDITION, INVALID_ARGUMENT, VARIABLE, Error


@functools.lru_cache(maxsize=None)
def library():
    name = "libcolltune_callables.so"
    given = os.environ.get(VARIABLE)
    folder = Path(given) if given and os.path.isdir(given) else Path(given).parent if given else Path(__file__).resolve().parents[3]
    path = folder / name
    try:
        loaded = ctypes.CDLL(str(path) if given or path.exists() else name)
    except OSError as error:
        raise Error(FAILED_PRECONDITION, f"{name} was not found ({error}); set {VARIABLE} to its folder") from error
    loaded.colltune_callables_free.argtypes = [ctypes.c_void_p]
    loaded.colltune_callables_free.restype = None
    loaded.colltune_callables_run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t,
                                              ctypes.c_void_p]
    loaded.colltune_callables_repeat.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    loaded.colltune_callables_close.argtypes = [ctypes.c_void_p]
    loaded.colltune_callables_close.restype = None
    return loaded


def take_text(text):
    """The text that a function of the library has set, which is freed; empty if it set none."""
    taken = ctypes.string_at(text).decode(errors="replace") if text else ""
    library().colltune_callables_free(text)
    return taken


def ask(function, *arguments):
    """The text that a function of the library gives; raises Error."""
    text = ctypes.c_void_p()
    code = getattr(library(), function)(*arguments, ctypes.byref(text))
    answer = take_text(text)
    if code != 0:
        raise Error(code, answer)
    return answer


# What holds parts of MPI and is closed before this module ends MPI.
holders = weakref.WeakSet()


class Communicator:
    """Ranks of the program, without mpi4py: of the world that world() gives, or a part of it. `rank`, `size`; py2f() is its
    handle (MPI_Fint), from which mpi4py makes its own: MPI.Comm.f2py(comm.py2f())."""

    def __init__(self, handle, rank=None, size=None, is_part=False):
        self._handle, self._rank, self._size, self._is_part = handle, rank, size, is_part

    def _describe(self):
        if self._rank is None:
            found = json.loads(ask("colltune_callables_describe", self.py2f()))
            self._rank, self._size = found["rank"], found["size"]

    @property
    def rank(self):
        self._describe()
        return self._rank

    @property
    def size(self):
        self._describe()
        return self._size

    def py2f(self):
        if self._handle is None:
            raise Error(FAILED_PRECONDITION, "the communicator is closed")
        return self._handle

    def allgather(self, value):
        """What all ranks give, in rank order. The values are those that JSON has. Collective; it is for agreeing, not fast.
        Where a rank does not come within 60 s, the program ends."""
        return gather(self.py2f(), value)

    def split(self, color, key=0):
        """The ranks that give the same color, ordered by key, then by rank; None for a negative color. Collective. The part
        belongs to the caller: close() it."""
        text = ask("colltune_callables_split", self.py2f(), color, key)
        if not text:
            return None
        found = json.loads(text)
        return Communicator(found["communicator"], found["rank"], found["size"], is_part=True)

    def close(self):
        """Frees a part that split() made, on all of its ranks; nothing else is freed. It may be called again."""
        handle, self._handle = self._handle, None
        if handle is not None and self._is_part:
            ask("colltune_callables_free_communicator", handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _end_mpi():
    # A rank that ends by an exception must not wait here for the others: the launcher ends them when it is gone.
    if getattr(sys, "last_type", None) is not None:
        return
    for holder in list(holders):
        holder.close()
    ask("colltune_callables_end_mpi")


@functools.lru_cache(maxsize=None)
def world():
    """All ranks of the program (MPI_COMM_WORLD). Starts MPI where it does not run yet, for one thread; then it ends with the
    program, unless an exception ends that."""
    found = json.loads(ask("colltune_callables_start_mpi"))
    if found["is_started"]:
        atexit.register(_end_mpi)
    return Communicator(found["communicator"], found["rank"], found["size"])


def handle_of(comm):
    """The MPI_Fint of a communicator of mpi4py or of this module, of a handle, or of None: the world."""
    if comm is None:
        return world().py2f()
    if isinstance(comm, int):
        return comm
    if not hasattr(comm, "py2f"):
        raise Error(INVALID_ARGUMENT,
                    f"{comm!r} is no communicator: give mpi4py's, that of colltune.world(), or None for all ranks")
    return comm.py2f()


def communicator_of(handle):
    """mpi4py's communicator of a handle where the program uses mpi4py, else this module's. It is made anew each time: MPI
    gives the handle of a freed communicator to another one."""
    mpi = sys.modules.get("mpi4py.MPI")
    return mpi.Comm.f2py(handle) if mpi is not None else Communicator(handle)


def gather(handle, own):
    """What all ranks say, in rank order, as JSON values; collective."""
    return [json.loads(one) for one in json.loads(ask("colltune_callables_gather", handle, json.dumps(own).encode()))]


def attempt(step):
    """(what `step` returns, None), or (None, what it raises as [code, message])."""
    try:
        return step(), None
    except Error as error:
        return None, [error.code, error.message]
    except Exception as error:
        return None, [INVALID_ARGUMENT, f"{type(error).__name__}: {error}"]


def agree(handle, own, failure):
    """What all ranks say, in rank order. Collective: where one has failed, all raise its Error, which names it."""
    said = gather(handle, [None if failure else own, failure])
    for rank, (_, failed) in enumerate(said):
        if failed:
            raise Error(failed[0], f"rank {rank}: {failed[1]}")
    return [each[0] for each in said]
