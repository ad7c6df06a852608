# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Tables: the decisions of one generation and one environment in this process, and the answers from them."""

import ctypes
import json
import os
import struct
from array import array
from ctypes import byref
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import _query
from ._library import (FAILED_PRECONDITION, INVALID_ARGUMENT, NO_VARIANT, NOT_FOUND, CApply, CFound, Closing, CPrediction, Error, Library, check,
                       encoded, new_error, table_library, text)

_NOT_RESOLVED = NO_VARIANT
_FOUND_BYTES = ctypes.sizeof(CFound)
_FOUND = struct.Struct("=IIqqQiBBBBQ")  # colltune_found


class Apply(NamedTuple):
    """What makes a variant run in its own library."""

    by: str  # "nothing", "environment", "program", "component" or "colltune"
    variables: Tuple[str, ...]  # "NAME=value" of the launch
    how: str  # for a person


class Ranked(NamedTuple):
    """A variant of a ranking with its evidence."""

    variant: str  # "name{a=1,b=ring}"
    family: str
    median_ns: int
    speedup_over_baseline: float
    is_baseline: bool
    samples: int
    composition: Optional[Dict[str, Any]]  # what unlike ranks, or the steps of a mesh reduction, run together
    apply: Apply


class Prediction(NamedTuple):
    """Where a model expects the winner's time, of a size or number of ranks that was not measured: 90 % of the times that were
    left out of the model lay within these bounds."""

    low_ns: int
    high_ns: int
    model: str  # "alpha_beta"; "loggp" where the match is "other_ranks"


class Whole:
    """All that the C interface says in an answer."""

    def __init__(self, library: Library, handle: int, members: int = 0) -> None:
        try:
            for name in ("source", "match", "members", "reason", "verdict", "status", "environment", "guess", "calling", "input",
                         "world", "generation_digest"):
                setattr(self, name, text(getattr(library, f"answer_{name}")(handle)))
            self.generation: int = library.answer_generation(handle)
            self.measured_bytes = tuple(library.answer_measured_bytes(handle, number)
                                        for number in range(library.answer_measured_count(handle)))
            self.ranked = tuple(_ranked(library, handle, rank) for rank in range(library.answer_count(handle)))
            self.prediction = _prediction(library, handle)
            self.kinds = tuple(text(library.answer_kind(handle, member)) for member in range(members))
        finally:
            library.answer_free(handle)


def _prediction(library: Library, handle: int) -> Optional[Prediction]:
    prediction = CPrediction()
    prediction.struct_size = ctypes.sizeof(CPrediction)
    status = library.answer_prediction(handle, byref(prediction))
    return Prediction(prediction.low_ns, prediction.high_ns, text(prediction.model) or "") if status == 0 else None


def _ranked(library: Library, handle: int, rank: int) -> Ranked:
    apply = CApply()
    apply.struct_size = ctypes.sizeof(CApply)
    library.answer_apply(handle, rank, byref(apply))
    composition = library.answer_composition(handle, rank)
    return Ranked(
        variant=text(library.answer_variant(handle, rank)) or "",
        family=text(library.answer_family(handle, rank)) or "",
        median_ns=library.answer_median_ns(handle, rank),
        speedup_over_baseline=library.answer_speedup_over_baseline(handle, rank),
        is_baseline=library.answer_is_baseline(handle, rank) == 1,
        samples=library.answer_samples(handle, rank),
        composition=None if composition is None else json.loads(composition),
        apply=Apply(text(apply.by) or "", tuple(text(apply.variables[i]) or "" for i in range(apply.variable_count)),
                    text(apply.how) or ""))


