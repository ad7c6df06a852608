# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""One table in a group of ranks."""

import os
from typing import Any, Callable, List, Optional, Tuple, Union

from ._library import FAILED_PRECONDITION, INVALID_ARGUMENT, Error
from ._table import Table, open

_MOST_NAMED = 8
# Of rank 0's table: generation, its digest, environment, digest.
_Identity = Tuple[int, str, str, str]


def open_in_group(rank: int, all_gather: Callable[[Any], List[Any]], path: Union[str, "os.PathLike[str]", None] = None, *,
                  server: Optional[str] = None, environment: Optional[str] = None, timeout: float = 2.0) -> Table:
    """The table that rank 0 opens, on all ranks. `all_gather(object)` returns the objects of all ranks in their order, as
    mpi4py's `comm.allgather`; all ranks call it twice. Each rank may have a path or a server of its own. Where one has no table or
    another one, all ranks raise an Error that names it."""

    def try_to_open(wanted: Optional[_Identity]) -> Tuple[Optional[Table], Optional[Tuple[int, str]]]:
        try:
            if wanted is None:
                return open(path, server=server, environment=environment, timeout=timeout), None
            if server is None:
                return open(path, digest=wanted[3]), None
            from ._client import Client
            with Client(server, timeout=timeout) as client:
                return client.table(generation=wanted[0], generation_digest=wanted[1], environment=wanted[2], digest=wanted[3]), None
        except Error as error:
            return None, (error.code, error.message)
        except Exception as error:  # a rank that leaves here would keep the others waiting
            return None, (INVALID_ARGUMENT, f"{type(error).__name__}: {error}")

    table, failure = try_to_open(None) if rank == 0 else (None, None)
    wanted = all_gather(_identity(table))[0]
    if rank != 0 and wanted is not None:
        table, failure = try_to_open(wanted)
    votes = all_gather((table.digest if table else None, failure))
    try:
        _judge(votes)
    except Error:
        if table is not None:
            table.close()
        raise
    assert table is not None
    return table


def _identity(table: Optional[Table]) -> Optional[_Identity]:
    return (table.generation, table.generation_digest, table.environment, table.digest) if table else None


def _judge(votes: List[Tuple[Optional[str], Optional[Tuple[int, str]]]]) -> None:
    wanted, failure = votes[0]
    if failure is not None:
        raise Error(failure[0], f"rank 0 of {len(votes)} opened no table: {failure[1]}")
    unlike = [rank for rank, (digest, _) in enumerate(votes) if digest != wanted]
    if not unlike:
        return
    named = ", ".join(map(str, unlike[:_MOST_NAMED]))
    if len(unlike) > _MOST_NAMED:
        named += f" and {len(unlike) - _MOST_NAMED} more"
    digest, failure = votes[unlike[0]]
    code, why = failure or (FAILED_PRECONDITION, f"its table has digest {digest}")
    raise Error(code, f"{'rank' if len(unlike) == 1 else 'ranks'} {named} of {len(votes)} did not open the table of rank 0 (digest "
                      f"{wanted}); rank {unlike[0]}: {why}")
