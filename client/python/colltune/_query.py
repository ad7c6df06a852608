# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Questions: keyword arguments as the C interface's structure."""

import ctypes
import json
from typing import Any, Dict, Mapping

from ._library import INVALID_ARGUMENT, CQuery, Error

# Name of the keyword: field of the structure.
_TEXTS = {"op": "reduce_op", "architecture": "architecture", "environment": "environment_digest", "layout": "layout_digest",
          "interconnect": "interconnect", "placement": "placement", "family": "family", "numeric_class": "numeric_class",
          "members": "members", "mesh_shape": "mesh_shape", "mesh_steps": "mesh_steps", "mesh_form": "mesh_form",
          "calling": "calling", "input": "input", "at_least": "at_least", "generation_digest": "generation_digest",
          "counts": "counts"}
_FLAGS = {"in_place", "registered", "graph_capture"}
_NUMBERS = {"nodes", "ranks_per_node", "generation"}
_HIGHEST = {"nodes": 2**31 - 1, "ranks_per_node": 2**31 - 1, "generation": 2**64 - 1}
# A question with one of these is answered by a whole lookup.
WHOLE = frozenset({"members", "mesh_form", "at_least"})


def _number(name: str, value: Any, highest: int) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or not 0 <= value.__index__() <= highest:
        raise Error(INVALID_ARGUMENT, f"{name} is {value!r}, and must be a whole number from 0 to {highest}")
    return int(value.__index__())


def size(value: Any) -> int:
    return _number("bytes", value, 2**64 - 1)


def _utf8(name: str, value: Any) -> bytes:
    if not isinstance(value, str) or "\0" in value:
        raise Error(INVALID_ARGUMENT, f"{name} is {value!r}, and must be a text")
    return value.encode()


def make_query(collective: str, dtype: str, bytes: int, more: Mapping[str, Any]) -> CQuery:
    """Raises Error(invalid_argument) that names the argument."""
    query = CQuery()
    query.struct_size = ctypes.sizeof(CQuery)
    query.collective = _utf8("collective", collective)
    query.data_type = _utf8("dtype", dtype)
    query.message_size_bytes = size(bytes)
    for name, value in more.items():
        if value is None:
            continue
        if name == "members" and not isinstance(value, str):
            value = json.dumps(value)
        if name in _TEXTS:
            setattr(query, _TEXTS[name], _utf8(name, value))
        elif name in _FLAGS:
            setattr(query, name, 1 if value else 0)
        elif name in _NUMBERS:
            setattr(query, name, _number(name, value, _HIGHEST[name]))
        else:
            allowed = ", ".join(sorted([*_TEXTS, *_FLAGS, *_NUMBERS]))
            raise Error(INVALID_ARGUMENT, f"{name} is no part of a question; allowed are {allowed}")
    return query


def as_mapping(question: Any) -> Dict[str, Any]:
    """A question of a batch: (collective, dtype, bytes[, nodes[, ranks_per_node]]), or a mapping of find()'s arguments."""
    if isinstance(question, Mapping):
        return dict(question)
    if isinstance(question, tuple) and 3 <= len(question) <= 5:
        return dict(zip(("collective", "dtype", "bytes", "nodes", "ranks_per_node"), question))
    raise Error(INVALID_ARGUMENT, f"{question!r} is no question; write (collective, dtype, bytes, nodes, ranks_per_node) or a dict")