class Answer:
    """The answer to a question. What the table's short answer does not hold (ranked, apply, reason, match, members, world,
    calling, input, measured_bytes, kinds) is looked up in the same table when it is first asked for."""

    __slots__ = ("_found", "_question", "_table", "_whole")

    def __init__(self, table: Any, question: Any, found: Optional[CFound], whole: Optional[Whole] = None) -> None:
        self._table = table
        self._question = question
        self._found = found
        self._whole = whole

    @property
    def variant(self) -> str:
        """The winner: "name{a=1,b=ring}"."""
        return self._table._variant(self._found.variant) if self._found is not None else self.ranked[0].variant

    @property
    def time_ns(self) -> int:
        """The winner's time per call."""
        return self._found.time_ns if self._found is not None else self.ranked[0].median_ns

    def _baseline(self) -> Optional[Ranked]:
        return next((one for one in self.ranked if one.is_baseline), None)

    @property
    def baseline(self) -> Optional[str]:
        """What runs without colltune; None where it is not ranked."""
        if self._found is not None:
            return None if self._found.baseline == NO_VARIANT else self._table._variant(self._found.baseline)
        baseline = self._baseline()
        return baseline.variant if baseline else None

    @property
    def baseline_time_ns(self) -> int:
        """0 where no baseline is ranked."""
        if self._found is not None:
            return self._found.baseline_time_ns
        baseline = self._baseline()
        return baseline.median_ns if baseline else 0

    @property
    def is_baseline(self) -> bool:
        return self._found.is_baseline == 1 if self._found is not None else self.ranked[0].is_baseline

    @property
    def source(self) -> str:
        """"measured", "interpolated", "predicted" or "baseline"."""
        return self._table._sources[self._found.source] if self._found is not None else self.whole.source

    @property
    def verdict(self) -> str:
        """"displaced", "kept", "undecided" or "no_baseline"."""
        return self._table._verdicts[self._found.verdict] if self._found is not None else self.whole.verdict

    @property
    def status(self) -> str:
        """"provisional" or "confirmed"."""
        return self._table._statuses[self._found.status] if self._found is not None else self.whole.status

    @property
    def whole(self) -> Any:
        if self._whole is None:
            self._whole = self._table._look_up(self._question)
        return self._whole

    @property
    def ranked(self) -> Tuple[Ranked, ...]:
        """All variants that can run the call, the winner first."""
        return self.whole.ranked

    @property
    def apply(self) -> Apply:
        """What makes the winner run in its own library."""
        return self.ranked[0].apply

    @property
    def prediction(self) -> Optional[Prediction]:
        """Where a model expects `time_ns`; None of a measured size."""
        return self.whole.prediction

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.whole, name)

    def __repr__(self) -> str:
        return f"<colltune.Answer {self.variant} in {self.time_ns} ns ({self.source})>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Answer) and self.whole.__dict__ == other.whole.__dict__

    __hash__ = None  # type: ignore[assignment]


class Answers(Sequence[Answer]):
    """The answers of a batch in the order of its questions. Getting one raises its own Error where it has none."""

    def __init__(self, table: "Table", questions: List[Any], found: Any, errors: Dict[int, Error], whole: Dict[int, Answer]) -> None:
        self._table = table
        self._questions = questions
        self._found = found
        self._errors = errors
        self._of_lookups = whole

    def __len__(self) -> int:
        return len(self._questions)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError("there are fewer answers")
        if index in self._errors:
            raise self._errors[index]
        if index in self._of_lookups:
            return self._of_lookups[index]
        question = _query.as_mapping(self._questions[index])
        found = self._found[index]
        if found.code != 0:
            return self._table.find(**question)  # raises with the reason
        return Answer(self._table, question, found)

    @property
    def errors(self) -> Dict[int, Error]:
        """The errors of the questions that name no calls of the table, by their number."""
        return dict(self._errors)

    def times_ns(self) -> List[int]:
        """The winners' times; -1 where there is no answer."""
        times = [one[2] if one[5] == 0 else -1 for one in _FOUND.iter_unpack(self._found)]
        for number, answer in self._of_lookups.items():
            times[number] = answer.time_ns
        return times


