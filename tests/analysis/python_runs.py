"""Small programs as Python runs them, rank by rank, and whether distlint says that they part.

A program defines `main(flag, items, x)`. It is run as each of four ranks on two nodes, for every answer to
what they share. It parts where two ranks call other collectives for the same answers.
"""

from __future__ import annotations

import ast
import itertools
import sys
import textwrap
from types import SimpleNamespace
from typing import Any

from distlint.analysis import Source, build_model

HEAD = """
import os, sys, time
import torch.distributed as dist
from contextlib import contextmanager, suppress
from functools import partial

@contextmanager
def generated(x):
    dist.all_gather_object(x, x)
    try:
        yield
    finally:
        dist.reduce(x, 0)

@contextmanager
def quiet(x):
    try:
        yield
    except KeyError:
        dist.all_reduce(x)
    dist.reduce(x, 0)

def counted(x):
    for number in range(2):
        dist.all_gather(x, x)
        try:
            yield number
        finally:
            dist.reduce(x, 0)

class Around:
    def __enter__(self):
        dist.all_gather_object(1, 1)
    def __exit__(self, *_):
        dist.reduce(1, 0)

def sync(x):
    dist.barrier()

def failing(flag):
    if flag:
        raise KeyError(flag)

"""
ITEMS: tuple[list[int], ...] = ([], [1], [1, 2])


class Recorder:
    """What one rank calls, in order."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.called: list[str] = []

    def get_rank(self) -> int:
        return self.rank

    def get_world_size(self) -> int:
        return 4

    def __getattr__(self, name: str) -> Any:
        return lambda *_: self.called.append(name)


def whole(body: str) -> str:
    """The file that holds a program."""
    return HEAD + textwrap.dedent(body).strip() + "\n"


def said_lines(body: str) -> list[str]:
    """The lines with collectives at which distlint says that ranks part."""
    lines, problems = said(body)
    assert not problems
    return lines


def said(body: str) -> tuple[list[str], list[str]]:
    """The same, and what was not followed or compared to its end."""
    text = whole(body)
    model = build_model([Source("m.py", "m", text, ast.parse(text))])
    found = list(model.divergences())
    lines = {d.event.node.lineno for d in found}  # type: ignore[attr-defined]
    at = sorted(text.splitlines()[line - 1].strip() for line in lines)
    return at, [problem.text for problem in model.problems]


def parts(body: str) -> bool:
    """Whether two ranks call other collectives, for some answers that all of them share.

    A way on which some rank fails is left out: a launcher then ends them all.
    """
    names: dict[str, Any] = {}
    exec(compile(whole(body), "m.py", "exec"), names)
    for flag, items in itertools.product((True, False), ITEMS):
        ranks = [_called(names, rank, flag, items) for rank in range(4)]
        if None not in ranks and len(set(ranks)) > 1:
            return True
    return False


def _called(
    names: dict[str, Any], rank: int, flag: bool, items: list[int]
) -> tuple[str, ...] | None:
    """What a rank calls in `main` of a program whose modules are stood in for; None where it fails."""
    dist = Recorder(rank)
    names["dist"] = dist
    names["os"] = SimpleNamespace(environ={"LOCAL_RANK": str(rank % 2), "RANK": str(rank)})
    names["time"] = SimpleNamespace(time=lambda: 5 - rank)
    names["sys"] = SimpleNamespace(exit=sys.exit)
    try:
        names["main"](flag, items, 0)
    except SystemExit as end:
        if end.code not in (None, 0):
            return None
    except (KeyError, AttributeError):
        return None
    return tuple(dist.called)
