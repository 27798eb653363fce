"""Every way out of `try`, `with`, loops and functions, as Python takes it."""

from __future__ import annotations

import itertools
import textwrap

import pytest
from python_runs import parts, said_lines

AROUND = {
    "finally": "try:\n{}\nfinally:\n    dist.reduce(x, 0)",
    "generator": "with generated(x):\n{}",
    "class": "with Around():\n{}",
    "suppress": "with suppress(KeyError):\n{}",
    "handler": "try:\n{}\nexcept KeyError:\n    pass",
    "else": "try:\n{}\nexcept KeyError:\n    pass\nelse:\n    dist.reduce(x, 0)",
    "both": "try:\n    with generated(x):\n{}\nfinally:\n    dist.scatter(x)",
    "catching": "with quiet(x):\n{}",
    "items": "for each in counted(x):\n{}",
    "items else": "for each in counted(x):\n{}\nelse:\n    dist.scatter(x)",
    "turned": "with generated(x):\n    try:\n{}\n    finally:\n        dist.scatter(x)",
}
LEAVES = ("return", "break", "continue", "raise KeyError(x)", "sys.exit(0)", "raise SystemExit")
BEHIND = ("pass", "break", "continue", "return", "dist.gather(x)", "sys.exit(0)")
LAST = ("pass", "dist.barrier()")
PROGRAM = """
def main(flag, items, x):
    rank = dist.get_rank()
    try:
        for item in items:
{around}
            {behind}
    except KeyError:
        pass
    {last}
"""


@pytest.mark.parametrize(("around", "leave"), list(itertools.product(AROUND, LEAVES)))
def test_ways_out(around: str, leave: str) -> None:
    """One class of ranks leaves a block, the others go on behind it, in every combination."""
    for who, behind, last in itertools.product(("rank == 0", "rank != 0", "flag"), BEHIND, LAST):
        inner = f"if {who}:\n    {leave}"
        template = AROUND[around]
        depth = 8 if around in ("both", "turned") else 4
        block = textwrap.indent(template.format(textwrap.indent(inner, " " * depth)), " " * 12)
        program = PROGRAM.format(around=block, behind=behind, last=last)
        assert bool(said_lines(program)) == parts(program), program