class Table(Closing):
    """The decisions of one generation and one environment: made by open(), Client.table() and open_in_group(). All calls may come
    from several threads and from forked processes; a pickled table opens itself again with the same digest."""

    def __init__(self, library: Library, handle: int, origin: Tuple[str, str]) -> None:
        self._library = library
        self._handle: Optional[int] = handle
        self._origin = origin
        self.digest: str = text(library.table_digest(handle)) or ""
        self.environment: str = text(library.table_environment(handle)) or ""
        self.generation: int = library.table_generation(handle)
        self.generation_digest: str = text(library.table_generation_digest(handle)) or ""
        self.store: str = text(library.table_store(handle)) or ""
        self.decisions: int = library.table_decisions(handle)
        self._groups: Dict[Any, int] = {}
        self._variants: Dict[int, str] = {}
        self._sources = _names(library.source_name)
        self._verdicts = _names(library.verdict_name)
        self._statuses = _names(library.status_name)
        self._find = library.table_find

    def close(self) -> None:
        """Gives the memory back; answers that were looked up whole stay valid."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self._library.table_close(handle)

    def __repr__(self) -> str:
        return f"<colltune.Table generation {self.generation} in {self.environment}, digest {self.digest}>"

    def __reduce__(self) -> Any:
        return _open_again, (*self._origin, self.generation, self.generation_digest, self.environment, self.digest)

    def _open_handle(self) -> int:
        if self._handle is None:
            raise Error(FAILED_PRECONDITION, "the table is closed")
        return self._handle

    def find(self, collective: str, dtype: str, bytes: int, nodes: int = 0, ranks_per_node: int = 0, op: Optional[str] = None,
             **more: Union[str, int, bool, None]) -> Answer:
        """The answer for one call of this size. 0 is left open, as is what is not said: op (then "sum"), in_place, registered, graph_capture,
        architecture, layout, interconnect, placement, family, numeric_class, calling, input, members, mesh_shape, mesh_steps,
        mesh_form, counts (then "equal"), at_least ("other_ranks": also what a daemon's models say of a number of ranks that was not
        measured), environment, generation. Raises Error(invalid_argument) if several worlds fit, Error(not_found) if nothing does."""
        call = (collective, dtype, nodes, ranks_per_node, op)
        key: Any = (*call, *more.items()) if more else call
        try:
            group = self._groups[key]
        except (KeyError, TypeError):
            if not _query.WHOLE.isdisjoint(more):
                question = {"collective": collective, "dtype": dtype, "bytes": bytes, "nodes": nodes,
                            "ranks_per_node": ranks_per_node, "op": op, **more}
                return Answer(self, question, None, self._look_up(question))
            group = self._groups[key] = self._resolve(collective, dtype, bytes, nodes, ranks_per_node, {"op": op, **more})
        found = CFound()
        if self._handle is None or type(bytes) is not int or bytes < 0 or self._find(self._handle, group, bytes, byref(found)) != 0:
            return self._find_slowly(group, collective, dtype, bytes, nodes, ranks_per_node, {"op": op, **more})
        return Answer(self, (collective, dtype, bytes, nodes, ranks_per_node, op, more), found)

    def _find_slowly(self, group: int, collective: str, dtype: str, bytes: int, nodes: int, ranks_per_node: int,
                     more: Dict[str, Any]) -> Answer:
        """What find() does with unusual sizes, and with questions that have no answer: the lookup says why."""
        question = {"collective": collective, "dtype": dtype, "bytes": _query.size(bytes), "nodes": nodes,
                    "ranks_per_node": ranks_per_node, **more}
        found = CFound()
        if self._find(self._open_handle(), group, question["bytes"], byref(found)) == 0:
            return Answer(self, question, found)
        return Answer(self, question, None, self._look_up(question))

    def find_many(self, questions: Iterable[Any]) -> Answers:
        """A batch: each question is (collective, dtype, bytes, nodes, ranks_per_node), or a dict of find()'s arguments."""
        asked = list(questions)
        known = self._groups
        try:
            groups = array("I", [known[one[0], one[1], one[3], one[4], None] for one in asked])
            sizes = array("Q", [one[2] for one in asked])
        except (KeyError, IndexError, TypeError, OverflowError):
            return self._find_many_slowly(asked)
        return Answers(self, asked, self._find_all(groups, sizes), {}, {})

    def _find_many_slowly(self, asked: List[Any]) -> Answers:
        """The same where some questions are new, have more arguments, or are none."""
        groups, sizes = array("I"), array("Q")
        errors: Dict[int, Error] = {}
        whole: Dict[int, Answer] = {}
        for number, one in enumerate(asked):
            group, size = _NOT_RESOLVED, 0
            try:
                group, size = self._group_of(one, number, whole)
            except Error as error:
                errors[number] = error
            groups.append(group)
            sizes.append(size)
        return Answers(self, asked, self._find_all(groups, sizes), errors, whole)

    def _group_of(self, one: Any, number: int, whole: Dict[int, Answer]) -> Tuple[int, int]:
        if type(one) is tuple and len(one) == 5:
            group = self._groups.get((one[0], one[1], one[3], one[4], None))
            if group is not None:
                return group, _query.size(one[2])
        question = _query.as_mapping(one)
        missing = [name for name in ("collective", "dtype", "bytes") if name not in question]
        if missing:
            raise Error(INVALID_ARGUMENT, f"question {number} lacks {', '.join(missing)}")
        collective, dtype, size = question.pop("collective"), question.pop("dtype"), _query.size(question.pop("bytes"))
        if not _query.WHOLE.isdisjoint(question):
            whole[number] = self.find(collective, dtype, size, **question)
            return _NOT_RESOLVED, size
        nodes, ranks_per_node = question.pop("nodes", 0), question.pop("ranks_per_node", 0)
        op = question.pop("op", None)
        key = (collective, dtype, nodes, ranks_per_node, op, *question.items())
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = self._resolve(collective, dtype, size, nodes, ranks_per_node, {"op": op, **question})
        return group, size

    def _find_all(self, groups: "array[int]", sizes: "array[int]") -> Any:
        found = (CFound * len(groups))()
        status = self._library.table_find_many(self._open_handle(), groups.buffer_info()[0], sizes.buffer_info()[0], len(groups),
                                               ctypes.addressof(found), _FOUND_BYTES)
        if status != 0:
            raise Error(status, "the batch was refused")
        return found

    def _resolve(self, collective: str, dtype: str, bytes: int, nodes: int, ranks_per_node: int, more: Dict[str, Any]) -> int:
        query = _query.make_query(collective, dtype, bytes, {"nodes": nodes, "ranks_per_node": ranks_per_node, **more})
        group, error = ctypes.c_uint32(), new_error()
        check(self._library.table_resolve(self._open_handle(), byref(query), byref(group), byref(error)), error)
        return group.value

    def _look_up(self, question: Any) -> Whole:
        if not isinstance(question, dict):
            collective, dtype, bytes, nodes, ranks_per_node, op, more = question
            question = {"collective": collective, "dtype": dtype, "bytes": bytes, "nodes": nodes,
                        "ranks_per_node": ranks_per_node, "op": op, **more}
        return look_up(self._library, self._library.table_lookup, self._open_handle(), question)

    def _variant(self, number: int) -> str:
        known = self._variants.get(number)
        if known is None:
            known = self._variants[number] = text(self._library.table_variant(self._open_handle(), number)) or ""
        return known


