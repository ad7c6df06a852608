# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Daemons: tables of their generations, and single questions."""

import ctypes
from ctypes import byref
from typing import Any, NamedTuple, Optional, Tuple, Union

from ._library import FAILED_PRECONDITION, INVALID_ARGUMENT, CFetch, Closing, Error, check, client_library, encoded, new_error, text
from ._query import size
from ._table import Answer, Table, look_up, open


class Generations(NamedTuple):
    """The generations of a daemon."""

    newest: int
    newest_digest: str
    pinnable: Tuple[int, ...]  # the newest first


class Client(Closing):
    """A connection to the colltuned at `server`; every call ends within `timeout` seconds. Has threads of gRPC. A forked process
    must make its own."""

    def __init__(self, server: str, timeout: float = 2.0) -> None:
        self._handle: Optional[int] = None
        self._library = client_library()
        self.server = server
        milliseconds = int(timeout * 1000)
        if not 1 <= milliseconds < 2**32:
            raise Error(INVALID_ARGUMENT, f"timeout is {timeout!r} seconds, and must be from 0.001 to 4294967")
        handle, error = ctypes.c_void_p(), new_error()
        check(self._library.open(encoded(server), milliseconds, byref(handle), byref(error)), error)
        self._handle = handle.value

    def close(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            self._library.close(handle)

    def _open_handle(self) -> int:
        if self._handle is None:
            raise Error(FAILED_PRECONDITION, "the client is closed")
        return self._handle

    def table(self, *, environment: Optional[str] = None, generation: int = 0, generation_digest: Optional[str] = None,
              digest: Optional[str] = None) -> Table:
        """The decisions of one generation (0: the newest) and one environment."""
        fetch = CFetch(ctypes.sizeof(CFetch), encoded(environment), generation, encoded(generation_digest), encoded(digest))
        handle, error = ctypes.c_void_p(), new_error()
        check(self._library.table_fetch(self._open_handle(), byref(fetch), byref(handle), byref(error)), error)
        return Table(self._library, handle.value or 0, ("server", self.server))

    def generations(self) -> Generations:
        handle, error = ctypes.c_void_p(), new_error()
        check(self._library.generations(self._open_handle(), byref(handle), byref(error)), error)
        return self._generations(handle.value)

    def wait_for_generation(self, known: Union[Generations, Table], seconds: float) -> Generations:
        """The generations as soon as the newest is another than the one of `known`, or after `seconds`. For communicators that are
        made later: those that there are keep their table."""
        number, digest = (known.generation, known.generation_digest) if isinstance(known, Table) else known[:2]
        handle, error = ctypes.c_void_p(), new_error()
        check(self._library.wait_for_generation(self._open_handle(), number, encoded(digest), max(0, int(seconds * 1000)),
                                                byref(handle), byref(error)), error)
        return self._generations(handle.value)

    def _generations(self, handle: Any) -> Generations:
        library = self._library
        try:
            return Generations(library.generations_newest(handle), text(library.generations_newest_digest(handle)) or "",
                               tuple(library.generations_at(handle, i) for i in range(library.generations_count(handle))))
        finally:
            library.generations_free(handle)

    def lookup_once(self, collective: str, dtype: str, bytes: int, nodes: int = 0, ranks_per_node: int = 0,
                    **more: Union[str, int, bool, None]) -> Answer:
        """One question without a table, for people: ranks that ask so may get unlike answers. `answer.guess` says how the
        environment was chosen, and what differs from this machine."""
        question = {"collective": collective, "dtype": dtype, "bytes": size(bytes), "nodes": nodes,
                    "ranks_per_node": ranks_per_node, **more}
        return Answer(None, question, None,
                      look_up(self._library, self._library.lookup_once, self._open_handle(), question))


def lookup_once(collective: str, dtype: str, bytes: int, nodes: int = 0, ranks_per_node: int = 0, *, server: Optional[str] = None,
                path: Optional[str] = None, timeout: float = 2.0, **more: Union[str, int, bool, None]) -> Answer:
    """One question to the colltuned at `server` or to a table file, for people: see Client.lookup_once."""
    if server is None:
        return open(path).find(collective, dtype, bytes, nodes, ranks_per_node, **more)
    with Client(server, timeout=timeout) as client:
        return client.lookup_once(collective, dtype, bytes, nodes, ranks_per_node, **more)
