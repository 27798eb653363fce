"""What functions put into variables of their file: numbers of a process, and whether its group is made."""

from __future__ import annotations

import ast

import pytest

from distlint.analysis import Source
from distlint.analysis.program.program import Program
from distlint.analysis.program.rank_globals import rank_globals

BESIDE = """
import torch.distributed as dist

held = None

def start(settings):
    global held
    dist.init_process_group("gloo")
    {statement}
"""


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("held = True", "initialized"),
        ("held = dist.get_rank()", "rank"),
        ("held = dist.get_world_size()", "world_size"),
        # What is done with the group in some launches only is not whether there is one.
        ("if settings.sharded: held = True", None),
        ("if settings.again: dist.init_process_group('gloo'); held = True", "initialized"),
        ("held = len(settings)", None),
    ],
)
def test_what_is_kept_of_the_group(statement: str, kind: str | None) -> None:
    text = BESIDE.format(statement=statement)
    program = Program([Source("run.py", "run", text, ast.parse(text))])
    assert rank_globals(program.modules["run"]) == ({} if kind is None else {"held": kind})


ON_AN_OBJECT = """
import os

class State:
    rank: int = 0

state = State()
{made}

def start({parameter}):
    {statement}
"""


@pytest.mark.parametrize(
    ("statement", "parameter", "made", "kind"),
    [
        ("state.rank = int(os.environ.get('RANK', 0))", "", "", "rank"),
        ("state.rank = int(os.environ['LOCAL_RANK'])", "", "", "local_rank"),
        # What a caller hands in is some object of its own, and a second one may hold anything.
        ("state.rank = int(os.environ.get('RANK', 0))", "state", "", None),
        ("state.rank = int(os.environ.get('RANK', 0))", "", "state = object()", None),
        ("state.rank = len(os.environ)", "", "", None),
    ],
)
def test_what_an_object_of_the_module_keeps(
    statement: str, parameter: str, made: str, kind: str | None
) -> None:
    text = ON_AN_OBJECT.format(statement=statement, parameter=parameter, made=made)
    program = Program([Source("run.py", "run", text, ast.parse(text))])
    kept = {} if kind is None else {"state.rank": kind}
    assert rank_globals(program.modules["run"]) == kept
