"""Reads what torch's flight recorder left after a hang, and compares it as a run's collectives.

A dump is a pickle of plain dicts, lists, strings and numbers, one file a rank; the file's name ends
with the rank (torch/csrc/distributed/c10d/FlightRecorder.hpp, version 2.10 of the format; torch
2.13). It is a ring: the oldest entries of a rank may be gone. Reads no torch, runs nothing.
"""

from __future__ import annotations

import io
import json
import pickle
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distlint.hardware.sanitizer.branches import are_alternatives, calls_of
from distlint.hardware.sanitizer.comparison import Comparison, Divergence
from distlint.hardware.sanitizer.events import Agreed, Collective, Frame, Group, Stack, Whereabouts
from distlint.hardware.sanitizer.places import is_internal
from distlint.hardware.sanitizer.ranks import RankState
from distlint.hardware.sanitizer.supervision import Result

_RANK = re.compile(r"(\d+)$")
_COMPARED = {
    "all_reduce": "input",
    "allreduce_coalesced": "input",
    "broadcast": "input",
    "reduce": "input",
    "all_gather": "output",
    "_all_gather_base": "output",
    "all_gather_single": "output",
    "_reduce_scatter_base": "input",
    "reduce_scatter": "input",
    "reduce_scatter_single": "input",
    "_broadcast_oop": "input",
    "_reduce_oop": "input",
    "all_gather_into_tensor_coalesced": "output",
    "reduce_scatter_tensor_coalesced": "input",
}
"""By the recorder's name of a collective, the tensors that must be alike on all ranks."""
_DTYPES = {"Float": "float32", "Half": "float16", "Double": "float64", "Long": "int64"} | {
    "Int": "int32",
    "Byte": "uint8",
    "Char": "int8",
}


_BARRIER = "all_reduce_barrier"
"""What NCCL records for a barrier: an all_reduce of one element of its own."""


class NotADump(Exception):
    """A file is no flight recorder dump; the message says which and why."""


