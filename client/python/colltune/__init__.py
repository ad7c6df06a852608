# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Which variant of a collective is the fastest on this cluster, from a table file or a colltuned.

    import colltune
    with colltune.open(path="cluster.ctt") as table:
        answer = table.find("all_reduce", "f32", 1 << 20, nodes=1, ranks_per_node=2)
        print(answer.variant, answer.time_ns, answer.source)

Ranks of a group, whose calls must be alike, open one table: open_in_group(), or open() with the digest of rank 0's.
"""

from importlib import import_module

from ._client import Client, Generations, lookup_once
from ._group import open_in_group
from ._library import Error
from ._table import Answer, Answers, Apply, Prediction, Ranked, Table, open

__all__ = ["Answer", "Answers", "Apply", "Client", "Error", "Generations", "Prediction", "Ranked", "Table", "lookup_once",
           "open", "open_in_group"]

# A program's own implementations: loaded when they are first asked for, since most programs only look up.
_OF_PROGRAMS = {"Best": "_best", "best": "_best", "Call": "_callables", "Result": "_callables", "register": "_callables",
                "sweep": "_callables", "unregister": "_callables", "Communicator": "_program", "world": "_program"}


def __getattr__(name):
    if name not in _OF_PROGRAMS:
        raise AttributeError(f"module 'colltune' has no attribute '{name}'")
    return getattr(import_module("." + _OF_PROGRAMS[name], __name__), name)