def look_up(library: Library, function: Any, handle: int, question: Dict[str, Any]) -> Whole:
    """A whole lookup of a table or a client."""
    more = {name: value for name, value in question.items() if name not in ("collective", "dtype", "bytes")}
    query = _query.make_query(question["collective"], question["dtype"], question["bytes"], more)
    answer, error = ctypes.c_void_p(), new_error()
    check(function(handle, byref(query), byref(answer), byref(error)), error)
    members = more.get("members")
    if isinstance(members, str):
        members = json.loads(members)
    return Whole(library, answer.value or 0, len(members["kind_of_rank"]) if members else 0)


def _names(name_of: Any) -> List[str]:
    names: List[str] = []
    while (name := name_of(len(names))) is not None:
        names.append(name.decode())
    return names


def open(path: Union[str, "os.PathLike[str]", None] = None, *, server: Optional[str] = None, digest: Optional[str] = None,
         environment: Optional[str] = None, generation: int = 0, timeout: float = 2.0) -> Table:
    """A table from a file, or from the colltuned at `server` ("unix:/path" or "host:port") within `timeout` seconds. `digest`: the
    one that it must have; `environment`, of a daemon with decisions of several: its digest. A file is opened without gRPC and
    without threads. Raises Error."""
    if (path is None) == (server is None):
        raise Error(INVALID_ARGUMENT, "a table is opened at a path or from a server: give one of them")
    if server is not None:
        from ._client import Client  # loads gRPC
        with Client(server, timeout=timeout) as client:
            return client.table(digest=digest, environment=environment, generation=generation)
    library, handle, error = table_library(), ctypes.c_void_p(), new_error()
    name = os.fspath(path)  # type: ignore[arg-type]
    check(library.table_open(encoded(name), encoded(digest), byref(handle), byref(error)), error)
    table = Table(library, handle.value or 0, ("path", os.path.abspath(name)))
    if environment not in (None, table.environment) or generation not in (0, table.generation):
        found = table
        table.close()
        raise Error(NOT_FOUND, f"{name} is generation {found.generation} in environment {found.environment}")
    return table


def _open_again(kind: str, place: str, generation: int, generation_digest: str, environment: str, digest: str) -> Table:
    if kind == "path":
        return open(place, digest=digest)
    from ._client import Client
    with Client(place) as client:
        return client.table(digest=digest, environment=environment, generation=generation, generation_digest=generation_digest)