class _PlainUnpickler(pickle.Unpickler):
    """Loads data only: a pickle that names a class or a function is refused."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"it wants to load {module}.{name}, which no dump holds")


@dataclass(frozen=True, slots=True)
class _Entry:
    """One collective of a rank; `number` counts those of its group from 1, `at` is nanoseconds."""

    number: int
    at: int
    ended: bool
    collective: Collective


@dataclass(frozen=True, slots=True)
class _Dump:
    rank: int
    entries: tuple[_Entry, ...]
    members: dict[str, tuple[int, ...]]
    descriptions: dict[str, str]


def dump_files(path: Path) -> list[Path]:
    """The dumps in a folder (those whose names end with a number), or the file itself."""
    if not path.is_dir():
        return [path]
    return sorted(p for p in path.iterdir() if p.is_file() and _RANK.search(p.name))


def compare_dumps(files: Sequence[Path]) -> Result:
    """What the dumps of a job show: the first divergence, if any. Needs those of two ranks or more.

    Raises NotADump, and OSError for a file that cannot be read.
    """
    dumps = {dump.rank: dump for dump in (_read(path) for path in files)}
    if len(dumps) < 2:
        raise NotADump(f"dumps of two ranks or more are needed, and there are {len(dumps)}")
    comparison = Comparison(are_alternatives, calls_of)
    for group in _groups(list(dumps.values())):
        comparison.add_group(group, begun=_forgotten(list(dumps.values()), group))
    found: Divergence | None = None
    for rank, entry in _in_order(list(dumps.values())):
        shown = comparison.add(rank, entry.collective)
        found = found or shown
    found = comparison.complete(found) if found else comparison.missing(set(dumps), set())
    states = tuple(_state(dump, comparison) for _, dump in sorted(dumps.items()))
    return Result(found, None, states, 0.0)


def _groups(dumps: Sequence[_Dump]) -> list[Group]:
    """The groups, with the members of which there are dumps; where none is noted, who used it."""
    names = dict.fromkeys(entry.collective.group for dump in dumps for entry in dump.entries)
    groups = []
    for name in names:
        noted = next((dump.members[name] for dump in dumps if name in dump.members), ())
        used = [d.rank for d in dumps if any(e.collective.group == name for e in d.entries)]
        description = next(d.descriptions[name] for d in dumps if name in d.descriptions)
        known = [dump.rank for dump in dumps]
        everybody = description == "default_pg"
        ranks = known if everybody else [r for r in known if r in noted] if noted else used
        groups.append(
            Group(name, name if description == "undefined" else description, tuple(sorted(ranks)))
        )
    return groups


def _forgotten(dumps: Sequence[_Dump], group: Group) -> int:
    """How many collectives of a group are gone from the ring of some rank."""
    first = [
        min(numbers)
        for dump in dumps
        if (numbers := [e.number for e in dump.entries if e.collective.group == group.name])
    ]
    return max(first, default=1) - 1


def _in_order(dumps: Sequence[_Dump]) -> Iterator[tuple[int, _Entry]]:
    """All entries that every rank of the group still has, by time."""
    kept = {group.name: _forgotten(dumps, group) for group in _groups(dumps)}
    told = [
        (entry.at, dump.rank, entry)
        for dump in dumps
        for entry in dump.entries
        if entry.number > kept[entry.collective.group]
    ]
    for _, rank, entry in sorted(told, key=lambda one: one[:2]):
        yield rank, entry


def _state(dump: _Dump, comparison: Comparison) -> RankState:
    last = max(dump.entries, key=lambda entry: entry.at, default=None)
    state = RankState(dump.rank, 0, recorded=True)
    state.latest = last.collective if last is not None else None
    state.operations = comparison.counts.get(dump.rank, 0)
    if last is not None:
        state.where = Whereabouts(last.collective.stack, waits=not last.ended)
    return state


def _read(path: Path) -> _Dump:
    number = _RANK.search(path.name)
    if number is None:
        raise NotADump(f"{path}: the name of a dump ends with its rank, as in nccl_trace_rank_0")
    try:
        data = _PlainUnpickler(io.BytesIO(path.read_bytes())).load()
        entries = [_entry(entry) for entry in data["entries"] if not entry.get("is_p2p")]
        config = data.get("pg_config", {}).values()
        members = {one["name"]: tuple(json.loads(one["ranks"])) for one in config}
        descriptions = {e["process_group"][0]: e["process_group"][1] for e in data["entries"]}
    except OSError:
        raise
    except Exception as error:
        # Broken bytes make pickle raise whatever they like.
        raise NotADump(f"{path}: not a flight recorder dump: {error!s:.200}") from error
    named = {name: ranks for name, ranks in members.items() if ranks}
    return _Dump(int(number[1]), tuple(entries), named, descriptions)


def _entry(entry: dict[str, Any]) -> _Entry:
    name = entry["profiling_name"].rpartition(":")[2]
    barrier = name == _BARRIER
    side = _COMPARED.get(name)
    sizes, dtypes = entry["input_sizes"], entry["input_dtypes"]
    agreed: Agreed = ()
    if side is not None:
        sizes, dtypes = entry[f"{side}_sizes"], entry[f"{side}_dtypes"]
        agreed = (
            ("dtype", ", ".join(_dtype(dtype) for dtype in dtypes)),
            ("number of elements", ", ".join(str(_product(size)) for size in sizes)),
        )
    shown = ", ".join(f"{_dtype(d)}{list(size)}" for d, size in zip(dtypes, sizes, strict=False))
    if barrier:
        name, shown = "barrier", ""
    group, stack = entry["process_group"][0], _stack(entry.get("frames", []))
    collective = Collective(name, group, agreed, shown, stack)
    ended = entry["state"] == "completed" or bool(entry.get("retired"))
    return _Entry(entry["collective_seq_id"], entry["time_created_ns"], ended, collective)


def _stack(frames: Sequence[dict[str, Any]]) -> Stack:
    return tuple(
        Frame(frame["filename"], frame["line"], frame["name"])
        for frame in frames
        if not is_internal(frame["filename"])
    )


def _dtype(name: str) -> str:
    return _DTYPES.get(name, name.lower())


def _product(sizes: Sequence[int]) -> int:
    product = 1
    for size in sizes:
        product *= size
    return product
